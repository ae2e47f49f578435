// A shared cache of one kind and scope: the objects, indexes over them, and listeners for changes.
import { formatLabelSelector, isClientError } from '@fairlead/client'
import type { Client, Kind, Reflector, Scope, WatchChange, ReflectorEvent } from '@fairlead/client'
import type { Clock, KubeObject } from '@fairlead/kube'
import { KindUnavailable } from './kind-unavailable.ts'
import type { Known } from './known.ts'
import { ObjectCache } from './object-cache.ts'
import type { IndexFunction } from './object-index.ts'

/**
 * The state of a cache. All but `Synced` mean Unknown: objects that the cache lacks may exist (design decision 7).
 * - `Syncing`: the first list is not complete yet.
 * - `Synced`: the cache is complete; it may lag behind the server.
 * - `Forbidden`: the server refuses to list or watch.
 * - `Absent`: the server serves no such kind.
 * - `Stale`: the cache was complete, but watching or listing has failed since, for longer than {@link staleAfter}.
 */
export type InformerState = 'Syncing' | 'Synced' | 'Forbidden' | 'Absent' | 'Stale'

/**
 * Time after a failure in which a watch usually continues: the reflector tries again within 1.6 s. Milliseconds. Until
 * then decisions may rest on the cache, as on one that lags.
 */
const staleAfter = 2000

/**
 * A change of one object. `relisted`: the kind was listed again, so the change may sum up several, of any author; their
 * events never arrive.
 */
export type ObjectChange<T extends KubeObject = KubeObject> = { readonly relisted?: boolean } & (
  | { readonly type: 'added'; readonly object: T; readonly previous: undefined; readonly initial: boolean }
  | { readonly type: 'changed'; readonly object: T; readonly previous: T; readonly initial: false }
  /** `object` is the last known state. */
  | { readonly type: 'removed'; readonly object: T; readonly previous: T; readonly initial: false }
)

/** Callbacks for changes, called synchronously and in order; they must not throw. */
export interface InformerListener<T extends KubeObject = KubeObject> {
  changed?(change: ObjectChange<T>): void
  /**
   * Called when the state has changed. `error` is the reason of Forbidden and Stale. Not called for Stale while the
   * server cannot be reached at all: nothing can be written then, and most caches continue when it is back.
   */
  state?(state: InformerState, error: unknown): void
}

/** The scope of an informer. */
export interface InformerScope {
  readonly namespace?: string
  readonly labelSelector?: Scope['labelSelector']
  readonly fieldSelector?: string
  /** Only apiVersion, kind and metadata. */
  readonly metadataOnly?: boolean
}

/** The cache and its state. Read it with {@link Informer.read}, which returns whether the objects are known. */
export class Informer<T extends KubeObject = KubeObject> {
  readonly kind: Kind<T>
  readonly scope: InformerScope
  readonly #cache: ObjectCache<T>
  readonly #synced: Known<T>
  readonly #reflector: Reflector<T>
  readonly #clock: Clock
  readonly #listeners = new Set<InformerListener<T>>()
  readonly #stop = new AbortController()
  #state: InformerState = 'Syncing'
  /** The state that listeners know; undefined when the next one must be reported. */
  #notified: InformerState | undefined = 'Syncing'
  #error: unknown
  /** The time of the first failure of a cache that was complete, until a watch is open again. */
  #failedAt: number | undefined
  #staleTimer: Disposable | undefined
  #running: Promise<void> | undefined
  #isRelisting = false

  constructor(client: Client, kind: Kind<T>, scope: InformerScope) {
    this.kind = kind
    this.scope = scope
    this.#clock = client.clock
    this.#cache = new ObjectCache<T>(kind, scope.namespace, (change) => this.#onChange(change))
    this.#synced = { known: true, objects: this.#cache }
    this.#reflector = client.reflector<T>(kind, scope, (event) => this.#onEvent(event))
  }

  /** The state of the cache. */
  get state(): InformerState {
    return this.#state
  }

  /** The error that keeps the state from being `Synced`, if any. */
  get error(): unknown {
    return this.#error
  }

  /** The time of the first failure since the cache was up to date, in milliseconds since the epoch; while `Stale`. */
  get staleSince(): number | undefined {
    return this.#state === 'Stale' ? this.#failedAt : undefined
  }

