// Loose objects become packs in the background, and loose refs one file: a repository of many saves would have as many
// files as objects, and one of many revisions as many as refs. Nothing is lost: objects that no ref reaches are packed
// as well, and each save may go on meanwhile.
import { readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { systemClock } from '@fairlead/client'
import { runGit } from './git-process.ts'
import { durableRefs } from './ref-updates.ts'

/** Loose objects above which they are packed. */
const maxLoose = 2_000

/** Milliseconds that packing may take. */
const timeout = 600_000

/** Milliseconds after which a temporary file is one that a killed process left behind. */
const abandonedAfter = 24 * 3_600_000

/** Packs the objects of one repository. */
export class ObjectPacks implements Disposable {
  readonly #folder: string
  readonly #stop = new AbortController()
  /** Undefined before they were counted. */
  #loose: number | undefined
  #isPacking = false

  constructor(folder: string) {
    this.#folder = folder
  }

  [Symbol.dispose](): void {
    this.#stop.abort(new Error('the repository was closed'))
  }

  /** Counts loose objects that were written, and begins to pack when there are many. */
  written(count: number): void {
    if (this.#isPacking || this.#stop.signal.aborted) return
    if (this.#loose !== undefined) this.#loose += count
    if (this.#loose !== undefined && this.#loose <= maxLoose) return
    this.#isPacking = true
    // A failure costs space and no content; the next objects begin anew.
    this.#packWhenMany()
      .catch(() => (this.#loose = 0))
      .finally(() => (this.#isPacking = false))
  }

  async #packWhenMany(): Promise<void> {
    this.#loose ??= await this.#estimate()
    if (this.#loose <= maxLoose) return
    await this.#removeAbandoned()
    // Packs grow geometrically, so that most of them stay as they are. They are on disk before loose objects go.
    const args = ['-c', 'core.fsync=committed', 'repack', '--quiet', '--geometric=2', '-d', '-l']
    await runGit(this.#folder, args, { signal: this.#stop.signal, timeout })
    this.#loose = 0
    await runGit(this.#folder, [...durableRefs, 'pack-refs', '--all'], { signal: this.#stop.signal, timeout })
  }

  /** Returns the number of loose objects: 256 times that of one folder, as git estimates it. */
  async #estimate(): Promise<number> {
    const found = await readdir(join(this.#folder, 'objects', '17')).catch(() => [])
    return found.length * 256
  }

  async #removeAbandoned(): Promise<void> {
    const folder = join(this.#folder, 'objects', 'pack')
    for (const name of await readdir(folder)) {
      if (!/^\.?tmp[-_]/.test(name)) continue
      const path = join(folder, name)
      if (systemClock.now() - (await stat(path)).mtimeMs > abandonedAfter) await rm(path, { force: true })
    }
  }
}
