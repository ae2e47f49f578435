// The informers of one rule of relatedResources: by name where the rule names objects, so that one named Secret needs
// no right to read all others and holds none of them in memory.
import type { InformerPool, InformerState, ObjectChange } from '@fairlead/controller'
import type { KubeObject, ObjectKey } from '@fairlead/kube'
import type { RelatedKind } from '../engine/resource.ts'
import type { KindCache, KindCacheUse, Namespaces } from './kind-cache.ts'
import { useKind } from './kind-cache.ts'

/** The objects of one rule. Use ends when it is disposed. */
export class RelatedCache implements Disposable {
  readonly rule: RelatedKind
  readonly informers: readonly KindCache[]
  readonly #byName: ReadonlyMap<string, KindCache> | undefined
  readonly #uses: readonly KindCacheUse[]

  constructor(pool: InformerPool, rule: RelatedKind, namespaces?: Namespaces) {
    const { names, namespace, labelSelector } = rule.spec
    const scope = namespace === undefined ? {} : { namespace }
    this.rule = rule
    this.#uses =
      names === undefined
        ? [useKind(pool, rule, namespaces, { ...scope, labelSelector })]
        : names.map((name) => useKind(pool, rule, namespaces, { ...scope, fieldSelector: `metadata.name=${name}` }))
    this.informers = this.#uses.map(({ informer }) => informer)
    this.#byName = names && new Map(names.map((name, at) => [name, this.informers[at]!]))
  }

  /** `Synced` once every object of the rule is known; otherwise the state of an informer that is not. */
  get state(): InformerState {
    return this.informers.find(({ state }) => state !== 'Synced')?.state ?? 'Synced'
  }

  get(key: ObjectKey): KubeObject | undefined {
    const informer = this.#byName === undefined ? this.informers[0] : this.#byName.get(key.name)
    return informer?.lastKnown.get(key)
  }

  /** Lists the objects of a namespace, of all namespaces when it is undefined. */
  list(namespace: string | undefined): readonly KubeObject[] {
    return this.informers.flatMap((informer) => informer.lastKnown.list(namespace === undefined ? {} : { namespace }))
  }

  /** Subscribes to changes from now on. */
  subscribe(changed: (change: ObjectChange) => void, state: () => void): Disposable {
    const listening = this.informers.map((informer) => informer.subscribe({ changed, state }, { replay: false }))
    return {
      [Symbol.dispose]: () => {
        for (const one of listening) one[Symbol.dispose]()
      },
    }
  }

  [Symbol.dispose](): void {
    for (const use of this.#uses) use[Symbol.dispose]()
  }
}
