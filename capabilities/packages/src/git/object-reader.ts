// One `git cat-file --batch` process per repository: objects by hash or by `<commit>:<path>`, requests in a pipeline.
import { GitError } from './git-error.ts'
import { PersistentGit } from './persistent-git.ts'
import type { RecentObjects } from './recent-objects.ts'

/** An object of a repository. */
export interface GitObject {
  readonly hash: string
  readonly type: 'blob' | 'tree' | 'commit' | 'tag'
  readonly content: Buffer
}

interface Pending {
  readonly specification: string
  resolve(object: GitObject | undefined): void
  reject(error: Error): void
}

/** Reads objects. The process starts with the first request and again after it has ended. */
export class ObjectReader implements Disposable {
  readonly #git: PersistentGit
  readonly #recent: RecentObjects
  #pending: Pending[] = []
  #chunks: Buffer[] = []
  #length = 0
  #header: { readonly hash: string; readonly type: GitObject['type']; readonly size: number } | undefined

  constructor(folder: string, recent: RecentObjects) {
    this.#recent = recent
    this.#git = new PersistentGit(folder, ['cat-file', '--batch'], {
      receive: (chunk) => this.#receive(chunk),
      end: (error) => this.#end(error),
      isPending: () => this.#pending.length > 0,
    })
  }

  /**
   * Returns an object by its hash, a ref or `<commit>:<path>`; undefined when it is missing.
   * @throws GitError `Corrupt`, `GitMissing`, `Closed`
   */
  read(specification: string): Promise<GitObject | undefined> {
    if (/[\n\0]/.test(specification)) return Promise.resolve(undefined)
    const recent = this.#recent.find(specification)
    if (recent !== undefined) return Promise.resolve(recent)
    return new Promise((resolve, reject) => {
      this.#git.write(`${specification}\n`)
      this.#pending.push({ specification, resolve, reject })
    })
  }

  [Symbol.dispose](): void {
    this.#git[Symbol.dispose]()
  }

  /** Ends the process; the next request starts another. */
  restart(reason: Error): void {
    this.#git.kill(reason)
  }

  #end(error: Error): void {
    const pending = this.#pending
    this.#pending = []
    this.#chunks = []
    this.#length = 0
    this.#header = undefined
    for (const request of pending) request.reject(error)
  }

  #receive(chunk: Buffer): void {
    this.#chunks.push(chunk)
    this.#length += chunk.length
    while (this.#next());
  }

  /** Handles one response; false when more bytes are needed. */
  #next(): boolean {
    if (this.#header === undefined) {
      const buffer = this.#joined()
      const end = buffer.indexOf(10)
      if (end < 0) return false
      const line = buffer.toString('utf8', 0, end)
      this.#keep(buffer.subarray(end + 1))
      const found = /^([0-9a-f]{40,64}) (blob|tree|commit|tag) (\d+)$/.exec(line)
      if (found === null) {
        const request = this.#pending.shift()
        if (/ (missing|ambiguous)$/.test(line)) request?.resolve(undefined)
        else request?.reject(new GitError('Corrupt', `git cat-file ${request.specification}: ${line}`))
        return true
      }
      this.#header = { hash: found[1]!, type: found[2] as GitObject['type'], size: Number(found[3]) }
    }
    const { hash, type, size } = this.#header
    if (this.#length < size + 1) return false
    const buffer = this.#joined()
    const content = Buffer.from(buffer.subarray(0, size))
    this.#keep(buffer.subarray(size + 1))
    this.#header = undefined
    this.#pending.shift()?.resolve({ hash, type, content })
    return true
  }

  #joined(): Buffer {
    if (this.#chunks.length !== 1) this.#chunks = [Buffer.concat(this.#chunks)]
    return this.#chunks[0]!
  }

  #keep(rest: Buffer): void {
    // An empty rest would keep the chunk of which it is a part.
    this.#chunks = rest.length === 0 ? [] : [rest]
    this.#length = rest.length
  }
}
