// All controllers of supply chains on one manager.
import type { Manager } from '@fairlead/controller'
import { deliveries, supplyChains } from '../runtime/chain-kinds.ts'
import { SupplyMetrics } from '../runtime/metrics.ts'
import { Ytt } from '../ytt/ytt.ts'
import { startBlueprintController } from './blueprint-controller.ts'
import { OwnerController } from './owner-controller.ts'
import { RunnableController } from './runnable-controller.ts'

/** The controllers of owners. */
export interface SupplyControllers {
  readonly workloads: OwnerController
  readonly deliverables: OwnerController
  readonly runnables: RunnableController
}

/** Starts all controllers. `ytt` is the path of the ytt program; looked for on the PATH when left out. */
export function startControllers(manager: Manager, options: { readonly ytt?: string } = {}): SupplyControllers {
  const metrics = new SupplyMetrics(manager.metrics.registry)
  const ytt = new Ytt({ program: options.ytt })
  for (const kinds of [supplyChains, deliveries]) startBlueprintController(manager, kinds)
  return {
    workloads: new OwnerController(manager, supplyChains, { metrics, ytt }),
    deliverables: new OwnerController(manager, deliveries, { metrics, ytt }),
    runnables: new RunnableController(manager, metrics),
  }
}
