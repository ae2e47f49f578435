// Renders packages in worker threads, bounded in time and memory. Start with PackageRenderer.
import { createRequire } from 'node:module'
import { availableParallelism } from 'node:os'
import { pathToFileURL } from 'node:url'
import { Worker } from 'node:worker_threads'
import { systemClock } from '@fairlead/client'
import type { Clock } from '@fairlead/kube'
import type { FunctionOutput, FunctionReference } from '../../engine/function-runner.ts'
import type { PipelineStep } from '../../engine/kptfile/kptfile.ts'
import { PackageError } from '../../engine/package-error.ts'
import type { RenderEvent } from '../../engine/render/pipeline.ts'
import type { RenderedUpdate } from '../../engine/update/rendered-update.ts'
import type { PackageUpdate } from '../../engine/update/update-package.ts'
import { renderStatusOf } from '../../engine/render/render-status.ts'
import { commandWords } from './command-words.ts'
import type { ContainerEngine, PullPolicy } from './container-engine.ts'
import { findContainerEngine, runContainer } from './container-engine.ts'
import type { FunctionLimits } from './function-process.ts'
import { defaultLimits, runProgram } from './function-process.ts'
import { RenderCache } from './render-cache.ts'
import type { EvaluateJob, RenderJob, RenderResult, UpdateJob, WorkerReply, WorkerRequest } from './render-messages.ts'

type Job = RenderJob | EvaluateJob | UpdateJob

/** Options of a renderer. */
export interface PackageRendererOptions {
  readonly limits?: FunctionLimits
  /** The number of worker threads; the machine's parallelism when left out. */
  readonly workers?: number
  /** Runs container images with docker or podman. Off: an image that is not built in is unknown. */
  readonly containers?: boolean
  readonly pullPolicy?: PullPolicy
  /** Where docker and podman are looked for; those of the process when left out. */
  readonly environment?: Readonly<Record<string, string | undefined>>
  readonly clock?: Clock
}

/** Options of one job. */
export interface JobOptions {
  readonly signal: AbortSignal
  readonly onEvent?: (event: RenderEvent) => void
}

interface ThreadResult {
  readonly result: RenderResult
  /** The thread can take another job. */
  readonly isReusable: boolean
  /** No program and no container ran. */
  readonly isPure: boolean
}

/** Runs jobs, one a worker thread at a time; others wait in FIFO order. */
export class PackageRenderer implements AsyncDisposable {
  readonly #limits: FunctionLimits
  readonly #containers: boolean
  readonly #pullPolicy: PullPolicy
  readonly #environment: Readonly<Record<string, string | undefined>>
  readonly #clock: Clock
  readonly #idle: Worker[] = []
  readonly #queue: (() => void)[] = []
  readonly #cache = new RenderCache()
  #free: number
  #engine: Promise<ContainerEngine | undefined> | undefined

  constructor(options: PackageRendererOptions = {}) {
    this.#limits = options.limits ?? defaultLimits
    this.#containers = options.containers ?? false
    this.#pullPolicy = options.pullPolicy ?? 'IfNotPresent'
    this.#environment = options.environment ?? process.env
    this.#clock = options.clock ?? systemClock
    this.#free = options.workers ?? availableParallelism()
  }

