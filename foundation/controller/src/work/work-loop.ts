// Workers over a queue: takes items, runs them, retries, remembers what they read and wrote. Controllers of one kind
// (controller.ts) are made of one; capabilities whose items are not objects (a parent and a key of it) use it directly.
import { CollisionError, kindOfObject } from '@fairlead/client'
import type { Client, Kind, KindLike, WriteObserver } from '@fairlead/client'
import { formatKey, keyOf } from '@fairlead/kube'
import type { Clock, KubeObject } from '@fairlead/kube'
import type { Informer, InformerScope, ObjectChange } from '../informer/informer.ts'
import type { InformerPool, InformerUse } from '../informer/informer-pool.ts'
import type { Logger } from '../logger.ts'
import type { ControllerMetrics } from '../metrics.ts'
import type { EndpointWaiters } from '../queue/endpoint-waiters.ts'
import { retryPolicyFor } from '../queue/retry-policy.ts'
import { WorkQueue } from '../queue/work-queue.ts'
import type { Priority } from '../queue/work-queue.ts'
import { TerminalError } from '../result.ts'
import type { Result } from '../result.ts'
import { Dependencies } from './dependencies.ts'
import { WatchedKinds } from './watched-kinds.ts'
import { OwnWrites, objectId } from './own-writes.ts'
import { ReadCaches } from './read-caches.ts'
import { RecordingReader } from './reader.ts'
import type { Reader } from './reader.ts'

/** What a run works with. */
export interface WorkContext {
  /** Writes as the controller; what it writes does not wake the item. */
  readonly client: Client
  /** Reads from shared caches; what it reads wakes the item. */
  readonly read: Reader
  readonly log: Logger
  /** Aborts when the controller stops in a hurry. */
  readonly signal: AbortSignal
  readonly clock: Clock
}

/** What a loop does. */
export interface WorkLoopOptions<T> {
  /** Name of the controller in metrics, logs and field managers. */
  readonly name: string
  /** Items of one id are the same work. */
  readonly id: (item: T) => string
  /**
   * The namespace whose shard the item belongs to; shard 0 when left out, as for cluster-scoped objects (design
   * decision 11).
   */
  readonly namespaceOf?: (item: T) => string | undefined
  /** Every replica works on every item, whatever its shards: for items that other work of the process hangs on. */
  readonly everywhere?: boolean
  /** A shard is ours now: asks for its items. Left out, those that watched objects concern are asked for. */
  shardGained?(shard: number): void
  /** Groups are served in turn. */
  readonly group?: (item: T) => string
  /** Items at work at a time; 1 when left out. */
  readonly concurrency?: number
  /** Field manager; `fairlead-<name>` when left out. */
  readonly manager?: string
  run(item: T, context: WorkContext): Promise<Result> | Result
  /** Told of every failure, before the retry is planned. */
  failed?(item: T, error: unknown, context: WorkContext): Promise<void> | void
  readonly logFields?: (item: T) => Readonly<Record<string, unknown>>
}

/** What a loop lives on; the manager gives it. */
export interface WorkLoopHost {
  readonly client: Client
  readonly informers: InformerPool
  readonly endpoints: EndpointWaiters
  readonly clock: Clock
  readonly random: () => number
  readonly log: Logger
  readonly metrics: ControllerMetrics
  /** Which items are ours, where replicas share the work. */
  readonly shards?: ShardGate
}

/** Tells which shards this replica works on. */
export interface ShardGate {
  shardOf(namespace: string | undefined): number
  owns(shard: number): boolean
  /** Aborts when the shard is lost. */
  signalOf(shard: number): AbortSignal | undefined
}

/**
 * Which items a change concerns. Called for the object as it is, and for `previous`, so that old and new owners wake.
 */
export type ItemsOf<T, O extends KubeObject = KubeObject> = (object: O) => Iterable<T>

/** How {@link WorkLoop.watch} listens. */
export interface WatchOptions<O extends KubeObject> extends InformerScope {
  /** Changes that do not pass wake nobody. */
  readonly when?: (change: ObjectChange<O>) => boolean
}

