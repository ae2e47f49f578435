// The sandbox of snippets: no network, no files, only the globals of the language, bounded time and memory.
import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'
import { Worker } from 'node:worker_threads'
import { systemClock } from '@fairlead/client'
import type { Clock } from '@fairlead/kube'
import type { RunSnippet } from '../engine/maps/snippet.ts'
import { FairQueue } from './fair-queue.ts'
import type { SnippetCall, SnippetLimits, SnippetReady, SnippetReply } from './snippet-messages.ts'
import { SourceHistory } from './source-history.ts'

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
  /** Drops the call when its turn comes. */
  readonly signal: AbortSignal | undefined
}

/**
 * Runs snippets in one thread, started for the first call and replaced after it was terminated. Callers take turns, and
 * a source that takes too long again and again is not called for a while.
 */
export class Sandbox implements AsyncDisposable {
  readonly #limits: SnippetLimits
  readonly #clock: Pick<Clock, 'timer' | 'monotonic'>
  readonly #queue = new FairQueue<QueuedCall>()
  readonly #history: SourceHistory
  #worker: Worker | undefined
  #isReady = false
  #current: { readonly queued: QueuedCall; timer: Disposable } | undefined
  #closed = false

  /** `clock` is the system's by default, even under a fake clock: time limits of snippets are real time. */
  constructor(
    options: { readonly limits?: Partial<SnippetLimits>; readonly clock?: Pick<Clock, 'timer' | 'monotonic'> } = {},
  ) {
    this.#limits = { ...defaultLimits, ...options.limits }
    this.#clock = options.clock ?? systemClock
    this.#history = new SourceHistory(this.#clock)
  }

  /**
   * Calls the first function of a source with strings and returns its result as a string. Rejects with SnippetError.
   */
  readonly run: RunSnippet = async (source, args, { group = '', signal, mayBeCached = false } = {}) => {
    if (this.#closed) throw new SnippetError('the sandbox is closed')
    if (signal?.aborted === true) throw new SnippetError('the caller no longer waits')
    const length = args.reduce((sum, argument) => sum + argument.length, source.length)
    if (length > maxLength) throw new SnippetError(`its source and arguments are longer than ${maxLength} characters`)
    const known = mayBeCached ? this.#history.result(source, args) : undefined
    if (known !== undefined) return known
    const reply = await this.#reply({ source, args, limits: this.#limits }, group, signal)
    if ('failure' in reply) throw new SnippetError(reply.failure)
    this.#history.returned(source, args, reply.value, mayBeCached)
    return reply.value
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true
    for (const { settle } of this.#queue.clear()) settle({ failure: 'the sandbox was closed' })
    this.#settle({ failure: 'the sandbox was closed' })
    await this.#worker?.terminate()
  }

  /** The failure of a snippet that takes too long; the thread reports the same. */
  get #tooLate(): string {
    return `it took longer than ${this.#limits.milliseconds} ms`
  }

  #reply(call: SnippetCall, group: string, signal: AbortSignal | undefined): Promise<SnippetReply> {
    const { promise, resolve } = Promise.withResolvers<SnippetReply>()
    this.#queue.push(group, { call, settle: resolve, signal })
    this.#next()
    return promise
  }

  #next(): void {
    if (this.#current !== undefined) return
    let queued = this.#queue.shift()
    for (let why = queued && this.#whyNot(queued); why !== undefined; why = queued && this.#whyNot(queued)) {
      queued!.settle({ failure: why })
      queued = this.#queue.shift()
    }
    if (queued === undefined) return
    const worker = (this.#worker ??= this.#start())
    worker.ref()
    this.#current = {
      queued,
      timer: this.#clock.timer(startLimit, () => this.#terminate(worker, 'the sandbox did not start')),
    }
    if (this.#isReady) this.#send(worker)
  }

  /** Returns why a call is not made now that it is its turn. */
  #whyNot({ call, signal }: QueuedCall): string | undefined {
    if (signal?.aborted === true) return 'the caller no longer waits'
    return this.#history.isPaused(call.source) ? `${this.#tooLate} again and again; try again later` : undefined
  }

  #send(worker: Worker): void {
    const current = this.#current
    if (current === undefined) return
    current.timer[Symbol.dispose]()
    current.timer = this.#clock.timer(hardLimit, () => this.#terminate(worker, this.#tooLate))
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
    if (current === undefined) return
    if ('failure' in reply && reply.failure === this.#tooLate) this.#history.timedOut(current.queued.call.source)
    current.queued.settle(reply)
  }
}
