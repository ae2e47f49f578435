// Workers over a queue: take items, run them, retry them, and remember what they read. Controllers of one kind
// (controller.ts) consist of one loop; capabilities whose items are not objects (a parent and a key of it) use it
// directly.
import { CollisionError, kindOfObject, yieldIfLong } from '@fairlead/client'
import type { Client, KindLike } from '@fairlead/client'
import { formatKey, keyOf } from '@fairlead/kube'
import type { KubeObject } from '@fairlead/kube'
import type { InformerUse } from '../informer/informer-pool.ts'
import type { Logger } from '../logger.ts'
import { failureOf } from '../queue/failure.ts'
import { WorkQueue } from '../queue/work-queue.ts'
import type { Priority } from '../queue/work-queue.ts'
import { TerminalError } from '../result.ts'
import { ChangeFilter } from './change-filter.ts'
import { Dependencies } from './dependencies.ts'
import { ObjectWatches } from './object-watches.ts'
import { ReadCaches } from './read-caches.ts'
import { RecordingReader } from './reader.ts'
import { ShardRuns } from './shard-runs.ts'
import { WatchedKinds } from './watched-kinds.ts'
import type { ItemsOf, WatchOptions, WorkContext, WorkLoopHost, WorkLoopOptions } from './work-loop-options.ts'

/** The loop. Create it with {@link Manager.loop}. */
export class WorkLoop<T> implements AsyncDisposable {
  readonly name: string
  readonly queue: WorkQueue<T>
  readonly client: Client
  readonly #options: WorkLoopOptions<T>
  readonly #host: WorkLoopHost
  readonly #log: Logger
  readonly #dependencies = new Dependencies()
  readonly #watched = new WatchedKinds()
  readonly #filter: ChangeFilter = new ChangeFilter(this.#watched)
  readonly #caches: ReadCaches
  readonly #watches: ObjectWatches<T>
  readonly #shardRuns: ShardRuns | undefined
  /** Items by id, as long as they read something: dependencies know ids only. */
  readonly #items = new Map<string, T>()
  readonly #abort = new AbortController()
  readonly #onStopped: (() => void)[] = []
  #workers: Promise<void>[] = []
  #active = 0
  #stopping: Promise<void> | undefined
  readonly #graces: Disposable[] = []

