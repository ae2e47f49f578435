// The aggregator of the embedded server: proxied requests, the conditions of unavailable servers, and streams.
import { once } from 'node:events'
import { createServer } from 'node:https'
import type { Server } from 'node:https'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect } from 'node:tls'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { eventually } from '../../../../test/support/until.ts'
import { CertificateMaker } from '@fairlead/controller'
import { ConfigMap, connect as connectTo, kind, parseKubeconfig, systemClock } from '@fairlead/client'
import { ExtensionServer, ApiServer, sqlite } from '@fairlead/apiserver'
import type { Listening } from '@fairlead/apiserver'
import { createPrivateKey } from 'node:crypto'
import { findCondition, notFound } from '@fairlead/kube'
import type { Condition, JsonObject, JsonValue, KubeObject } from '@fairlead/kube'
import { freePort } from '../../../../test/support/free-port.ts'
import { TestApi } from '../support/api.ts'
import { sendRequest } from '../support/front-proxy.ts'
import { note, noteDefinition, NoteStorage } from '../support/notes.ts'

const group = '/apis/shells.example.com/v1'
const shells = `${group}/namespaces/default/shells`
const apiServices = '/apis/apiregistration.k8s.io/v1/apiservices'
const token = 'a-token'

interface ApiService extends KubeObject {
  readonly status?: { readonly conditions?: readonly Condition[] }
}
const ApiService = kind<ApiService>('apiregistration.k8s.io/v1', 'APIService', {
  plural: 'apiservices',
  namespaced: false,
})

/** A foreign extension API server, with a certificate for `shells.default.svc`. */
class Extension implements AsyncDisposable {
  readonly server: Server
  readonly ca: string
  readonly seen: IncomingMessage['headers'][] = []
  /** Discovery does not end. */
  isEndless = false
  /** Bytes of discovery documents without an end. */
  sent = 0
  /** Handles requests other than discovery. */
  answer: (request: IncomingMessage, response: ServerResponse) => void = (_request, response) => response.end('{}')

  private constructor(server: Server, ca: string) {
    this.server = server
    this.ca = ca
    server.on('request', (request, response) => {
      this.seen.push(request.headers)
      response.setHeader('content-type', 'application/json')
      if (request.url === group && this.isEndless) return this.#answerWithoutEnd(response)
      if (request.url === group) return void response.end(JSON.stringify(discovery))
      this.answer(request, response)
    })
    server.on('upgrade', (request, socket, head) => {
      this.seen.push(request.headers)
      if (request.url?.endsWith('/refused') === true)
        return void socket.end('HTTP/1.1 418 No\r\ncontent-type: text/plain\r\ncontent-length: 3\r\n\r\nno\n')
      socket.write('HTTP/1.1 101 Switching Protocols\r\nupgrade: echo\r\nconnection: upgrade\r\n\r\nhello ')
      if (head.length > 0) socket.write(head)
      socket.on('error', () => socket.destroy())
      socket.pipe(socket)
    })
  }

  static async open(): Promise<Extension> {
    const now = systemClock.now()
    const maker = await CertificateMaker.start({ from: now - 3_600_000, until: now + 86_400_000 })
    const authority = maker.authority([['CN', 'shells-ca']])
    const signer = { cert: authority.cert, key: createPrivateKey(authority.key) }
    const { key, cert } = maker.issue(signer, [['CN', 'shells']], { hosts: ['shells.default.svc'] })
    const server = createServer({ key, cert })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return new Extension(server, authority.cert)
  }

  #answerWithoutEnd(response: ServerResponse): void {
    const chunk = Buffer.alloc(1 << 20, ' ')
    const write = (): void => {
      if (response.destroyed) return
      this.sent += chunk.length
      response.write(chunk, (error) => {
        if (!error) setImmediate(write)
      })
    }
    write()
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = new Promise((resolve) => this.server.close(resolve))
    this.server.closeAllConnections()
    await closed
  }
}

const discovery = {
  kind: 'APIResourceList',
  apiVersion: 'v1',
  groupVersion: 'shells.example.com/v1',
  resources: [
    {
      name: 'shells',
      singularName: 'shell',
      namespaced: true,
      kind: 'Shell',
      verbs: ['get', 'list', 'watch', 'create'],
      shortNames: ['sh'],
    },
    { name: 'shells/attach', singularName: '', namespaced: true, kind: 'Shell', verbs: ['get'] },
  ],
}

