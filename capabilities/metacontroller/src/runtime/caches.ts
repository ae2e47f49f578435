// The informers of one MapController, and which of their kinds are synced.
import { staleMessage } from '@fairlead/controller'
import type { InformerPool, InformerScope, InformerState, ObjectChange } from '@fairlead/controller'
import type { KubeObject } from '@fairlead/kube'
import type { MapControllerSpec } from '../api.ts'
import type { ControllerKinds } from '../engine/kinds.ts'
import type { ResolvedResource } from '../engine/resource.ts'
import { groupResource } from '../engine/resource.ts'
import { mapKeyLabel } from '../engine/tag.ts'
import type { KindCache } from './kind-cache.ts'
import { useKind } from './kind-cache.ts'
import { RelatedCache } from './related-cache.ts'

/** A kind that cannot be read, with its error. */
export interface KindProblem {
  readonly resource: ResolvedResource
  readonly state: Exclude<InformerState, 'Synced'>
  readonly error: unknown
  readonly staleSince: number | undefined
}

/** Receives the events of all caches; `kind` is a position in the spec. */
export interface CacheListener {
  onParent(change: ObjectChange): void
  onInput(kind: number, change: ObjectChange): void
  onOutput(kind: number, change: ObjectChange): void
  onRelated(rule: number, change: ObjectChange): void
  onNamespace(change: ObjectChange): void
  /** The state of an informer changed: its kind is known now, or not any more. */
  onKnownChanged(): void
}

interface Cache {
  readonly resource: ResolvedResource
  readonly informer: KindCache
}

const namespaces: ResolvedResource = {
  apiVersion: 'v1',
  group: '',
  kind: 'Namespace',
  plural: 'namespaces',
  namespaced: false,
}

/**
 * Informers in use until disposed. Outputs are watched by their label alone, so that a cluster full of Secrets is not
 * held in memory.
 */
export class Caches implements Disposable {
  readonly parents: KindCache
  readonly inputs: readonly KindCache[]
  readonly outputs: readonly KindCache[]
  readonly related: readonly RelatedCache[]
  readonly namespaces: KindCache | undefined
  readonly #caches: readonly Cache[]
  readonly #inputCaches: readonly Cache[]
  readonly #outputCaches: readonly Cache[]
  readonly #relatedCaches: readonly Cache[]
  readonly #uses: Disposable[] = []

