// Metrics of outputs: writes and drift.
import type { Registry } from 'prom-client'
import { Counter, Gauge } from 'prom-client'

/** The metrics of the outputs of all map controllers of a manager. */
export class OutputMetrics {
  readonly #writes: Counter
  readonly #drifted: Gauge
  /** Numbers of outputs by controller and group; groups without drift are left out. */
  readonly #drift = new Map<string, Map<string, number>>()

  constructor(registry: Registry) {
    const registers = [registry]
    this.#writes = new Counter({
      name: 'fairlead_map_writes_total',
      help: 'Writes of outputs',
      labelNames: ['controller_name', 'op'],
      registers,
    })
    this.#drifted = new Gauge({
      name: 'fairlead_map_drifted_outputs',
      help: 'Outputs that differ from what the hook wants and are left as they are',
      labelNames: ['controller_name'],
      registers,
    })
  }

  /** Counts a write of an output. */
  wrote(controllerName: string, op: string): void {
    this.#writes.inc({ controller_name: controllerName, op })
  }

  /** Returns the number of outputs of a controller that differ and are left as they are. */
  drifted(controllerName: string): number {
    let drifted = 0
    for (const outputs of this.#drift.get(controllerName)?.values() ?? []) drifted += outputs
    return drifted
  }

  /** Sets the number of outputs of a group that differ and are left as they are. Returns whether it changed. */
  drift(controllerName: string, group: string, outputs: number): boolean {
    const groups = this.#drift.get(controllerName) ?? new Map<string, number>()
    const before = groups.get(group) ?? 0
    if (before === outputs) return false
    if (outputs === 0) groups.delete(group)
    else groups.set(group, outputs)
    this.#drift.set(controllerName, groups)
    this.#drifted.inc({ controller_name: controllerName }, outputs - before)
    return true
  }

  /** Removes the drift of a controller that was deleted. */
  forget(controllerName: string): void {
    this.#drift.delete(controllerName)
    this.#drifted.remove({ controller_name: controllerName })
  }
}
