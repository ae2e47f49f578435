// Loose objects, written in this process: a process of git for each write would take longer than the write. Objects are
// collected, and written before a ref names them: to a temporary file, synced, renamed.
import { createHash, randomUUID } from 'node:crypto'
import type { FileHandle } from 'node:fs/promises'
import { access, mkdir, open, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { deflate, deflateSync } from 'node:zlib'
import { GitError } from './git-error.ts'
import type { GitObject } from './object-reader.ts'
import type { RecentObjects } from './recent-objects.ts'

/** Bytes from which an object is compressed in a thread. */
const inThread = 64 * 1024
/** The level that git uses for loose objects. */
const level = 1
/** Files that are written at a time. */
const concurrency = 16

const compress = promisify(deflate)

/** Objects of one commit. */
export class ObjectWriter {
  readonly #folder: string
  readonly #recent: RecentObjects
  readonly #objects = new Map<string, GitObject>()
  readonly #existing = new Set<string>()

  /** `folder` is that of the repository; `recent` gets what was written. */
  constructor(folder: string, recent: RecentObjects) {
    this.#recent = recent
    this.#folder = join(folder, 'objects')
  }

  /** Records objects that need not be written: a ref reaches them. */
  keep(hashes: Iterable<string>): void {
    for (const hash of hashes) this.#existing.add(hash)
  }

  /** Adds an object to those to write, and returns its hash. */
  add(type: GitObject['type'], content: Buffer): string {
    const hash = createHash('sha1').update(headerOf(type, content)).update(content).digest('hex')
    if (!this.#existing.has(hash)) this.#objects.set(hash, { hash, type, content })
    return hash
  }

  /** Writes the objects that were added and returns their number; they are on disk then. @throws GitError `Failed` */
  async flush(signal: AbortSignal): Promise<number> {
    const left = this.#objects.values()
    const work = async (): Promise<void> => {
      for (const object of left) {
        signal.throwIfAborted()
        await this.#write(object)
      }
    }
    try {
      await Promise.all(Array.from({ length: Math.min(concurrency, this.#objects.size) }, work))
    } catch (error) {
      signal.throwIfAborted()
      throw new GitError('Failed', `an object of git could not be written: ${(error as Error).message}`, {
        cause: error,
      })
    }
    for (const object of this.#objects.values()) this.#recent.add(object)
    const { size } = this.#objects
    this.#objects.clear()
    return size
  }

  async #write({ hash, type, content }: GitObject): Promise<void> {
    const folder = join(this.#folder, hash.slice(0, 2))
    const path = join(folder, hash.slice(2))
    if (await exists(path)) return
    const object = Buffer.concat([headerOf(type, content), content])
    const bytes = object.length < inThread ? deflateSync(object, { level }) : await compress(object, { level })
    // Git removes files of this name that a process left behind.
    const temporary = join(folder, `tmp_obj_${randomUUID()}`)
    const file = await createFile(folder, temporary)
    try {
      await file.writeFile(bytes)
      await file.datasync()
      await file.close()
      await rename(temporary, path)
    } catch (error) {
      await file.close().catch(() => undefined)
      await rm(temporary, { force: true })
      throw error
    }
  }
}

function headerOf(type: GitObject['type'], content: Buffer): Buffer {
  return Buffer.from(`${type} ${content.length}\0`)
}

/** Creates a file, and its folder, which git removes whenever all of its objects are packed. */
async function createFile(folder: string, path: string): Promise<FileHandle> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await open(path, 'wx', 0o444)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || attempt === 5) throw error
      await mkdir(folder, { recursive: true })
    }
  }
}

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  )
}
