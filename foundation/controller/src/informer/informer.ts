// A shared cache of one kind and scope: the objects, indexes over them, and listeners for changes.
import { WatchCache, groupKindName, objectKey } from '@fairlead/client'
import type { Client, Kind, Reflector, Scope, WatchChange, ReflectorEvent } from '@fairlead/client'
import { formatLabelSelector } from '@fairlead/client'
import { everything, formatKey, parseLabelSelector, selectorFrom } from '@fairlead/kube'
import type { KubeObject, LabelSelector, ObjectKey, Selector } from '@fairlead/kube'
import { ObjectIndex } from './object-index.ts'
import type { IndexFunction } from './object-index.ts'

/**
 * The state of a cache. All but `Synced` mean Unknown: objects that the cache lacks may exist (design decision 7).
 * - `Syncing`: the first list is not complete yet.
 * - `Synced`: the cache is complete; it may lag behind the server.
 * - `Forbidden`: the server refuses to list or watch.
 * - `Absent`: the server serves no such kind.
 */
export type InformerState = 'Syncing' | 'Synced' | 'Forbidden' | 'Absent'

/** A change of one object. */
export type ObjectChange<T extends KubeObject = KubeObject> =
  | { readonly type: 'added'; readonly object: T; readonly previous: undefined; readonly initial: boolean }
  | { readonly type: 'changed'; readonly object: T; readonly previous: T; readonly initial: false }
  /** `object` is the last known state. */
  | { readonly type: 'removed'; readonly object: T; readonly previous: T; readonly initial: false }

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

/** A filter of reads. */
export interface ObjectFilter {
  readonly namespace?: string
  readonly labelSelector?: string | LabelSelector | Selector
}

const byNamespace = 'namespace'

/** The cache. Objects are frozen and shared with the transport; never change them. */
export class Informer<T extends KubeObject = KubeObject> {
  readonly kind: Kind<T>
  readonly scope: InformerScope
  readonly #cache: WatchCache<T>
  readonly #reflector: Reflector<T>
  readonly #listeners = new Set<InformerListener<T>>()
  readonly #indexes = new Map<string, ObjectIndex<T>>()
  readonly #stop = new AbortController()
  #state: InformerState = 'Syncing'
  #error: unknown
  #running: Promise<void> | undefined

  constructor(client: Client, kind: Kind<T>, scope: InformerScope) {
    this.kind = kind
    this.scope = scope
    this.#cache = new WatchCache<T>((change) => this.#onChange(change))
    this.#reflector = client.reflector<T>(kind, scope, (event) => this.#onEvent(event))
    // Created at the start: creating it at the first read would block the event loop for a large cache.
    if (kind.namespaced !== false && scope.namespace === undefined) this.addIndex(byNamespace, namespaceOf)
  }

  /** The state of the cache. */
  get state(): InformerState {
    return this.#state
  }

  /** The error that keeps the state from being `Synced`, if any. */
  get error(): unknown {
    return this.#error
  }

  /** Objects by key (`namespace/name`, or `name`). */
  get objects(): ReadonlyMap<string, T> {
    return this.#cache.objects
  }

  /** Returns the object of a key. */
  get(key: string | ObjectKey): T | undefined {
    return this.#cache.objects.get(typeof key === 'string' ? key : formatKey(key))
  }

  /**
   * Returns the objects that match a filter. Throws SelectorError for an invalid selector: it never selects nothing.
   */
  list(filter: ObjectFilter = {}): readonly T[] {
    const selector = toSelector(filter.labelSelector)
    const found: T[] = []
    for (const object of filter.namespace ? this.#inNamespace(filter.namespace) : this.#cache.objects.values()) {
      if (selector.isEmpty || selector.matches(object.metadata.labels ?? {})) found.push(object)
    }
    return found
  }

  /** Adds an index. Adding a name again with the same function does nothing; with another one it throws. */
  addIndex(name: string, valuesOf: IndexFunction<T>): void {
    const known = indexFunctions.get(this.#indexes.get(name) ?? {})
    if (known !== undefined) {
      if (known !== valuesOf)
        throw new Error(`The informer of ${groupKindName(this.kind)} has another index "${name}" already`)
      return
    }
    const index = new ObjectIndex<T>(valuesOf)
    indexFunctions.set(index, valuesOf)
    for (const [key, object] of this.#cache.objects) index.replace(key, undefined, object)
    this.#indexes.set(name, index)
  }

  /** Returns the objects that have a value in an index. Throws when there is no such index. */
  byIndex(name: string, value: string): readonly T[] {
    return [...this.index(name).keys(value)].map((key) => this.#cache.objects.get(key)!)
  }

  /** Returns an index by its name, for keys and counts without objects. */
  index(name: string): ObjectIndex<T> {
    const index = this.#indexes.get(name)
    if (index === undefined)
      throw new Error(`The informer of ${groupKindName(this.kind)} has no index "${name}"; add it with addIndex`)
    return index
  }

  /** Adds a listener. Existing objects are reported at once as added, unless `replay` is false. */
  subscribe(listener: InformerListener<T>, { replay = true }: { readonly replay?: boolean } = {}): Disposable {
    this.#listeners.add(listener)
    if (replay && listener.changed !== undefined) {
      for (const object of this.#cache.objects.values())
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

  #inNamespace(namespace: string): Iterable<T> {
    if (this.#indexes.has(byNamespace)) return this.byIndex(byNamespace, namespace)
    return this.scope.namespace === namespace ? this.#cache.objects.values() : []
  }

  #onEvent(event: ReflectorEvent<T>): void {
    this.#cache.apply(event)
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
        for (const index of this.#indexes.values()) index.replace(objectKey(change.object), undefined, change.object)
        return this.#notify({
          type: 'added',
          object: change.object,
          previous: undefined,
          initial: this.#state === 'Syncing',
        })
      case 'changed':
        for (const index of this.#indexes.values())
          index.replace(objectKey(change.object), change.previous, change.object)
        return this.#notify({ type: 'changed', object: change.object, previous: change.previous, initial: false })
      case 'removed':
        for (const index of this.#indexes.values()) index.replace(objectKey(change.object), change.previous, undefined)
        return this.#notify({ type: 'removed', object: change.object, previous: change.previous, initial: false })
      case 'synced':
      case 'interrupted':
    }
  }

  #notify(change: ObjectChange<T>): void {
    for (const listener of this.#listeners) listener.changed?.(change)
  }
}

const indexFunctions = new WeakMap<object, unknown>()

function namespaceOf(object: KubeObject): readonly string[] {
  return object.metadata.namespace ? [object.metadata.namespace] : []
}

/** Parses a label selector of any form. */
export function toSelector(selector: ObjectFilter['labelSelector']): Selector {
  if (selector === undefined) return everything
  if (typeof selector === 'string') return parseLabelSelector(selector)
  return 'matches' in selector ? selector : selectorFrom(selector)
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
