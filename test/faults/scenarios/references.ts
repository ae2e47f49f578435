// References under faults: Apps take the host of a Database. One moves to another Database, one loses its reference; of
// those that refer to other namespaces one is granted, one is granted meanwhile, one never is.
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
import type { KubeObject } from '@fairlead/kube'
import type { Scenario } from '../scenario.ts'

const rbac = 'rbac.authorization.k8s.io/v1'

/** Returns a namespace with a Database that the account of `default` may read; whether Apps may refer to it is open. */
function namespaceWithDatabase(namespace: string): readonly KubeObject[] {
  return [
    ...tenant(namespace),
    {
      apiVersion: rbac,
      kind: 'RoleBinding',
      metadata: { name: 'readers', namespace },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'resolver' },
      subjects: [{ kind: 'ServiceAccount', name: 'resolver', namespace: 'default' }],
    } as unknown as KubeObject,
    { ...databaseObject(namespace, 'db'), spec: { host: `${namespace}.example` } },
  ]
}

function grantOf(namespace: string): KubeObject {
  return {
    apiVersion: ruleKind.apiVersion,
    kind: 'ReferenceGrant',
    metadata: { name: 'apps', namespace },
    spec: {
      from: [{ group: 'test.dev', kind: 'App', namespace: 'default' }],
      to: [{ group: 'test.dev', kind: 'Database' }],
    },
  }
}

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
    ...['granted', 'later', 'closed'].flatMap(namespaceWithDatabase),
    grantOf('granted'),
    ...['granted', 'later', 'closed'].map((name) => appObject('default', name, { annotation: `${name}/db` })),
    appObject('default', 'stays', { annotation: 'one' }),
    appObject('default', 'moves', { annotation: 'one' }),
    appObject('default', 'ends', { annotation: 'two' }),
  ],
  deleted: [],
  kinds: [app, ruleKind],
  async change(client) {
    await client.apply(appObject('default', 'moves', { annotation: 'two' }))
    await client.patch(app, 'default/ends', { merge: { metadata: { annotations: { 'test.dev/database': null } } } })
    await client.patch(database, 'granted/db', { merge: { spec: { host: 'moved.example' } } })
    await client.apply(grantOf('later'))
    await client.patch(database, 'default/one', { merge: { spec: { host: 'other.example' } } })
  },
}
