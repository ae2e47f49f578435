// Map controllers under faults: two MapControllers over the same inputs, one that changes outputs in place and one that
// makes them anew.
import type { KubeObject } from '@fairlead/kube'
import { metacontroller } from '@fairlead/metacontroller'
import { crd } from '../../support/crd.ts'
import type { Scenario } from '../scenario.ts'

const group = 'test.example.com'
const configMap = { apiVersion: 'v1', kind: 'ConfigMap' }

function controller(name: string, kind: string, method: string): KubeObject {
  const plural = `${kind.toLowerCase()}s`
  const output = `{'apiVersion': '${group}/v1', 'kind': '${kind}', 'metadata': {'name': parent.metadata.name + '-' + input.metadata.name}, 'spec': {'n': input.data.n}}`
  return {
    apiVersion: 'metacontroller.k8s.io/v1alpha1',
    kind: 'MapController',
    metadata: { name },
    spec: {
      parentResource: { apiVersion: `${group}/v1`, resource: 'rules' },
      inputResources: [{ apiVersion: 'v1', resource: 'configmaps' }],
      outputResources: [{ apiVersion: `${group}/v1`, resource: plural, updateStrategy: { method } }],
      hooks: { map: { expression: `[${output}]` } },
    },
  }
}

function input(name: string, n: string): KubeObject {
  return { ...configMap, metadata: { name, namespace: 'default', labels: { copy: 'yes' } }, data: { n } }
}

/** The scenario. */
export const mapScenario: Scenario = {
  name: 'map',
  capability: metacontroller,
  definitions: [
    crd({ group, kind: 'Rule', status: true }),
    crd({ group, kind: 'Copy', plural: 'copys' }),
    crd({ group, kind: 'Remake' }),
  ],
  grants: [
    { apiGroups: [group], resources: ['rules'], verbs: ['get', 'list', 'watch'] },
    { apiGroups: [group], resources: ['rules/status'], verbs: ['patch'] },
    { apiGroups: [''], resources: ['configmaps'], verbs: ['get', 'list', 'watch'] },
    {
      apiGroups: [group],
      resources: ['copys', 'remakes'],
      verbs: ['get', 'list', 'watch', 'create', 'patch', 'delete'],
    },
  ],
  objects: [
    controller('copies', 'Copy', 'InPlace'),
    controller('remakes', 'Remake', 'Recreate'),
    {
      apiVersion: `${group}/v1`,
      kind: 'Rule',
      metadata: { name: 'all', namespace: 'default' },
      spec: { selector: { matchLabels: { copy: 'yes' } } },
    },
    input('a', '1'),
    input('b', '1'),
    input('c', '1'),
  ],
  deleted: [
    '/apis/test.example.com/v1/namespaces/default/copys/all-a',
    '/apis/test.example.com/v1/namespaces/default/remakes/all-a',
    '/apis/test.example.com/v1/namespaces/default/remakes/all-b',
  ],
  kinds: [
    { apiVersion: 'metacontroller.k8s.io/v1alpha1', kind: 'MapController' },
    { apiVersion: `${group}/v1`, kind: 'Copy' },
    { apiVersion: `${group}/v1`, kind: 'Remake' },
  ],
  async change(client) {
    await client.delete(configMap, 'default/a')
    await client.apply(input('b', '2'))
    await client.apply(input('d', '1'))
  },
}
