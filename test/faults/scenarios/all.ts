// All scenarios.
import type { Scenario } from '../scenario.ts'
import { actionsScenario } from './actions.ts'
import { awsScenario } from './aws.ts'
import { mapScenario } from './map.ts'
import { packagesScenario } from './packages.ts'
import { referencesScenario } from './references.ts'
import { supplyScenario } from './supply.ts'
import { syncScenario } from './sync.ts'
import { variantsScenario } from './variants.ts'

/** The scenarios of all capabilities. */
export const scenarios: readonly Scenario[] = [
  mapScenario,
  syncScenario,
  supplyScenario,
  actionsScenario,
  referencesScenario,
  packagesScenario,
  variantsScenario,
  awsScenario,
]
