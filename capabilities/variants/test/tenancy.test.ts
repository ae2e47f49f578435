// Two users, each with rights on one namespace: no variant reads or writes what its author may not.
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Client } from '@fairlead/client'
import { installDefinitions } from '@fairlead/controller'
import type { KubeObject } from '@fairlead/kube'
import { PackageVariantKind, PackageVariantSetKind } from '@fairlead/variants'
import { crd } from '../../../test/support/crd.ts'
import { conditionOf, VariantStage } from './stage.ts'

let stage: VariantStage
let ann: Client
let bob: Client
const variantRule = {
  apiGroups: ['config.porch.kpt.dev'],
  resources: ['packagevariants', 'packagevariantsets'],
  verbs: ['*'],
}
const packageRule = { apiGroups: ['porch.kpt.dev'], resources: ['*'], verbs: ['*'] }
beforeEach(async () => {
  stage = await VariantStage.start(['team-a', 'team-b'])
  await stage.packages.grant('ann', [variantRule, packageRule], 'ann', 'team-a')
  await stage.packages.grant('bob', [variantRule, packageRule], 'bob', 'team-b')
  ann = stage.packages.server.client({ as: { name: 'ann', groups: ['system:authenticated'] } })
  bob = stage.packages.server.client({ as: { name: 'bob', groups: ['system:authenticated'] } })
})
afterEach(() => stage[Symbol.asyncDispose]())

const code = (expected: number): object => ({ status: { code: expected } })

function variant(namespace: string, spec: object = {}): KubeObject {
  const { apiVersion, kind } = PackageVariantKind
  return {
    apiVersion,
    kind,
    metadata: { name: 'web', namespace },
    spec: { upstream: { repo: 'catalog', package: 'web' }, downstream: { repo: 'edge', package: 'web' }, ...spec },
  } as KubeObject
}

const point = `apiVersion: v1
kind: ConfigMap
metadata:
  name: endpoints
  annotations:
    kpt.dev/config-injection: required
`

test('a variant takes no upstream, repository or injected object of another namespace', async () => {
  await stage.configMap('east', { db: '10.0.0.1' })
  await stage.publish('web', 'v1', { 'endpoints.yaml': point })
  await stage.packages.grant(
    'bob-reads',
    [{ apiGroups: [''], resources: ['configmaps'], verbs: ['get'] }],
    'bob',
    'team-b',
  )
  await bob.create(variant('team-b', { injectors: [{ name: 'east' }] }))
  const stalled = await stage.client.waitFor(
    PackageVariantKind,
    'team-b/web',
    (one) => conditionOf(one, 'Stalled')?.status === 'True',
  )
  expect(conditionOf(stalled, 'UpstreamResolved')?.message).toContain(
    'could not find a published revision of catalog/web',
  )
  await expect(bob.create(variant('team-a'))).rejects.toMatchObject(code(403))
})

test('injects nothing of another namespace into a package that is there', async () => {
  await stage.configMap('east', { db: '10.0.0.1' })
  for (const name of ['catalog', 'edge']) await stage.packages.register(name, {}, { namespace: 'team-b' })
  const { metadata } = await stage.packages.create('catalog', 'web', 'v1', undefined, { namespace: 'team-b' })
  const resources = await stage.packages.resources(metadata.name!, 'team-b')
  const files = { ...resources.spec.resources, 'endpoints.yaml': point }
  await stage.client.update({ ...resources, spec: { ...resources.spec, resources: files } })
  await stage.packages.setLifecycle(metadata.name!, 'Proposed', { namespace: 'team-b' })
  await stage.packages.setLifecycle(metadata.name!, 'Published', { namespace: 'team-b', approval: true })
  await stage.packages.grant(
    'bob-reads',
    [{ apiGroups: [''], resources: ['configmaps'], verbs: ['get'] }],
    'bob',
    'team-b',
  )
  await bob.create(variant('team-b', { injectors: [{ name: 'east' }] }))
  const gated = await stage.client.waitFor(
    PackageVariantKind,
    'team-b/web',
    (one) => conditionOf(one, 'Ready')?.reason === 'GatesNotMet',
  )
  expect(conditionOf(gated, 'ConfigInjected')?.message).toContain('no ConfigMap named east')
})

