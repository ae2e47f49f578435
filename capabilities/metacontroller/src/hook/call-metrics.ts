// Metrics of hook calls, under Metacontroller's names where it has them.
import type { Registry } from 'prom-client'
import { Counter, Gauge, Histogram } from 'prom-client'

/** The hooks of all controllers. */
const hookNames = ['map', 'tombstone', 'sync', 'finalize', 'customize'] as const

/** The hook that is called, and the controller that calls it. */
export interface CallOrigin {
  readonly hook: (typeof hookNames)[number]
  readonly controllerType: 'MapController' | 'CompositeController' | 'DecoratorController'
  readonly controllerName: string
}

interface MetricsOfHook {
  readonly total: Counter
  readonly seconds: Histogram
  readonly inFlight: Gauge
}

/** The metrics of the calls of all controllers of a manager. */
export class CallMetrics {
  readonly #calls: ReadonlyMap<string, MetricsOfHook>
  readonly #failures: Counter

  constructor(registry: Registry) {
    const registers = [registry]
    const labelNames = ['url', 'controller_name', 'controller_type']
    const metricsOf = (hook: string): MetricsOfHook => ({
      total: new Counter({
        name: `metacontroller_${hook}_requests_total`,
        help: `Calls of ${hook} hooks`,
        labelNames: [...labelNames, 'code'],
        registers,
      }),
      seconds: new Histogram({
        name: `metacontroller_${hook}_request_duration_histogram_seconds`,
        help: `Duration of calls of ${hook} hooks in seconds`,
        labelNames,
        registers,
      }),
      inFlight: new Gauge({
        name: `metacontroller_${hook}_in_flight_requests`,
        help: `Calls of ${hook} hooks in flight`,
        labelNames,
        registers,
      }),
    })
    this.#calls = new Map(hookNames.map((hook) => [hook, metricsOf(hook)]))
    this.#failures = new Counter({
      name: 'fairlead_map_call_failures_total',
      help: 'Calls of hooks that failed, by code',
      labelNames: ['controller_name', 'hook', 'code'],
      registers,
    })
  }

  /**
   * Counts a call that begins. Call the result with its HTTP code (0 without one, undefined when no call was made) and
   * its duration in seconds.
   */
  begin(
    { hook, controllerName, controllerType }: CallOrigin,
    url: string,
  ): (code: number | undefined, seconds: number) => void {
    const labels = { url, controller_name: controllerName, controller_type: controllerType }
    const { total, seconds, inFlight } = this.#calls.get(hook)!
    inFlight.inc(labels)
    return (code, duration) => {
      inFlight.dec(labels)
      if (code === undefined) return
      total.inc({ ...labels, code: String(code) })
      seconds.observe(labels, duration)
    }
  }

  /** Counts a call that failed with that code. */
  failed({ controllerName, hook }: CallOrigin, code: string): void {
    this.#failures.inc({ controller_name: controllerName, hook, code })
  }
}
