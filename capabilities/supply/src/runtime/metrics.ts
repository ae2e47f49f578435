// What supply chains measure, beside what every controller does.
import { Counter, Gauge } from 'prom-client'
import type { Registry } from 'prom-client'
import type { OwnerKind } from '../api.ts'
import type { ConditionStatus } from '../engine/condition.ts'

/** The metrics of all supply chains of a manager. */
export class SupplyMetrics {
  readonly #writes: Counter
  readonly #owners: Gauge
  readonly #states = new Map<string, ConditionStatus>()

  constructor(registry: Registry) {
    const registers = [registry]
    this.#writes = new Counter({
      name: 'fairlead_supply_writes_total',
      help: 'Writes of stamped objects',
      labelNames: ['op'],
      registers,
    })
    this.#owners = new Gauge({
      name: 'fairlead_supply_owners',
      help: 'Workloads, Deliverables and Runnables by the status of their Ready condition',
      labelNames: ['kind', 'ready'],
      registers,
    })
  }

  /** A stamped object was written. */
  wrote(op: 'create' | 'update' | 'delete'): void {
    this.#writes.inc({ op })
  }

  /** An owner is in that state now; undefined: it is gone. */
  owner(kind: OwnerKind | 'Runnable', key: string, ready: ConditionStatus | undefined): void {
    const id = `${kind}/${key}`
    const before = this.#states.get(id)
    if (before === ready) return
    if (before !== undefined) this.#owners.dec({ kind, ready: before })
    if (ready === undefined) {
      this.#states.delete(id)
      return
    }
    this.#states.set(id, ready)
    this.#owners.inc({ kind, ready })
  }
}
