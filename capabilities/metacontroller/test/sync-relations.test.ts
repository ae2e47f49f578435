// The edges of CompositeControllers and DecoratorControllers in the graph of derived objects.
import { ApiServer } from '@fairlead/apiserver'
import type { Client } from '@fairlead/client'
import { ClientReader, installDefinitions } from '@fairlead/controller'
import type { Relation } from '@fairlead/controller'
import type { KubeObject } from '@fairlead/kube'
import { crds, identityOf, mapKeyOf, metacontroller, tagAnnotations, tagLabels } from '@fairlead/metacontroller'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { crd } from '../../../test/support/crd.ts'

const apiVersion = 'metacontroller.k8s.io/v1alpha1'
const site = { apiVersion: 'test.dev/v1', kind: 'Site' }
const configMap = { apiVersion: 'v1', kind: 'ConfigMap' }
const secret = { apiVersion: 'v1', kind: 'Secret' }
const hooks = { sync: { webhook: { url: 'http://localhost:1/' } } }

let server: ApiServer
let client: Client
beforeAll(async () => {
  server = await ApiServer.start({ authorization: 'RBAC' })
  client = server.client()
  await installDefinitions(client, [...crds, crd({ group: 'test.dev', kind: 'Site', status: true })])
  await client.apply({
    apiVersion,
    kind: 'CompositeController',
    metadata: { name: 'sites' },
    spec: {
      parentResource: { apiVersion: 'test.dev/v1', resource: 'sites', labelSelector: { matchLabels: { kept: 'yes' } } },
      childResources: [{ apiVersion: 'v1', resource: 'configmaps' }],
      hooks,
    },
  } as KubeObject)
  await client.apply({
    apiVersion,
    kind: 'DecoratorController',
    metadata: { name: 'tokens' },
    spec: {
      resources: [
        {
          apiVersion: 'v1',
          resource: 'configmaps',
          annotationSelector: { matchExpressions: [{ key: 'token', operator: 'Exists' }] },
        },
      ],
      attachments: [{ apiVersion: 'v1', resource: 'secrets' }],
      hooks,
    },
  } as KubeObject)
  const place = { namespace: 'default' }
  const selector = { matchLabels: { app: 'web' } }
  const web = await client.apply({
    ...site,
    metadata: { ...place, name: 'web', labels: { kept: 'yes' } },
    spec: { selector },
  } as KubeObject)
  await client.apply({ ...site, metadata: { ...place, name: 'other' }, spec: { selector } } as KubeObject)
  const ownedBy = ({ apiVersion: version, kind, metadata }: KubeObject) => [
    { apiVersion: version, kind, name: metadata.name!, uid: metadata.uid!, controller: true },
  ]
  const page = await client.apply({
    ...configMap,
    metadata: {
      ...place,
      name: 'page',
      labels: { app: 'web' },
      annotations: { token: '' },
      ownerReferences: ownedBy(web),
    },
  })
  await client.apply({ ...configMap, metadata: { ...place, name: 'released', ownerReferences: ownedBy(web) } })
  const attached = { 'metacontroller.k8s.io/decorator-controller': 'tokens' }
  await client.apply({
    ...secret,
    metadata: { ...place, name: 'token', annotations: attached, ownerReferences: ownedBy(page) },
  })
  await client.apply({ ...secret, metadata: { ...place, name: 'foreign', ownerReferences: ownedBy(page) } })
})
afterAll(() => server[Symbol.asyncDispose]())

const format = ({ type, from, to }: Relation): string => `${from.kind}/${from.name} ${type} ${to.kind}/${to.name}`

test.each<[string, { apiVersion: string; kind: string }, string, readonly string[]]>([
  [
    'a parent to its CompositeController, and from the children that it selects',
    site,
    'default/web',
    ['ConfigMap/page made-from Site/web', 'Site/web refers-to CompositeController/sites'],
  ],
  ['an object that the controller does not select: none', site, 'default/other', []],
  [
    'an object that is a child of one controller and the parent of another',
    configMap,
    'default/page',
    [
      'ConfigMap/page made-from Site/web',
      'ConfigMap/page refers-to DecoratorController/tokens',
      'Secret/token made-from ConfigMap/page',
    ],
  ],
  ['an attachment to its parent', secret, 'default/token', ['Secret/token made-from ConfigMap/page']],
  [
    'a CompositeController from its parents',
    { apiVersion, kind: 'CompositeController' },
    'sites',
    ['Site/web refers-to CompositeController/sites'],
  ],
  [
    'a DecoratorController from its parents',
    { apiVersion, kind: 'DecoratorController' },
    'tokens',
    ['ConfigMap/page refers-to DecoratorController/tokens'],
  ],
])('relates %s', async (_title, kind, key, expected) => {
  const object = await client.get(kind, key)
  const source = await metacontroller.relations!()
  const read = new ClientReader(client, { signal: new AbortController().signal })
  expect((await source.relations(object, read)).map(format).toSorted()).toEqual(expected)
})

test('relates an output to its input and parent by its tag, with no right to read controllers', async () => {
  const parent = await client.get(site, 'default/web')
  const input = identityOf(await client.get(configMap, 'default/page'))
  const tag = { controller: 'copies', parent: identityOf(parent), input, mapKey: mapKeyOf(input) }
  const output: KubeObject = {
    ...secret,
    metadata: {
      name: 'copy',
      namespace: 'default',
      uid: '1',
      labels: tagLabels(tag),
      annotations: tagAnnotations(tag, 1),
      ownerReferences: [
        { apiVersion: site.apiVersion, kind: site.kind, name: 'web', uid: parent.metadata.uid!, controller: true },
      ],
    },
  }
  const nobody = server.client({ as: { name: 'ann', groups: ['system:authenticated'] } })
  const source = await metacontroller.relations!()
  const read = new ClientReader(nobody, { signal: new AbortController().signal })
  expect((await source.relations(output, read)).map(format)).toEqual([
    'Secret/copy made-from ConfigMap/page',
    'Secret/copy made-from Site/web',
  ])
})
