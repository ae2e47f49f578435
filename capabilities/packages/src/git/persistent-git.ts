// A process of git that answers many requests in their order: it starts with the first one, ends when it was idle for a
// while, and starts again with the next.
import type { ChildProcessWithoutNullStreams } from 'node:child_process'
import { systemClock } from '@fairlead/client'
import { GitError, gitFailure } from './git-error.ts'
import { killGroup, startError, startGit } from './git-process.ts'

/** The parser of responses. */
export interface Answers {
  /** Handles a chunk of standard output. */
  receive(chunk: Buffer): void
  /** Rejects the requests that are unanswered: the process has ended. */
  end(error: Error): void
  /** Reports whether a request is unanswered. */
  isPending(): boolean
}

/** Milliseconds without a request after which a process ends. */
const idleTime = 120_000

/** The process. */
export class PersistentGit implements Disposable {
  readonly #folder: string
  readonly #args: readonly string[]
  readonly #answers: Answers
  #child: ChildProcessWithoutNullStreams | undefined
  #idle: Disposable | undefined
  #stderr = ''
  #isClosed = false

  constructor(folder: string, args: readonly string[], answers: Answers) {
    this.#folder = folder
    this.#args = args
    this.#answers = answers
  }

  /** Writes a request. @throws GitError `Closed` */
  write(request: string): void {
    if (this.#isClosed) throw closed()
    const child = (this.#child ??= this.#start())
    this.#waitForIdle()
    // Requests of one turn are written together.
    if (child.stdin.writableCorked === 0) {
      child.stdin.cork()
      process.nextTick(() => child.stdin.uncork())
    }
    child.stdin.write(request)
  }

  /** Ends the process with an error for all that is unanswered; the next request starts another. */
  kill(error: Error): void {
    if (this.#child === undefined) return
    killGroup(this.#child)
    this.#ended(error)
  }

  [Symbol.dispose](): void {
    this.#isClosed = true
    this.kill(closed())
  }

  #start(): ChildProcessWithoutNullStreams {
    const child = startGit(this.#folder, this.#args)
    this.#stderr = ''
    child.stdin.on('error', () => undefined)
    child.stderr.on('data', (chunk: Buffer) => (this.#stderr += chunk.toString()))
    child.stdout.on('data', (chunk: Buffer) => {
      if (this.#child === child) this.#answers.receive(chunk)
    })
    child.on('error', (error) => this.#child === child && this.#ended(startError(error)))
    child.on(
      'close',
      () =>
        this.#child === child &&
        this.#ended(gitFailure(this.#args.find((word) => /^[a-z]+-/.test(word)) ?? '', this.#stderr)),
    )
    // The process lives as long as the repository is open and must not keep Node running.
    child.unref()
    return child
  }

  #ended(error: Error): void {
    this.#child = undefined
    this.#idle?.[Symbol.dispose]()
    this.#answers.end(error)
  }

  #waitForIdle(): void {
    this.#idle?.[Symbol.dispose]()
    this.#idle = systemClock.timer(idleTime, () => {
      if (this.#answers.isPending()) return this.#waitForIdle()
      // It ends by itself at the end of its input.
      this.#child?.stdin.end()
      this.#child = undefined
    })
  }
}

function closed(): GitError {
  return new GitError('Closed', 'the repository was closed')
}
