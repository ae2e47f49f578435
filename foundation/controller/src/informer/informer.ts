// A shared cache of one kind and scope: the objects, indexes over them, and listeners for changes.
import { formatLabelSelector } from '@fairlead/client'
import type { Client, Kind, Reflector, Scope, WatchChange, ReflectorEvent } from '@fairlead/client'
import type { KubeObject } from '@fairlead/kube'
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
 */
export type InformerState = 'Syncing' | 'Synced' | 'Forbidden' | 'Absent'

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
  /** Called when the state has changed. `error` is the reason of Forbidden. */
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
  readonly #listeners = new Set<InformerListener<T>>()
  readonly #stop = new AbortController()
  #state: InformerState = 'Syncing'
  #error: unknown
  #running: Promise<void> | undefined
  #isRelisting = false

  constructor(client: Client, kind: Kind<T>, scope: InformerScope) {
    this.kind = kind
    this.scope = scope
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

  /** Returns the objects if they are known: while the state is `Synced`. */
  read(): Known<T> {
    if (this.#state === 'Synced') return this.#synced
    return { known: false, reason: new KindUnavailable(this.kind, this.#state, this.#error) }
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
    this.#stop.abort(new DOMException('The informer was stopped', 'AbortError'))
    await this.#running
  }

  #onEvent(event: ReflectorEvent<T>): void {
    if (event.type === 'listing') this.#isRelisting = this.#state !== 'Syncing'
    this.#cache.apply(event)
    if (event.type === 'replaced' || event.type === 'resumed') this.#isRelisting = false
    if (event.type === 'interrupted' && event.reason !== 'Failed') this.#setState(event.reason, event.error)
    // A broken connection leaves the cache complete, but stale.
    else if (event.type === 'interrupted') this.#error = event.error
    else if (event.type === 'replaced' || event.type === 'resumed') this.#setState('Synced', undefined)
  }

  #setState(state: InformerState, error: unknown): void {
    this.#error = error
    if (state === this.#state) return
    this.#state = state
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
