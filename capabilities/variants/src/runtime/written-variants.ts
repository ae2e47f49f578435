// The variants that sets have written, until the cache has caught up: a name must not be chosen again, nor a variant be
// created twice, because the cache is behind.
import type { Informer } from '@fairlead/controller'
import { formatKey, keyOf } from '@fairlead/kube'
import type { PackageVariant } from '../api.ts'

/** Responses to writes by the uid of their set. */
export class WrittenVariants implements Disposable {
  readonly #bySet = new Map<string, Map<string, PackageVariant>>()
  readonly #subscription: Disposable

  /** Follows a cache of variants. */
  constructor(variants: Informer<PackageVariant>) {
    this.#subscription = variants.subscribe(
      {
        changed: ({ type, object }) => {
          for (const [set, written] of this.#bySet) {
            const key = formatKey(keyOf(object))
            const own = written.get(key)
            const isOlder = own !== undefined && own.metadata.uid === object.metadata.uid && isNewer(own, object)
            if (own === undefined || (isOlder && type !== 'removed')) continue
            written.delete(key)
            if (written.size === 0) this.#bySet.delete(set)
          }
        },
      },
      { replay: false },
    )
  }

  /** Records the response to a write; `cached` is the variant in the cache at that time. */
  wrote(set: string, response: PackageVariant, cached: PackageVariant | undefined): void {
    if (cached?.metadata.uid === response.metadata.uid && !isNewer(response, cached!)) return
    const written = this.#bySet.get(set) ?? new Map<string, PackageVariant>()
    this.#bySet.set(set, written.set(formatKey(keyOf(response)), response))
  }

  /** Returns the variants of a set: the cached ones, and those that were written since. */
  newest(set: string, cached: readonly PackageVariant[]): readonly PackageVariant[] {
    const written = this.#bySet.get(set)
    if (written === undefined) return cached
    const byKey = new Map(cached.map((variant) => [formatKey(keyOf(variant)), variant]))
    for (const [key, variant] of written) {
      const known = byKey.get(key)
      if (known === undefined || isNewer(variant, known)) byKey.set(key, variant)
    }
    return [...byKey.values()]
  }

  [Symbol.dispose](): void {
    this.#subscription[Symbol.dispose]()
  }
}

/** Compares resourceVersions: increasing numbers within one server (guaranteed since Kubernetes 1.35). */
function isNewer(one: PackageVariant, than: PackageVariant): boolean {
  return Number(one.metadata.resourceVersion) > Number(than.metadata.resourceVersion)
}
