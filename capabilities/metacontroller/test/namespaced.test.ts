// Controllers that are limited to namespaces (`spec.namespaces`) work with the Roles that `rbac` prints for them.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ApiServer } from '@fairlead/apiserver'
import type { KubeObject } from '@fairlead/kube'
import { parseYamlDocuments, stringifyYamlDocuments } from '@fairlead/kube'
import { metacontroller } from '@fairlead/metacontroller'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { crd } from '../../../test/support/crd.ts'
import { Stage } from '../../../examples/stage.ts'
import { TestHook } from './hook.ts'
import { runCommand } from './run-command.ts'
import { fleet, fleetDefinition, fleets, ship } from './sync/fleet.ts'

const account = {
  name: 'system:serviceaccount:fairlead-system:fairlead-metacontroller',
  groups: ['system:serviceaccounts', 'system:authenticated'],
}
const folder = mkdtempSync(join(tmpdir(), 'fairlead-namespaced-'))
const api = 'metacontroller.k8s.io/v1alpha1'
const parentResource = { apiVersion: fleets.apiVersion, resource: 'fleets' }
const children = [{ apiVersion: 'v1', resource: 'configmaps', updateStrategy: { method: 'InPlace' } }]
/** A composite controller claims what its parents own of its kinds: the others make another kind. */
const others = [{ apiVersion: 'v1', resource: 'secrets', updateStrategy: { method: 'InPlace' } }]
const namespaces = ['team-a', 'team-b']

let hook: TestHook
let stage: Stage
beforeEach(async () => {
  hook = await TestHook.start()
})
afterEach(async () => {
  await stage[Symbol.asyncDispose]()
  await hook[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true, force: true })
})

function controllersIn(limits: readonly string[]): KubeObject[] {
  const url = (path: string): object => ({ webhook: { url: `${hook.url}/${path}` } })
  const finalize = { sync: url('sync'), finalize: url('finalize') }
  const of = (kind: string, name: string, spec: object): KubeObject =>
    ({ apiVersion: api, kind, metadata: { name }, spec: { namespaces: limits, ...spec } }) as unknown as KubeObject
  const inputs = [{ apiVersion: 'v1', resource: 'serviceaccounts', labelSelector: { matchLabels: { copy: 'yes' } } }]
  return [
    of('CompositeController', 'fleets', { parentResource, childResources: children, hooks: finalize }),
    of('DecoratorController', 'flags', {
      resources: [parentResource],
      attachments: others,
      hooks: { sync: url('decorate') },
    }),
    of('MapController', 'copies', {
      parentResource,
      inputResources: inputs,
      outputResources: others,
      hooks: { map: url('map') },
    }),
  ]
}

/** Binds the capability's own rules. */
function ownRights(): KubeObject[] {
  const rbac = 'rbac.authorization.k8s.io'
  return [
    { apiVersion: `${rbac}/v1`, kind: 'ClusterRole', metadata: { name: 'own' }, rules: metacontroller.rules },
    {
      apiVersion: `${rbac}/v1`,
      kind: 'ClusterRoleBinding',
      metadata: { name: 'own' },
      roleRef: { apiGroup: rbac, kind: 'ClusterRole', name: 'own' },
      subjects: [{ apiGroup: rbac, kind: 'User', name: account.name }],
    },
  ] as unknown as KubeObject[]
}

function place(object: KubeObject, namespace: string): KubeObject {
  return { ...object, metadata: { ...object.metadata, namespace } }
}

test('all three kinds read and write in their namespaces with Roles there, and a namespace that is left keeps no finalizer', async () => {
  const controllerClient = (server: ApiServer): ReturnType<ApiServer['client']> => server.client({ as: account })
  hook.reply = ({ path, body }) => {
    const secret = (name: string): object => ({ apiVersion: 'v1', kind: 'Secret', metadata: { name } })
    if (path === '/map') return { body: { outputs: [secret(`map-${body.input.metadata.name}`)] } }
    if (path === '/decorate') return { body: { attachments: [secret('flag')] } }
    return { body: { children: [ship('boat')], finalized: true } }
  }
  stage = await Stage.set({ server: { authorization: 'RBAC' } })
  await stage.stopControllers()
  await stage.apply(fleetDefinition, ...ownRights())
  for (const name of [...namespaces, 'team-c'])
    await stage.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } } as KubeObject)
  const manifests = join(folder, 'controllers.yaml')
  writeFileSync(manifests, stringifyYamlDocuments([fleetDefinition, ...controllersIn(namespaces)]))
  const { out } = await runCommand('rbac', { options: { filename: [manifests] } })
  const roles = parseYamlDocuments(out) as unknown as KubeObject[]
  expect(roles.map(({ kind, metadata }) => `${kind} ${metadata.namespace} ${metadata.name}`)).toEqual(
    ['composite:fleets', 'decorator:flags', 'map:copies'].flatMap((name) =>
      namespaces.flatMap((namespace) => ['Role', 'RoleBinding'].map((kind) => `${kind} ${namespace} fairlead:${name}`)),
    ),
  )
  await stage.apply(...roles)
  const account1 = {
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata: { name: 'x', labels: { copy: 'yes', fleet: 'north' } },
  } as KubeObject
  for (const namespace of [...namespaces, 'team-c'])
    await stage.apply(
      place(account1, namespace),
      place(fleet([], { selector: { matchLabels: { fleet: 'north' } } }), namespace),
    )
  await stage.pass(1)
  await stage.startControllers({ controllerClient })
  await stage.apply(...controllersIn(namespaces))
  await stage.pass(5)
  const made = async (namespace: string): Promise<readonly string[]> => {
    const lists = await Promise.all(
      ['ConfigMap', 'Secret'].map((kind) => stage.client.list({ apiVersion: 'v1', kind }, { namespace })),
    )
    const names = lists.flatMap(({ items }) => items.map(({ metadata }) => metadata.name ?? ''))
    return names.filter((name) => name !== 'kube-root-ca.crt')
  }
  const all = ['boat', 'flag', 'map-x']
  expect([await made('team-a'), await made('team-b'), await made('team-c')]).toEqual([all, all, []])
  const finalizers = async (): Promise<unknown> =>
    Promise.all(
      namespaces.map(
        async (namespace) => (await stage.client.get(fleets, `${namespace}/north`)).metadata.finalizers ?? [],
      ),
    )
  const finalizer = 'metacontroller.io/compositecontroller-fleets'
  expect(await finalizers()).toEqual([[finalizer], [finalizer]])

  await stage.apply(...controllersIn(['team-b']))
  await stage.pass(5)
  expect([await finalizers(), await made('team-a'), await made('team-b')]).toEqual([[[], [finalizer]], all, all])
})

test('a controller of cluster-scoped parents is not accepted with namespaces', async () => {
  const oceans = crd({ group: 'harbour.example.com', kind: 'Ocean', status: true, scope: 'Cluster' })
  stage = await Stage.set()
  await stage.apply(oceans)
  await stage.pass(1)
  const [composite] = controllersIn(namespaces)
  const { spec } = composite as unknown as { spec: object }
  const limited = { ...spec, parentResource: { ...parentResource, resource: 'oceans' } }
  await stage.apply({ ...composite, spec: limited } as unknown as KubeObject)
  await stage.pass(2)
  const { status } = await stage.client.get({ apiVersion: api, kind: 'CompositeController' }, 'fleets')
  expect((status as { conditions: unknown }).conditions).toContainEqual(
    expect.objectContaining({
      type: 'Accepted',
      reason: 'InvalidNamespaces',
      message: 'spec.namespaces is for namespaced parents; oceans are cluster-scoped',
    }),
  )
})
