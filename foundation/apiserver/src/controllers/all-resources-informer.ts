// Informers of every resource with the verbs list, watch and delete, kept in step with the registry. Garbage collection
// and the deletion of namespaces read them.
import { kind } from '@fairlead/client'
import type { Kind } from '@fairlead/client'
import type { InformerUse, Manager, ObjectChange } from '@fairlead/controller'
import { formatApiVersion } from '@fairlead/kube'
import type { ResourceDefinition } from '@fairlead/builtin-kinds'
import { resourceName } from '@fairlead/builtin-kinds'

/** The source of resource definitions; the Registry implements it. */
export interface ResourceSource {
  readonly definitions: Iterable<ResourceDefinition>
  /** Calls `listener` after each change of the definitions. */
  onChange(listener: () => void): Disposable
}

/** Handles events of the objects of all kinds. */
export interface AllResourcesListener {
  changed(kind: Kind, change: ObjectChange): void
  /** The kind is no longer served; the state of its objects is unknown. */
  lost?(kind: Kind): void
  /** Every informer is synced again, after one was not or the definitions changed. */
  synced?(): void
}

/** Returns the kind of a resource in the first served version with all of the verbs; undefined when there is none. */
export function kindWithVerbs(definition: ResourceDefinition, verbs: readonly string[]): Kind | undefined {
  const version = definition.versions.find(
    (candidate) => candidate.served && verbs.every((verb) => candidate.verbs.includes(verb)),
  )
  if (version === undefined) return undefined
  const { group, plural, namespaced } = definition
  return kind(formatApiVersion(group, version.name), definition.kind, { plural, namespaced })
}

interface RunningInformer {
  readonly kind: Kind
  readonly use: InformerUse
  readonly subscription: Disposable
}

/**
 * Informers of every kind but Events, which have no owners and expire. Start it with
 * {@link AllResourcesInformer.start}.
 */
export class AllResourcesInformer implements Disposable {
  readonly #manager: Manager
  readonly #source: ResourceSource
  readonly #running = new Map<string, RunningInformer>()
  readonly #listeners = new Set<AllResourcesListener>()
  /** Kinds whose informers have not started yet. */
  #pending = new Map<string, Kind>()
  #next: NodeJS.Immediate | undefined
  #sourceSubscription: Disposable | undefined
  #wasSynced = false

  constructor(manager: Manager, source: ResourceSource) {
    this.#manager = manager
    this.#source = source
  }

  /** Every informer is synced. False means that unseen objects may exist (design decision 7). */
  get isSynced(): boolean {
    if (this.#sourceSubscription === undefined || this.#pending.size > 0) return false
    for (const { use } of this.#running.values()) if (use.informer.state !== 'Synced') return false
    return true
  }

  /** Starts the informers; listeners that subscribed before receive every event. */
  start(): void {
    if (this.#sourceSubscription !== undefined) return
    this.#sourceSubscription = this.#source.onChange(() => this.#update())
    this.#update()
  }

  /** Passes all later events to `listener`. */
  subscribe(listener: AllResourcesListener): Disposable {
    this.#listeners.add(listener)
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) }
  }

  /** Returns true when the kind has an informer that is not synced. */
  isUnsynced({ group, kind: name }: Pick<Kind, 'group' | 'kind'>): boolean {
    for (const pending of this.#pending.values()) if (pending.group === group && pending.kind === name) return true
    for (const { kind: running, use } of this.#running.values()) {
      if (running.group === group && running.kind === name) return use.informer.state !== 'Synced'
    }
    return false
  }

  [Symbol.dispose](): void {
    this.#sourceSubscription?.[Symbol.dispose]()
    clearImmediate(this.#next)
    this.#pending.clear()
    for (const name of this.#running.keys()) this.#stop(name)
  }

  #update(): void {
    const wanted = new Map<string, Kind>()
    for (const definition of this.#source.definitions) {
      const name = resourceName(definition)
      const watchable = kindWithVerbs(definition, ['list', 'watch', 'delete'])
      if (watchable !== undefined && name !== 'events.') wanted.set(name, watchable)
    }
    for (const [name, { kind: known }] of this.#running) {
      const now = wanted.get(name)
      if (now?.apiVersion === known.apiVersion && now.kind === known.kind) wanted.delete(name)
      else this.#stop(name)
    }
    this.#pending = wanted
    this.#wasSynced = false
    this.#startNext()
  }

  /**
   * Starts one informer per iteration of the event loop: a server starts with sixty, and the first client must not wait
   * for all.
   */
  #startNext(): void {
    clearImmediate(this.#next)
    this.#next = undefined
    const [next] = this.#pending
    if (next === undefined) return this.#notifySynced()
    this.#pending.delete(next[0])
    this.#start(...next)
    this.#next = setImmediate(() => this.#startNext())
  }

  #start(name: string, added: Kind): void {
    const use = this.#manager.use(added)
    const subscription = use.informer.subscribe({
      changed: (change) => {
        for (const listener of this.#listeners) listener.changed(added, change)
      },
      state: () => this.#notifySynced(),
    })
    this.#running.set(name, { kind: added, use, subscription })
  }

  #stop(name: string): void {
    const stopped = this.#running.get(name)!
    this.#running.delete(name)
    stopped.subscription[Symbol.dispose]()
    stopped.use[Symbol.dispose]()
    for (const listener of this.#listeners) listener.lost?.(stopped.kind)
  }

  #notifySynced(): void {
    const isSynced = this.isSynced
    if (isSynced && !this.#wasSynced) {
      for (const listener of this.#listeners) listener.synced?.()
    }
    this.#wasSynced = isSynced
  }
}
