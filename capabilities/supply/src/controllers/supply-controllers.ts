// All controllers of supply chains.
import type { Manager } from '@fairlead/controller'
import { startBlueprintController } from './blueprint-controller.ts'
import { SupplyMetrics } from '../runtime/metrics.ts'
import { OwnerController } from './owner-controller.ts'
import { AccessReviews } from '../runtime/access-reviews.ts'
import { deliveries, supplyChains } from '../runtime/blueprints.ts'
import { RunnableController } from './runnable-controller.ts'
import { findYtt } from '../ytt/ytt-program.ts'

/** The controllers that were started. */
export interface SupplyControllers {
  readonly workloads: OwnerController
  readonly deliverables: OwnerController
  readonly runnables: RunnableController
}

/** Starts them. `ytt` is the path of the program for templates in ytt; looked for unless given. */
export function startControllers(manager: Manager, options: { readonly ytt?: string } = {}): SupplyControllers {
  const metrics = new SupplyMetrics(manager.metrics.registry)
  const ytt = options.ytt ?? findYtt()
  const access = new AccessReviews(manager)
  for (const pair of [supplyChains, deliveries]) startBlueprintController(manager, pair)
  return {
    workloads: new OwnerController(manager, supplyChains, { metrics, access, ytt }),
    deliverables: new OwnerController(manager, deliveries, { metrics, access, ytt }),
    runnables: new RunnableController(manager, metrics, access),
  }
}
