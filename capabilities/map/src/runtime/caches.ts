// The informers of one MapController, and what is known of their kinds.
import type { Kind } from '@fairlead/client'
import { kind as kindOf } from '@fairlead/client'
import type { Informer, InformerPool, InformerState, InformerUse, ObjectChange } from '@fairlead/controller'
import type { KubeObject } from '@fairlead/kube'
import type { MapControllerSpec } from '../api.ts'
import type { ResolvedResource } from '../engine/resource.ts'
import { groupResource } from '../engine/resource.ts'
import { mapKeyLabel } from '../engine/tag.ts'
import type { ControllerKinds } from './kinds.ts'

/** A kind that cannot be read, and why. */
export interface KindProblem {
  readonly resource: ResolvedResource
  readonly state: Exclude<InformerState, 'Synced'>
  readonly error: unknown
}

/** Hears of everything that happens in the caches; `kind` is a position in the spec. */
export interface CacheListener {
  parent(change: ObjectChange): void
  input(kind: number, change: ObjectChange): void
  output(kind: number, change: ObjectChange): void
  related(rule: number, change: ObjectChange): void
  namespace(change: ObjectChange): void
  /** What is known of some kind is another thing now. */
  known(): void
}

interface Cache {
  readonly resource: ResolvedResource
  readonly informer: Informer
}

const namespaces: ResolvedResource = {
  apiVersion: 'v1',
  group: '',
  kind: 'Namespace',
  plural: 'namespaces',
  namespaced: false,
}

/** The kind of a resource as the client names it; needs no discovery. */
export function clientKind(resource: ResolvedResource): Kind {
  return kindOf(resource.apiVersion, resource.kind, { plural: resource.plural, namespaced: resource.namespaced })
}

/** Informers in use until disposed. Outputs are watched by their label alone, so that a cluster full of Secrets is not held in memory. */
export class Caches implements Disposable {
  readonly parents: Informer
  readonly inputs: readonly Informer[]
  readonly outputs: readonly Informer[]
  readonly related: readonly Informer[]
  readonly namespaces: Informer | undefined
  readonly #caches: readonly Cache[]
  readonly #inputCaches: readonly Cache[]
  readonly #outputCaches: readonly Cache[]
  readonly #relatedCaches: readonly Cache[]
  readonly #uses: Disposable[] = []

  constructor(pool: InformerPool, kinds: ControllerKinds, spec: MapControllerSpec) {
    const use = (resource: ResolvedResource, labelSelector: Parameters<InformerPool['use']>[1] = {}): Cache => {
      const used: InformerUse = pool.use(clientKind(resource), labelSelector)
      this.#uses.push(used)
      return { resource, informer: used.informer }
    }
    const parents = use(kinds.parent, { labelSelector: spec.parentResource.labelSelector })
    this.#outputCaches = kinds.outputs.map((kind) => use(kind, { labelSelector: mapKeyLabel }))
    this.#inputCaches = kinds.inputs.map((kind) => use(kind, { labelSelector: kind.spec.labelSelector }))
    this.#relatedCaches = kinds.related.map((kind) =>
      use(kind, { labelSelector: kind.spec.labelSelector, namespace: kind.spec.namespace }),
    )
    const byNamespace = [...kinds.inputs, ...kinds.related].some(({ spec: of }) => of.namespaceSelector !== undefined)
    const ofNamespaces = byNamespace ? use(namespaces) : undefined
    this.parents = parents.informer
    this.inputs = this.#inputCaches.map(({ informer }) => informer)
    this.outputs = this.#outputCaches.map(({ informer }) => informer)
    this.related = this.#relatedCaches.map(({ informer }) => informer)
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

  /** Every related kind is known: a hook can be shown the truth. */
  get relatedKnown(): boolean {
    return this.#relatedCaches.every(isKnown) && this.#namespacesKnown
  }

  /** Every input kind is known: what is not there is gone. */
  get inputsKnown(): boolean {
    return this.#inputCaches.every(isKnown) && this.#namespacesKnown
  }

  get #namespacesKnown(): boolean {
    return this.namespaces === undefined || this.namespaces.state === 'Synced'
  }

  /** Kinds that cannot be read now. */
  problems(): KindProblem[] {
    return this.#caches.flatMap(({ resource, informer: { state, error } }) =>
      state === 'Synced' ? [] : [{ resource, state, error }],
    )
  }

  /** What the cache holds of an output. */
  output({ apiVersion, kind, metadata }: KubeObject): KubeObject | undefined {
    const cache = this.#outputCaches.find(
      ({ resource }) => resource.kind === kind && resource.apiVersion === apiVersion,
    )
    return cache?.informer.get({ namespace: metadata.namespace ?? '', name: metadata.name ?? '' })
  }

  /** Resolves when no kind is still being listed for the first time, or the signal aborts. */
  async settled(signal: AbortSignal): Promise<void> {
    await Promise.all(this.#caches.map(({ informer }) => informer.waitForState(signal).catch(() => undefined)))
  }

  /** Labels of a namespace, undefined while they are not known. */
  namespaceLabels(name: string): Readonly<Record<string, string>> | undefined {
    const found = this.namespaces?.get(name)
    return found === undefined ? undefined : (found.metadata.labels ?? {})
  }

  /** Hears of changes from now on; what is there already is not told. */
  listen(listener: CacheListener): void {
    const hear = (informer: Informer, changed: (change: ObjectChange) => void): void => {
      this.#uses.push(informer.subscribe({ changed, state: () => listener.known() }, { replay: false }))
    }
    for (const [kind, informer] of this.outputs.entries()) hear(informer, (change) => listener.output(kind, change))
    for (const [kind, informer] of this.inputs.entries()) hear(informer, (change) => listener.input(kind, change))
    for (const [rule, informer] of this.related.entries()) hear(informer, (change) => listener.related(rule, change))
    if (this.namespaces !== undefined) hear(this.namespaces, (change) => listener.namespace(change))
    hear(this.parents, (change) => listener.parent(change))
  }

  [Symbol.dispose](): void {
    for (const use of this.#uses.splice(0).toReversed()) use[Symbol.dispose]()
  }
}

/** One line about a kind that cannot be read. */
export function problemText({ resource, state, error }: KindProblem): string {
  const why = error instanceof Error ? `: ${error.message}` : ''
  switch (state) {
    case 'Syncing':
      return `${groupResource(resource)} is still being listed${why}`
    case 'Forbidden':
      return `cannot list and watch ${groupResource(resource)}${why}`
    case 'Absent':
      return `the server serves no ${groupResource(resource)} in ${resource.apiVersion}`
  }
}

function isKnown({ informer }: Cache): boolean {
  return informer.state === 'Synced'
}

/** Objects of an input informer in a namespace; '' means all. */
export function objectsIn(informer: Informer, resource: ResolvedResource, namespace: string): Iterable<KubeObject> {
  return resource.namespaced && namespace !== '' ? informer.list({ namespace }) : informer.objects.values()
}
