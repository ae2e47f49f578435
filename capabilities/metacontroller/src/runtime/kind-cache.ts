// The cache of one kind: of all namespaces, or of those that a controller is limited to (`spec.namespaces`), with an
// informer for each, so that rights in these namespaces are enough.
import type { Informer, InformerPool, InformerScope, InformerState, ObjectChange } from '@fairlead/controller'
import type { KubeObject, ObjectKey } from '@fairlead/kube'
import { parseKey } from '@fairlead/kube'
import type { ResolvedResource } from '../engine/resource.ts'
import { clientKind } from './client-kind.ts'

/** The objects of a kind as last seen; see {@link Informer.lastKnown}. */
export interface KindObjects {
  get(key: string | ObjectKey): KubeObject | undefined
  keys(): Iterable<string>
  values(): Iterable<KubeObject>
  list(filter?: { readonly namespace?: string }): readonly KubeObject[]
  byIndex(name: string, value: string): readonly KubeObject[]
  /** Returns an index, for counts. */
  index(name: string): { count(value: string): number }
}

/** The part of an {@link Informer} that controllers use. */
export interface KindCache extends Pick<
  Informer,
  'state' | 'error' | 'staleSince' | 'wake' | 'waitForState' | 'addIndex' | 'subscribe'
> {
  readonly lastKnown: KindObjects
}

/** The use of a cache. Dispose it when it is no longer needed. */
export interface KindCacheUse extends Disposable {
  readonly informer: KindCache
}

/** The namespaces that a controller is limited to; all when undefined. */
export type Namespaces = readonly string[] | undefined

/** Uses the cache of a resource; cluster-scoped ones and scopes with a namespace have one informer. */
export function useKind(
  pool: InformerPool,
  resource: ResolvedResource,
  namespaces: Namespaces,
  scope: InformerScope = {},
): KindCacheUse {
  const kind = clientKind(resource)
  if (namespaces === undefined || !resource.namespaced || scope.namespace !== undefined) return pool.use(kind, scope)
  const uses = namespaces.map((namespace) => ({ namespace, ...pool.use(kind, { ...scope, namespace }) }))
  const caches = uses.map(({ namespace, informer }): [string, Informer] => [namespace, informer])
  return {
    informer: new NamespacesCache(new Map(caches)),
    [Symbol.dispose]: () => {
      for (const use of uses) use[Symbol.dispose]()
    },
  }
}

/** The caches of several namespaces as one: it is known when each of them is. */
class NamespacesCache implements KindCache {
  readonly lastKnown: KindObjects
  readonly #caches: ReadonlyMap<string, Informer>

  constructor(caches: ReadonlyMap<string, Informer>) {
    this.#caches = caches
    const all = [...caches.values()].map(({ lastKnown }) => lastKnown)
    this.lastKnown = {
      get: (key) => {
        const { namespace, name } = typeof key === 'string' ? parseKey(key) : key
        return caches.get(namespace ?? '')?.lastKnown.get({ namespace: namespace ?? '', name })
      },
      keys: () => all.flatMap((objects) => [...objects.keys()]),
      values: () => all.flatMap((objects) => [...objects.values()]),
      list: ({ namespace } = {}) =>
        namespace === undefined
          ? all.flatMap((objects) => objects.list())
          : (caches.get(namespace)?.lastKnown.list() ?? []),
      byIndex: (name, value) => all.flatMap((objects) => objects.byIndex(name, value)),
      index: (name) => ({
        count: (value) => all.reduce((sum, objects) => sum + objects.index(name).count(value), 0),
      }),
    }
  }

  get state(): InformerState {
    return this.#unknown?.state ?? 'Synced'
  }

  get error(): unknown {
    return this.#unknown?.error
  }

  get staleSince(): number | undefined {
    return this.#unknown?.staleSince
  }

  wake(): void {
    for (const cache of this.#caches.values()) if (cache.state !== 'Synced') cache.wake()
  }

  async waitForState(signal?: AbortSignal): Promise<InformerState> {
    await Promise.all([...this.#caches.values()].map((cache) => cache.waitForState(signal)))
    return this.state
  }

  addIndex(...index: Parameters<Informer['addIndex']>): void {
    for (const cache of this.#caches.values()) cache.addIndex(...index)
  }

  subscribe(...given: Parameters<Informer['subscribe']>): Disposable {
    const [to, options] = given
    const listener = {
      changed: (change: ObjectChange) => to.changed?.(change),
      state: () => to.state?.(this.state, this.error),
    }
    const listening = [...this.#caches.values()].map((cache) => cache.subscribe(listener, options))
    return {
      [Symbol.dispose]: () => {
        for (const one of listening) one[Symbol.dispose]()
      },
    }
  }

  /** The first namespace that is not known; one that cannot be read before one that is still being listed. */
  get #unknown(): Informer | undefined {
    const unknown = [...this.#caches.values()].filter(({ state }) => state !== 'Synced')
    return unknown.find(({ state }) => state !== 'Syncing') ?? unknown[0]
  }
}
