// How commands reach actions: the endpoints of the server where it serves them, else the same service in this process
// with the user's own rights.
import type { Client } from '@fairlead/client'
import { StatusError, isJsonObject } from '@fairlead/kube'
import type { JsonObject, JsonValue, KubeObject } from '@fairlead/kube'
import { ActionError } from '../engine/action-error.ts'
import type { ActionErrorKind } from '../engine/action-error.ts'
import { Sandbox } from '../sandbox/sandbox.ts'
import { ActionService } from '../runtime/action-service.ts'
import type { ResourceRef } from '../runtime/action-service.ts'
import { listCatalog } from '../runtime/live-catalog.ts'
import type { Run, RunFilter } from '../engine/runs/run.ts'
import { KindTable } from '../runtime/kind-table.ts'
import type { Menu, Why } from '../engine/menu.ts'
import { Rights } from '../runtime/rights.ts'
import type { Caller } from '../runtime/rights.ts'

/** What commands ask for. */
export interface ActionsClient extends AsyncDisposable {
  menu(ref: ResourceRef): Promise<Menu>
  why(ref: ResourceRef): Promise<Why>
  url(ref: ResourceRef, action: string): Promise<string>
  run(ref: ResourceRef, action: string, inputs: JsonObject): Promise<readonly KubeObject[]>
  history(filter: RunFilter): Promise<readonly Run[]>
}

/** Finds out whether the server serves actions, and speaks to it or works here. */
export async function actionsClient(client: Client): Promise<ActionsClient> {
  const { status, body } = await client.sendRaw({ method: 'GET', path: '/api/actions' })
  // A server that serves actions asks for the kind; any other knows no such path.
  return status === 400 && isJsonObject(body) && body['error'] === 'input-error'
    ? new Remote(client)
    : Local.start(client)
}

class Remote implements ActionsClient {
  readonly #client: Client

  constructor(client: Client) {
    this.#client = client
  }

  async menu(ref: ResourceRef): Promise<Menu> {
    return (await this.#get('', ref)) as unknown as Menu
  }

  async why(ref: ResourceRef): Promise<Why> {
    return (await this.#get('', ref, { why: 'true' })) as unknown as Why
  }

  async url(ref: ResourceRef, action: string): Promise<string> {
    return String((await this.#get(`/${encodeURIComponent(action)}/url`, ref))['url'])
  }

  async run(ref: ResourceRef, action: string, inputs: JsonObject): Promise<readonly KubeObject[]> {
    const answer = await this.#send('POST', `/${encodeURIComponent(action)}/run`, { ...ref }, { inputs })
    return answer['jobs'] as unknown as readonly KubeObject[]
  }

  async history(filter: RunFilter): Promise<readonly Run[]> {
    return (await this.#send('GET', '/history', { ...filter }))['runs'] as unknown as readonly Run[]
  }

  async [Symbol.asyncDispose](): Promise<void> {}

  #get(path: string, ref: ResourceRef, more: Readonly<Record<string, string>> = {}): Promise<JsonObject> {
    return this.#send('GET', path, { ...ref, ...more })
  }

  async #send(
    method: 'GET' | 'POST',
    path: string,
    query: Readonly<Record<string, string | undefined>>,
    body?: JsonObject,
  ): Promise<JsonObject> {
    const answer = await this.#client.sendRaw({
      method,
      path: `/api/actions${path}`,
      query,
      ...(body === undefined ? {} : { body }),
    })
    const value = answer.body
    if (answer.status < 400) return value as JsonObject
    if (isJsonObject(value) && typeof value['error'] === 'string') {
      const kind = value['error'] as ActionErrorKind
      throw new ActionError(answer.status, kind, String(value['message']).replace(`${kind}: `, ''))
    }
    throw new ActionError(
      answer.status,
      answer.status === 403 ? 'forbidden' : 'internal-error',
      isJsonObject(value) ? String(value['message']) : String(value as JsonValue),
    )
  }
}

class Local implements ActionsClient {
  readonly #service: ActionService
  readonly #caller: Caller
  readonly #sandbox: Sandbox

  private constructor(service: ActionService, caller: Caller, sandbox: Sandbox) {
    this.#service = service
    this.#caller = caller
    this.#sandbox = sandbox
  }

  static async start(client: Client): Promise<Local> {
    const sandbox = new Sandbox()
    const service = new ActionService({
      source: await listCatalog(client),
      kinds: new KindTable(client),
      rights: new Rights(client.clock),
      runSnippet: sandbox.run,
      clock: client.clock,
    })
    return new Local(service, { client, user: { name: await ownName(client), groups: [] } }, sandbox)
  }

  menu(ref: ResourceRef): Promise<Menu> {
    return this.#service.menu(this.#caller, ref)
  }

  why(ref: ResourceRef): Promise<Why> {
    return this.#service.why(this.#caller, ref)
  }

  async url(ref: ResourceRef, action: string): Promise<string> {
    return (await this.#service.url(this.#caller, ref, action)).url
  }

  run(ref: ResourceRef, action: string, inputs: JsonObject): Promise<readonly KubeObject[]> {
    return this.#service.run(this.#caller, ref, action, { inputs })
  }

  history(filter: RunFilter): Promise<readonly Run[]> {
    return this.#service.history(this.#caller, filter)
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#sandbox[Symbol.asyncDispose]()
  }
}

async function ownName(client: Client): Promise<string> {
  try {
    const review = await client.create<KubeObject>({
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'SelfSubjectReview',
      metadata: {},
    })
    return (review.status as { userInfo?: { username?: string } } | undefined)?.userInfo?.username ?? ''
  } catch (error) {
    if (error instanceof StatusError) return ''
    throw error
  }
}
