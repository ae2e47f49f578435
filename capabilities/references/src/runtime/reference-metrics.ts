// Prometheus metrics of references, in addition to those of every controller.
import { Counter, Gauge, Histogram } from 'prom-client'
import type { Registry } from 'prom-client'

const names = {
  edges: 'fairlead_references_edges',
  resolutions: 'fairlead_references_resolutions_total',
  wait: 'fairlead_references_wait_seconds',
  wakeups: 'fairlead_references_wakeups_total',
} as const

/** The metrics of the references of one manager. Every instance with one registry counts in the same metrics. */
export class ReferenceMetrics {
  readonly #edges: Gauge
  readonly #resolutions: Counter
  readonly #wait: Histogram
  readonly #wakeups: Counter

  constructor(registry: Registry) {
    const registers = [registry]
    const labelNames = ['kind']
    this.#edges =
      (registry.getSingleMetric(names.edges) as Gauge | undefined) ??
      new Gauge({ name: names.edges, help: 'References by the kind that refers', labelNames, registers })
    this.#resolutions =
      (registry.getSingleMetric(names.resolutions) as Counter | undefined) ??
      new Counter({
        name: names.resolutions,
        help: 'Changes of the state of a reference of a ReferenceRule, by reason',
        labelNames: ['kind', 'reason'],
        registers,
      })
    this.#wait =
      (registry.getSingleMetric(names.wait) as Histogram | undefined) ??
      new Histogram({
        name: names.wait,
        help: 'Time from the first look at a reference of a ReferenceRule to its value',
        labelNames,
        buckets: [0.01, 0.1, 1, 10, 60, 600, 3600],
        registers,
      })
    this.#wakeups =
      (registry.getSingleMetric(names.wakeups) as Counter | undefined) ??
      new Counter({ name: names.wakeups, help: 'Objects woken by a change of a referent', labelNames, registers })
  }

  /** Adds to the number of references of a kind. */
  edges(kind: string, difference: number): void {
    if (difference !== 0) this.#edges.inc({ kind }, difference)
  }

  /** Counts a reference of a kind that has another state now. */
  resolution(kind: string, reason: string): void {
    this.#resolutions.inc({ kind, reason })
  }

  /** Counts a reference of a kind that has a value, after so many milliseconds. */
  waited(kind: string, milliseconds: number): void {
    this.#wait.observe({ kind }, milliseconds / 1000)
  }

  /** Counts objects of a kind that a change of a referent wakes. */
  woken(kind: string, count: number): void {
    if (count > 0) this.#wakeups.inc({ kind }, count)
  }
}
