// A server in memory with short ways to speak to it, as an administrator and in bytes, exactly as over the wire.
import { ApiServer, memory } from '@fairlead/apiserver'
import type { ApiServerOptions, InjectedResponse } from '@fairlead/apiserver'
import type { JsonObject, JsonValue } from '@fairlead/kube'

const administrator = { name: 'admin', groups: ['system:masters'] }

/** A response. */
export interface Answer {
  readonly status: number
  readonly headers: InjectedResponse['headers']
  readonly text: string
  readonly body: JsonObject & { readonly metadata: JsonObject }
}

/** Headers of a request that differ from the defaults. */
export interface Asked {
  readonly accept?: string
  readonly contentType?: string
  readonly userAgent?: string
}

/** One server for the tests of a file. */
export class TestApi implements AsyncDisposable {
  readonly server: ApiServer

  constructor(server: ApiServer) {
    this.server = server
  }

  static async start(options: ApiServerOptions = {}): Promise<TestApi> {
    return new TestApi(await ApiServer.start({ storage: memory(), controllers: ['crd'], ...options }))
  }

  async send(method: string, path: string, body?: JsonValue | string, asked: Asked = {}): Promise<Answer> {
    const headers: Record<string, string> = { accept: asked.accept ?? 'application/json' }
    if (body !== undefined) headers['content-type'] = asked.contentType ?? 'application/json'
    if (asked.userAgent !== undefined) headers['user-agent'] = asked.userAgent
    const response = await this.server.inject({
      method,
      path,
      headers,
      user: administrator,
      ...(body === undefined ? {} : { body }),
    })
    const isJson = String(response.headers['content-type']).startsWith('application/json')
    return {
      status: response.status,
      headers: response.headers,
      text: response.body,
      body: (isJson && response.body !== '' && !response.body.includes('}\n{')
        ? response.json()
        : {}) as Answer['body'],
    }
  }

  get(path: string, asked?: Asked): Promise<Answer> {
    return this.send('GET', path, undefined, asked)
  }

  post(path: string, body: JsonValue | string, asked?: Asked): Promise<Answer> {
    return this.send('POST', path, body, asked)
  }

  put(path: string, body: JsonValue | string, asked?: Asked): Promise<Answer> {
    return this.send('PUT', path, body, asked)
  }

  delete(path: string, body?: JsonValue | string, asked?: Asked): Promise<Answer> {
    return this.send('DELETE', path, body, asked)
  }

  merge(path: string, body: JsonValue | string): Promise<Answer> {
    return this.send('PATCH', path, body, { contentType: 'application/merge-patch+json' })
  }

  apply(path: string, body: JsonValue | string): Promise<Answer> {
    return this.send('PATCH', path, body, { contentType: 'application/apply-patch+yaml' })
  }

  /** The events of a watch that ends by itself. */
  async events(
    path: string,
    asked?: Asked,
  ): Promise<{ type: string; object: JsonObject & { metadata: JsonObject } }[]> {
    const { text } = await this.get(path, asked)
    return text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as { type: string; object: JsonObject & { metadata: JsonObject } })
  }

  /** A namespace of its own for one test; gives the path of its ConfigMaps. */
  async namespace(name: string): Promise<string> {
    await this.post('/api/v1/namespaces', { metadata: { name } })
    return `/api/v1/namespaces/${name}/configmaps`
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server[Symbol.asyncDispose]()
  }
}

/** A Status of failure without what is the same in all of them. */
export function failureOf({ status, body }: Answer): JsonObject {
  const { reason, message, details } = body as { reason?: string; message?: string; details?: JsonObject }
  return {
    status,
    ...(reason === undefined ? {} : { reason }),
    message: message ?? '',
    ...(details === undefined ? {} : { details }),
  }
}