  constructor(options: WorkLoopOptions<T>, host: WorkLoopHost) {
    this.name = options.name
    this.#options = options
    this.#host = host
    this.#log = host.log.child({ controller: options.name })
    this.queue = new WorkQueue<T>({
      id: options.id,
      group: options.group,
      maxPerGroup: options.maxPerGroup,
      clock: host.clock,
      random: host.random,
      observer: host.metrics,
    })
    host.metrics.inProgress(() => this.queue.unfinished())
    this.client = host.client.with({
      manager: options.manager ?? `fairlead-${options.name}`,
      force: true,
      cached: (kind, key) => this.#watched.cached(kind, formatKey(key)),
    })
    this.#shardRuns = host.shards === undefined || options.everywhere ? undefined : new ShardRuns(host.shards)
    this.#watches = new ObjectWatches<T>({
      informers: host.informers,
      watched: this.#watched,
      id: options.id,
      changed: (kind, item, id, change) => {
        if (this.#filter.passes(kind, id, change)) this.queue.add(item, change.initial ? 'low' : 'normal')
      },
      enqueue: (item) => this.queue.add(item, 'low'),
    })
    this.#caches = new ReadCaches({
      informers: host.informers,
      dependencies: this.#dependencies,
      watched: this.#watched,
      changed: (kind, readers, change) => {
        for (const id of readers) if (this.#filter.passes(kind, id, change)) this.queue.add(this.#items.get(id)!)
      },
      wake: (readers) => {
        for (const id of readers) if (this.#items.has(id)) this.queue.add(this.#items.get(id)!)
      },
    })
  }

  /** Number of items that run now. */
  get active(): number {
    return this.#active
  }

  /** Enqueues an item. */
  add(item: T, priority: Priority = 'normal'): void {
    this.queue.add(item, priority)
  }

  /**
   * Wakes the items that `itemsOf` returns whenever an object of the kind changes, except an item that made the change
   * itself. Ends when the loop stops or when the returned value is disposed.
   */
  watch<O extends KubeObject>(
    like: KindLike<O>,
    itemsOf: ItemsOf<T, O>,
    options: WatchOptions<O> = {},
  ): InformerUse<O> {
    return this.#watches.add(like, itemsOf, options)
  }

  /** Enqueues the items of a shard that was acquired. */
  shardGained(shard: number): void {
    if (this.#options.shardGained !== undefined) return this.#options.shardGained(shard)
    this.#watches.replay((item) => this.#shardOf(item) === shard)
  }

  /** Resolves when no item of the shard runs. */
  async shardLeft(shard: number): Promise<void> {
    await this.#shardRuns?.finished(shard)
  }

  /** Starts the workers. */
  start(): void {
    if (this.#workers.length > 0) return
    this.#workers = Array.from({ length: this.#options.concurrency ?? 1 }, () => this.#work())
  }

  /** Resolves when every watched kind has been listed, or cannot be. */
  async synced(signal?: AbortSignal): Promise<void> {
    await Promise.all(this.#watched.all().map((informer) => informer.waitForState(signal)))
  }

  /**
   * Stops watching, lets runs in progress end within `grace` milliseconds (30,000 when left out), then aborts them. The
   * shortest grace of several calls counts.
   */
  stop(grace: number = 30_000): Promise<void> {
    const abort = (): void => this.#abort.abort(new DOMException(`Controller ${this.name} was stopped`, 'AbortError'))
    this.#graces.push(this.#host.clock.timer(grace, abort))
    this.#stopping ??= this.#end()
    return this.#stopping
  }

  /** Calls `run` once the loop has stopped. */
  onStopped(run: () => void): void {
    this.#onStopped.push(run)
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop()
  }

  /** Forgets an item that is no longer worked on: what it read and its failures wake it no more. */
  forget(item: T): void {
    const id = this.#options.id(item)
    this.#dependencies.replace(id, [])
    this.#items.delete(id)
    this.queue.forget(item)
  }

  async #end(): Promise<void> {
    this.#watches[Symbol.dispose]()
    await this.queue.drain()
    await Promise.all(this.#workers)
    for (const timer of this.#graces.splice(0)) timer[Symbol.dispose]()
    this.#caches[Symbol.dispose]()
    this.#host.endpoints.forget(`${this.name}|`)
    this.#host.metrics.unregister()
    for (const run of this.#onStopped) run()
  }

  async #work(): Promise<void> {
    for (let item = await this.queue.take(); item !== undefined; item = await this.queue.take()) {
      try {
        await this.#runIfOwned(item)
      } finally {
        this.queue.done(item)
      }
      // Runs that need no I/O would be one chain of microtasks: the watches that could end it would never be read.
      await yieldIfLong()
    }
  }

  #shardOf(item: T): number {
    return this.#host.shards?.shardOf(this.#options.namespaceOf?.(item)) ?? 0
  }

  /** Drops an item whose shard belongs to another replica; it is enqueued again when the shard is acquired. */
  async #runIfOwned(item: T): Promise<void> {
    if (this.#shardRuns === undefined) return this.#run(item, this.#abort.signal)
    const hasRun = await this.#shardRuns.run(this.#shardOf(item), (lost) =>
      this.#run(item, AbortSignal.any([this.#abort.signal, lost])),
    )
    if (hasRun) return
    this.forget(item)
    this.#options.dropped?.(item)
  }

  async #run(item: T, signal: AbortSignal): Promise<void> {
    const { clock, metrics } = this.#host
    const id = this.#options.id(item)
    const started = clock.monotonic()
    const reader = this.#readerFor(item, id, signal)
    const context: WorkContext = {
      client: this.client.with({ observer: this.#filter.observer(id, () => this.queue.add(item)), signal }),
      read: reader,
      log: this.#options.logFields === undefined ? this.#log : this.#log.child(this.#options.logFields(item)),
      signal,
      clock,
    }
    metrics.active(++this.#active)
    this.queue.begin(item)
    try {
      const result = await this.#options.run(item, context)
      this.#dependencies.replace(id, reader.reads)
      this.queue.forget(item)
      if (result) this.queue.addAfter(item, 'at' in result ? result.at - clock.now() : result.after)
      metrics.reconciled(result ? 'requeue_after' : 'success', (clock.monotonic() - started) / 1000)
    } catch (error) {
      // A run that failed has read less than it needs: its earlier reads are kept as well.
      await this.#failed(item, id, error, context)
      metrics.reconciled(
        error instanceof TerminalError ? 'terminal_error' : 'error',
        (clock.monotonic() - started) / 1000,
      )
    } finally {
      if (this.#dependencies.readsOf(id).length === 0) this.#items.delete(id)
      // Runs in progress may use caches that they have only begun to read.
      if (this.#active === 1) this.#caches.dropUnread()
      metrics.active(--this.#active)
    }
  }

  #readerFor(item: T, id: string, signal: AbortSignal): RecordingReader {
    return new RecordingReader({
      informer: (kind) => this.#caches.informer(kind),
      recorded: (read) => {
        this.#items.set(id, item)
        this.#dependencies.add(id, read)
      },
      blocked: (kind) => this.#caches.block(kind, id),
      clock: this.#host.clock,
      signal,
    })
  }

  async #failed(item: T, id: string, error: unknown, context: WorkContext): Promise<void> {
    if (context.signal.aborted) return
    // When the foreign object is deleted or changes owner, the name may become available.
    if (error instanceof CollisionError) this.#dependOn(item, id, error.live)
    try {
      await this.#options.failed?.(item, error, context)
    } catch (second) {
      context.log.warn('Could not report a failure', { error: second })
    }
    if (error instanceof TerminalError) {
      this.queue.forget(item)
      context.log.error('Reconcile failed for good', { error })
      return
    }
    const { type, retry: policy } = failureOf(error)
    const wait = this.queue.retry(item, policy)
    if (policy.endpoint !== undefined)
      this.#host.endpoints.waitFor(policy.endpoint, `${this.name}|${id}`, () => this.queue.hurry(item))
    const failures = this.queue.failures(item)
    context.log.warn('Reconcile failed', { error, failure: type, failures, retryInMs: Math.round(wait) })
  }

  #dependOn(item: T, id: string, object: KubeObject): void {
    const kind = kindOfObject(object)
    this.#caches.informer(kind)
    this.#items.set(id, item)
    this.#dependencies.add(id, { kind, key: keyOf(object) })
  }
}
