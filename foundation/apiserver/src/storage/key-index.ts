// An index of the keys of one resource in etcd's order: bytewise by UTF-8. A chunked sorted array: an insert moves at
// most one chunk, and a page of a list reads neighbouring items.

/**
 * An item with a key. `live` items are counted; the others are deleted objects that reads at past revisions still need.
 */
export interface Indexed {
  readonly key: string
  readonly live: boolean
}

/** A range of keys. */
export interface KeyRange {
  /** Only keys that start with it. */
  readonly prefix?: string
  /** Only keys after it. */
  readonly after?: string
}

interface Chunk<Item> {
  readonly items: Item[]
  live: number
}

interface Position {
  readonly chunk: number
  readonly item: number
}

/** Size beyond which a chunk is split in two. */
const chunkLimit = 512

/**
 * Items by key, in order. `live` of an item in the index may only change through {@link KeyIndex.set}, which updates
 * the counts.
 */
export class KeyIndex<Item extends Indexed> {
  readonly #byKey = new Map<string, Item>()
  #chunks: Chunk<Item>[] = []
  #live = 0
  /** Code units sort like UTF-8 until a key contains a surrogate or a character above them. */
  #before: (left: string, right: string) => boolean = unitsBefore

  /** Number of live items. */
  get live(): number {
    return this.#live
  }

  /** Number of items, live or not. */
  get size(): number {
    return this.#byKey.size
  }

  get(key: string): Item | undefined {
    return this.#byKey.get(key)
  }

  /** Replaces the item of the same key, or inserts it. */
  set(item: Item): void {
    if (this.#before === unitsBefore && isWide(item.key)) this.#before = codePointsBefore
    const old = this.#byKey.get(item.key)
    this.#byKey.set(item.key, item)
    const at = this.#first((key) => !this.#before(key, item.key))
    const chunk = this.#chunks[at.chunk]
    const gain = (item.live ? 1 : 0) - (old?.live === true ? 1 : 0)
    this.#live += gain
    if (old !== undefined && chunk !== undefined) {
      chunk.items[at.item] = item
      chunk.live += gain
      return
    }
    this.#insert(at, item, gain)
  }

  /** Removes the item of a key. */
  delete(key: string): void {
    const item = this.#byKey.get(key)
    if (item === undefined) return
    this.#byKey.delete(key)
    const at = this.#first((other) => !this.#before(other, key))
    const chunk = this.#chunks[at.chunk]!
    chunk.items.splice(at.item, 1)
    if (item.live) {
      chunk.live -= 1
      this.#live -= 1
    }
    if (chunk.items.length === 0) this.#chunks.splice(at.chunk, 1)
    else this.#joinWithNext(at.chunk)
  }

  /** Visits the items of a range in order, live or not; stops when `visit` returns false. */
  scan(range: KeyRange, visit: (item: Item) => boolean): void {
    const end = this.#end(range)
    for (
      let { chunk, item } = this.#start(range);
      chunk < this.#chunks.length && chunk <= end.chunk;
      chunk++, item = 0
    ) {
      const { items } = this.#chunks[chunk]!
      const stop = chunk === end.chunk ? end.item : items.length
      for (; item < stop; item++) {
        if (!visit(items[item]!)) return
      }
    }
  }

  /** Returns the number of live items in a range; whole chunks are not walked. */
  count(range: KeyRange): number {
    if (range.prefix === undefined && range.after === undefined) return this.#live
    const start = this.#start(range)
    const end = this.#end(range)
    let count = 0
    for (let index = start.chunk; index <= end.chunk && index < this.#chunks.length; index++) {
      const chunk = this.#chunks[index]!
      const from = index === start.chunk ? start.item : 0
      const to = index === end.chunk ? end.item : chunk.items.length
      if (from === 0 && to === chunk.items.length) count += chunk.live
      else for (let item = from; item < to; item++) count += chunk.items[item]!.live ? 1 : 0
    }
    return count
  }

  #start(range: KeyRange): Position {
    const { prefix, after } = range
    return this.#first(
      (key) =>
        (prefix === undefined || !this.#before(key, prefix)) && (after === undefined || this.#before(after, key)),
    )
  }

  /** Returns the position after the last key of the range. */
  #end(range: KeyRange): Position {
    const { prefix } = range
    if (prefix === undefined || prefix === '') return { chunk: this.#chunks.length, item: 0 }
    return this.#first((key) => !this.#before(key, prefix) && !key.startsWith(prefix))
  }

  /** Returns the first position whose key passes; `passes` is false for a prefix of the keys and true for the rest. */
  #first(passes: (key: string) => boolean): Position {
    const chunk = partitionPoint(this.#chunks.length, (index) => passes(this.#chunks[index]!.items.at(-1)!.key))
    const items = this.#chunks[chunk]?.items
    if (items === undefined) return { chunk, item: 0 }
    return { chunk, item: partitionPoint(items.length, (index) => passes(items[index]!.key)) }
  }

  #insert(at: Position, item: Item, gain: number): void {
    // After the last key: the last chunk grows.
    const index = Math.min(at.chunk, this.#chunks.length - 1)
    const chunk = this.#chunks[index]
    if (chunk === undefined) {
      this.#chunks.push({ items: [item], live: gain })
      return
    }
    if (index === at.chunk) chunk.items.splice(at.item, 0, item)
    else chunk.items.push(item)
    chunk.live += gain
    if (chunk.items.length <= chunkLimit) return
    // Keys often arrive in order; then the left part stays full and the right part grows.
    const cut = index === at.chunk ? chunk.items.length >> 1 : chunkLimit
    const right = chunk.items.splice(cut)
    const rightLive = countLive(right)
    chunk.live -= rightLive
    this.#chunks.splice(index + 1, 0, { items: right, live: rightLive })
  }

  #joinWithNext(index: number): void {
    const left = this.#chunks[index]
    const right = this.#chunks[index + 1]
    if (left === undefined || right === undefined || left.items.length + right.items.length > chunkLimit >> 1) return
    left.items.push(...right.items)
    left.live += right.live
    this.#chunks.splice(index + 1, 1)
  }
}

function countLive(items: readonly Indexed[]): number {
  let live = 0
  for (const item of items) live += item.live ? 1 : 0
  return live
}

/** Returns the first index below `length` that passes, or `length`. */
function partitionPoint(length: number, passes: (index: number) => boolean): number {
  let low = 0
  let high = length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (passes(middle)) high = middle
    else low = middle + 1
  }
  return low
}

function unitsBefore(left: string, right: string): boolean {
  return left < right
}

/** Compares by code point, as UTF-8 sorts; UTF-16 code units sort surrogates before U+E000 to U+FFFF. */
function codePointsBefore(left: string, right: string): boolean {
  const length = Math.min(left.length, right.length)
  for (let index = 0; index < length; index++) {
    const a = left.charCodeAt(index)
    const b = right.charCodeAt(index)
    if (a === b) continue
    if (isSurrogate(a) === isSurrogate(b)) return a < b
    // A surrogate is half of a code point above all others.
    return isSurrogate(b)
  }
  return left.length < right.length
}

function isSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdfff
}

function isWide(key: string): boolean {
  return /[\ud800-\uffff]/.test(key)
}
