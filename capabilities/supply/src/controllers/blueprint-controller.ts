// The controller of ClusterSupplyChains or ClusterDeliveries: reports whether all templates exist.
import { generationChanged } from '@fairlead/controller'
import type { Controller, Manager } from '@fairlead/controller'
import type { Blueprint } from '../api.ts'
import { conditionOf } from '../engine/conditions/condition.ts'
import { withReady } from '../engine/owner-conditions.ts'
import type { ChainKinds } from '../runtime/chain-kinds.ts'
import { templatesReadiness } from '../runtime/templates-readiness.ts'

/** Starts the controller of one kind of blueprints. */
export function startBlueprintController(
  manager: Manager,
  { blueprint, blueprintKind }: ChainKinds,
): Controller<Blueprint> {
  return manager
    .controller(blueprintKind.toLowerCase())
    .for(blueprint, { when: generationChanged })
    .withOptions({ keepReady: false })
    .reconcile(async ({ object, read, status }) => {
      const readiness = await templatesReadiness(object, read)
      await status.apply({ conditions: withReady([conditionOf('TemplatesReady', readiness)]) })
    })
}
