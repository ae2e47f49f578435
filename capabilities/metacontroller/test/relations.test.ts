// The edges of the controllers of metacontroller.k8s.io in the graph of derived objects, from running controllers.
import type { Relation } from '@fairlead/controller'
import { ClientReader } from '@fairlead/controller'
import type { KubeObject } from '@fairlead/kube'
import { metacontroller } from '@fairlead/metacontroller'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Stage } from '../../../examples/stage.ts'

const serviceAccount: KubeObject = {
  apiVersion: 'v1',
  kind: 'ServiceAccount',
  metadata: { name: 'owner', namespace: 'default' },
}
const configMap = (name: string, labels: Record<string, string>): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: 'default', labels },
})
const controller: KubeObject = {
  apiVersion: 'metacontroller.k8s.io/v1alpha1',
  kind: 'MapController',
  metadata: { name: 'copies' },
  spec: {
    parentResource: {
      apiVersion: 'v1',
      resource: 'serviceaccounts',
      labelSelector: { matchLabels: { copies: 'yes' } },
    },
    inputResources: [{ apiVersion: 'v1', resource: 'configmaps', labelSelector: { matchLabels: { copy: 'yes' } } }],
    outputResources: [{ apiVersion: 'v1', resource: 'secrets' }],
    hooks: {
      map: {
        expression: '[{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": input.metadata.name + "-copy"}}]',
      },
    },
  },
}

let stage: Stage

beforeAll(async () => {
  stage = await Stage.set()
  await stage.apply(
    { ...serviceAccount, metadata: { ...serviceAccount.metadata, labels: { copies: 'yes' } } },
    configMap('a', { copy: 'yes' }),
    configMap('b', { copy: 'yes' }),
    configMap('other', {}),
    controller,
  )
  await stage.pass(2)
})
afterAll(async () => stage[Symbol.asyncDispose]())

const format = ({ type, from, to }: Relation): string => `${from.kind}/${from.name} ${type} ${to.kind}/${to.name}`

test.each<[string, { apiVersion: string; kind: string }, string, string[]]>([
  [
    'an output to its input and its parent',
    { apiVersion: 'v1', kind: 'Secret' },
    'default/a-copy',
    ['Secret/a-copy made-from ConfigMap/a', 'Secret/a-copy made-from ServiceAccount/owner'],
  ],
  [
    'an input from its outputs and to the MapController',
    { apiVersion: 'v1', kind: 'ConfigMap' },
    'default/a',
    ['ConfigMap/a input-of MapController/copies', 'Secret/a-copy made-from ConfigMap/a'],
  ],
  ['an object that no parent selects: none', { apiVersion: 'v1', kind: 'ConfigMap' }, 'default/other', []],
  [
    'a parent from its outputs and to the MapController',
    { apiVersion: 'v1', kind: 'ServiceAccount' },
    'default/owner',
    [
      'Secret/a-copy made-from ServiceAccount/owner',
      'Secret/b-copy made-from ServiceAccount/owner',
      'ServiceAccount/owner refers-to MapController/copies',
    ],
  ],
  [
    'a MapController from its inputs and parents',
    { apiVersion: controller.apiVersion, kind: controller.kind },
    'copies',
    [
      'ConfigMap/a input-of MapController/copies',
      'ConfigMap/b input-of MapController/copies',
      'ServiceAccount/owner refers-to MapController/copies',
    ],
  ],
])('relates %s', async (_title, kind, key, expected) => {
  const object = await stage.client.get(kind, key)
  const source = await metacontroller.relations!()
  const read = new ClientReader(stage.client, { signal: new AbortController().signal })
  const relations = await source.relations(object, read)
  expect(relations.map(format).toSorted()).toEqual(expected)
})