interface Watch<T> extends Disposable {
  disposed: boolean
  /** Asks again for the items that the watched objects concern and that are wanted. */
  replay(wanted: (item: T) => boolean): void
}

/** Objects that are looked at in one go. */
const piece = 500

/** The loop. Make it with {@link Manager.loop}. */
export class WorkLoop<T> implements AsyncDisposable {
  readonly name: string
  readonly queue: WorkQueue<T>
  readonly client: Client
  readonly #options: WorkLoopOptions<T>
  readonly #host: WorkLoopHost
  readonly #log: Logger
  readonly #own = new OwnWrites()
  readonly #dependencies = new Dependencies()
  readonly #heard = new WatchedKinds()
  readonly #caches: ReadCaches
  readonly #watches = new Set<Watch<T>>()
  /** Items by id, as long as they read something: dependencies know ids only. */
  readonly #items = new Map<string, T>()
  readonly #abort = new AbortController()
  readonly #onStopped: (() => void)[] = []
  /** The change that is being told, and the items that have heard it. */
  #lastChange: ObjectChange | undefined
  readonly #told = new Set<string>()
  /** Runs under way, by shard. */
  readonly #underWay = new Map<number, Set<Promise<void>>>()
  #workers: Promise<void>[] = []
  #active = 0
  #stopping: Promise<void> | undefined

