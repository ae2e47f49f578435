// Indexes orphans by label, and parents by a label that they select: a sync does not scan all orphans, and the event of
// an orphan does not scan all parents.
import type { KubeObject, Selector } from '@fairlead/kube'
import { controllerOf } from '@fairlead/kube'
import type { KindCache, KindObjects } from '../runtime/kind-cache.ts'

/** An index of orphans: for parents of a namespace, and for those that have none. */
interface OrphanIndex {
  readonly name: string
  readonly of: (object: KubeObject) => readonly string[]
}

const inNamespace: OrphanIndex = {
  name: 'metacontroller-orphans',
  of: (object) => keysOf(object, object.metadata.namespace ?? ''),
}
const anywhere: OrphanIndex = { name: 'metacontroller-orphans-anywhere', of: (object) => keysOf(object, '*') }

function indexFor(namespace: string | undefined): OrphanIndex {
  return namespace === undefined ? anywhere : inNamespace
}

/** Returns the values of an orphan in an index: one for all orphans, and one for each label. */
function keysOf(object: KubeObject, scope: string): readonly string[] {
  if (controllerOf(object) !== undefined) return []
  return [scope, ...Object.entries(object.metadata.labels ?? {}).map(([key, value]) => labelKey(scope, key, value))]
}

function labelKey(scope: string, key: string, value: string): string {
  return `${scope}/${key}=${value}`
}

/** Adds the index that {@link orphansFor} needs for parents that have a namespace, or have none. */
export function indexOrphans(cache: Pick<KindCache, 'addIndex'>, parents: { readonly namespaced: boolean }): void {
  const { name, of } = indexFor(parents.namespaced ? '' : undefined)
  cache.addIndex(name, of)
}

/**
 * Returns the orphans that a selector may select, of a namespace or of all when it is undefined: those with the rarest
 * of the labels that it requires. All of them without a selector.
 */
export function orphansFor(
  cache: KindObjects,
  namespace: string | undefined,
  selector: Selector | undefined,
): readonly KubeObject[] {
  const { name } = indexFor(namespace)
  const index = cache.index(name)
  const keys = rarestKeys(namespace ?? '*', selector, (key) => index.count(key))
  return keys.flatMap((key) => cache.byIndex(name, key))
}

/** Returns the keys of one requirement of a selector, the one that the fewest have; the key of all without any. */
function rarestKeys(scope: string, selector: Selector | undefined, count: (key: string) => number): readonly string[] {
  let rarest: readonly string[] = [scope]
  let fewest = Infinity
  for (const { key, operator, values } of selector?.requirements ?? []) {
    if (operator !== '=' && operator !== '==' && operator !== 'in') continue
    const keys = [...new Set(values)].map((value) => labelKey(scope, key, value))
    const found = keys.reduce((sum, one) => sum + count(one), 0)
    if (found >= fewest) continue
    fewest = found
    rarest = keys
  }
  return rarest
}

interface AdoptingParent {
  readonly selector: Selector
  readonly keys: readonly string[]
}

/** The parents that adopt orphans, by uid. */
export class AdoptingParents {
  readonly #parents = new Map<string, AdoptingParent>()
  /** Parents by a label that they require; by their namespace when they require none. */
  readonly #byKey = new Map<string, Set<string>>()

  /** Adds or changes a parent of a namespace, or of none. One with an invalid selector (undefined) adopts nothing. */
  set(uid: string, namespace: string | undefined, selector: Selector | undefined): void {
    this.delete(uid)
    if (selector === undefined) return
    const keys = rarestKeys(namespace ?? '*', selector, (key) => this.#byKey.get(key)?.size ?? 0)
    this.#parents.set(uid, { selector, keys })
    for (const key of keys) {
      const known = this.#byKey.get(key)
      if (known === undefined) this.#byKey.set(key, new Set([uid]))
      else known.add(uid)
    }
  }

  delete(uid: string): void {
    for (const key of this.#parents.get(uid)?.keys ?? []) {
      const known = this.#byKey.get(key)
      known?.delete(uid)
      if (known?.size === 0) this.#byKey.delete(key)
    }
    this.#parents.delete(uid)
  }

  /** Returns the parents whose selector an orphan matches. */
  of(orphan: KubeObject): readonly string[] {
    const { namespace = '', labels } = orphan.metadata
    const keys = [...keysOf(orphan, namespace), ...keysOf(orphan, '*')]
    return keys
      .flatMap((key) => [...(this.#byKey.get(key) ?? [])])
      .filter((uid) => this.#parents.get(uid)?.selector.matches(labels) === true)
  }
}
