// The sandbox of snippets: no network, no files, only the globals of the language, bounded time and memory.
import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'
import { Worker } from 'node:worker_threads'
import { systemClock } from '@fairlead/client'
import type { Clock } from '@fairlead/kube'
import type { SnippetCall, SnippetLimits, SnippetReady, SnippetReply } from './snippet-messages.ts'

/** A snippet threw, took too long, or returned nothing. */
export class SnippetError extends Error {
  override readonly name = 'SnippetError'
  readonly code = 'SnippetFailed'
}

/** specs/actions.md §3. */
const defaultLimits: SnippetLimits = { milliseconds: 50, bytes: 16 * 1024 * 1024 }

/** Milliseconds after which the thread is terminated: some built-in loops never call the interrupt handler. */
const hardLimit = 1000
/** Milliseconds that a thread may take to start. */
const startLimit = 20_000
/** Maximum length of source and arguments, in characters. */
const maxLength = 1_048_576

interface QueuedCall {
  readonly call: SnippetCall
  readonly settle: (reply: SnippetReply) => void
}

/** Runs snippets in one thread, started for the first call and replaced after it was terminated. */
export class Sandbox implements AsyncDisposable {
  readonly #limits: SnippetLimits
  readonly #clock: Pick<Clock, 'timer'>
  readonly #queue: QueuedCall[] = []
  #worker: Worker | undefined
  #isReady = false
  #current: { readonly queued: QueuedCall; timer: Disposable } | undefined
  #closed = false

  /** `clock` is the system's by default, even under a fake clock: time limits of snippets are real time. */
  constructor(options: { readonly limits?: Partial<SnippetLimits>; readonly clock?: Pick<Clock, 'timer'> } = {}) {
    this.#limits = { ...defaultLimits, ...options.limits }
    this.#clock = options.clock ?? systemClock
  }

  /**
   * Calls the first function of a source with strings and returns its result as a string. Rejects with SnippetError.
   */
  readonly run = async (source: string, args: readonly string[]): Promise<string> => {
    if (this.#closed) throw new SnippetError('the sandbox is closed')
    const length = args.reduce((sum, argument) => sum + argument.length, source.length)
    if (length > maxLength) throw new SnippetError(`its source and arguments are longer than ${maxLength} characters`)
    const reply = await new Promise<SnippetReply>((settle) => {
      this.#queue.push({ call: { source, args, limits: this.#limits }, settle })
      this.#next()
    })
    if ('failure' in reply) throw new SnippetError(reply.failure)
    return reply.value
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true
    for (const { settle } of this.#queue.splice(0)) settle({ failure: 'the sandbox was closed' })
    this.#settle({ failure: 'the sandbox was closed' })
    await this.#worker?.terminate()
  }

  #next(): void {
    if (this.#current !== undefined) return
    const queued = this.#queue.shift()
    if (queued === undefined) return
    const worker = (this.#worker ??= this.#start())
    worker.ref()
    this.#current = {
      queued,
      timer: this.#clock.timer(startLimit, () => this.#terminate(worker, 'the sandbox did not start')),
    }
    if (this.#isReady) this.#send(worker)
  }

  #send(worker: Worker): void {
    const current = this.#current
    if (current === undefined) return
    current.timer[Symbol.dispose]()
    current.timer = this.#clock.timer(hardLimit, () =>
      this.#terminate(worker, `it took longer than ${this.#limits.milliseconds} ms`),
    )
    worker.postMessage(current.queued.call)
  }

  #start(): Worker {
    const worker = new Worker(pathToFileURL(createRequire(import.meta.url).resolve('#snippet-worker')), {
      name: 'fairlead-snippets',
      env: {},
      stdin: false,
      resourceLimits: { maxOldGenerationSizeMb: 64 },
    })
    worker.on('message', (reply: SnippetReply | SnippetReady) => {
      if (this.#worker !== worker) return
      if (reply === 'ready') {
        this.#isReady = true
        this.#send(worker)
        return
      }
      this.#settle(reply)
      worker.unref()
      this.#next()
    })
    worker.on('error', (error) =>
      this.#terminate(worker, `the sandbox failed: ${error instanceof Error ? error.message : String(error)}`),
    )
    worker.on('exit', () => this.#terminate(worker, 'the sandbox ended'))
    return worker
  }

  #terminate(worker: Worker, failure: string): void {
    if (this.#worker !== worker) return
    this.#worker = undefined
    this.#isReady = false
    void worker.terminate()
    this.#settle({ failure })
    if (!this.#closed) this.#next()
  }

  #settle(reply: SnippetReply): void {
    const current = this.#current
    this.#current = undefined
    current?.timer[Symbol.dispose]()
    current?.queued.settle(reply)
  }
}
