// The controller of a kind of blueprints: says whether all templates are there.
import { generationChanged } from '@fairlead/controller'
import type { Controller, Manager } from '@fairlead/controller'
import type { Blueprint } from '../api.ts'
import { conditionOf } from '../engine/condition.ts'
import { withReady } from '../engine/owner-conditions.ts'
import { readinessOf } from '../runtime/blueprints.ts'
import type { Pair } from '../runtime/blueprints.ts'

/** Starts the controller. */
export function startBlueprintController(manager: Manager, { blueprint, blueprintKind }: Pair): Controller<Blueprint> {
  return manager
    .controller(blueprintKind.toLowerCase())
    .for(blueprint, { when: generationChanged })
    .with({ keepReady: false })
    .reconcile(async ({ object, read, status }) => {
      const readiness = await readinessOf(object, read)
      const { status: state, reason, message } = readiness
      await status.apply({ conditions: withReady([conditionOf('TemplatesReady', { status: state, reason, message })]) })
    })
}
