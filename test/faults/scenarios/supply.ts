// Supply chains under faults: a Workload with three steps, of which one is renamed and one removed.
import type { KubeObject } from '@fairlead/kube'
import { supply } from '@fairlead/supply'
import { crd } from '../../support/crd.ts'
import type { Scenario } from '../scenario.ts'

const apiVersion = 'carto.run/v1alpha1'
const thing = { apiVersion: 'test.run/v1', kind: 'Thing' }
const rbac = 'rbac.authorization.k8s.io/v1'

function template(kind: string, step: string, outputs: object, spec: object): KubeObject {
  const stamped = { ...thing, metadata: { name: `$(workload.metadata.name)$-${step}` }, spec }
  return {
    apiVersion,
    kind,
    metadata: { name: step },
    spec: { ...outputs, healthRule: { alwaysHealthy: {} }, template: stamped },
  } as KubeObject
}

const source = { name: 'source', templateRef: { kind: 'ClusterSourceTemplate', name: 'source' } }
const image = (name: string): object => ({
  name,
  templateRef: { kind: 'ClusterImageTemplate', name: 'image' },
  sources: [{ name: 'source', resource: 'source' }],
})
const report = { name: 'report', templateRef: { kind: 'ClusterTemplate', name: 'report' } }

function chain(...resources: readonly object[]): KubeObject {
  return {
    apiVersion,
    kind: 'ClusterSupplyChain',
    metadata: { name: 'chain' },
    spec: { selector: { type: 'web' }, resources },
  } as KubeObject
}

function workload(name: string, url: string): KubeObject {
  return {
    apiVersion,
    kind: 'Workload',
    metadata: { name, namespace: 'default', labels: { type: 'web' } },
    spec: { serviceAccountName: 'builder', source: { git: { url } } },
  }
}

/** The scenario. */
export const supplyScenario: Scenario = {
  name: 'supply',
  capability: supply,
  definitions: [crd({ group: 'test.run', kind: 'Thing' })],
  grants: [{ apiGroups: ['test.run'], resources: ['things'], verbs: ['get', 'list', 'watch'] }],
  objects: [
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'builder', namespace: 'default' } },
    {
      apiVersion: rbac,
      kind: 'Role',
      metadata: { name: 'builder', namespace: 'default' },
      rules: [{ apiGroups: ['test.run'], resources: ['things'], verbs: ['get', 'list', 'create', 'patch', 'delete'] }],
    } as KubeObject,
    {
      apiVersion: rbac,
      kind: 'RoleBinding',
      metadata: { name: 'builder', namespace: 'default' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'builder' },
      subjects: [{ kind: 'ServiceAccount', name: 'builder', namespace: 'default' }],
    } as KubeObject,
    template(
      'ClusterSourceTemplate',
      'source',
      { urlPath: '.spec.url', revisionPath: '.spec.url' },
      { url: '$(workload.spec.source.git.url)$' },
    ),
    template('ClusterImageTemplate', 'image', { imagePath: '.spec.from' }, { from: '$(source.url)$' }),
    template('ClusterTemplate', 'report', {}, { of: '$(workload.metadata.name)$' }),
    chain(source, image('image'), report),
    workload('app', 'https://example.test/1'),
    workload('other', 'https://example.test/1'),
  ],
  deleted: [
    '/apis/test.run/v1/namespaces/default/things/app-report',
    '/apis/test.run/v1/namespaces/default/things/other-report',
  ],
  kinds: [{ apiVersion, kind: 'Workload' }, { apiVersion, kind: 'ClusterSupplyChain' }, thing],
  async change(client) {
    await client.apply(workload('app', 'https://example.test/2'))
    await client.apply(chain(source, image('build')))
  },
}
