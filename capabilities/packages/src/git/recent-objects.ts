// The objects that this process wrote last. What a save has written, the index, the notifications and the next save
// read again at once: without a question to git.
import type { GitObject } from './object-reader.ts'
import { treeEntries } from './tree.ts'

/** Bytes that are kept per repository, and of one object. */
const limits = { all: 2 * 1024 * 1024, one: 512 * 1024 } as const

/** Bytes of a kept object beside its content: its hash, its entry, and the memory of its own that a buffer has. */
const overhead = 512

/** Objects by hash, those that were written first are dropped first. */
export class RecentObjects {
  readonly #objects = new Map<string, GitObject>()
  #bytes = 0

  /** Adds an object that is on disk. */
  add({ hash, type, content: written }: GitObject): void {
    if (written.length > limits.one || this.#objects.has(hash)) return
    // A small buffer is a slice of 64 KiB that Node shares among many; the slice would keep all of them in memory.
    const own = Buffer.allocUnsafeSlow(written.length)
    written.copy(own)
    this.#objects.set(hash, { hash, type, content: own })
    this.#bytes += own.length + overhead
    for (const [hash, { content }] of this.#objects) {
      if (this.#bytes <= limits.all) return
      this.#objects.delete(hash)
      this.#bytes -= content.length + overhead
    }
  }

  /** Returns an object by its hash, `<commit>:<path>` or `<commit>^{tree}`; undefined when only git may have it. */
  find(specification: string): GitObject | undefined {
    const [, hash = '', path] = /^([0-9a-f]{40})(?:\^\{tree\}|:(.*))?$/s.exec(specification) ?? []
    const object = this.#objects.get(hash)
    if (object === undefined || specification === hash) return object
    if (object.type !== 'commit') return undefined
    let found = this.#objects.get(object.content.toString('latin1', 5, 45))
    for (const name of (path ?? '').split('/').filter((part) => part !== '')) {
      const entry = found?.type === 'tree' && treeEntries(found.content).find((one) => one.name === name)
      if (!entry) return undefined
      found = this.#objects.get(entry.hash)
    }
    return found
  }
}