  constructor(pool: InformerPool, kinds: ControllerKinds, spec: MapControllerSpec) {
    const use = (resource: ResolvedResource, scope: InformerScope = {}): Cache => {
      const used = useKind(pool, resource, spec.namespaces, scope)
      this.#uses.push(used)
      return { resource, informer: used.informer }
    }
    const parents = use(kinds.parent, { labelSelector: spec.parentResource.labelSelector })
    this.#outputCaches = kinds.outputs.map((kind) => use(kind, { labelSelector: mapKeyLabel }))
    this.#inputCaches = kinds.inputs.map((kind) => use(kind, { labelSelector: kind.spec.labelSelector }))
    this.related = kinds.related.map((rule) => new RelatedCache(pool, rule, spec.namespaces))
    this.#uses.push(...this.related)
    this.#relatedCaches = this.related.flatMap(({ rule, informers }) =>
      informers.map((informer) => ({ resource: rule, informer })),
    )
    const byNamespace = [...kinds.inputs, ...kinds.related].some(({ spec: of }) => of.namespaceSelector !== undefined)
    const ofNamespaces = byNamespace ? use(namespaces) : undefined
    this.parents = parents.informer
    this.inputs = this.#inputCaches.map(({ informer }) => informer)
    this.outputs = this.#outputCaches.map(({ informer }) => informer)
    this.namespaces = ofNamespaces?.informer
    this.#caches = [
      parents,
      ...this.#outputCaches,
      ...this.#inputCaches,
      ...this.#relatedCaches,
      ...(ofNamespaces === undefined ? [] : [ofNamespaces]),
    ]
  }

  /** Every output kind is known. */
  get outputsKnown(): boolean {
    return this.#outputCaches.every(isKnown)
  }

  /** Every related kind is known: a hook can be sent its objects. */
  get relatedKnown(): boolean {
    return this.#relatedCaches.every(isKnown) && this.#namespacesKnown
  }

  /** The parents, which select inputs, and every input kind are known: an input that is missing is deleted. */
  get inputsKnown(): boolean {
    return this.parents.state === 'Synced' && this.#inputCaches.every(isKnown) && this.#namespacesKnown
  }

  get #namespacesKnown(): boolean {
    return this.namespaces === undefined || this.namespaces.state === 'Synced'
  }

  /** Returns the kinds that cannot be read now. */
  problems(): KindProblem[] {
    return this.#caches.flatMap(({ resource, informer }) => kindProblem(resource, informer) ?? [])
  }

  /** Retries the kinds that could not be listed for a missing right. */
  retryForbidden(): void {
    for (const { informer } of this.#caches) if (informer.state === 'Forbidden') informer.wake()
  }

  /** Returns an output as the cache has it. */
  output({ apiVersion, kind, metadata }: KubeObject): KubeObject | undefined {
    const cache = this.#outputCaches.find(
      ({ resource }) => resource.kind === kind && resource.apiVersion === apiVersion,
    )
    return cache?.informer.lastKnown.get({ namespace: metadata.namespace ?? '', name: metadata.name ?? '' })
  }

  /** Resolves when no kind is being listed for the first time any more, or the signal aborts. */
  async settled(signal: AbortSignal): Promise<void> {
    await Promise.all(this.#caches.map(({ informer }) => informer.waitForState(signal).catch(() => undefined)))
  }

  /** Returns the labels of a namespace; undefined while they are not known. */
  namespaceLabels(name: string): Readonly<Record<string, string>> | undefined {
    const found = this.namespaces?.lastKnown.get(name)
    return found === undefined ? undefined : (found.metadata.labels ?? {})
  }

  /** Subscribes to changes from now on; existing objects are not replayed. */
  subscribe(listener: CacheListener): void {
    const subscribe = (informer: KindCache, changed: (change: ObjectChange) => void): void => {
      this.#uses.push(informer.subscribe({ changed, state: () => listener.onKnownChanged() }, { replay: false }))
    }
    for (const [kind, informer] of this.outputs.entries())
      subscribe(informer, (change) => listener.onOutput(kind, change))
    for (const [kind, informer] of this.inputs.entries())
      subscribe(informer, (change) => listener.onInput(kind, change))
    for (const [rule, cache] of this.related.entries())
      this.#uses.push(
        cache.subscribe(
          (change) => listener.onRelated(rule, change),
          () => listener.onKnownChanged(),
        ),
      )
    if (this.namespaces !== undefined) subscribe(this.namespaces, (change) => listener.onNamespace(change))
    subscribe(this.parents, (change) => listener.onParent(change))
  }

  [Symbol.dispose](): void {
    for (const use of this.#uses.splice(0).toReversed()) use[Symbol.dispose]()
  }
}

/** Returns the problem of a kind that cannot be read now. */
export function kindProblem(resource: ResolvedResource, informer: KindCache): KindProblem | undefined {
  const { state, error, staleSince } = informer
  return state === 'Synced' ? undefined : { resource, state, error, staleSince }
}

/** Returns one line about a kind that cannot be read. */
export function problemMessage({ resource, state, error, staleSince }: KindProblem): string {
  const cause = error instanceof Error ? `: ${error.message}` : ''
  switch (state) {
    case 'Syncing':
      return `${groupResource(resource)} is still being listed${cause}`
    case 'Forbidden':
      return error instanceof Error ? error.message : `cannot list and watch ${groupResource(resource)}`
    case 'Stale':
      return staleMessage(groupResource(resource), staleSince, error)
    case 'Absent':
      return `the server serves no ${groupResource(resource)} in ${resource.apiVersion}`
  }
}

/** Returns what makes a kind readable again; `grant` is the advice for a missing right. */
export function adviceFor({ state }: KindProblem, grant: string): string {
  if (state === 'Forbidden') return grant
  return state === 'Absent' ? 'install its CustomResourceDefinition' : 'it continues when the server answers'
}

function isKnown({ informer }: Cache): boolean {
  return informer.state === 'Synced'
}

/** Returns the objects of an input informer in a namespace; '' means all. */
export function objectsIn(informer: KindCache, resource: ResolvedResource, namespace: string): Iterable<KubeObject> {
  return resource.namespaced && namespace !== '' ? informer.lastKnown.list({ namespace }) : informer.lastKnown.values()
}
