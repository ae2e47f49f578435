// Options of a work loop and the context of its runs.
import type { Client } from '@fairlead/client'
import type { Clock, KubeObject } from '@fairlead/kube'
import type { InformerScope, ObjectChange } from '../informer/informer.ts'
import type { InformerPool } from '../informer/informer-pool.ts'
import type { Logger } from '../logger.ts'
import type { ControllerMetrics } from '../metrics.ts'
import type { EndpointWaiters } from '../queue/endpoint-waiters.ts'
import type { Result } from '../result.ts'
import type { Reader } from './reader.ts'
import type { ShardGate } from './shard-runs.ts'

/** The context of a run. */
export interface WorkContext {
  /** Writes as the controller; its writes do not wake the item. */
  readonly client: Client
  /** Reads from shared caches; a change of what was read wakes the item. */
  readonly read: Reader
  readonly log: Logger
  /** Aborts when the controller stops without waiting for the run, and when the item's shard is lost. */
  readonly signal: AbortSignal
  readonly clock: Clock
}

/** Options of a work loop. */
export interface WorkLoopOptions<T> {
  /** Name of the controller in metrics, logs and field managers. */
  readonly name: string
  /** Returns the id of an item. Items of one id are the same work. */
  readonly id: (item: T) => string
  /**
   * Returns the namespace whose shard the item belongs to; shard 0 when left out, as for cluster-scoped objects (design
   * decision 11).
   */
  readonly namespaceOf?: (item: T) => string | undefined
  /** Runs every item in every replica, whatever its shard: for items that other work of the process depends on. */
  readonly everywhere?: boolean
  /** Enqueues the items of a shard that was acquired. Left out, the items of all watched objects are enqueued. */
  shardGained?(shard: number): void
  /** Called for an item that does not run because its shard belongs to another replica. */
  dropped?(item: T): void
  /** Returns the group of an item. Groups are served round-robin. */
  readonly group?: (item: T) => string
  /** Items that run at a time; 1 when left out. */
  readonly concurrency?: number
  /** Items of one group that run at a time; no limit when left out. */
  readonly maxPerGroup?: number
  /** Field manager; `fairlead-<name>` when left out. */
  readonly manager?: string
  run(item: T, context: WorkContext): Promise<Result> | Result
  /** Called for every failure, before the retry is planned. */
  failed?(item: T, error: unknown, context: WorkContext): Promise<void> | void
  readonly logFields?: (item: T) => Readonly<Record<string, unknown>>
}

/** Dependencies of a work loop; the manager provides them. */
export interface WorkLoopHost {
  readonly client: Client
  readonly informers: InformerPool
  readonly endpoints: EndpointWaiters
  readonly clock: Clock
  readonly random: () => number
  readonly log: Logger
  readonly metrics: ControllerMetrics
  /** The shards of this replica, where replicas share the work. */
  readonly shards?: ShardGate
}

/**
 * Returns the items that a change concerns. Called for the object as it is, and for `previous`, so that old and new
 * owners wake.
 */
export type ItemsOf<T, O extends KubeObject = KubeObject> = (object: O) => Iterable<T>

/** Options of {@link WorkLoop.watch}. */
export interface WatchOptions<O extends KubeObject> extends InformerScope {
  /** Filters changes: those that do not pass wake no item. */
  readonly when?: (change: ObjectChange<O>) => boolean
}
