// The informers of one CompositeController or DecoratorController: parents, and children by their owner.
import type { InformerPool, ObjectChange } from '@fairlead/controller'
import type { KubeObject, Selector } from '@fairlead/kube'
import type { Child, ChildKind } from '../children/child.ts'
import { ownersOf } from '../children/child.ts'
import type { Candidates } from '../children/claims.ts'
import type { ResolvedResource } from '../engine/resource.ts'
import { kindProblem } from '../runtime/caches.ts'
import type { KindProblem } from '../runtime/caches.ts'
import type { KindCache, Namespaces } from '../runtime/kind-cache.ts'
import { useKind } from '../runtime/kind-cache.ts'
import { revisionKind } from '../revisions/revision.ts'
import type { Flavour } from './flavour.ts'
import { indexOrphans, orphansFor } from './orphans.ts'

/** Receives the events of all caches; `kind` is a position in the flavour. */
export interface SyncCacheListener {
  onParent(kind: number, change: ObjectChange): void
  onChild(kind: number, change: ObjectChange): void
  /** The state of an informer changed. */
  onKnownChanged(): void
}

interface OwnerIndex {
  readonly name: string
  readonly of: (object: KubeObject) => readonly string[]
}

const byController: OwnerIndex = {
  name: 'metacontroller-owner',
  of: (object) => ownersOf({ ownership: 'Controller' }, object),
}
const byAnyOwner: OwnerIndex = {
  name: 'metacontroller-any-owner',
  of: (object) => ownersOf({ ownership: 'Owner' }, object),
}

/** The index by owner, with one function for all controllers: they share informers. */
function ownerIndex({ ownership }: ChildKind): OwnerIndex {
  return ownership === 'Owner' ? byAnyOwner : byController
}

/** Informers in use until disposed. */
export class SyncCaches implements Disposable {
  readonly #flavour: Flavour
  readonly #parents: readonly KindCache[]
  readonly #children: readonly KindCache[]
  readonly #revisions: readonly KindCache[]
  readonly #uses: Disposable[] = []

  constructor(pool: InformerPool, flavour: Flavour, namespaces: Namespaces) {
    this.#flavour = flavour
    const use = (resource: ResolvedResource): KindCache => {
      const used = useKind(pool, resource, namespaces)
      this.#uses.push(used)
      return used.informer
    }
    this.#parents = flavour.parents.map(use)
    this.#children = flavour.children.map(use)
    this.#revisions = flavour.revisions === undefined ? [] : [use(revisionKind)]
    const kinds = [...flavour.children, ...this.#revisions.map(() => revisionKind)]
    for (const [at, informer] of [...this.#children, ...this.#revisions].entries()) {
      const kind = kinds[at]!
      const { name, of } = ownerIndex(kind)
      informer.addIndex(name, of)
      if (flavour.adopts || kind === revisionKind) for (const parent of flavour.parents) indexOrphans(informer, parent)
    }
  }

  /** Every kind is known: an object that a cache lacks does not exist. */
  get areKnown(): boolean {
    return this.#all().every(({ state }) => state === 'Synced')
  }

  /** Returns the kinds that cannot be read now. */
  problems(): KindProblem[] {
    const resources = this.#resources()
    return this.#all().flatMap((informer, at) => kindProblem(resources[at]!, informer) ?? [])
  }

  /** Retries the kinds that could not be listed for a missing right. */
  retryForbidden(): void {
    for (const informer of this.#all()) if (informer.state === 'Forbidden') informer.wake()
  }

  /** Resolves when no kind is being listed for the first time any more, or the signal aborts. */
  async settled(signal: AbortSignal): Promise<void> {
    await Promise.all(this.#all().map((informer) => informer.waitForState(signal).catch(() => undefined)))
  }

  /** Returns the objects that may be children of a parent: in its namespace, or anywhere when it has none. */
  candidates(parent: KubeObject): Candidates {
    const { children, adopts } = this.#flavour
    const selector = this.#flavour.adoptionSelector(parent)
    return candidates(parent, children, this.#children, { adopts, selector })
  }

  /** Returns the ControllerRevisions that may be those of a parent. */
  revisions(parent: KubeObject): Candidates {
    const selector = this.#flavour.adoptionSelector(parent)
    return candidates(parent, [revisionKind], this.#revisions, { adopts: true, selector })
  }

  /** Returns an object as its cache has it. */
  cached({ apiVersion, kind, metadata }: KubeObject): KubeObject | undefined {
    const at = this.#resources().findIndex((one) => one.kind === kind && one.apiVersion === apiVersion)
    return this.#all()[at]?.lastKnown.get({ namespace: metadata.namespace ?? '', name: metadata.name ?? '' })
  }

  /** Returns the parents of a name in a namespace, or of kinds without namespaces. */
  parentsNamed(name: string, namespace: string): readonly KubeObject[] {
    return this.#flavour.parents.flatMap(
      (kind, at) => this.#parents[at]?.lastKnown.get({ namespace: kind.namespaced ? namespace : '', name }) ?? [],
    )
  }

  /** Subscribes to the objects that exist and to changes. */
  subscribe(listener: SyncCacheListener): void {
    const state = (): void => listener.onKnownChanged()
    for (const [kind, informer] of this.#parents.entries())
      this.#uses.push(informer.subscribe({ changed: (change) => listener.onParent(kind, change), state }))
    for (const [kind, informer] of this.#children.entries())
      this.#uses.push(
        informer.subscribe({ changed: (change) => listener.onChild(kind, change), state }, { replay: false }),
      )
    // Their changes are our own writes; a state that ends unknown continues parents that wait.
    for (const informer of this.#revisions)
      this.#uses.push(informer.subscribe({ changed: () => undefined, state }, { replay: false }))
  }

  [Symbol.dispose](): void {
    for (const use of this.#uses.splice(0).toReversed()) use[Symbol.dispose]()
  }

  #all(): readonly KindCache[] {
    return [...this.#parents, ...this.#children, ...this.#revisions]
  }

  /** The resources of all informers, in their order. */
  #resources(): readonly ResolvedResource[] {
    const { parents, children } = this.#flavour
    return [...parents, ...children, ...this.#revisions.map(() => revisionKind)]
  }
}

function candidates(
  { metadata: { uid = '', namespace } }: KubeObject,
  kinds: readonly ChildKind[],
  informers: readonly KindCache[],
  { adopts, selector }: { readonly adopts: boolean; readonly selector: Selector | undefined },
): Candidates {
  const of = (select: (cache: KindCache['lastKnown'], kind: ChildKind) => Iterable<KubeObject>): Child[] =>
    kinds.flatMap((kind, at) => {
      const cache = informers[at]?.lastKnown
      return cache === undefined ? [] : [...select(cache, kind)].map((object) => ({ kind, object }))
    })
  const owned = of((cache, kind) => cache.byIndex(ownerIndex(kind).name, uid)).filter(
    ({ object }) => namespace === undefined || object.metadata.namespace === namespace,
  )
  if (!adopts) return { owned, orphans: [] }
  const orphans = of((cache) => orphansFor(cache, namespace, selector))
  return { owned, orphans: orphans.filter(({ kind }) => kind.ownership !== 'Owner') }
}
