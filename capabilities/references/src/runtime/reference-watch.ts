// Watches every kind that refers or is referred to: keeps the index of references, and wakes the objects that see a
// change. A referent that is being deleted is woken by its dependents.
import type { Kind } from '@fairlead/client'
import { CustomResourceDefinition, kind as clientKind } from '@fairlead/client'
import type { Informer, Manager, ObjectChange } from '@fairlead/controller'
import { DisposableStack, isTerminating } from '@fairlead/kube'
import type { JsonObject, KubeObject } from '@fairlead/kube'
import { isGranted } from '../engine/grants.ts'
import { idKey } from '../engine/object-id.ts'
import type { ObjectId } from '../engine/object-id.ts'
import type { DependentState } from '../engine/deletion.ts'
import { ReferenceIndex, edgesOf } from '../engine/reference-index.ts'
import type { ReferentKind, ReferringKind } from '../engine/reference-table.ts'
import type { Lookup, ObjectCycle, Permission, Referents } from '../engine/referents.ts'
import { lookUp } from './cached-referents.ts'
import { referenceGrantKind } from './kinds.ts'
import type { ReferenceGrantObject } from './kinds.ts'
import { ReferenceMetrics } from './reference-metrics.ts'

/** Options of a {@link ReferenceWatch}. */
export interface ReferenceWatchOptions<K extends ReferringKind = ReferringKind> {
  readonly manager: Manager
  /** The kinds that refer, and those whose objects wait for their dependents when they are deleted. */
  readonly kinds: readonly K[]
  /** Set when references may cross namespaces without a grant. */
  readonly crossNamespace: boolean
  /** Returns the finalizer of a kind: an object with it may have what it describes. */
  readonly finalizerOf: (kind: K) => string
  /** Called for an object that has to be reconciled; must not throw. */
  readonly wake: (id: ObjectId) => void
}

interface Watched<K> {
  readonly informer: Informer
  /** The facts of a kind of ours; undefined for one that is only referred to. */
  readonly own: K | undefined
}

function kindKey({ group, kind }: { readonly group: string; readonly kind: string }): string {
  return `${group}/${kind}`
}

/** The references among all objects of a controller's kinds: the port of resolution on the cluster side. */
export class ReferenceWatch<K extends ReferringKind = ReferringKind> implements Referents, Disposable {
  readonly #options: ReferenceWatchOptions<K>
  readonly #index = new ReferenceIndex()
  readonly #metrics: ReferenceMetrics
  readonly #watched = new Map<string, Watched<K>>()
  readonly #grants: Informer<ReferenceGrantObject> | undefined
  readonly #uses = new DisposableStack()
  /** Objects that may be creating their resource, before the cache shows their finalizer. */
  readonly #creating = new Set<string>()
  /** Kinds whose definition was found deleted. */
  readonly #undefined = new Set<string>()

