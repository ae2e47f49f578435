// The bytes that live objects take, pending writes included, and the limit on them: every object lives in memory.
import { getHeapStatistics } from 'node:v8'
import { isJsonObject } from '@fairlead/kube'
import type { JsonObject } from '@fairlead/kube'
import { StoreError } from './store.ts'

/** Growth that a write may cause beyond the limit when it only marks an object for deletion. Bytes. */
const terminatingGrowth = 4096
/** Bytes beyond the limit that objects may take while they are being deleted: conditions say what is left to do. */
const terminatingReserve = 16 * 1024 * 1024
/** Objects take more memory than their JSON, and so do indexes, history and caches of them. */
const shareOfHeap = 1 / 4

/** Returns the default limit: a quarter of the memory that the process may use for objects. */
export function defaultStoredBytes(): number {
  return Math.floor(getHeapStatistics().heap_size_limit * shareOfHeap)
}

/** Counts the bytes of live objects. */
export class StoredBytes {
  readonly limit: number
  #live = 0

  constructor(limit: number = defaultStoredBytes()) {
    this.limit = limit
  }

  /** Bytes of JSON of all live objects, pending writes included. */
  get live(): number {
    return this.#live
  }

  /** Adds bytes, or takes them back. */
  add(bytes: number): void {
    this.#live += bytes
  }

  /**
   * Adds the growth by a write that replaces an object of `before` bytes by `object`, undefined for a delete. Writes
   * that do not grow an object are always accepted, and those of objects that are being deleted mostly.
   * @throws StoreError `LimitReached`
   */
  admit(id: string, object: JsonObject | undefined, bytes: number, before: number): void {
    const growth = bytes - before
    const isEnding =
      before > 0 &&
      growth <= terminatingGrowth &&
      isTerminating(object) &&
      this.#live + growth <= this.limit + terminatingReserve
    if (growth > 0 && this.#live + growth > this.limit && !isEnding)
      throw new StoreError(
        'LimitReached',
        `The change of ${id} could not be stored: database space exceeded: live objects take ${this.#live} of ${this.limit} bytes`,
      )
    this.#live += growth
  }
}

function isTerminating(object: JsonObject | undefined): boolean {
  const metadata = object?.['metadata']
  return isJsonObject(metadata) && metadata['deletionTimestamp'] !== undefined
}