  /** Returns the objects if they are known: while the state is `Synced`. */
  read(): Known<T> {
    if (this.#state === 'Synced') return this.#synced
    return { known: false, reason: new KindUnavailable(this.kind, this.#state, this.#error, this.staleSince) }
  }

  /**
   * The objects as last seen, in any state: what it lacks may exist. For upkeep of what is derived from events, for
   * waking and for reports; never conclude from it that an object is missing.
   */
  get lastKnown(): ObjectCache<T> {
    return this.#cache
  }

  /** Adds an index. Adding a name again with the same function does nothing; with another one it throws. */
  addIndex(name: string, valuesOf: IndexFunction<T>): void {
    this.#cache.addIndex(name, valuesOf)
  }

  /** Adds a listener. Existing objects are reported at once as added, unless `replay` is false. */
  subscribe(listener: InformerListener<T>, { replay = true }: { readonly replay?: boolean } = {}): Disposable {
    this.#listeners.add(listener)
    if (replay && listener.changed !== undefined) {
      for (const object of this.#cache.values())
        listener.changed({ type: 'added', object, previous: undefined, initial: true })
    }
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) }
  }

  /** Resolves with the state as soon as it is not `Syncing`. Rejects with the signal's reason when it aborts. */
  waitForState(signal?: AbortSignal): Promise<InformerState> {
    return new Promise((resolve, reject) => {
      if (this.#state !== 'Syncing') return resolve(this.#state)
      if (signal?.aborted) return reject(signal.reason as Error)
      const listening = this.subscribe(
        { state: (state) => state !== 'Syncing' && end(() => resolve(state)) },
        { replay: false },
      )
      const abort = (): void => end(() => reject(signal?.reason as Error))
      const end = (settle: () => void): void => {
        listening[Symbol.dispose]()
        signal?.removeEventListener('abort', abort)
        settle()
      }
      signal?.addEventListener('abort', abort, { once: true })
    })
  }

  /** Starts listing and watching. */
  start(): void {
    this.#running ??= this.#reflector.run(this.#stop.signal)
  }

  /** Retries at once if the last attempt failed. */
  wake(): void {
    this.#reflector.wake()
  }

  /** Ends the watch; the objects stay as they are. */
  async stop(): Promise<void> {
    this.#staleTimer?.[Symbol.dispose]()
    this.#stop.abort(new DOMException('The informer was stopped', 'AbortError'))
    await this.#running
  }

  #onEvent(event: ReflectorEvent<T>): void {
    if (event.type === 'listing') this.#isRelisting = this.#state !== 'Syncing'
    this.#cache.apply(event)
    if (event.type === 'replaced' || event.type === 'resumed') this.#isRelisting = false
    if (event.type === 'interrupted' && event.reason !== 'Failed') this.#setState(event.reason, event.error)
    else if (event.type === 'interrupted') this.#onFailed(event.error)
    else if (event.type === 'resumed') this.#setState('Synced', undefined)
    // Where lists succeed and watches fail, the cache is out of date again at once.
    else if (event.type === 'replaced' && this.#failedAt === undefined) this.#setState('Synced', undefined)
  }

  /** A failure leaves the cache complete, but out of date. */
  #onFailed(error: unknown): void {
    this.#error = error
    if (this.#state === 'Stale') return this.#setState('Stale', error)
    if (this.#state !== 'Synced' || this.#staleTimer !== undefined) return
    this.#failedAt = this.#clock.now()
    this.#staleTimer = this.#clock.timer(staleAfter, () => this.#setState('Stale', this.#error))
  }

  #setState(state: InformerState, error: unknown): void {
    this.#staleTimer?.[Symbol.dispose]()
    this.#staleTimer = undefined
    if (state !== 'Stale') this.#failedAt = undefined
    this.#error = error
    this.#state = state
    const isOutage = state === 'Stale' && isClientError(error, 'ConnectionFailed')
    if (state === this.#notified) return
    this.#notified = isOutage ? undefined : state
    if (isOutage) return
    for (const listener of this.#listeners) listener.state?.(state, error)
  }

  #onChange(change: WatchChange<T>): void {
    switch (change.type) {
      case 'added':
        return this.#notify({
          type: 'added',
          object: change.object,
          previous: undefined,
          initial: this.#state === 'Syncing',
        })
      case 'changed':
        return this.#notify({ type: 'changed', object: change.object, previous: change.previous, initial: false })
      case 'removed':
        return this.#notify({ type: 'removed', object: change.object, previous: change.previous, initial: false })
      case 'synced':
      case 'interrupted':
    }
  }

  #notify(seen: ObjectChange<T>): void {
    const change = this.#isRelisting ? { ...seen, relisted: true } : seen
    for (const listener of this.#listeners) listener.changed?.(change)
  }
}

/** Formats a scope as a string; equal scopes share an informer. */
export function formatScope(scope: InformerScope): string {
  return [
    scope.namespace ?? '',
    formatLabelSelector(scope.labelSelector),
    scope.fieldSelector ?? '',
    scope.metadataOnly ? 'metadata' : '',
  ].join('|')
}
