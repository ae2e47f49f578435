// Actions under faults: maps with embedded mappings, of which one is renamed and one removed.
import { actions } from '@fairlead/actions'
import type { KubeObject } from '@fairlead/kube'
import type { Scenario } from '../scenario.ts'

const namespace = 'kappnav'

function carrier(name: string, mapping: string | undefined): KubeObject {
  const embedded = {
    apiVersion: 'actions.kappnav.io/v1beta1',
    kind: 'KindActionMapping',
    metadata: { name: mapping },
    spec: { mappings: [{ apiVersion: 'apps/v1', kind: 'Deployment', mapname: name }] },
  }
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, namespace, labels: { 'kappnav.io/map-type': 'action' } },
    data: mapping === undefined ? {} : { 'kam-defs': JSON.stringify(embedded) },
  }
}

/** The scenario. */
export const actionsScenario: Scenario = {
  name: 'actions',
  capability: actions,
  definitions: [],
  grants: [],
  objects: [
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } },
    carrier('stays', 'stays'),
    carrier('renames', 'before'),
    carrier('removes', 'removed'),
    {
      apiVersion: 'actions.kappnav.io/v1beta1',
      kind: 'KindActionMapping',
      metadata: { name: 'own', namespace },
      spec: { mappings: [{ apiVersion: 'apps/v1', kind: 'Deployment', mapname: 'stays' }] },
    },
  ],
  deleted: [
    '/apis/actions.kappnav.io/v1/namespaces/kappnav/kindactionmappings/before',
    '/apis/actions.kappnav.io/v1/namespaces/kappnav/kindactionmappings/removed',
  ],
  kinds: [{ apiVersion: 'actions.kappnav.io/v1beta1', kind: 'KindActionMapping' }],
  async change(client) {
    await client.apply(carrier('renames', 'after'))
    await client.apply(carrier('removes', undefined))
  },
}
