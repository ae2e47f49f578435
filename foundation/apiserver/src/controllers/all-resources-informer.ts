// Caches of every kind whose objects can be listed, watched and deleted, whatever definitions come and go. What garbage collection and the
// deletion of namespaces look at.
import { kind } from '@fairlead/client'
import type { Kind } from '@fairlead/client'
import type { InformerUse, Manager, ObjectChange } from '@fairlead/controller'
import { formatApiVersion } from '@fairlead/kube'
import type { ResourceDefinition } from '@fairlead/builtin-kinds'
import { resourceName } from '@fairlead/builtin-kinds'

/** Where the definitions of served resources come from; the Registry is one. */
export interface ResourceSource {
  readonly definitions: Iterable<ResourceDefinition>
  /** Calls back after each change of the definitions. */
  onChange(listener: () => void): Disposable
}

/** Hears of the objects of all kinds. */
export interface AllResourcesListener {
  changed(kind: Kind, change: ObjectChange): void
  /** The kind is not served any more: what is known of its objects is no longer known. */
  lost?(kind: Kind): void
  /** Every kind is listed now, after one was not or the definitions changed. */
  synced?(): void
}

/** The kind of a resource in the first served version that has all of the verbs; undefined when none has. */
export function kindWithVerbs(definition: ResourceDefinition, verbs: readonly string[]): Kind | undefined {
  const version = definition.versions.find(
    (candidate) => candidate.served && verbs.every((verb) => candidate.verbs.includes(verb)),
  )
  if (version === undefined) return undefined
  const { group, plural, namespaced } = definition
  return kind(formatApiVersion(group, version.name), definition.kind, { plural, namespaced })
}

interface Followed {
  readonly kind: Kind
  readonly use: InformerUse
  readonly listening: Disposable
}

/** Follows every kind but Events, which nobody owns and which expire by themselves. Starts with {@link AllResourcesInformer.start}. */
export class AllResourcesInformer implements Disposable {
  readonly #manager: Manager
  readonly #source: ResourceSource
  readonly #followed = new Map<string, Followed>()
  readonly #listeners = new Set<AllResourcesListener>()
  /** Kinds that are to be followed, and are not yet. */
  #waiting = new Map<string, Kind>()
  #joining: NodeJS.Immediate | undefined
  #watching: Disposable | undefined
  #wasSynced = false

  constructor(manager: Manager, source: ResourceSource) {
    this.#manager = manager
    this.#source = source
  }

  /** Every followed kind is listed. False means that objects may exist that nobody here has seen (design decision 7). */
  get isSynced(): boolean {
    if (this.#watching === undefined || this.#waiting.size > 0) return false
    for (const { use } of this.#followed.values()) if (use.informer.state !== 'Synced') return false
    return true
  }

  /** Begins to follow; listeners that subscribe before hear everything. */
  start(): void {
    if (this.#watching !== undefined) return
    this.#watching = this.#source.onChange(() => this.#follow())
    this.#follow()
  }

  /** Hears of all changes from now on. */
  subscribe(listener: AllResourcesListener): Disposable {
    this.#listeners.add(listener)
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) }
  }

  /** The kind is among those followed, and not listed yet or no longer. */
  isUnsure({ group, kind: name }: Pick<Kind, 'group' | 'kind'>): boolean {
    for (const waiting of this.#waiting.values()) if (waiting.group === group && waiting.kind === name) return true
    for (const { kind: followed, use } of this.#followed.values()) {
      if (followed.group === group && followed.kind === name) return use.informer.state !== 'Synced'
    }
    return false
  }

  [Symbol.dispose](): void {
    this.#watching?.[Symbol.dispose]()
    clearImmediate(this.#joining)
    this.#waiting.clear()
    for (const name of this.#followed.keys()) this.#leave(name)
  }

  #follow(): void {
    const wanted = new Map<string, Kind>()
    for (const definition of this.#source.definitions) {
      const name = resourceName(definition)
      const followed = kindWithVerbs(definition, ['list', 'watch', 'delete'])
      if (followed !== undefined && name !== 'events.') wanted.set(name, followed)
    }
    for (const [name, { kind: known }] of this.#followed) {
      const now = wanted.get(name)
      if (now?.apiVersion === known.apiVersion && now.kind === known.kind) wanted.delete(name)
      else this.#leave(name)
    }
    this.#waiting = wanted
    this.#wasSynced = false
    this.#joinNext()
  }

  /** One kind a turn: a server starts with sixty of them, and the first client need not wait for all. */
  #joinNext(): void {
    clearImmediate(this.#joining)
    this.#joining = undefined
    const [next] = this.#waiting
    if (next === undefined) return this.#tellSynced()
    this.#waiting.delete(next[0])
    this.#join(...next)
    this.#joining = setImmediate(() => this.#joinNext())
  }

  #join(name: string, added: Kind): void {
    const use = this.#manager.use(added)
    const listening = use.informer.subscribe({
      changed: (change) => {
        for (const listener of this.#listeners) listener.changed(added, change)
      },
      state: () => this.#tellSynced(),
    })
    this.#followed.set(name, { kind: added, use, listening })
  }

  #leave(name: string): void {
    const followed = this.#followed.get(name)!
    this.#followed.delete(name)
    followed.listening[Symbol.dispose]()
    followed.use[Symbol.dispose]()
    for (const listener of this.#listeners) listener.lost?.(followed.kind)
  }

  #tellSynced(): void {
    const isSynced = this.isSynced
    if (isSynced && !this.#wasSynced) {
      for (const listener of this.#listeners) listener.synced?.()
    }
    this.#wasSynced = isSynced
  }
}
