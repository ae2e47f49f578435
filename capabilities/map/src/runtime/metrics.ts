// What map controllers measure: calls under Metacontroller's names, writes and drift under ours.
import { Counter, Gauge, Histogram } from 'prom-client'
import type { Registry } from 'prom-client'

/** Which hook is called. */
export type HookName = 'map' | 'tombstone'

interface CallMetrics {
  readonly total: Counter
  readonly seconds: Histogram
  readonly inFlight: Gauge
}

/** The metrics of all map controllers of a manager. */
export class MapMetrics {
  readonly #calls: Record<HookName, CallMetrics>
  readonly #failures: Counter
  readonly #writes: Counter
  readonly #drifted: Gauge
  readonly #drift = new Map<string, Map<string, number>>()

  constructor(registry: Registry) {
    const registers = [registry]
    const labelNames = ['url', 'controller_name', 'controller_type']
    const call = (hook: HookName): CallMetrics => ({
      total: new Counter({
        name: `metacontroller_${hook}_requests_total`,
        help: `Calls of ${hook} hooks`,
        labelNames: [...labelNames, 'code'],
        registers,
      }),
      seconds: new Histogram({
        name: `metacontroller_${hook}_request_duration_histogram_seconds`,
        help: `Seconds that calls of ${hook} hooks took`,
        labelNames,
        registers,
      }),
      inFlight: new Gauge({
        name: `metacontroller_${hook}_in_flight_requests`,
        help: `Calls of ${hook} hooks under way`,
        labelNames,
        registers,
      }),
    })
    this.#calls = { map: call('map'), tombstone: call('tombstone') }
    this.#failures = new Counter({
      name: 'fairlead_map_call_failures_total',
      help: 'Calls of hooks that failed, by code',
      labelNames: ['controller_name', 'hook', 'code'],
      registers,
    })
    this.#writes = new Counter({
      name: 'fairlead_map_writes_total',
      help: 'Writes of outputs',
      labelNames: ['controller_name', 'op'],
      registers,
    })
    this.#drifted = new Gauge({
      name: 'fairlead_map_drifted_outputs',
      help: 'Outputs that differ from what the hook wants and are left so',
      labelNames: ['controller_name'],
      registers,
    })
  }

  /** A call begins; call the result with its HTTP code (0 without one) and the seconds it took. */
  calling(controllerName: string, hook: HookName, url: string): (code: number, seconds: number) => void {
    const labels = { url, controller_name: controllerName, controller_type: 'MapController' }
    const { total, seconds, inFlight } = this.#calls[hook]
    inFlight.inc(labels)
    return (code, took) => {
      inFlight.dec(labels)
      total.inc({ ...labels, code: String(code) })
      seconds.observe(labels, took)
    }
  }

  /** A call failed with that code. */
  failed(controllerName: string, hook: HookName, code: string): void {
    this.#failures.inc({ controller_name: controllerName, hook, code })
  }

  /** An output was written. */
  wrote(controllerName: string, op: string): void {
    this.#writes.inc({ controller_name: controllerName, op })
  }

  /** So many outputs of a group differ and are left so. */
  drift(controllerName: string, group: string, outputs: number): void {
    const groups = this.#drift.get(controllerName) ?? new Map<string, number>()
    const before = groups.get(group) ?? 0
    if (before === outputs) return
    if (outputs === 0) groups.delete(group)
    else groups.set(group, outputs)
    this.#drift.set(controllerName, groups)
    this.#drifted.inc({ controller_name: controllerName }, outputs - before)
  }

  /** A controller is gone. */
  forget(controllerName: string): void {
    this.#drift.delete(controllerName)
    this.#drifted.remove({ controller_name: controllerName })
  }
}