let api: TestApi
let door: Listening
let extension: Extension
let target: { host: string; port: number } | undefined

function register(spec: JsonObject = {}): Promise<unknown> {
  return api.post(apiServices, {
    metadata: { name: 'v1.shells.example.com' },
    spec: {
      group: 'shells.example.com',
      version: 'v1',
      service: { namespace: 'default', name: 'shells' },
      caBundle: Buffer.from(extension.ca).toString('base64'),
      groupPriorityMinimum: 1000,
      versionPriority: 10,
      ...spec,
    },
  })
}

async function availability(name = 'v1.shells.example.com'): Promise<Partial<Condition>> {
  const { status } = await api.server.client().get(ApiService, name)
  return findCondition(status?.conditions, 'Available') ?? {}
}

async function becomes(status: 'True' | 'False', reason: string): Promise<string> {
  await eventually(async () => expect(await availability()).toMatchObject({ status, reason }), 20)
  return (await availability()).message ?? ''
}

beforeEach(async () => {
  extension = await Extension.open()
  target = { host: '127.0.0.1', port: extension.port }
  api = await TestApi.start({
    controllers: ['crd', 'namespace'],
    tokens: [{ token, user: { name: 'ann', groups: ['staff'], extra: { 'example.com/team': ['red', 'blue'] } } }],
    resolve: async (host) => (host.endsWith('.default.svc') ? target : undefined),
  })
  door = await api.server.listen()
})

afterEach(async () => {
  await extension[Symbol.asyncDispose]()
  await api[Symbol.asyncDispose]()
})

function asked(
  method: string,
  path: string,
  body?: JsonValue,
  headers: Record<string, string> = {},
): ReturnType<typeof sendRequest> {
  return sendRequest(method, path, {
    port: door.port,
    ca: door.certificateAuthority,
    headers: { authorization: `Bearer ${token}`, ...headers },
    ...(body === undefined ? {} : { body }),
  })
}

test('the aggregator reads no more than 32 MiB of a discovery document', async () => {
  extension.isEndless = true
  await register()
  await eventually(() => expect(extension.sent).toBeGreaterThan(32 << 20), 20)
  await eventually(async () => expect((await availability()).status).toBe('False'), 20)
  // The buffers of the connection take some more.
  expect(extension.sent).toBeLessThan(64 << 20)
})