  constructor(options: ReferenceWatchOptions<K>) {
    const { manager, kinds, crossNamespace } = options
    this.#options = options
    this.#metrics = new ReferenceMetrics(manager.metrics.registry)
    for (const own of kinds) this.#watch(own, own)
    for (const row of kinds.flatMap(({ rows }) => rows.flatMap((one) => [one, ...(one.kinds ?? [])])))
      if (!this.#watched.has(kindKey(row))) this.#watch(row, undefined)
    if (crossNamespace) return
    const { informer } = this.#uses.use(manager.use(referenceGrantKind))
    this.#grants = informer
    const changed = (): void => this.#wakeCrossing()
    this.#uses.use(informer.subscribe({ changed, state: changed }, { replay: false }))
  }

  read(of: ReferentKind, namespace: string, name: string): Lookup {
    const id = { group: of.group, kind: of.kind, namespace, name }
    const found = this.#lookUp(id)
    this.#index.noted(id, found)
    return found
  }

  permission(from: ObjectId, to: ObjectId): Permission {
    if (this.#grants === undefined) return 'open'
    const grants = this.#grants.read()
    if (!grants.known) return 'unknown'
    return isGranted(grants.objects.list({ namespace: to.namespace }), from, to) ? 'granted' : 'denied'
  }

  cycle(from: ObjectId, to: ObjectId): ObjectCycle | undefined {
    return this.#index.cycle(from, to)
  }

  /**
   * Returns the objects that refer to an object, and may. One whose kind cannot be read counts as existing. One of
   * another namespace that no grant admits neither holds the object back nor is named to its users.
   */
  dependents(id: ObjectId): readonly DependentState[] {
    const may = (dependent: ObjectId): boolean =>
      dependent.namespace === id.namespace || this.permission(dependent, id) !== 'denied'
    const dependents = this.#index.dependentsOf(id).filter((dependent) => may(dependent))
    return dependents.map((dependent) => {
      const found = this.#lookUp(dependent)
      const own = this.#watched.get(kindKey(dependent))?.own
      const holds =
        own !== undefined &&
        found.state === 'found' &&
        found.object.metadata.finalizers?.includes(this.#options.finalizerOf(own)) === true
      return {
        id: dependent,
        exists:
          holds ||
          (found.state === 'unknown' && !this.#undefined.has(kindKey(dependent))) ||
          this.#creating.has(idKey(dependent)),
        sameCycle: this.#index.cycle(dependent, id) !== undefined,
      }
    })
  }

  /** Returns why the dependents of a kind are not all known; undefined when they are. */
  async unknownDependents({ group, kind }: ObjectId): Promise<string | undefined> {
    for (const { informer, own } of this.#watched.values()) {
      if (own === undefined || informer.state === 'Synced') continue
      if (!own.rows.some((row) => [row, ...(row.kinds ?? [])].some((one) => kindKey(one) === `${group}/${kind}`)))
        continue
      if (informer.state !== 'Absent') return `${own.kind} cannot be listed now`
      // Objects stay while their kind is not served; without a definition there are none.
      const name = `${own.plural}.${own.group}`
      if ((await this.#options.manager.client.find(CustomResourceDefinition, name)) !== undefined)
        return `${own.kind} is not served now`
      this.#undefined.add(kindKey(own))
    }
    return undefined
  }

  /** Marks an object that begins to create its resource. */
  creating(id: ObjectId): void {
    this.#creating.add(idKey(id))
  }

  /** Ends {@link creating}: the cache shows what became of it, or nothing was created. */
  created(id: ObjectId): void {
    if (this.#creating.delete(idKey(id))) this.#wakeTerminating(this.#index.referencesOf(id).map(({ to }) => to))
  }

  [Symbol.dispose](): void {
    this.#uses[Symbol.dispose]()
  }

  #watch({ group, version, kind }: Pick<ReferentKind, 'group' | 'version' | 'kind'>, own: K | undefined): void {
    const of: Kind = clientKind(`${group}/${version}`, kind)
    const { informer } = this.#uses.use(this.#options.manager.use(of))
    this.#watched.set(`${group}/${kind}`, { informer, own })
    this.#uses.use(
      informer.subscribe({
        changed: (change) => this.#changed(group, kind, change),
        state: () => this.#stateChanged(group, kind),
      }),
    )
  }

  #lookUp({ group, kind, namespace, name }: ObjectId): Lookup {
    const informer = this.#watched.get(`${group}/${kind}`)?.informer
    if (informer === undefined) return { state: 'unknown', message: `${kind}.${group} is not watched` }
    return lookUp(informer, { namespace, name })
  }

  #changed(group: string, kind: string, { type, object }: ObjectChange): void {
    const id = { group, kind, namespace: object.metadata.namespace ?? '', name: object.metadata.name ?? '' }
    const before = this.#index.referencesOf(id).map(({ to }) => to)
    const own = this.#watched.get(kindKey(id))?.own
    if (own !== undefined && own.rows.length > 0) {
      const spec = (object['spec'] ?? {}) as JsonObject
      const edges = type === 'removed' ? [] : edgesOf(id, spec, own.rows)
      this.#index.set(id, edges)
      this.#metrics.edges(kind, edges.length - before.length)
    }
    if (own !== undefined && (type === 'removed' || this.#holds(object, own))) this.#creating.delete(idKey(id))
    // The object may have been the last to hold a referent back.
    this.#wakeTerminating(before)
    this.#wakeDependents(id)
  }

  #wakeDependents(referent: ObjectId): void {
    for (const dependent of this.#index.changed(referent, this.#lookUp(referent))) {
      this.#metrics.woken(dependent.kind, 1)
      this.#options.wake(dependent)
    }
  }

  #holds({ metadata }: KubeObject, own: K): boolean {
    return metadata.finalizers?.includes(this.#options.finalizerOf(own)) === true
  }

  /** A kind that can be read again, or no longer, changes what is known of every referent and dependent. */
  #stateChanged(group: string, kind: string): void {
    this.#undefined.delete(`${group}/${kind}`)
    for (const referent of this.#index.referentsOf(group, kind)) this.#wakeDependents(referent)
    const own = this.#watched.get(`${group}/${kind}`)?.own
    for (const row of own?.rows ?? []) this.#wakeTerminating(this.#index.referentsOf(row.group, row.kind))
  }

  #wakeTerminating(referents: readonly ObjectId[]): void {
    for (const referent of referents) {
      const found = this.#watched.get(kindKey(referent))?.informer.lastKnown.get(referent)
      if (found !== undefined && isTerminating(found)) this.#options.wake(referent)
    }
  }

  #wakeCrossing(): void {
    for (const key of this.#watched.keys()) {
      const [group = '', kind = ''] = key.split('/')
      for (const referent of this.#index.referentsOf(group, kind)) {
        const crossing = this.#index
          .dependentsOf(referent)
          .filter((dependent) => dependent.namespace !== referent.namespace)
        for (const dependent of crossing) this.#options.wake(dependent)
        if (crossing.length > 0) this.#wakeTerminating([referent])
      }
    }
  }
}
