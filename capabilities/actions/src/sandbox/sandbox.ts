// Runs snippets of users without our rights: no network, no files, no globals but the language's own, bounded time and memory.
import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'
import { Worker } from 'node:worker_threads'
import { systemClock } from '@fairlead/client'
import type { Clock } from '@fairlead/kube'
import type { SnippetCall, SnippetLimits, SnippetReady, SnippetReply } from './snippet-messages.ts'

/** A snippet threw, took too long, or gave nothing. */
export class SnippetError extends Error {
  override readonly name = 'SnippetError'
  readonly code = 'SnippetFailed'
}

/** specs/actions.md §3. */
const defaultLimits: SnippetLimits = { milliseconds: 50, bytes: 16 * 1024 * 1024 }

/** Milliseconds after which the thread itself is ended: some built-in loops of a language never look at the time. */
const hardLimit = 1000
/** Milliseconds that a thread may take to be there. */
const startLimit = 20_000
/** Texts that go in. */
const maxLength = 1_048_576

interface Waiting {
  readonly call: SnippetCall
  readonly settle: (reply: SnippetReply) => void
}

/** The sandbox: one thread, started for the first call, replaced when it had to be ended. */
export class Sandbox implements AsyncDisposable {
  readonly #limits: SnippetLimits
  readonly #clock: Pick<Clock, 'timer'>
  readonly #queue: Waiting[] = []
  #worker: Worker | undefined
  #isReady = false
  #current: { readonly waiting: Waiting; timer: Disposable } | undefined
  #closed = false

  /** Snippets need real time to be stopped in, whatever the clock of a test says: `clock` is the system's unless told. */
  constructor(options: { readonly limits?: Partial<SnippetLimits>; readonly clock?: Pick<Clock, 'timer'> } = {}) {
    this.#limits = { ...defaultLimits, ...options.limits }
    this.#clock = options.clock ?? systemClock
  }

  /** Calls the first function of a source with texts and gives its result as a text. Rejects with SnippetError. */
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
    const waiting = this.#queue.shift()
    if (waiting === undefined) return
    const worker = (this.#worker ??= this.#start())
    worker.ref()
    this.#current = {
      waiting,
      timer: this.#clock.timer(startLimit, () => this.#end(worker, 'the sandbox does not start')),
    }
    if (this.#isReady) this.#send(worker)
  }

  #send(worker: Worker): void {
    const current = this.#current
    if (current === undefined) return
    current.timer[Symbol.dispose]()
    current.timer = this.#clock.timer(hardLimit, () =>
      this.#end(worker, `it took longer than ${this.#limits.milliseconds} ms`),
    )
    worker.postMessage(current.waiting.call)
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
      this.#end(worker, `the sandbox failed: ${error instanceof Error ? error.message : String(error)}`),
    )
    worker.on('exit', () => this.#end(worker, 'the sandbox ended'))
    return worker
  }

  #end(worker: Worker, failure: string): void {
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
    current?.waiting.settle(reply)
  }
}
