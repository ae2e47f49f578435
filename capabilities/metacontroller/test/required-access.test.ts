// The rights that the author of a controller needs.
import { ApiServer, memory } from '@fairlead/apiserver'
import { installDefinitions } from '@fairlead/controller'
import type { KubeObject } from '@fairlead/kube'
import { crds, metacontroller } from '@fairlead/metacontroller'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { MapController } from '@fairlead/metacontroller'
import { requiredAccess } from '../src/admission/required-access.ts'

const role = (rules: object[]): KubeObject[] => [
  {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRole',
    metadata: { name: 'mapper' },
    rules,
  } as KubeObject,
  {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRoleBinding',
    metadata: { name: 'mapper' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'mapper' },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'mapper' }],
  } as KubeObject,
]
const mapControllers = { apiGroups: ['metacontroller.k8s.io'], resources: ['mapcontrollers'], verbs: ['*'] }
const controller = (spec: object = {}): KubeObject => ({
  apiVersion: 'metacontroller.k8s.io/v1alpha1',
  kind: 'MapController',
  metadata: { name: 'copies' },
  spec: {
    parentResource: { apiVersion: 'v1', resource: 'serviceaccounts' },
    inputResources: [{ apiVersion: 'v1', resource: 'secrets' }],
    outputResources: [{ apiVersion: 'v1', resource: 'configmaps' }],
    hooks: { map: { expression: '[]' } },
    ...spec,
  },
})

let server: ApiServer
beforeEach(async () => {
  server = await ApiServer.start({
    storage: memory(),
    authorization: 'RBAC',
    validators: metacontroller.admission ?? [],
  })
  await installDefinitions(server.client(), crds)
})
afterEach(() => server[Symbol.asyncDispose]())

const parents = { apiVersion: 'v1', resource: 'serviceaccounts' }
const children = [{ apiVersion: 'v1', resource: 'configmaps' }]
const secretRef = { namespace: 'b', name: 'db', key: 'password' }
const syncControllers = [
  ['CompositeController', { parentResource: parents, childResources: children }],
  ['DecoratorController', { resources: [parents], attachments: children }],
] as const

function syncController(kind: string, spec: object, webhook: object = {}): KubeObject {
  const hooks = { sync: { webhook: { url: 'http://127.0.0.1:7750/', ...webhook } } }
  return { ...controller(), kind, spec: { ...spec, hooks } }
}

const mapper = (): ReturnType<ApiServer['client']> =>
  server.client({ as: { name: 'mapper', groups: ['system:authenticated'] } })
const grant = async (rules: object[]): Promise<void> => {
  for (const object of role(rules)) await server.client().apply(object, { force: true })
}

test.each(syncControllers)(
  'a %s is refused to an author who may not write its parents and children',
  async (kind, spec) => {
    const writing = { apiGroups: ['metacontroller.k8s.io'], resources: [`${kind.toLowerCase()}s`], verbs: ['create'] }
    const of = (resource: string, verbs: readonly string[]): object => ({
      apiGroups: [''],
      resources: [resource],
      verbs,
    })
    const all = ['list', 'create', 'update', 'delete']
    await grant([writing, of('configmaps', all)])
    await expect(mapper().create(syncController(kind, spec))).rejects.toThrow(/cannot list resource "serviceaccounts"/)
    await grant([writing, of('serviceaccounts', ['list', 'update']), of('configmaps', ['list', 'create', 'update'])])
    await expect(mapper().create(syncController(kind, spec))).rejects.toThrow(/cannot delete resource "configmaps"/)
    await grant([writing, of('serviceaccounts', ['list', 'update']), of('configmaps', all)])
    await mapper().create(syncController(kind, spec))
  },
)

test.each(syncControllers)(
  'a %s is refused to an author who may not read the Secret of its hook',
  async (kind, spec) => {
    const rule = { apiGroups: [''], resources: ['serviceaccounts', 'configmaps'], verbs: ['*'] }
    await grant([{ apiGroups: ['metacontroller.k8s.io'], resources: ['*'], verbs: ['create'] }, rule])
    const refused = mapper().create(syncController(kind, spec, { authorization: { secretRef } }))
    await expect(refused).rejects.toThrow(/cannot get resource "secrets".*the Secret b\/db is sent to the hook/)
  },
)

describe('a MapController', () => {
  test('is refused to an author who may not read its inputs or write its outputs', async () => {
    await grant([mapControllers])
    await expect(mapper().create(controller())).rejects.toThrow(/cannot list resource "serviceaccounts"/)
    const reading = { apiGroups: [''], resources: ['serviceaccounts', 'configmaps'], verbs: ['*'] }
    await grant([mapControllers, reading])
    await expect(mapper().create(controller())).rejects.toThrow(
      /cannot list resource "secrets".*spec\.inputResources\[0\] is sent to the hook/,
    )
    await grant([mapControllers, reading, { apiGroups: [''], resources: ['secrets'], verbs: ['list'] }])
    await mapper().create(controller())
  })

  test('may be labelled, but not changed, by a user who may not read its inputs', async () => {
    await server.client().create(controller())
    await grant([mapControllers])
    await mapper().patch(controller(), 'copies', { merge: { metadata: { labels: { a: 'b' } } } })
    await expect(
      mapper().patch(controller(), 'copies', { merge: { spec: { resyncPeriodSeconds: 60 } } }),
    ).rejects.toThrow(/forbidden/)
  })
})

test('credentials of hooks require the right to read that Secret, in its namespace', () => {
  const authorization = { secretRef: { namespace: 'b', name: 'db', key: 'password' } }
  const { spec } = controller({
    hooks: { map: { webhook: { url: 'http://127.0.0.1:7750/', authorization } } },
  }) as unknown as MapController
  expect(requiredAccess(spec)).toContainEqual({
    verb: 'get',
    group: '',
    resource: 'secrets',
    namespace: 'b',
    name: 'db',
    reason: 'the Secret b/db is sent to the hook',
  })
})
