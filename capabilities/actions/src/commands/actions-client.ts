// Access of commands to actions: the HTTP endpoints if the server has them, else the same service in this process with
// the rights of the user.
import type { Client } from '@fairlead/client'
import { StatusError, isJsonObject } from '@fairlead/kube'
import type { JsonObject, KubeObject } from '@fairlead/kube'
import { ActionError, asActionError } from '../engine/action-error.ts'
import type { ActionErrorKind } from '../engine/action-error.ts'
import type { Menu, Why } from '../engine/menu.ts'
import type { Run, RunFilter } from '../engine/runs/run.ts'
import { ActionService } from '../runtime/action-service.ts'
import type { PodLog } from '../runtime/run-history.ts'
import type { ResourceRef } from '../runtime/target-reader.ts'
import { KindTable } from '../runtime/kind-table.ts'
import { FetchedCatalog } from '../runtime/fetched-catalog.ts'
import { Rights } from '../runtime/rights.ts'
import type { Caller } from '../runtime/rights.ts'
import { Sandbox } from '../sandbox/sandbox.ts'

/** The requests of commands. */
export interface ActionsClient extends AsyncDisposable {
  menu(ref: ResourceRef): Promise<Menu>
  why(ref: ResourceRef): Promise<Why>
  url(ref: ResourceRef, action: string, inputs: Inputs): Promise<string>
  run(ref: ResourceRef, action: string, inputs: Inputs, dryRun: boolean): Promise<readonly KubeObject[]>
  history(filter: RunFilter): Promise<readonly Run[]>
  /** Waits until a run is finished, at most `wait` seconds, and returns its state then. */
  outcome(namespace: string, job: string, wait: number): Promise<Run>
  logs(namespace: string, job: string): Promise<readonly PodLog[]>
}

/** Inputs by field. */
export type Inputs = Readonly<Record<string, string>>

/** Connects to the endpoints of the server, or starts the service here. */
export async function actionsClient(client: Client): Promise<ActionsClient> {
  const { status, body } = await client.sendRaw({ method: 'GET', path: '/api/actions' })
  // The endpoint requires a kind; a server without the endpoint responds with 404.
  return status === 400 && isJsonObject(body) && body['error'] === 'input-error'
    ? new RemoteActions(client)
    : LocalActions.start(client)
}

class RemoteActions implements ActionsClient {
  readonly #client: Client

  constructor(client: Client) {
    this.#client = client
  }

  menu(ref: ResourceRef): Promise<Menu> {
    return this.#send<Menu>('GET', '', { ...ref })
  }

  why(ref: ResourceRef): Promise<Why> {
    return this.#send<Why>('GET', '', { ...ref, why: 'true' })
  }

  async url(ref: ResourceRef, action: string, inputs: Inputs): Promise<string> {
    const path = `/${encodeURIComponent(action)}/url`
    const query = Object.fromEntries(Object.entries(inputs).map(([field, value]) => [`input.${field}`, value]))
    return (await this.#send<{ readonly url: string }>('GET', path, { ...ref, ...query })).url
  }

  async run(ref: ResourceRef, action: string, inputs: Inputs, dryRun: boolean): Promise<readonly KubeObject[]> {
    const path = `/${encodeURIComponent(action)}/run`
    const query = { ...ref, ...(dryRun ? { dryRun: 'All' } : {}) }
    return (await this.#send<{ readonly jobs: readonly KubeObject[] }>('POST', path, query, { inputs })).jobs
  }

  async history(filter: RunFilter): Promise<readonly Run[]> {
    return (
      await this.#send<{ readonly runs: readonly Run[] }>('GET', '/history', {
        ...filter,
        limit: filter.limit?.toString(),
      })
    ).runs
  }

  outcome(namespace: string, job: string, wait: number): Promise<Run> {
    return this.#send<Run>('GET', '/outcome', { namespace, job, wait: String(wait) })
  }

  async logs(namespace: string, job: string): Promise<readonly PodLog[]> {
    return (await this.#send<{ readonly logs: readonly PodLog[] }>('GET', '/logs', { namespace, job })).logs
  }

  async [Symbol.asyncDispose](): Promise<void> {}

  /** Returns the body of a response below 400. Throws ActionError for any other. */
  async #send<T>(
    method: 'GET' | 'POST',
    path: string,
    query: Readonly<Record<string, string | undefined>>,
    requestBody?: JsonObject,
  ): Promise<T> {
    const { status, body } = await this.#client.sendRaw({
      method,
      path: `/api/actions${path}`,
      query,
      ...(requestBody === undefined ? {} : { body: requestBody }),
    })
    if (status < 400) return body as T
    const fields = isJsonObject(body) ? body : {}
    const message = String(fields['message'] ?? body)
    if (typeof fields['error'] !== 'string')
      throw new ActionError(status, status === 403 ? 'forbidden' : 'internal-error', message)
    const kind = fields['error'] as ActionErrorKind
    throw new ActionError(status, kind, message.replace(`${kind}: `, ''))
  }
}

class LocalActions implements ActionsClient {
  readonly #service: ActionService
  readonly #caller: Caller
  readonly #sandbox: Sandbox

  private constructor(service: ActionService, caller: Caller, sandbox: Sandbox) {
    this.#service = service
    this.#caller = caller
    this.#sandbox = sandbox
  }

  static async start(client: Client): Promise<LocalActions> {
    const sandbox = new Sandbox()
    const service = new ActionService({
      source: new FetchedCatalog(client),
      kinds: new KindTable(client),
      rights: new Rights(client.clock),
      runSnippet: sandbox.run,
      clock: client.clock,
    })
    return new LocalActions(service, { client, user: { name: await ownName(client), groups: [] } }, sandbox)
  }

  menu(ref: ResourceRef): Promise<Menu> {
    return withActionErrors(() => this.#service.menu(this.#caller, ref))
  }

  why(ref: ResourceRef): Promise<Why> {
    return withActionErrors(() => this.#service.why(this.#caller, ref))
  }

  url(ref: ResourceRef, action: string, inputs: Inputs): Promise<string> {
    return withActionErrors(async () => (await this.#service.url(this.#caller, ref, action, inputs)).url)
  }

  run(ref: ResourceRef, action: string, inputs: Inputs, dryRun: boolean): Promise<readonly KubeObject[]> {
    return withActionErrors(() => this.#service.run(this.#caller, ref, action, { inputs, dryRun }))
  }

  history(filter: RunFilter): Promise<readonly Run[]> {
    return withActionErrors(() => this.#service.runs.list(this.#caller, filter))
  }

  outcome(namespace: string, job: string, wait: number): Promise<Run> {
    return withActionErrors(() => this.#service.runs.outcome(this.#caller, namespace, job, wait * 1000))
  }

  logs(namespace: string, job: string): Promise<readonly PodLog[]> {
    return withActionErrors(() => this.#service.runs.logs(this.#caller, namespace, job))
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#sandbox[Symbol.asyncDispose]()
  }
}

/** Throws the ActionErrors that the endpoints would respond with. */
async function withActionErrors<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run()
  } catch (error) {
    throw asActionError(error) ?? error
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