describe('the aggregator forwards', () => {
  test('the user, without the credentials of the client', async () => {
    await register()
    await becomes('True', 'Passed')
    extension.answer = (request, response) => {
      let text = ''
      request.on('data', (chunk: Buffer) => (text += chunk.toString()))
      request.on('end', () => {
        response.setHeader('warning', ['299 - "one"', '299 - "two"'])
        response.statusCode = 201
        response.end(JSON.stringify({ method: request.method, url: request.url, text }))
      })
    }
    const told = await asked(
      'POST',
      `${shells}?dryRun=All&x=%20y`,
      { a: 1 },
      {
        cookie: 'session=secret',
        'x-remote-user': 'root',
        'x-remote-extra-anything': 'x',
        'impersonate-user': 'bob',
        'x-custom': 'kept',
      },
    )
    expect([told.status, told.body, told.headers['warning']]).toEqual([
      201,
      { method: 'POST', url: `${shells}?dryRun=All&x=+y`, text: '{"a":1}' },
      '299 - "one", 299 - "two"',
    ])
    const headers = extension.seen.at(-1)!
    expect(
      Object.fromEntries(
        Object.entries(headers).filter(([name]) => /^(x-|authorization|cookie|impersonate)/.test(name)),
      ),
    ).toEqual({
      'x-remote-user': 'bob',
      'x-remote-group': 'system:authenticated',
      'x-custom': 'kept',
    })
    await asked('GET', shells)
    expect(extension.seen.at(-1)).toMatchObject({
      'x-remote-user': 'ann',
      'x-remote-group': 'staff, system:authenticated',
      'x-remote-extra-example.com%2fteam': 'red, blue',
    })
  })

  test('large bodies as a stream', async () => {
    await register()
    await becomes('True', 'Passed')
    extension.answer = (request, response) => {
      let length = 0
      request.on('data', (chunk: Buffer) => (length += chunk.length))
      request.on('end', () => response.end(JSON.stringify({ length })))
    }
    const size = 20 * 1024 * 1024
    expect((await asked('POST', shells, 'x'.repeat(size))).body).toEqual({ length: size })
  })

  test('an error response before the body has been read', async () => {
    await register()
    await becomes('True', 'Passed')
    extension.answer = (_request, response) => {
      response.statusCode = 413
      response.end('{"kind":"Status"}')
    }
    expect((await asked('POST', shells, 'x'.repeat(4 * 1024 * 1024))).status).toBe(413)
  })

  test('watch events without delay, until the client disconnects', async () => {
    await register()
    await becomes('True', 'Passed')
    const gone = Promise.withResolvers<void>()
    extension.answer = (request, response) => {
      response.write(`${JSON.stringify({ type: 'ADDED', object: shell('a') })}\n`)
      response.on('close', () => gone.resolve())
      request.resume()
    }
    const Shell = kind('shells.example.com/v1', 'Shell')
    const client = api.server.client()
    const stop = new AbortController()
    const path = shells
    const answer = await client.transport.watch({ method: 'GET', path, query: { watch: true }, signal: stop.signal })
    if (!('events' in answer)) throw new Error('the watch was refused')
    for await (const { type, object } of answer.events) {
      expect([type, object]).toEqual(['ADDED', shell('a')])
      break
    }
    await gone.promise
    extension.answer = (_request, response) => {
      response.statusCode = 404
      response.end(JSON.stringify(notFound({ group: 'shells.example.com', plural: 'shells' }, 'a').status))
    }
    expect(await client.find(Shell, 'default/a')).toBe(undefined)
  })

  test('protocol upgrades', async () => {
    await register()
    await becomes('True', 'Passed')
    const open = async (path: string): Promise<ReturnType<typeof connect>> => {
      const socket = connect({ host: '127.0.0.1', port: door.port, ca: door.certificateAuthority })
      await once(socket, 'secureConnect')
      socket.write(
        `GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n`,
      )
      return socket
    }
    const socket = await open(`${shells}/a/attach`)
    let text = ''
    socket.on('data', (chunk: Buffer) => (text += chunk.toString()))
    await eventually(() => expect(text).toMatch(/^HTTP\/1.1 101 [^]*\r\n\r\nhello $/))
    socket.write('echo')
    await eventually(() => expect(text.endsWith('hello echo')).toBe(true))
    expect(extension.seen.at(-1)).toMatchObject({ 'x-remote-user': 'ann', upgrade: 'echo' })
    expect(extension.seen.at(-1)!['authorization']).toBe(undefined)
    socket.destroy()
    const refused = await open(`${shells}/refused`)
    const [answer] = (await once(refused, 'data')) as [Buffer]
    expect(answer.toString()).toMatch(/^HTTP\/1.1 418 /)
    refused.destroy()
  })
})

test('the aggregator authorizes requests and upgrades before it forwards them', async () => {
  await api[Symbol.asyncDispose]()
  api = await TestApi.start({
    authorization: 'RBAC',
    tokens: [{ token, user: { name: 'ann', groups: [] } }],
    resolve: async () => target,
  })
  door = await api.server.listen()
  await register()
  await becomes('True', 'Passed')
  const upgrading = { connection: 'Upgrade', upgrade: 'echo' }
  const told = [
    await asked('GET', shells),
    await asked('GET', `${shells}/a/attach`, undefined, upgrading),
    await asked('POST', shells, { a: 1 }),
    await asked('GET', `${group}/shells`),
  ]
  expect(told.map(({ status }) => status)).toEqual([403, 403, 403, 403])
  expect(told[1]!.body['message']).toBe(
    'shells.shells.example.com "a" is forbidden: User "ann" cannot get resource "shells/attach" in API group "shells.example.com" in the namespace "default"',
  )
  expect(extension.seen.every(({ 'x-remote-user': user }) => user === 'system:kube-aggregator')).toBe(true)
  expect((await asked('GET', group)).status).toBe(200)
})

