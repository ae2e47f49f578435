// A shared cache of one kind and scope: the objects, indexes over them, and who wants to hear of changes.
import { WatchCache, groupKindName, objectKey } from '@fairlead/client'
import type { Client, Kind, Reflector, Scope, WatchChange, ReflectorEvent } from '@fairlead/client'
import { formatLabelSelector } from '@fairlead/client'
import { everything, formatKey, parseLabelSelector, selectorFrom } from '@fairlead/kube'
import type { KubeObject, LabelSelector, ObjectKey, Selector } from '@fairlead/kube'
import { ObjectIndex } from './object-index.ts'
import type { IndexFunction } from './object-index.ts'

/**
 * What is known of a kind. All but `Synced` mean Unknown: what the cache lacks may exist (design decision 7).
 * - `Syncing`: the first list is not complete yet.
 * - `Synced`: the cache is complete; it may lag behind by as much as a watch does.
 * - `Forbidden`: the server refuses to list or watch.
 * - `Absent`: the server serves no such kind.
 */
export type InformerState = 'Syncing' | 'Synced' | 'Forbidden' | 'Absent'

/** What happened to one object. */
export type ObjectChange<T extends KubeObject = KubeObject> =
  | { readonly type: 'added'; readonly object: T; readonly previous: undefined; readonly initial: boolean }
  | { readonly type: 'changed'; readonly object: T; readonly previous: T; readonly initial: false }
  /** `object` is the last known state. */
  | { readonly type: 'removed'; readonly object: T; readonly previous: T; readonly initial: false }

/** Hears of changes, synchronously and in order; must not throw. */
export interface InformerListener<T extends KubeObject = KubeObject> {
  changed?(change: ObjectChange<T>): void
  /** The state is another one now. `error` says why a kind is Forbidden. */
  state?(state: InformerState, error: unknown): void
}

/** Which objects an informer holds. */
export interface InformerScope {
  readonly namespace?: string
  readonly labelSelector?: Scope['labelSelector']
  readonly fieldSelector?: string
  /** Only apiVersion, kind and metadata. */
  readonly metadataOnly?: boolean
}

/** Which of its objects a read wants. */
export interface ObjectFilter {
  readonly namespace?: string
  readonly labelSelector?: string | LabelSelector | Selector
}

const byNamespace = 'namespace'

/** The cache. Objects are frozen and shared with the transport; nobody may change them. */
export class Informer<T extends KubeObject = KubeObject> {
  readonly kind: Kind<T>
  readonly scope: InformerScope
  readonly #view: WatchCache<T>
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
    this.#view = new WatchCache<T>((change) => this.#take(change))
    this.#reflector = client.reflector<T>(kind, scope, (event) => this.#hear(event))
    // From the start: made at the first question it would hold everything up while it reads a large cache.
    if (kind.namespaced !== false && scope.namespace === undefined) this.addIndex(byNamespace, namespaceOf)
  }

  /** What is known of the kind. */
  get state(): InformerState {
    return this.#state
  }

  /** Why the state is not `Synced`, if an error is the cause. */
  get error(): unknown {
    return this.#error
  }

  /** Objects by key (`namespace/name`, or `name`). */
  get objects(): ReadonlyMap<string, T> {
    return this.#view.objects
  }

  /** The object of a key. */
  get(key: string | ObjectKey): T | undefined {
    return this.#view.objects.get(typeof key === 'string' ? key : formatKey(key))
  }

  /**
   * The objects that fit the filter. Throws SelectorError for a selector that makes no sense: it never reads as "none".
   */
  list(filter: ObjectFilter = {}): readonly T[] {
    const selector = toSelector(filter.labelSelector)
    const found: T[] = []
    for (const object of filter.namespace ? this.#inNamespace(filter.namespace) : this.#view.objects.values()) {
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
    for (const [key, object] of this.#view.objects) index.replace(key, undefined, object)
    this.#indexes.set(name, index)
  }

  /** The objects that have a value in an index. Throws when there is no such index. */
  byIndex(name: string, value: string): readonly T[] {
    return [...this.index(name).keys(value)].map((key) => this.#view.objects.get(key)!)
  }

  /** An index by its name, for keys and counts without objects. */
  index(name: string): ObjectIndex<T> {
    const index = this.#indexes.get(name)
    if (index === undefined)
      throw new Error(`The informer of ${groupKindName(this.kind)} has no index "${name}"; add it with addIndex`)
    return index
  }

  /** Hears of everything from now on. What is there already is told at once as added, unless `replay` is false. */
  subscribe(listener: InformerListener<T>, { replay = true }: { readonly replay?: boolean } = {}): Disposable {
    this.#listeners.add(listener)
    if (replay && listener.changed !== undefined) {
      for (const object of this.#view.objects.values())
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

  /** Begins to list and watch. */
  start(): void {
    this.#running ??= this.#reflector.run(this.#stop.signal)
  }

  /** Tries again at once if the last attempt failed. */
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
    return this.scope.namespace === namespace ? this.#view.objects.values() : []
  }

  #hear(event: ReflectorEvent<T>): void {
    this.#view.apply(event)
    if (event.type === 'interrupted' && event.reason !== 'Failed') this.#enter(event.reason, event.error)
    // A connection that broke leaves the cache complete, only old.
    else if (event.type === 'interrupted') this.#error = event.error
    else if (event.type === 'replaced' || event.type === 'resumed') this.#enter('Synced', undefined)
  }

  #enter(state: InformerState, error: unknown): void {
    this.#error = error
    if (state === this.#state) return
    this.#state = state
    for (const listener of this.#listeners) listener.state?.(state, error)
  }

  #take(change: WatchChange<T>): void {
    switch (change.type) {
      case 'added':
        for (const index of this.#indexes.values()) index.replace(objectKey(change.object), undefined, change.object)
        return this.#tell({
          type: 'added',
          object: change.object,
          previous: undefined,
          initial: this.#state === 'Syncing',
        })
      case 'changed':
        for (const index of this.#indexes.values())
          index.replace(objectKey(change.object), change.previous, change.object)
        return this.#tell({ type: 'changed', object: change.object, previous: change.previous, initial: false })
      case 'removed':
        for (const index of this.#indexes.values()) index.replace(objectKey(change.object), change.previous, undefined)
        return this.#tell({ type: 'removed', object: change.object, previous: change.previous, initial: false })
      case 'synced':
      case 'interrupted':
    }
  }

  #tell(change: ObjectChange<T>): void {
    for (const listener of this.#listeners) listener.changed?.(change)
  }
}

const indexFunctions = new WeakMap<object, unknown>()

function namespaceOf(object: KubeObject): readonly string[] {
  return object.metadata.namespace ? [object.metadata.namespace] : []
}

/** A label selector of any form, parsed. */
export function toSelector(selector: ObjectFilter['labelSelector']): Selector {
  if (selector === undefined) return everything
  if (typeof selector === 'string') return parseLabelSelector(selector)
  return 'matches' in selector ? selector : selectorFrom(selector)
}

/** One text per scope; equal scopes share an informer. */
export function formatScope(scope: InformerScope): string {
  return [
    scope.namespace ?? '',
    formatLabelSelector(scope.labelSelector),
    scope.fieldSelector ?? '',
    scope.metadataOnly ? 'metadata' : '',
  ].join('|')
}
