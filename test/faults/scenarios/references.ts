// References under faults: Apps take the host of a Database; one loses its reference, a Database is deleted meanwhile.
import { references } from '@fairlead/references'
import {
  app,
  appObject,
  database,
  databaseObject,
  definitions,
  grants,
  ruleKind,
  ruleObject,
  tenant,
} from '../../../capabilities/references/test/stage.ts'
import type { Scenario } from '../scenario.ts'

/** The scenario. */
export const referencesScenario: Scenario = {
  name: 'references',
  capability: references,
  definitions,
  grants,
  objects: [
    ...tenant('default').filter(({ kind }) => kind !== 'Namespace'),
    ruleObject(undefined, { source: { ...database, valuePath: 'spec.host' } }),
    { ...databaseObject('default', 'one'), spec: { host: 'one.example' } },
    { ...databaseObject('default', 'two'), spec: { host: 'two.example' } },
    appObject('default', 'stays', { annotation: 'one' }),
    appObject('default', 'moves', { annotation: 'one' }),
    appObject('default', 'ends', { annotation: 'two' }),
  ],
  deleted: [],
  kinds: [app, ruleKind],
  async change(client) {
    await client.apply(appObject('default', 'moves', { annotation: 'two' }))
    await client.patch(app, 'default/ends', { merge: { metadata: { annotations: { 'test.dev/database': null } } } })
    await client.patch(database, 'default/one', { merge: { spec: { host: 'other.example' } } })
  },
}
