// Transactions on refs: one `git update-ref --stdin` process per repository.
import { systemClock } from '@fairlead/client'
import { GitError } from './git-error.ts'
import { timeouts } from './git-process.ts'
import { PersistentGit } from './persistent-git.ts'

/** A change of a ref: `expected` and `to` are hashes; undefined means that the ref does not exist. */
export interface RefChange {
  /** The full name, such as `refs/heads/main`. */
  readonly ref: string
  readonly expected: string | undefined
  readonly to: string | undefined
}

/** Milliseconds that a change of refs waits for another one, or for refs that are being packed. */
const lockTimeout = 20_000

/** Settings with which acknowledged refs survive a power failure as well, and writers of refs wait for each other. */
export const durableRefs: readonly string[] = [
  'core.fsync=committed',
  `core.filesRefLockTimeout=${lockTimeout}`,
  `core.packedRefsTimeout=${lockTimeout}`,
].flatMap((setting) => ['-c', setting])

const noHash = '0'.repeat(40)

/** Changes refs. */
export class RefUpdates implements Disposable {
  readonly #git: PersistentGit
  #pending: PromiseWithResolvers<void>[] = []
  #line = ''

  constructor(folder: string) {
    this.#git = new PersistentGit(folder, [...durableRefs, 'update-ref', '--no-deref', '--stdin'], {
      receive: (chunk) => this.#receive(chunk.toString()),
      end: (error) => this.#end(error),
      isPending: () => this.#pending.length > 0,
    })
  }

  [Symbol.dispose](): void {
    this.#git[Symbol.dispose]()
  }

  /** Ends the process; the next request starts another. */
  restart(reason: Error): void {
    this.#git.kill(reason)
  }

  /**
   * Changes refs in one transaction. A process that refuses one ends, so callers make one transaction at a time.
   * @throws GitError `RefChanged` when a ref has another value than expected
   */
  async update(changes: readonly RefChange[], signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    // `update <ref> <new> 000…` creates a ref that must not exist.
    const lines = changes.map(({ ref, expected = noHash, to }) =>
      to === undefined ? `delete ${ref} ${expected}` : `update ${ref} ${to} ${expected}`,
    )
    const onAbort = (): void => this.#git.kill(signal.reason as Error)
    signal.addEventListener('abort', onAbort, { once: true })
    const late = `git update-ref did not finish within ${timeouts.local / 1000} s`
    using _timer = systemClock.timer(timeouts.local, () => this.#git.kill(new GitError('Timeout', late)))
    const answer = Promise.withResolvers<void>()
    try {
      this.#pending.push(answer)
      this.#git.write(['start', ...lines, 'prepare', 'commit', ''].join('\n'))
      await answer.promise
    } finally {
      this.#pending = this.#pending.filter((one) => one !== answer)
      signal.removeEventListener('abort', onAbort)
    }
  }

  #receive(output: string): void {
    const lines = (this.#line + output).split('\n')
    this.#line = lines.pop()!
    for (const line of lines) if (line === 'commit: ok') this.#pending.shift()?.resolve()
  }

  #end(error: Error): void {
    this.#line = ''
    for (const answer of this.#pending.splice(0)) answer.reject(error)
  }
}
