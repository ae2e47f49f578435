// Synchronous reads from the informers that run already, for callers that must not wait: relations, the console's
// graph. Start with `cacheReader`.
import { toKey, toKind } from '@fairlead/client'
import type { KeyLike, KindLike } from '@fairlead/client'
import type { KubeObject } from '@fairlead/kube'
import type { InformerPool } from './informer-pool.ts'
import { KindUnavailable } from './kind-unavailable.ts'
import type { Known, KnownList, KnownObject } from './known.ts'
import type { ObjectFilter } from './object-cache.ts'

/**
 * Reads objects from caches only. The result is unknown for a kind that is not cached, not synced or not readable:
 * unknown is not deleted (design decision 7).
 */
export interface CacheReader {
  /** Returns the object of a key: found, missing, or unknown. */
  get<T extends KubeObject>(kind: KindLike<T>, key: KeyLike): KnownObject<T>
  /**
   * Returns the objects that match a filter; all of the kind without one. Throws SelectorError for an invalid selector.
   */
  list<T extends KubeObject>(kind: KindLike<T>, filter?: ObjectFilter): KnownList<T>
}

/** Returns a reader of the caches of a manager (`manager.informers`). It starts no informer and makes no API call. */
export function cacheReader(informers: InformerPool): CacheReader {
  const read = <T extends KubeObject>(kind: KindLike<T>): Known<T> =>
    informers.peek(kind)?.read() ?? { known: false, reason: new KindUnavailable(toKind(kind), 'Syncing', undefined) }
  return {
    get(kind, key) {
      const cached = read(kind)
      return cached.known ? { known: true, object: cached.objects.get(toKey(key)) } : cached
    },
    list(kind, filter = {}) {
      const cached = read(kind)
      return cached.known ? { known: true, objects: cached.objects.list(filter) } : cached
    },
  }
}