test('a writer who may not make revisions makes none through a variant or a set', async () => {
  await stage.packages.grant('eve', [variantRule], 'eve', 'team-a')
  const eve = stage.packages.server.client({ as: { name: 'eve', groups: ['system:authenticated'] } })
  await expect(eve.create(variant('team-a'))).rejects.toMatchObject(code(403))
  const set = {
    apiVersion: 'config.porch.kpt.dev/v1alpha2',
    kind: 'PackageVariantSet',
    metadata: { name: 'fleet', namespace: 'team-a' },
    spec: {
      upstream: { repo: 'catalog', package: 'web', revision: 1 },
      targets: [{ repositories: [{ name: 'edge', packageNames: ['web'] }] }],
    },
  } as unknown as KubeObject
  await expect(eve.create(set)).rejects.toMatchObject(code(403))
  await ann.create(set)
})

test('a writer who may not read an object injects it through no variant', async () => {
  const injected = variant('team-a', { injectors: [{ name: 'east' }] })
  await expect(ann.create(injected)).rejects.toMatchObject(code(403))
  await stage.packages.grant(
    'ann-reads',
    [{ apiGroups: [''], resources: ['configmaps'], verbs: ['get'] }],
    'ann',
    'team-a',
  )
  await ann.create(injected)
  // A write that leaves the spec as it is needs no more than the right to write.
  await stage.client.delete({ apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'RoleBinding' }, 'team-a/ann-reads')
  await ann.patch(PackageVariantKind, 'team-a/web', { merge: { metadata: { labels: { a: 'b' } } } })
  await expect(
    ann.patch(PackageVariantKind, 'team-a/web', { merge: { spec: { injectors: [{ name: 'west' }] } } }),
  ).rejects.toMatchObject(code(403))
})

test('a Secret is never injected, whatever the rights of the writer', async () => {
  await stage.client.create({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'east', namespace: 'team-a' },
    stringData: { password: 'x' },
  } as KubeObject)
  const secret = point.replace('kind: ConfigMap', 'kind: Secret')
  await stage.publish('web', 'v1', { 'endpoints.yaml': secret })
  await stage.apply('web', { injectors: [{ name: 'east' }] })
  const gated = await stage.ready('web', 'GatesNotMet')
  expect(conditionOf(gated, 'ConfigInjected')?.message).toContain('Secrets are never injected')
  expect((await stage.files('edge.web.packagevariant-1'))['endpoints.yaml']).not.toContain('spec')
})

test('a writer who may not list the objects of a kind selects none of them through a set', async () => {
  const { apiVersion, kind } = PackageVariantSetKind
  const template = { downstream: { repo: 'edge', packageExpr: "target.annotations['example.com/token']" } }
  const set = {
    apiVersion,
    kind,
    metadata: { name: 'fleet', namespace: 'team-a' },
    spec: {
      upstream: { repo: 'catalog', package: 'web', revision: 1 },
      targets: [{ objectSelector: { apiVersion: 'v1', kind: 'ConfigMap' }, template }],
    },
  } as unknown as KubeObject
  await expect(ann.create(set)).rejects.toThrow('objectSelector reads ConfigMap objects')
  const rules = [{ apiGroups: [''], resources: ['configmaps'], verbs: ['list'] }]
  await stage.packages.grant('ann-lists', rules, 'ann', 'team-a')
  await ann.create(set)
})

test('the right to a kind is that to its resource, whatever its plural', async () => {
  const group = 'infra.example.com'
  const selecting = (name: string): KubeObject =>
    ({
      apiVersion: PackageVariantSetKind.apiVersion,
      kind: PackageVariantSetKind.kind,
      metadata: { name, namespace: 'team-a' },
      spec: {
        upstream: { repo: 'catalog', package: 'web', revision: 1 },
        targets: [
          {
            objectSelector: { apiVersion: `${group}/v1`, kind: 'Index' },
            template: { downstream: { repo: 'edge', packageExpr: 'target.name' } },
          },
        ],
      },
    }) as unknown as KubeObject
  const rules = ['indexes', 'indices'].map((resource) => ({
    apiGroups: [group],
    resources: [resource],
    verbs: ['get', 'list'],
  }))
  await stage.packages.grant('guessed', [rules[0]!], 'ann', 'team-a')
  const injecting = variant('team-a', { injectors: [{ group, kind: 'Index', name: 'east' }] })
  const unserved = `the server serves no kind Index in the API group "${group}"`
  await expect(ann.create(selecting('fleet'))).rejects.toThrow(unserved)
  await expect(ann.create(injecting)).rejects.toThrow(unserved)
  await installDefinitions(stage.client, [crd({ group, kind: 'Index', plural: 'indices' })])
  await expect(ann.create(selecting('fleet'))).rejects.toThrow('resource "indices"')
  await expect(ann.create(injecting)).rejects.toThrow('resource "indices"')
  await stage.packages.grant('served', [rules[1]!], 'ann', 'team-a')
  await ann.create(selecting('fleet'))
  await ann.create(injecting)
})