describe('unavailable extension API servers', () => {
  test.each<[string, () => Promise<void>, string, RegExp]>([
    [
      'no Service',
      async () => {
        target = undefined
        await register()
      },
      'ServiceNotFound',
      /^service\/shells in "default" is not present$/,
    ],
    [
      'nobody behind the Service',
      async () => {
        target = undefined
        await api.post('/api/v1/namespaces/default/services', {
          metadata: { name: 'shells' },
          spec: { ports: [{ port: 443 }] },
        })
        await register()
      },
      'EndpointsNotFound',
      /have no addresses for port 443$/,
    ],
    [
      'a certificate that nobody vouches for',
      async () => void (await register({ caBundle: Buffer.from(door.certificateAuthority).toString('base64') })),
      'FailedDiscoveryCheck',
      /unable to verify|self-signed|certificate/,
    ],
    [
      'a certificate of another name',
      async () => {
        await register({ service: { namespace: 'default', name: 'other' } })
      },
      'FailedDiscoveryCheck',
      /other\.default\.svc. is not in the cert/,
    ],
    [
      'no discovery',
      async () => {
        extension.server.removeAllListeners('request')
        extension.server.on('request', (_request, response) => void response.end('{"kind":"Pod"}'))
        await register()
      },
      'FailedDiscoveryCheck',
      /expected an APIResourceList$/,
    ],
    [
      'refusals',
      async () => {
        extension.server.removeAllListeners('request')
        extension.server.on('request', (_request, response) => {
          response.statusCode = 401
          response.end()
        })
        await register()
      },
      'FailedDiscoveryCheck',
      /bad status from \/apis\/shells.example.com\/v1: 401$/,
    ],
  ])('%s', async (_title, prepare, reason, message) => {
    await prepare()
    expect(await becomes('False', reason)).toMatch(message)
    const refused = await asked('GET', shells)
    expect([refused.status, refused.text]).toEqual([503, 'service unavailable\n'])
    expect((await asked('GET', '/apis')).status).toBe(200)
  })

  test('are marked unavailable at the next request, and available again later', async () => {
    await register({ insecureSkipTLSVerify: true, caBundle: null })
    await becomes('True', 'Passed')
    expect((await asked('GET', shells)).status).toBe(200)
    await extension[Symbol.asyncDispose]()
    expect((await asked('GET', shells)).status).toBe(503)
    await becomes('False', 'FailedDiscoveryCheck')
    extension = await Extension.open()
    target = { host: '127.0.0.1', port: extension.port }
    await becomes('True', 'Passed')
    expect((await asked('GET', shells)).status).toBe(200)
  })

  test('delay only their own clients when they hang', async () => {
    await register()
    await becomes('True', 'Passed')
    extension.answer = () => undefined
    const stop = new AbortController()
    const hanging = Array.from({ length: 50 }, () =>
      api.server
        .client()
        .send({ method: 'GET', path: shells, signal: stop.signal })
        .catch((error: Error) => error.message),
    )
    expect((await asked('GET', '/api/v1/namespaces/default')).status).toBe(200)
    stop.abort(new Error('enough'))
    expect(new Set(await Promise.all(hanging))).toEqual(new Set(['Internal error occurred: enough']))
  })
})

