// Synchronous reads from the informers that run already, for callers that must not wait: relations, the console's
// graph. Start with `cacheReader`.
import { toKey } from '@fairlead/client'
import type { KeyLike, KindLike } from '@fairlead/client'
import type { KubeObject } from '@fairlead/kube'
import type { ObjectFilter } from './informer.ts'
import type { InformerPool } from './informer-pool.ts'

/**
 * Reads objects from caches only. `'unknown'` is returned for a kind that is not cached, not synced or not readable:
 * unknown is not deleted (design decision 7).
 */
export interface CacheReader {
  /** Returns the object of a key, or undefined when it does not exist. */
  get<T extends KubeObject>(kind: KindLike<T>, key: KeyLike): T | 'unknown' | undefined
  /**
   * Returns the objects that match a filter; all of the kind without one. Throws SelectorError for an invalid selector.
   */
  list<T extends KubeObject>(kind: KindLike<T>, filter?: ObjectFilter): readonly T[] | 'unknown'
}

/** Returns a reader of the caches of a manager (`manager.informers`). It starts no informer and makes no API call. */
export function cacheReader(informers: InformerPool): CacheReader {
  return {
    get(kind, key) {
      const informer = informers.peek(kind)
      return informer?.state === 'Synced' ? informer.get(toKey(key)) : 'unknown'
    },
    list(kind, filter = {}) {
      const informer = informers.peek(kind)
      return informer?.state === 'Synced' ? informer.list(filter) : 'unknown'
    },
  }
}