  /**
   * Runs a job. A function that exceeds its bounds ends the worker thread and is the error of the result. The result of
   * files that were rendered before comes from memory.
   * @throws the signal's reason
   */
  async run(job: RenderJob | EvaluateJob, options: JobOptions): Promise<RenderResult> {
    options.signal.throwIfAborted()
    if (job.type === 'evaluate') return (await this.#runInThread(job, options)).result
    const key = this.#cache.keyOf(job)
    const known = this.#cache.get(key)
    if (known !== undefined) {
      for (const event of known.events) options.onEvent?.(event)
      return known.result
    }
    const events: RenderEvent[] = []
    const onEvent = (event: RenderEvent): void => {
      events.push(event)
      options.onEvent?.(event)
    }
    const { result, isPure } = await this.#runInThread(job, { signal: options.signal, onEvent })
    if (isPure && result.error === undefined) this.#cache.set(key, result, events)
    return result
  }

  /**
   * Brings the changes of upstream into a package that was rendered: `updateRenderedPackage` in a worker thread.
   * @throws PackageError as `updatePackage`, and `FunctionTimeout`, `FunctionMemory`; the signal's reason
   */
  async update({ local, ...update }: PackageUpdate, options: JobOptions): Promise<RenderedUpdate> {
    options.signal.throwIfAborted()
    const { result } = await this.#runInThread({ type: 'update', files: local, ...update }, options)
    const { files, error, conflicts = [], unrendered } = result
    if (error !== undefined) throw new PackageError(error.code, error.message)
    return { files, conflicts, ...(unrendered !== undefined && { unrendered }) }
  }

  async #runInThread(job: Job, { signal, onEvent }: JobOptions): Promise<ThreadResult> {
    await this.#acquire()
    let worker: Worker | undefined
    try {
      signal.throwIfAborted()
      const idle = this.#idle.pop()
      worker = idle ?? this.#start()
      const result = await this.#runIn({ worker, isReady: idle !== undefined }, job, { signal, onEvent })
      if (result.isReusable) {
        this.#idle.push(worker)
        worker = undefined
      }
      return result
    } finally {
      await worker?.terminate()
      this.#release()
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#idle.splice(0).map(async (worker) => await worker.terminate()))
  }

  #start(): Worker {
    const path = createRequire(import.meta.url).resolve('#render-worker')
    const worker = new Worker(pathToFileURL(path), {
      resourceLimits: { maxOldGenerationSizeMb: this.#limits.memory },
      // Threads do not inherit the resolve hook by which the launcher runs the sources of a clone.
      ...(path.endsWith('.ts') && { execArgv: ['--conditions=@fairlead/source'] }),
    })
    worker.unref()
    return worker
  }

  async #acquire(): Promise<void> {
    if (this.#free > 0) this.#free -= 1
    else await new Promise<void>((resolve) => this.#queue.push(resolve))
  }

  #release(): void {
    const next = this.#queue.shift()
    if (next === undefined) this.#free += 1
    else next()
  }

  async #runIn(
    { worker, isReady }: { readonly worker: Worker; readonly isReady: boolean },
    job: Job,
    { signal, onEvent }: JobOptions,
  ): Promise<ThreadResult> {
    let isPure = true
    const progress = new Progress()
    const listeners = new AbortController()
    const ended = Promise.withResolvers<ThreadResult>()
    const fail = (error: PackageError): void =>
      ended.resolve({ result: progress.failed(job, error), isReusable: false, isPure: false })
    using timer = restartableTimer(this.#clock, this.#limits.timeout, () =>
      fail(
        new PackageError(
          'FunctionTimeout',
          `${progress.current} did not finish within ${Math.round(this.#limits.timeout / 1000)} s`,
        ),
      ),
    )
    const post = (request: WorkerRequest): void => worker.postMessage(request)
    const onMessage = (reply: WorkerReply): void => {
      timer.restart()
      if (reply.type === 'ready') return
      if (reply.type === 'event') {
        progress.add(reply.event)
        onEvent?.(reply.event)
      } else if (reply.type === 'run') {
        isPure = false
        // The program has a time limit of its own.
        timer.stop()
        this.#runFunction(reply.reference, reply.resourceList, signal).then(
          (output) => post({ type: 'output', output }),
          (error: unknown) =>
            error instanceof PackageError
              ? post({ type: 'error', error: { code: error.code, message: error.message } })
              : ended.reject(error as Error),
        )
      } else if (reply.type === 'result') ended.resolve({ result: reply.result, isReusable: true, isPure })
      else ended.reject(new Error(reply.message))
    }
    const onError = (error: Error & { code?: string }): void => {
      if (error.code !== 'ERR_WORKER_OUT_OF_MEMORY') ended.reject(error)
      else
        fail(
          new PackageError(
            'FunctionMemory',
            `${progress.current} needs more than ${this.#limits.memory} MiB of memory`,
          ),
        )
    }
    signal.addEventListener('abort', () => ended.reject(signal.reason as Error), { signal: listeners.signal })
    worker.on('message', onMessage)
    worker.on('error', onError)
    worker.ref()
    try {
      // The start of a thread is no part of a function's time.
      if (isReady) timer.restart()
      post(job)
      return await ended.promise
    } finally {
      listeners.abort()
      worker.off('message', onMessage)
      worker.off('error', onError)
      worker.unref()
    }
  }

  async #runFunction(reference: FunctionReference, input: string, signal: AbortSignal): Promise<FunctionOutput> {
    const { image = '', exec = '', tag = '' } = reference
    if (exec !== '')
      return await runProgram(commandWords(exec), input, {
        name: exec,
        signal,
        clock: this.#clock,
        timeout: this.#limits.timeout,
      })
    if (!this.#containers) throw new PackageError('UnknownFunction', `function ${image} is not built in`)
    if (!/^[\w.-]*$/.test(tag))
      throw new PackageError(
        'UnknownFunction',
        `function ${image} is not built in, and the range ${tag} needs a registry; name one tag`,
      )
    this.#engine ??= findContainerEngine(this.#environment)
    const options = { signal, clock: this.#clock, limits: this.#limits, pullPolicy: this.#pullPolicy }
    return await runContainer(await this.#engine, image, input, options)
  }
}

/** Progress of a job, for the result of one that is cut off. */
class Progress {
  readonly #steps: PipelineStep[] = []
  #running: PipelineStep | undefined
  #packages = 0

  add(event: RenderEvent): void {
    if (event.type === 'package') this.#packages += 1
    if (event.type === 'running') this.#running = event.step
    if (event.type !== 'passed' && event.type !== 'failed') return
    this.#steps.push(event.step)
    this.#running = undefined
  }

  /** The function that runs now. */
  get current(): string {
    if (this.#running === undefined) return 'the render'
    return `function ${this.#running.image ?? this.#running.exec ?? ''}`
  }

  failed(job: Job, error: PackageError): RenderResult {
    const results =
      this.#running === undefined
        ? this.#steps
        : [...this.#steps, { ...this.#running, executionError: error.message, exitCode: 1 }]
    const status = renderStatusOf(results, [])
    return {
      files: job.files,
      results,
      packages: this.#packages,
      functions: this.#steps.length,
      failure: error.message,
      error: { code: error.code, message: error.message },
      ...(status !== undefined && { status }),
    }
  }
}

/** Returns a timer that does not run yet. */
function restartableTimer(
  clock: Clock,
  milliseconds: number,
  callback: () => void,
): Disposable & { restart(): void; stop(): void } {
  let timer: Disposable | undefined
  const stop = (): void => {
    timer?.[Symbol.dispose]()
    timer = undefined
  }
  return {
    restart: () => {
      stop()
      timer = clock.timer(milliseconds, callback)
    },
    stop,
    [Symbol.dispose]: stop,
  }
}
