// A replica of a Deployment: a process of `fairlead run` that is started again when it ends by itself, as a leader does
// that lost its Lease because the machine gave it no time. Start with Replica.start.
import type { RunProcess } from './run-process.ts'

/** A process, and those before it. Disposing it kills it. */
export class Replica implements AsyncDisposable {
  /** Exit codes of the processes that ended by themselves, the first one first. */
  readonly restarts: (number | string)[] = []
  readonly #start: () => Promise<RunProcess>
  #process: RunProcess
  #log = ''
  #isStopped = false
  readonly #done: Promise<void>

  private constructor(start: () => Promise<RunProcess>, first: RunProcess) {
    this.#start = start
    this.#process = first
    this.#done = this.#keepRunning()
    this.#done.catch(() => {})
  }

  /** Resolves when the first process is set up. `start` starts one. */
  static async start(start: () => Promise<RunProcess>): Promise<Replica> {
    return new Replica(start, await start())
  }

  /** The output of all its processes. */
  get log(): string {
    return this.#log + outputOf(this.#process)
  }

  /** Reads a path of its server: the status and the body. */
  get(path: string): Promise<readonly [number, string]> {
    return this.#process.get(path)
  }

  /** Sends a signal. */
  signal(signal: NodeJS.Signals): void {
    this.#process.signal(signal)
  }

  /** Stops it for good; resolves with the exit code of its last process. Throws when one could not be started again. */
  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<number | string> {
    this.#isStopped = true
    this.signal(signal)
    await this.#done
    return this.#process.ended()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop('SIGKILL')
  }

  async #keepRunning(): Promise<void> {
    for (;;) {
      const code = await this.#process.ended()
      if (this.#isStopped) return
      this.restarts.push(code)
      this.#log += outputOf(this.#process)
      this.#process = await this.#start()
      if (this.#isStopped) await this.#process.stop()
    }
  }
}

function outputOf({ text, log }: RunProcess): string {
  return `${text}${log}\n`
}