  constructor(options: WorkLoopOptions<T>, host: WorkLoopHost) {
    this.name = options.name
    this.#options = options
    this.#host = host
    this.#log = host.log.child({ controller: options.name })
    this.queue = new WorkQueue<T>({
      id: options.id,
      group: options.group,
      clock: host.clock,
      random: host.random,
      observer: host.metrics,
    })
    host.metrics.inProgress(() => this.queue.unfinished())
    this.client = host.client.with({
      manager: options.manager ?? `fairlead-${options.name}`,
      force: true,
      cached: (kind, key) => this.#heard.cached(kind, formatKey(key)),
    })
    this.#caches = new ReadCaches({
      informers: host.informers,
      dependencies: this.#dependencies,
      heard: this.#heard,
      changed: (kind, readers, change) => {
        for (const id of readers) this.#wake(kind, this.#items.get(id)!, id, change)
      },
      wake: (readers) => {
        for (const id of readers) if (this.#items.has(id)) this.queue.add(this.#items.get(id)!)
      },
    })
  }

  /** Workers at work now. */
  get active(): number {
    return this.#active
  }

  /** Asks for an item. */
  add(item: T, priority: Priority = 'normal'): void {
    this.queue.add(item, priority)
  }

  /**
   * Wakes the items that `itemsOf` names whenever an object of the kind changes, except an item that made the change
   * itself. Until the loop stops, or what it returns is disposed.
   */
  watch<O extends KubeObject>(
    like: KindLike<O>,
    itemsOf: ItemsOf<T, O>,
    options: WatchOptions<O> = {},
  ): InformerUse<O> {
    const { when, ...scope } = options
    const use = this.#host.informers.use(like, scope)
    const { informer } = use
    const hear = (change: ObjectChange<O>): void => {
      if (when !== undefined && !when(change)) return
      const items = new Map<string, T>()
      for (const item of itemsOf(change.object)) items.set(this.#options.id(item), item)
      if (change.previous !== undefined && change.previous !== change.object) {
        for (const item of itemsOf(change.previous)) items.set(this.#options.id(item), item)
      }
      for (const [id, item] of items) this.#wake(informer.kind, item, id, change)
    }
    const watch: Watch<T> = {
      disposed: false,
      replay: (wanted) =>
        this.#inPieces(watch, informer, (object) => {
          for (const item of itemsOf(object)) if (wanted(item)) this.queue.add(item, 'low')
        }),
      [Symbol.dispose]: () => {
        if (watch.disposed) return
        watch.disposed = true
        this.#watches.delete(watch)
        listening[Symbol.dispose]()
        this.#heard.remove(informer as unknown as Informer)
        use[Symbol.dispose]()
      },
    }
    this.#watches.add(watch)
    this.#heard.add(informer as unknown as Informer)
    const listening = informer.subscribe({ changed: hear }, { replay: false })
    this.#inPieces(watch, informer, (object) => hear({ type: 'added', object, previous: undefined, initial: true }))
    return { informer, [Symbol.dispose]: () => watch[Symbol.dispose]() }
  }

  /** The shard is ours now: asks for all its items that watched objects concern. */
  shardGained(shard: number): void {
    if (this.#options.shardGained !== undefined) return this.#options.shardGained(shard)
    for (const watch of this.#watches) watch.replay((item) => this.#shardOf(item) === shard)
  }

  /** Resolves when no item of the shard is at work. */
  async shardLeft(shard: number): Promise<void> {
    for (const running of this.#underWay.get(shard) ?? []) await running
  }

  /** Begins to work. */
  start(): void {
    if (this.#workers.length > 0) return
    this.#workers = Array.from({ length: this.#options.concurrency ?? 1 }, () => this.#work())
  }

  /** Resolves when every kind that is watched has been listed, or cannot be. */
  async synced(signal?: AbortSignal): Promise<void> {
    await Promise.all(this.#heard.all().map((informer) => informer.waitForState(signal)))
  }

  /** Stops to listen, lets work in progress end within `grace` milliseconds (30,000 when left out), then aborts it. */
  stop(grace: number = 30_000): Promise<void> {
    this.#stopping ??= this.#end(grace)
    return this.#stopping
  }

  /** Calls `run` once the loop has stopped. */
  onStopped(run: () => void): void {
    this.#onStopped.push(run)
  }

  async #end(grace: number): Promise<void> {
    for (const watch of [...this.#watches].toReversed()) watch[Symbol.dispose]()
    using _timer = this.#host.clock.timer(grace, () =>
      this.#abort.abort(new DOMException(`Controller ${this.name} was stopped`, 'AbortError')),
    )
    await this.queue.drain()
    await Promise.all(this.#workers)
    this.#caches[Symbol.dispose]()
    this.#host.endpoints.forget(`${this.name}|`)
    this.#host.metrics.unregister()
    for (const run of this.#onStopped) run()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop()
  }

  /** An item is gone for good: nothing wakes it any more by what it once read or failed at. */
  forget(item: T): void {
    const id = this.#options.id(item)
    this.#dependencies.replace(id, [])
    this.#items.delete(id)
    this.queue.forget(item)
  }

  async #work(): Promise<void> {
    for (let item = await this.queue.take(); item !== undefined; item = await this.queue.take()) {
      try {
        await this.#runIfOurs(item)
      } finally {
        this.queue.done(item)
      }
    }
  }

  /**
   * Visits the objects of a cache; large ones piece by piece, with a turn for others in between. What changes meanwhile
   * comes by its event.
   */
  #inPieces<O extends KubeObject>(watch: Watch<T>, informer: Informer<O>, visit: (object: O) => void): void {
    const keys = informer.objects.keys()
    const visitSome = (): void => {
      for (let visited = 0; visited < piece && !watch.disposed; visited++) {
        const { value: key, done } = keys.next()
        if (done) return
        const object = informer.get(key)
        if (object !== undefined) visit(object)
      }
      if (!watch.disposed) setImmediate(visitSome)
    }
    visitSome()
  }

  #shardOf(item: T): number {
    return this.#host.shards?.shardOf(this.#options.namespaceOf?.(item)) ?? 0
  }

  /** What belongs to another replica is dropped; it comes again with its shard. */
  async #runIfOurs(item: T): Promise<void> {
    const { shards } = this.#host
    if (shards === undefined || this.#options.everywhere) return this.#runOne(item, this.#abort.signal)
    const shard = this.#shardOf(item)
    const gone = shards.signalOf(shard)
    if (gone === undefined || !shards.owns(shard)) return this.forget(item)
    const running = this.#runOne(item, AbortSignal.any([this.#abort.signal, gone]))
    let underWay = this.#underWay.get(shard)
    if (underWay === undefined) this.#underWay.set(shard, (underWay = new Set()))
    underWay.add(running)
    try {
      await running
    } finally {
      underWay.delete(running)
    }
  }

  async #runOne(item: T, signal: AbortSignal): Promise<void> {
    const { clock, metrics } = this.#host
    const id = this.#options.id(item)
    const started = clock.monotonic()
    const reader = new RecordingReader({
      informer: (kind) => this.#caches.informer(kind),
      recorded: (read) => {
        this.#items.set(id, item)
        this.#dependencies.add(id, read)
      },
      blocked: (kind) => this.#caches.block(kind, id),
      clock,
      signal,
    })
    const context: WorkContext = {
      client: this.client.with({ observer: this.#observer(item, id), signal }),
      read: reader,
      log: this.#options.logFields === undefined ? this.#log : this.#log.child(this.#options.logFields(item)),
      signal,
      clock,
    }
    metrics.active(++this.#active)
    try {
      const result = await this.#options.run(item, context)
      this.#dependencies.replace(id, reader.reads)
      this.queue.forget(item)
      if (result) this.queue.addAfter(item, 'at' in result ? result.at - clock.now() : result.after)
      metrics.reconciled(result ? 'requeue_after' : 'success', (clock.monotonic() - started) / 1000)
    } catch (error) {
      // A run that broke off has read less than it needs: what it read before stays as well.
      await this.#failed(item, id, error, context)
      metrics.reconciled(
        error instanceof TerminalError ? 'terminal_error' : 'error',
        (clock.monotonic() - started) / 1000,
      )
    } finally {
      if (this.#dependencies.readsOf(id).length === 0) this.#items.delete(id)
      // Runs in progress may hold caches that they have only begun to read.
      if (this.#active === 1) this.#caches.dropUnread()
      metrics.active(--this.#active)
    }
  }

  async #failed(item: T, id: string, error: unknown, context: WorkContext): Promise<void> {
    if (context.signal.aborted) return
    // When the stranger's object goes, or changes hands, the name may be ours.
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
    const policy = retryPolicyFor(error)
    const wait = this.queue.retry(item, policy)
    if (policy.endpoint !== undefined)
      this.#host.endpoints.waitFor(policy.endpoint, `${this.name}|${id}`, () => this.queue.hurry(item))
    context.log.warn('Reconcile failed', { error, failures: this.queue.failures(item), retryInMs: Math.round(wait) })
  }

  #dependOn(item: T, id: string, object: KubeObject): void {
    const kind = kindOfObject(object)
    this.#caches.informer(kind)
    this.#items.set(id, item)
    this.#dependencies.add(id, { kind, key: keyOf(object) })
  }

  #wake(kind: Kind, item: T, id: string, change: ObjectChange): void {
    // One cache may tell an item twice, as one that it watches and one that it reads.
    if (change !== this.#lastChange) this.#told.clear()
    this.#lastChange = change
    if (this.#told.has(id)) return
    this.#told.add(id)
    const { object } = change
    const seen = { type: change.type, resourceVersion: object.metadata.resourceVersion ?? '' }
    if (this.#own.size > 0 && this.#own.suppresses(objectId(kind, keyText(object)), id, seen, this.#heard.count(kind)))
      return
    this.queue.add(item, change.initial ? 'low' : 'normal')
  }

  #observer(item: T, id: string): WriteObserver {
    return {
      begin: (kind, key) => {
        if (this.#heard.count(kind) === 0) return ignored
        const name = formatKey(key)
        const object = objectId(kind, name)
        this.#own.begin(object, id)
        const settle = (foreign: boolean): void => {
          if (foreign) this.queue.add(item)
        }
        return {
          wrote: (written) => {
            const cached = this.#heard.cachedVersion(kind, name)
            settle(this.#own.wrote(object, id, written?.metadata.resourceVersion, cached, this.#heard.count(kind)))
          },
          failed: () => settle(this.#own.failed(object, id)),
        }
      },
    }
  }
}

const ignored = { wrote: (): void => {}, failed: (): void => {} }

function keyText(object: KubeObject): string {
  return object.metadata.namespace ? `${object.metadata.namespace}/${object.metadata.name}` : object.metadata.name!
}
