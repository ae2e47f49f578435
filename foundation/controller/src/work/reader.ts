// Reads from shared caches and records the reads: a change of what was read wakes the item.
import { groupKindName, toKey, toKind } from '@fairlead/client'
import type { KeyLike, Kind, KindLike } from '@fairlead/client'
import type { Clock, KubeObject } from '@fairlead/kube'
import { toSelector } from '../informer/informer.ts'
import type { Informer, InformerState, ObjectFilter } from '../informer/informer.ts'
import type { Read } from './dependencies.ts'

/**
 * Stable codes of {@link KindUnavailable}, one per state that is not Synced:
 * - `KindSyncing`: the first list is not complete yet; the reader is woken when it is.
 * - `KindForbidden`: the controller may not list or watch the kind; the message names the verb and the resource.
 * - `KindAbsent`: the server serves no such kind; the reader is woken when it does.
 */
export type KindUnavailableCode = 'KindSyncing' | 'KindForbidden' | 'KindAbsent'

/** The objects of a kind are unknown. Unknown is not deleted: decide nothing from it (design decision 7). */
export class KindUnavailable extends Error {
  readonly code: KindUnavailableCode
  readonly kind: Kind

  constructor(kind: Kind, state: Exclude<InformerState, 'Synced'>, cause: unknown) {
    super(unavailableMessage(kind, state, cause), { cause })
    this.name = 'KindUnavailable'
    this.code = `Kind${state}`
    this.kind = kind
  }
}

/**
 * Tracked reads. A change of anything that a reconcile reads here, found or not, wakes its item; each run replaces the
 * set. All reads throw {@link KindUnavailable} while the kind is not synced, and wake the item when that changes.
 */
export interface Reader {
  /** Returns the object of a key; undefined when it does not exist. */
  get<T extends KubeObject>(kind: KindLike<T>, key: KeyLike): Promise<T | undefined>
  /**
   * Returns the objects of a namespace (or all) that a label selector matches. Throws SelectorError for an invalid
   * selector.
   */
  list<T extends KubeObject>(kind: KindLike<T>, filter?: ObjectFilter): Promise<readonly T[]>
  /** Returns the state of a kind; never throws. */
  state(kind: KindLike): Promise<InformerState>
}

/** Dependencies of a recording reader. */
export interface ReaderHost {
  informer<T extends KubeObject>(kind: Kind<T>): Informer<T>
  /** Called before each read: changes during the run must wake the item, too. */
  recorded(read: Read): void
  /** Called for a kind that is not synced: the item waits for another state of it. */
  blocked(kind: Kind): void
  readonly clock: Clock
  readonly signal: AbortSignal
}

/** Time that a read waits for the first list before it gives up and leaves it to the item to be woken. Milliseconds. */
const syncPatience = 10_000

/** A {@link Reader} that records its reads. */
export class RecordingReader implements Reader {
  readonly reads: Read[] = []
  readonly #host: ReaderHost

  constructor(host: ReaderHost) {
    this.#host = host
  }

  async get<T extends KubeObject>(like: KindLike<T>, keyLike: KeyLike): Promise<T | undefined> {
    const kind = toKind(like)
    const key = toKey(keyLike)
    this.#record({ kind, key })
    return (await this.#synced(kind)).get(key)
  }

  async list<T extends KubeObject>(like: KindLike<T>, filter: ObjectFilter = {}): Promise<readonly T[]> {
    const kind = toKind(like)
    const selector = toSelector(filter.labelSelector)
    this.#record({ kind, namespace: filter.namespace, selector })
    return (await this.#synced(kind)).list({ namespace: filter.namespace, labelSelector: selector })
  }

  async state(like: KindLike): Promise<InformerState> {
    const kind = toKind(like)
    this.#record({ kind, key: { namespace: '', name: '' } })
    const state = await this.#waitForState(this.#host.informer(kind))
    if (state !== 'Synced') this.#host.blocked(kind)
    return state
  }

  #record(read: Read): void {
    this.reads.push(read)
    this.#host.recorded(read)
  }

  async #synced<T extends KubeObject>(kind: Kind<T>): Promise<Informer<T>> {
    const informer = this.#host.informer(kind)
    const state = await this.#waitForState(informer)
    if (state === 'Synced') return informer
    this.#host.blocked(kind)
    throw new KindUnavailable(kind, state, informer.error)
  }

  async #waitForState<T extends KubeObject>(informer: Informer<T>): Promise<InformerState> {
    if (informer.state !== 'Syncing') return informer.state
    const patience = new AbortController()
    const end = (): void => patience.abort()
    using _timer = this.#host.clock.timer(syncPatience, end)
    this.#host.signal.addEventListener('abort', end, { once: true })
    try {
      return await informer.waitForState(patience.signal)
    } catch {
      this.#host.signal.throwIfAborted()
      return 'Syncing'
    } finally {
      this.#host.signal.removeEventListener('abort', end)
    }
  }
}

function unavailableMessage(kind: Kind, state: Exclude<InformerState, 'Synced'>, cause: unknown): string {
  const name = groupKindName(kind)
  const why = cause instanceof Error ? `: ${cause.message}` : ''
  switch (state) {
    case 'Syncing':
      return `${name} is still being listed${why}`
    case 'Forbidden':
      return `${name} cannot be read${why}`
    case 'Absent':
      return `The server serves no ${name} in ${kind.apiVersion}; install its CustomResourceDefinition or check the spelling`
  }
}
