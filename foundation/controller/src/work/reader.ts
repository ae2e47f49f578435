// Reads from shared caches and records the reads: a change of what was read wakes the item.
import { toKey, toKind } from '@fairlead/client'
import type { KeyLike, Kind, KindLike } from '@fairlead/client'
import type { Clock, KubeObject } from '@fairlead/kube'
import type { Informer, InformerState } from '../informer/informer.ts'
import { toSelector } from '../informer/object-cache.ts'
import type { ObjectCache, ObjectFilter } from '../informer/object-cache.ts'
import type { Read } from './dependencies.ts'

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

  async #synced<T extends KubeObject>(kind: Kind<T>): Promise<ObjectCache<T>> {
    const informer = this.#host.informer(kind)
    await this.#waitForState(informer)
    const read = informer.read()
    if (read.known) return read.objects
    this.#host.blocked(kind)
    throw read.reason
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
