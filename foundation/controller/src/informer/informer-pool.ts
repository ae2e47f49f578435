// The informers of a process: one per kind and scope, shared, started for the first user and stopped some time after
// the last.
import { CustomResourceDefinition, groupKindName, toKind } from '@fairlead/client'
import type { Client, Kind, KindLike } from '@fairlead/client'
import type { Clock, KubeObject } from '@fairlead/kube'
import { silentLogger } from '../logger.ts'
import type { Logger } from '../logger.ts'
import { Informer, formatScope } from './informer.ts'
import type { InformerScope, InformerState } from './informer.ts'
import { KindUnavailable } from './kind-unavailable.ts'

/**
 * Time that an informer without users keeps running, in milliseconds: the next user often comes soon
 * (specs/foundation.md §3).
 */
const linger = 60_000

/** The use of an informer. Dispose it when it is no longer needed. */
export interface InformerUse<T extends KubeObject = KubeObject> extends Disposable {
  readonly informer: Informer<T>
}

interface Shared {
  readonly informer: Informer
  users: number
  stopping: Disposable | undefined
}

/** The informers of one client. */
export class InformerPool implements AsyncDisposable {
  readonly #client: Client
  readonly #clock: Clock
  readonly #shared = new Map<string, Shared>()
  readonly #stopping = new Set<Promise<void>>()
  readonly #log: Logger
  #crds: InformerUse<CustomResourceDefinition> | undefined

  /** `log` gets a warning when a kind cannot be listed or watched, such as for want of a right. */
  constructor(client: Client, clock: Clock, log: Logger = silentLogger) {
    this.#client = client
    this.#clock = clock
    this.#log = log
  }

  /** Number of running informers, including those without users. */
  get size(): number {
    return this.#shared.size
  }

  /** Returns the informer of a kind and scope; starts it when it does not run. */
  use<T extends KubeObject>(like: KindLike<T>, scope: InformerScope = {}): InformerUse<T> {
    const kind = toKind(like)
    const id = `${kind.apiVersion}|${kind.kind}|${formatScope(scope)}`
    const shared = this.#shared.get(id) ?? this.#start(id, kind, scope)
    shared.users++
    shared.stopping?.[Symbol.dispose]()
    shared.stopping = undefined
    let used = true
    return {
      informer: shared.informer as unknown as Informer<T>,
      [Symbol.dispose]: () => {
        if (used) this.#release(id, shared)
        used = false
      },
    }
  }

  /** Returns the informer of a whole kind, if one runs, without using it. */
  peek<T extends KubeObject>(like: KindLike<T>): Informer<T> | undefined {
    const shared = this.#shared.get(`${like.apiVersion}|${like.kind}|${formatScope({})}`)
    return shared?.informer as unknown as Informer<T> | undefined
  }

  /** Returns the kinds whose first list is not complete yet. */
  syncing(): readonly Kind[] {
    return [...this.#shared.values()].flatMap(({ informer }) => (informer.state === 'Syncing' ? [informer.kind] : []))
  }

  /** Watches CustomResourceDefinitions, so that new kinds are listed at once and discovery stays up to date. */
  watchDefinitions(): void {
    if (this.#crds !== undefined) return
    this.#crds = this.use(CustomResourceDefinition)
    this.#crds.informer.subscribe({ changed: ({ object }) => this.#defined(object) })
  }

  /** Stops all informers. */
  async stop(): Promise<void> {
    for (const [id, shared] of this.#shared) {
      shared.stopping?.[Symbol.dispose]()
      this.#shared.delete(id)
      this.#end(shared.informer)
    }
    await Promise.all(this.#stopping)
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop()
  }

  #start(id: string, kind: Kind, scope: InformerScope): Shared {
    const shared: Shared = { informer: new Informer(this.#client, kind, scope), users: 0, stopping: undefined }
    this.#shared.set(id, shared)
    let isUnavailable = false
    shared.informer.subscribe({
      state: (state, error) => {
        if (state === 'Synced') this.#wakeStale()
        if (state === 'Syncing') return
        const wasUnavailable = isUnavailable
        isUnavailable = state !== 'Synced'
        if (isUnavailable || wasUnavailable) this.#report(shared.informer, state, error)
      },
    })
    shared.informer.start()
    return shared
  }

  #report({ kind, scope, staleSince }: Informer, state: InformerState, error: unknown): void {
    const fields = { kind: groupKindName(kind), ...(scope.namespace !== undefined && { namespace: scope.namespace }) }
    if (state === 'Synced') this.#log.info('Listed a kind that could not be read before', fields)
    else {
      const { code, message } = new KindUnavailable(kind, state, error, staleSince)
      this.#log.warn('Could not list or watch a kind', {
        ...fields,
        code,
        reason: message,
      })
    }
  }

  /** A server that answers one kind again probably answers the others, too. */
  #wakeStale(): void {
    for (const { informer } of this.#shared.values()) if (informer.state === 'Stale') informer.wake()
  }

  #release(id: string, shared: Shared): void {
    shared.users--
    if (shared.users > 0 || this.#shared.get(id) !== shared) return
    shared.stopping = this.#clock.timer(linger, () => {
      this.#shared.delete(id)
      this.#end(shared.informer)
    })
  }

  #end(informer: Informer): void {
    const stopping: Promise<void> = informer.stop().finally(() => this.#stopping.delete(stopping))
    this.#stopping.add(stopping)
  }

  #defined(definition: CustomResourceDefinition): void {
    this.#client.discovery.invalidate(definition.spec.group)
    for (const { informer } of this.#shared.values()) {
      const { group, kind } = informer.kind
      if (informer.state === 'Absent' && group === definition.spec.group && kind === definition.spec.names.kind)
        informer.wake()
    }
  }
}
