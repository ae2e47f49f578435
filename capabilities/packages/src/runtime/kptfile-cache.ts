// Parsed Kptfiles by the hash of their content: many revisions have the same one.
import { parseKptfile } from '../engine/kptfile/kptfile.ts'
import type { Kptfile } from '../engine/kptfile/kptfile.ts'
import { PackageError } from '../engine/package-error.ts'
import { GitError } from '../git/git-error.ts'
import type { GitRepository } from '../git/repository.ts'

/** Kptfiles that are remembered. */
const capacity = 20_000

/** The Kptfiles of one repository. */
export class KptfileCache {
  readonly #git: GitRepository
  readonly #known = new Map<string, Promise<Kptfile | undefined>>()

  constructor(git: GitRepository) {
    this.#git = git
  }

  /** Returns the Kptfile of a hash; undefined for one that is not valid, or damaged. @throws GitError */
  read(hash: string): Promise<Kptfile | undefined> {
    const known = this.#known.get(hash)
    if (known !== undefined) return known
    if (this.#known.size >= capacity) this.#known.delete(this.#known.keys().next().value!)
    const read = this.#parse(hash)
    this.#known.set(hash, read)
    // A failure to read says nothing about the content.
    read.catch(() => this.#known.delete(hash))
    return read
  }

  async #parse(hash: string): Promise<Kptfile | undefined> {
    try {
      const content = await this.#git.file(hash)
      return content === undefined ? undefined : parseKptfile(content)
    } catch (error) {
      if (error instanceof PackageError || (error instanceof GitError && error.code === 'Corrupt')) return undefined
      throw error
    }
  }
}
