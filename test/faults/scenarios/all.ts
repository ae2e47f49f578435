// All scenarios.
import type { Scenario } from '../scenario.ts'
import { actionsScenario } from './actions.ts'
import { mapScenario } from './map.ts'
import { packagesScenario } from './packages.ts'
import { referencesScenario } from './references.ts'
import { supplyScenario } from './supply.ts'
import { variantsScenario } from './variants.ts'

/** A scenario per capability. */
export const scenarios: readonly Scenario[] = [
  mapScenario,
  supplyScenario,
  actionsScenario,
  referencesScenario,
  packagesScenario,
  variantsScenario,
]
