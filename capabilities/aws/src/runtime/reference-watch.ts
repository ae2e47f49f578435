// Watches every kind that refers or is referred to: keeps the index of references, and wakes the objects that see a
// change. A referent that is being deleted is woken by its dependents.
import type { Kind } from '@fairlead/client'
import { kind as clientKind } from '@fairlead/client'
import type { Informer, Manager, ObjectChange } from '@fairlead/controller'
import { DisposableStack, isTerminating } from '@fairlead/kube'
import type { JsonObject, KubeObject } from '@fairlead/kube'
import { ReferenceIndex, edgesOf, idKey, isGranted, referenceGrantKind } from '@fairlead/references'
import type {
  DependentState,
  Lookup,
  ObjectCycle,
  ObjectId,
  Permission,
  ReferenceGrantObject,
  Referents,
  ReferentKind,
} from '@fairlead/references'
import type { ResourceKind } from '../engine/resource-kind.ts'

/** Options of a {@link ReferenceWatch}. */
export interface ReferenceWatchOptions {
  readonly manager: Manager
  readonly kinds: readonly ResourceKind[]
  /** Set when references may cross namespaces without a grant. */
  readonly crossNamespace: boolean
  /** Returns the finalizer of a kind. */
  readonly finalizerOf: (kind: ResourceKind) => string
  /** Called for an object that has to be reconciled; must not throw. */
  readonly wake: (id: ObjectId) => void
}

interface Watched {
  readonly informer: Informer
  /** The facts of a kind of ours; undefined for one that is only referred to. */
  readonly own: ResourceKind | undefined
}

function kindKey({ group, kind }: { readonly group: string; readonly kind: string }): string {
  return `${group}/${kind}`
}

/** The references among all objects. */
export class ReferenceWatch implements Referents, Disposable {
  readonly #options: ReferenceWatchOptions
  readonly #index = new ReferenceIndex()
  readonly #watched = new Map<string, Watched>()
  readonly #grants: Informer<ReferenceGrantObject> | undefined
  readonly #uses = new DisposableStack()
  /** Objects that may be creating their resource, before the cache shows their finalizer. */
  readonly #creating = new Set<string>()

  constructor(options: ReferenceWatchOptions) {
    const { manager, kinds, crossNamespace } = options
    this.#options = options
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
    if (this.#grants === undefined) return 'granted'
    const grants = this.#grants.read()
    if (!grants.known) return 'unknown'
    return isGranted(grants.objects.list({ namespace: to.namespace }), from, to) ? 'granted' : 'denied'
  }

  cycle(from: ObjectId, to: ObjectId): ObjectCycle | undefined {
    return this.#index.cycle(from, to)
  }

  /** Returns the objects that refer to an object. One whose kind cannot be read counts as existing. */
  dependents(id: ObjectId): readonly DependentState[] {
    return this.#index.dependentsOf(id).map((dependent) => {
      const found = this.#lookUp(dependent)
      const own = this.#watched.get(kindKey(dependent))?.own
      const holds =
        own !== undefined &&
        found.state === 'found' &&
        found.object.metadata.finalizers?.includes(this.#options.finalizerOf(own)) === true
      return {
        id: dependent,
        exists: holds || found.state === 'unknown' || this.#creating.has(idKey(dependent)),
        sameCycle: this.#index.cycle(dependent, id) !== undefined,
      }
    })
  }

  /** Returns why the dependents of a kind are not all known; undefined when they are. */
  unknownDependents({ group, kind }: ObjectId): string | undefined {
    for (const { informer, own } of this.#watched.values()) {
      const refers = own?.rows.some((row) =>
        [row, ...(row.kinds ?? [])].some((one) => kindKey(one) === `${group}/${kind}`),
      )
      // A kind that is not served has no objects; any other state hides them.
      if (refers === true && informer.state !== 'Synced' && informer.state !== 'Absent')
        return `${own?.kind} cannot be listed now`
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

  #watch(
    { group, version, kind }: Pick<ReferentKind, 'group' | 'version' | 'kind'>,
    own: ResourceKind | undefined,
  ): void {
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
    const cache = informer.read()
    if (!cache.known) return { state: 'unknown', message: `cannot be read: ${cache.reason.message}` }
    const object = cache.objects.get({ namespace, name })
    return object === undefined ? { state: 'absent' } : { state: 'found', object }
  }

  #changed(group: string, kind: string, { type, object }: ObjectChange): void {
    const id = { group, kind, namespace: object.metadata.namespace ?? '', name: object.metadata.name ?? '' }
    const before = this.#index.referencesOf(id).map(({ to }) => to)
    const own = this.#watched.get(kindKey(id))?.own
    if (own !== undefined && own.rows.length > 0) {
      const spec = (object['spec'] ?? {}) as JsonObject
      if (type === 'removed') this.#index.delete(id)
      else this.#index.set(id, edgesOf(id, spec, own.rows))
    }
    if (own !== undefined && (type === 'removed' || this.#holds(object, own))) this.#creating.delete(idKey(id))
    // The object may have been the last to hold a referent back.
    this.#wakeTerminating(before)
    for (const dependent of this.#index.changed(id, this.#lookUp(id))) this.#options.wake(dependent)
  }

  #holds({ metadata }: KubeObject, own: ResourceKind): boolean {
    return metadata.finalizers?.includes(this.#options.finalizerOf(own)) === true
  }

  /** A kind that can be read again, or no longer, changes what is known of every referent and dependent. */
  #stateChanged(group: string, kind: string): void {
    for (const referent of this.#index.referentsOf(group, kind))
      for (const dependent of this.#index.changed(referent, this.#lookUp(referent))) this.#options.wake(dependent)
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
      for (const referent of this.#index.referentsOf(group, kind))
        for (const dependent of this.#index.dependentsOf(referent))
          if (dependent.namespace !== referent.namespace) this.#options.wake(dependent)
    }
  }
}
