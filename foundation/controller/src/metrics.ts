// Metrics under the names that operators have dashboards for (controller-runtime, client-go), one registry per manager.
import type * as Prometheus from 'prom-client'
import type { Counter, Gauge, Histogram, Registry } from 'prom-client'
import type { QueueObserver } from './queue/work-queue.ts'

/** The result of a reconcile, as controller-runtime labels it. */
export type ReconcileResult = 'success' | 'requeue_after' | 'error' | 'terminal_error'

/** The metrics of one controller. */
export interface ControllerMetrics extends QueueObserver {
  /** Records the result and the duration of a reconcile, in seconds. */
  reconciled(result: ReconcileResult, seconds: number): void
  /** Sets the number of active workers. */
  active(workers: number): void
  /** Sets the function that returns, at each scrape, the duration of work in progress. */
  inProgress(ask: () => { readonly total: number; readonly longest: number }): void
  /** Removes the gauges of a controller that was stopped. */
  unregister(): void
}

const reconcileBuckets = [
  0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.25, 1.5, 1.75, 2,
  2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 9, 10, 15, 20, 25, 30, 40, 50, 60,
]
const queueBuckets = [1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.1, 1, 10, 100, 1000]

/** The metrics of a manager. Capabilities add their own to `registry`. */
export class Metrics {
  readonly registry: Registry
  readonly #total: Counter
  readonly #errors: Counter
  readonly #terminal: Counter
  readonly #time: Histogram
  readonly #active: Gauge
  readonly #concurrent: Gauge
  readonly #depth: Gauge
  readonly #adds: Counter
  readonly #waited: Histogram
  readonly #worked: Histogram
  readonly #retries: Counter
  readonly #leader: Gauge
  readonly #inProgress = new Map<string, () => { readonly total: number; readonly longest: number }>()

  private constructor(prom: typeof Prometheus) {
    const registers = [(this.registry = new prom.Registry())]
    const controller = ['controller']
    const named = ['name', 'controller']
    const counter = (name: string, help: string, labelNames: string[]): Counter =>
      new prom.Counter({ name, help, labelNames, registers })
    const gauge = (name: string, help: string, labelNames: string[]): Gauge =>
      new prom.Gauge({ name, help, labelNames, registers })
    const histogram = (name: string, help: string, labelNames: string[], buckets: number[]): Histogram =>
      new prom.Histogram({ name, help, labelNames, buckets, registers })
    this.#total = counter('controller_runtime_reconcile_total', 'Total number of reconciliations per controller', [
      'controller',
      'result',
    ])
    this.#errors = counter(
      'controller_runtime_reconcile_errors_total',
      'Total number of reconciliation errors per controller',
      controller,
    )
    this.#terminal = counter(
      'controller_runtime_terminal_reconcile_errors_total',
      'Total number of terminal reconciliation errors per controller',
      controller,
    )
    this.#time = histogram(
      'controller_runtime_reconcile_time_seconds',
      'Length of time per reconciliation per controller',
      controller,
      reconcileBuckets,
    )
    this.#active = gauge(
      'controller_runtime_active_workers',
      'Number of currently used workers per controller',
      controller,
    )
    this.#concurrent = gauge(
      'controller_runtime_max_concurrent_reconciles',
      'Maximum number of concurrent reconciles per controller',
      controller,
    )
    this.#depth = gauge('workqueue_depth', 'Current depth of workqueue by workqueue', named)
    this.#adds = counter('workqueue_adds_total', 'Total number of adds handled by workqueue', named)
    this.#waited = histogram(
      'workqueue_queue_duration_seconds',
      'How long in seconds an item stays in workqueue before being requested',
      named,
      queueBuckets,
    )
    this.#worked = histogram(
      'workqueue_work_duration_seconds',
      'How long in seconds processing an item from workqueue takes',
      named,
      queueBuckets,
    )
    this.#retries = counter('workqueue_retries_total', 'Total number of retries handled by workqueue', named)
    this.#collectInProgress(prom, registers)
    this.#leader = gauge(
      'leader_election_master_status',
      'Whether this process holds the lease: 1 it does, 0 it does not',
      ['name'],
    )
  }

  static async create(): Promise<Metrics> {
    return new Metrics(await import('prom-client'))
  }

  /** Returns the metrics of a controller. */
  controller(name: string, concurrency: number): ControllerMetrics {
    const controller = { controller: name }
    const queue = { name, controller: name }
    this.#concurrent.set(controller, concurrency)
    const totals = {
      success: this.#total.labels({ controller: name, result: 'success' }),
      requeue_after: this.#total.labels({ controller: name, result: 'requeue_after' }),
      error: this.#total.labels({ controller: name, result: 'error' }),
      terminal_error: this.#total.labels({ controller: name, result: 'terminal_error' }),
    }
    const [errors, terminal] = [this.#errors.labels(controller), this.#terminal.labels(controller)]
    const [time, active] = [this.#time.labels(controller), this.#active.labels(controller)]
    const [depth, adds, retries] = [this.#depth.labels(queue), this.#adds.labels(queue), this.#retries.labels(queue)]
    const [waited, worked] = [this.#waited.labels(queue), this.#worked.labels(queue)]
    // Series start at 0, so that rates over them start there.
    for (const counter of [...Object.values(totals), errors, terminal, adds, retries]) counter.inc(0)
    active.set(0)
    depth.set(0)
    return {
      inProgress: (ask) => void this.#inProgress.set(name, ask),
      unregister: () => {
        this.#inProgress.delete(name)
        this.#concurrent.remove(controller)
        active.set(0)
        depth.set(0)
      },
      added: () => adds.inc(),
      depth: (items) => depth.set(items),
      started: (ms) => waited.observe(ms / 1000),
      finished: (ms) => worked.observe(ms / 1000),
      retried: () => retries.inc(),
      active: (workers) => active.set(workers),
      reconciled: (result, seconds) => {
        totals[result].inc()
        time.observe(seconds)
        if (result === 'error' || result === 'terminal_error') errors.inc()
        if (result === 'terminal_error') terminal.inc()
      },
    }
  }

  #collectInProgress(prom: typeof Prometheus, registers: Registry[]): void {
    const labelNames = ['name', 'controller']
    const collected = (
      of: 'total' | 'longest',
      asking: ReadonlyMap<string, () => { readonly total: number; readonly longest: number }>,
    ) =>
      function collect(this: Gauge): void {
        this.reset()
        for (const [name, ask] of asking) this.set({ name, controller: name }, ask()[of] / 1000)
      }
    const unfinished =
      "How many seconds of work has been done that is in progress and hasn't been observed by work_duration"
    const longest = 'How many seconds has the longest running processor for workqueue been running'
    new prom.Gauge({
      name: 'workqueue_unfinished_work_seconds',
      help: unfinished,
      labelNames,
      registers,
      collect: collected('total', this.#inProgress),
    })
    new prom.Gauge({
      name: 'workqueue_longest_running_processor_seconds',
      help: longest,
      labelNames,
      registers,
      collect: collected('longest', this.#inProgress),
    })
  }

  /** Sets whether this process leads. */
  leading(name: string, leads: boolean): void {
    this.#leader.set({ name }, leads ? 1 : 0)
  }

  /** Returns all metrics in the text format of Prometheus. */
  text(): Promise<string> {
    return this.registry.metrics()
  }
}
