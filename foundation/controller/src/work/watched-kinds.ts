// The kinds that a loop watches, and their caches: only writes of such kinds cause events that may have to be dropped.
import type { Kind } from '@fairlead/client'
import type { KubeObject } from '@fairlead/kube'
import type { Informer } from '../informer/informer.ts'

type GroupKind = { readonly group: string; readonly kind: string }

/** Subscriptions of a loop, by group and kind. */
export class WatchedKinds {
  readonly #informers = new Map<string, readonly Informer[]>()

  add(informer: Informer): void {
    const id = groupKind(informer.kind)
    this.#informers.set(id, [...(this.#informers.get(id) ?? []), informer])
  }

  remove(informer: Informer): void {
    const id = groupKind(informer.kind)
    const watching = this.#informers.get(id) ?? []
    const place = watching.indexOf(informer)
    if (place >= 0) this.#informers.set(id, watching.toSpliced(place, 1))
  }

  /** Returns the number of caches that report one change. */
  count(kind: GroupKind): number {
    const watching = this.#informers.get(groupKind(kind)) ?? []
    return watching.length < 2 ? watching.length : new Set(watching).size
  }

  all(): readonly Informer[] {
    return [...this.#informers.values()].flat()
  }

  /** Returns the whole object of a key in that apiVersion, if a cache holds it. */
  cached(kind: Kind, key: string): KubeObject | undefined {
    for (const informer of this.#informers.get(groupKind(kind)) ?? []) {
      if (informer.kind.apiVersion !== kind.apiVersion || informer.scope.metadataOnly) continue
      const object = informer.lastKnown.get(key)
      if (object !== undefined) return object
    }
    return undefined
  }

  /** Returns the resourceVersion of a key, in whatever apiVersion and form it is cached. */
  cachedVersion(kind: GroupKind, key: string): string | undefined {
    for (const informer of this.#informers.get(groupKind(kind)) ?? []) {
      const version = informer.lastKnown.get(key)?.metadata.resourceVersion
      if (version !== undefined) return version
    }
    return undefined
  }
}

function groupKind({ group, kind }: GroupKind): string {
  return `${kind}.${group}`
}
