// Prometheus metrics of supply chains, in addition to those of every controller.
import { Counter, Gauge } from 'prom-client'
import type { Registry } from 'prom-client'
import type { OwnerKind } from '../api.ts'
import type { ConditionStatus } from '../engine/conditions/condition.ts'

/** The metrics of the supply chains of one manager. */
export class SupplyMetrics {
  readonly #writes: Counter
  readonly #owners: Gauge
  /** `Ready` of each owner as counted by the gauge, by `Kind/namespace/name`. */
  readonly #ready = new Map<string, ConditionStatus>()

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

  /** Counts a write of a stamped object. */
  countWrite(op: 'create' | 'update' | 'delete'): void {
    this.#writes.inc({ op })
  }

  /** Sets the `Ready` status of an owner; undefined after its deletion. */
  setReady(kind: OwnerKind | 'Runnable', key: string, ready: ConditionStatus | undefined): void {
    const id = `${kind}/${key}`
    const before = this.#ready.get(id)
    if (before === ready) return
    if (before !== undefined) this.#owners.dec({ kind, ready: before })
    if (ready === undefined) {
      this.#ready.delete(id)
      return
    }
    this.#ready.set(id, ready)
    this.#owners.inc({ kind, ready })
  }
}
