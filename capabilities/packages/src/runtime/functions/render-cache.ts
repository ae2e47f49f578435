// Results of renders by the content of their files. Functions of this package are deterministic: the same files
// give the same result.
import { createHash } from 'node:crypto'
import type { RenderEvent } from '../../engine/render/pipeline.ts'
import type { RenderJob, RenderResult } from './render-messages.ts'

/** The bytes of files that the results hold together. */
const maxBytes = 128 * 1024 * 1024

interface Entry {
  readonly result: RenderResult
  readonly events: readonly RenderEvent[]
  readonly bytes: number
}

/** The results used last. */
export class RenderCache {
  /** In order of last use. */
  readonly #entries = new Map<string, Entry>()
  #bytes = 0

  /** Returns the key of a job: a hash of its files and options. */
  keyOf({ files, ...options }: RenderJob): string {
    const hash = createHash('sha256').update(JSON.stringify(options))
    for (const [path, content] of files) hash.update(`\0${path}\0${content.length}\0`).update(content)
    return hash.digest('base64')
  }

  get(key: string): Entry | undefined {
    const entry = this.#entries.get(key)
    if (entry === undefined) return undefined
    this.#entries.delete(key)
    this.#entries.set(key, entry)
    return entry
  }

  /** Keeps the result of a job in which no program and no container ran. */
  set(key: string, result: RenderResult, events: readonly RenderEvent[]): void {
    const bytes = [...result.files.values()].reduce((sum, content) => sum + content.length, 0)
    if (bytes > maxBytes / 4 || this.#entries.has(key)) return
    this.#entries.set(key, { result, events, bytes })
    this.#bytes += bytes
    for (const [oldest, entry] of this.#entries) {
      if (this.#bytes <= maxBytes) break
      this.#entries.delete(oldest)
      this.#bytes -= entry.bytes
    }
  }
}