describe('resources of an extension API server', () => {
  test('are in discovery while the APIService exists', async () => {
    await register()
    await becomes('True', 'Passed')
    const listed = async (): Promise<boolean> => {
      const accept = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList'
      const [plain, aggregated, index] = [
        await api.get('/apis'),
        await api.get('/apis', { accept }),
        await api.get('/apis/shells.example.com'),
      ]
      const names = (aggregated.body['items'] as unknown as readonly KubeObject[]).map(({ metadata }) => metadata.name)
      expect(plain.text.includes('shells.example.com')).toBe(names.includes('shells.example.com'))
      expect(index.status).toBe(names.includes('shells.example.com') ? 200 : 404)
      return index.status === 200
    }
    expect(await listed()).toBe(true)
    // Without OpenAPI of its own it has no entry.
    expect((await api.get('/openapi/v3')).text).not.toContain('shells.example.com')
    await api.delete(`${apiServices}/v1.shells.example.com`)
    await eventually(async () => expect(await listed()).toBe(false))
    expect((await asked('GET', shells)).status).toBe(404)
  })

  test("what is served here is nobody else's", async () => {
    const definition = noteDefinition('shells.example.com')
    await api.server.addStorage({ definition, storage: new NoteStorage() })
    await register()
    const path = `${group}/namespaces/default/notes`
    await becomes('True', 'Passed')
    expect((await asked('POST', path, note('a', 'ours', {}, 'shells.example.com'))).status).toBe(201)
    expect(extension.seen.every(({ 'x-remote-user': user }) => user === 'system:kube-aggregator')).toBe(true)
  })

  test('are never served locally, however the path is encoded', async () => {
    await register()
    await becomes('True', 'Passed')
    const spellings = [
      shells.replace('/apis/', '/apis//'),
      shells.replace('/apis/', '//apis/'),
      shells.replace('shells.example', 'shells%2Eexample'),
      shells.replace('/v1/', '/%761/'),
    ]
    const ambiguous = ['/a%2F..%2Fb', '/a/..%2fb', '/%2e%2e/b', '/./b', '/a%2fattach'].map((end) => shells + end)
    for (const path of ambiguous) expect([path, (await asked('GET', path)).status]).toEqual([path, 400])
    for (const path of spellings) {
      const told = [await asked('POST', path, shell('a') as unknown as JsonValue), await asked('GET', path)]
      expect([path, ...told.map(({ status }) => status)]).toEqual([path, 404, 404])
    }
    expect(extension.seen.every(({ 'x-remote-user': user }) => user === 'system:kube-aggregator')).toBe(true)
  })

  test('rely on the published authentication settings', async () => {
    await register()
    await becomes('True', 'Passed')
    const { data } = await api.server.client().get(ConfigMap, 'kube-system/extension-apiserver-authentication')
    expect(data).toEqual({
      'client-ca-file': door.certificateAuthority,
      'requestheader-allowed-names': '["front-proxy-client"]',
      'requestheader-client-ca-file': expect.stringMatching(/^-----BEGIN CERTIFICATE-----/),
      'requestheader-extra-headers-prefix': '["X-Remote-Extra-"]',
      'requestheader-group-headers': '["X-Remote-Group"]',
      'requestheader-uid-headers': '["X-Remote-Uid"]',
      'requestheader-username-headers': '["X-Remote-User"]',
    })
  })

  test('are deleted with their namespace', async () => {
    const storage = new NoteStorage()
    await using hosted = await ExtensionServer.start({
      client: api.server.client({ manager: 'notes' }),
      resources: [{ definition: noteDefinition(), storage }],
      serving: { service: { namespace: 'default', name: 'shells' }, host: '127.0.0.1', port: 0 },
    })
    target = { host: '127.0.0.1', port: hosted.port }
    await eventually(async () => expect(await availability('v1.notes.example.com')).toMatchObject({ status: 'True' }))
    await api.namespace('brief')
    const path = '/apis/notes.example.com/v1/namespaces/brief/notes'
    await eventually(async () => expect((await api.post(path, note('a', 'one'))).status).toBe(201))
    const Note = kind('notes.example.com/v1', 'Note')
    expect((await api.server.client().list(Note)).items.map(({ metadata }) => metadata.name)).toEqual(['a'])
    await api.delete('/api/v1/namespaces/brief')
    await eventually(async () => expect((await api.get('/api/v1/namespaces/brief')).status).toBe(404))
    expect(storage.notes.size).toBe(0)
  })
})

test('a restarted cluster and its extension API servers reconnect', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-aggregation-'))
  const port = await freePort()
  const open = async (): Promise<{ server: ApiServer; kubeconfig: string }> => {
    const server = await ApiServer.start({ storage: sqlite(folder), resolve: async () => target })
    return { server, kubeconfig: (await server.listen({ port })).kubeconfig }
  }
  const first = await open()
  const client = await connectTo({ connection: await parseKubeconfig(first.kubeconfig).connection() })
  await using hosted = await ExtensionServer.start({
    client,
    resources: [{ definition: noteDefinition(), storage: new NoteStorage() }],
    serving: { service: { namespace: 'default', name: 'notes' }, host: '127.0.0.1', port: 0 },
  })
  target = { host: '127.0.0.1', port: hosted.port }
  const Note = kind('notes.example.com/v1', 'Note', { plural: 'notes', namespaced: true })
  const made = note('a', 'one', { namespace: 'default' }) as unknown as KubeObject
  await eventually(() => first.server.client().create(made), 20)
  await first.server[Symbol.asyncDispose]()
  const second = await open()
  try {
    // Its front proxy has a new authority, which the extension API server must receive.
    const listed = (): Promise<unknown> => second.server.client().list(Note)
    expect(await eventually(listed, 50)).toMatchObject({
      items: [{ metadata: { name: 'a' } }],
    })
  } finally {
    await client.transport[Symbol.asyncDispose]()
    await second.server[Symbol.asyncDispose]()
    rmSync(folder, { recursive: true, force: true })
  }
})

function shell(name: string): KubeObject {
  return { apiVersion: 'shells.example.com/v1', kind: 'Shell', metadata: { name, namespace: 'default' } }
}
