// Isolation of tenants: two namespaces, two service accounts, and attempts to reach across.
import type { KubeObject } from '@fairlead/kube'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import {
  Stage,
  chain,
  conditionsOf,
  git,
  imageTemplate,
  resourcesOf,
  runnable,
  sourceTemplate,
  supplyChain,
  template,
  thing,
  workloadOf,
} from './stage.ts'

let stage: Stage
const reasonOf = (owner: Parameters<typeof conditionsOf>[0]): string | undefined => conditionsOf(owner)['Ready']?.[1]

beforeEach(async () => {
  stage = await Stage.set({ tenants: ['team-a', 'team-b'] })
  await stage.apply(sourceTemplate, imageTemplate, chain)
})
afterEach(() => stage[Symbol.asyncDispose]())

async function secretChain(): Promise<void> {
  await stage.apply(
    template('ClusterConfigTemplate', 'secret', {
      configPath: '.data.key',
      template: { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'made' }, stringData: { key: 'value' } },
    }),
    supplyChain('secret', 'secret', [
      { name: 'secret', templateRef: { kind: 'ClusterConfigTemplate', name: 'secret' } },
    ]),
  )
}

describe('a tenant', () => {
  test('has objects stamped in its own namespace only, by its own account', async () => {
    await stage.apply(workloadOf('app', 'web', git, 'team-a'), workloadOf('app', 'web', git, 'team-b'))
    for (const namespace of ['team-a', 'team-b']) {
      const source = await stage.client.waitFor(thing, `${namespace}/app-source`, () => true)
      expect(source.metadata.ownerReferences).toHaveLength(1)
    }
    await stage.client.delete(workloadOf('app', 'web'), 'team-a/app')
    await stage.client.waitForDeletion(thing, 'team-a/app-source')
    await stage.settle()
    expect(await stage.things('team-b')).toHaveLength(1)
  })

  test('cannot stamp what its account may not create, until it is granted', async () => {
    await stage.apply({
      ...sourceTemplate,
      spec: {
        ...sourceTemplate.spec,
        urlPath: '.spec.url',
        revisionPath: '.spec.url',
        healthRule: { alwaysHealthy: {} },
      },
    })
    await stage.client.delete({ apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'RoleBinding' }, 'team-b/builder')
    await stage.apply(workloadOf('app', 'web', git, 'team-b'))
    const refused = await stage.owner('team-b/app', (owner) => reasonOf(owner) === 'TemplateRejectedByAPIServer')
    expect(conditionsOf(refused)['Ready']?.[2]).toContain('User "system:serviceaccount:team-b:builder" cannot')
    expect(await stage.things('team-b')).toEqual([])
    await stage.bindTenant('team-b')
    await stage.client.waitFor(thing, 'team-b/app-source', () => true)
  })

  test('cannot use the account of another namespace', async () => {
    await stage.apply(workloadOf('app', 'web', { ...git, serviceAccountName: 'team-b:builder' }, 'team-a'))
    const owner = await stage.owner('team-a/app', (one) => reasonOf(one) === 'ServiceAccountError')
    expect(conditionsOf(owner)['Ready']?.[2]).toContain('not found')
    expect(await stage.things('team-a')).toEqual([])
  })

  test('cannot stamp into another namespace', async () => {
    await stage.apply(
      template('ClusterTemplate', 'across', {
        template: { ...thing, metadata: { name: 'across', namespace: '$(params.where)$' }, spec: { a: 1 } },
      }),
      supplyChain('across', 'across', [{ name: 'across', templateRef: { kind: 'ClusterTemplate', name: 'across' } }]),
      workloadOf('app', 'across', { params: [{ name: 'where', value: 'team-b' }] }, 'team-a'),
    )
    const owner = await stage.owner('team-a/app', (one) => reasonOf(one) === 'TemplateStampFailure')
    expect(conditionsOf(owner)['Ready']?.[2]).toContain('cannot set namespace in resource template')
    expect(await stage.things('team-b')).toEqual([])
  })

  test('cannot read through a template what its account may not read', async () => {
    await secretChain()
    await stage.grant(
      'supply-secrets',
      [{ apiGroups: [''], resources: ['secrets'], verbs: ['get', 'list', 'watch'] }],
      'system:serviceaccount:fairlead-system:fairlead-supply',
    )
    await stage.apply(workloadOf('app', 'secret', {}, 'team-a'))
    const owner = await stage.owner('team-a/app', (one) => reasonOf(one) === 'TemplateRejectedByAPIServer')
    expect(resourcesOf(owner)['secret']?.['Healthy']?.[0]).toBe('Unknown')
  })

  test('sees no status or output of objects that its account may write but not read', async () => {
    const role = { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'Role' }
    const rules = (verbs: readonly string[]): object => [{ apiGroups: ['test.run'], resources: ['things'], verbs }]
    await stage.client.patch(role, 'team-b/builder', { merge: { rules: rules(['create', 'patch']) as never } })
    await stage.apply(workloadOf('app', 'web', git, 'team-b'))
    const refused = await stage.owner('team-b/app', (one) => reasonOf(one) === 'TemplateRejectedByAPIServer')
    expect(conditionsOf(refused)['Ready']?.[2]).toContain('cannot get resource "things"')
    await stage.client.patch(role, 'team-b/builder', { merge: { rules: rules(['get', 'create', 'patch']) as never } })
    await stage.client.waitFor(thing, 'team-b/app-source', () => true)
  })

  test.each([
    ['with generated names', { generateName: 'a-' }],
    ['with names', { name: 'a' }],
  ])('needs either get or list to have objects stamped, %s', async (_, metadata) => {
    const role = { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'Role' }
    const rules = [{ apiGroups: ['test.run'], resources: ['things'], verbs: ['list', 'create', 'patch'] }]
    await stage.client.patch(role, 'team-b/builder', { merge: { rules: rules as never } })
    await stage.apply(
      template('ClusterTemplate', 'named', { template: { ...thing, metadata, spec: {} } }),
      supplyChain('named', 'named', [{ name: 'a', templateRef: { kind: 'ClusterTemplate', name: 'named' } }]),
      workloadOf('app', 'named', {}, 'team-b'),
    )
    await stage.ready('team-b/app', 'True')
  })

  test('cannot read through the selector of a Runnable what its account may not read', async () => {
    const secret: KubeObject = {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'hidden', namespace: 'team-a', labels: { a: 'b' } },
      stringData: { key: 'value' },
    } as never
    const runTemplate: KubeObject = {
      apiVersion: 'carto.run/v1alpha1',
      kind: 'ClusterRunTemplate',
      metadata: { name: 'run' },
      spec: { template: { ...thing, metadata: { generateName: 'run-' }, spec: { all: '$(selected)$' } } },
    } as never
    const selector = { resource: { apiVersion: 'v1', kind: 'Secret' }, matchingLabels: { a: 'b' } }
    await stage.grant(
      'supply-secrets',
      [{ apiGroups: [''], resources: ['secrets'], verbs: ['get', 'list', 'watch'] }],
      'system:serviceaccount:fairlead-system:fairlead-supply',
    )
    await stage.apply(secret, runTemplate, {
      ...runnable,
      metadata: { name: 'run', namespace: 'team-a' },
      spec: { runTemplateRef: { name: 'run' }, serviceAccountName: 'builder', selector },
    } as never)
    const failing = await stage.client.waitFor(
      runnable,
      'team-a/run',
      (object) => conditionsOf(object as never)['Ready']?.[0] === 'False',
    )
    expect(conditionsOf(failing as never)['Ready']?.[2]).toContain(
      'User "system:serviceaccount:team-a:builder" cannot list',
    )
    expect(await stage.things('team-a')).toEqual([])
  })

  test('cannot adopt or delete an object of another owner', async () => {
    const fixed = template('ClusterTemplate', 'fixed', {
      template: { ...thing, metadata: { name: 'shared' }, spec: { by: '$(workload.metadata.name)$' } },
    })
    await stage.apply(
      fixed,
      supplyChain('fixed', 'fixed', [{ name: 'fixed', templateRef: { kind: 'ClusterTemplate', name: 'fixed' } }]),
    )
    await stage.apply(workloadOf('first', 'fixed'))
    await stage.ready('team-a/first', 'True')
    await stage.apply(workloadOf('second', 'fixed'))
    const second = await stage.owner('team-a/second', (one) => reasonOf(one) === 'TemplateRejectedByAPIServer')
    expect(conditionsOf(second)['Ready']?.[2]).toContain('belongs to Workload first')
    await stage.client.delete(second, 'team-a/second')
    await stage.settle()
    expect((await stage.things()).map(({ spec }) => spec)).toEqual([{ by: 'first' }])
  })

  test('keeps its objects when another tenant forges their labels', async () => {
    await stage.apply(workloadOf('app', 'web', git, 'team-a'))
    await stage.client.waitFor(thing, 'team-a/app-source', () => true)
    const labels = {
      'carto.run/workload-name': 'app',
      'carto.run/workload-namespace': 'team-a',
      'carto.run/resource-name': 'removed',
    }
    await stage.apply({ ...thing, metadata: { name: 'forged', namespace: 'team-a', labels }, spec: { a: 1 } } as never)
    await stage.settle()
    expect((await stage.things()).map(({ metadata }) => metadata.name).toSorted()).toEqual(['app-source', 'forged'])
  })

  test('gets no outputs from, and loses no runs to, objects of another namespace that name its uid', async () => {
    const metadata = { generateName: 'run-' }
    await stage.apply(
      template('ClusterImageTemplate', 'run', {
        lifecycle: 'immutable',
        retentionPolicy: { maxFailedRuns: 1, maxSuccessfulRuns: 1 },
        imagePath: '.spec.image',
        template: { ...thing, metadata, spec: { image: 'own' } },
      }),
      supplyChain('run', 'run', [{ name: 'run', templateRef: { kind: 'ClusterImageTemplate', name: 'run' } }]),
      workloadOf('app', 'run', {}, 'team-b'),
    )
    const owner = await stage.ready('team-b/app', 'True')
    const [run] = await stage.things('team-b')
    const forged = {
      ...thing,
      metadata: {
        namespace: 'team-a',
        labels: run!.metadata.labels,
        annotations: { 'carto.run/stamp-number': '999' },
        ownerReferences: [
          // A version that is not served keeps the garbage collector from deciding.
          { apiVersion: 'carto.run/v9', kind: 'Workload', name: 'app', uid: owner.metadata.uid, controller: true },
        ],
      },
      spec: { image: 'forged' },
    }
    for (const name of ['one', 'two'])
      await stage.client.create({ ...forged, metadata: { ...forged.metadata, name } } as never)
    await stage.client.patch(owner, 'team-b/app', { merge: { spec: { params: [{ name: 'a', value: 1 }] } } })
    const after = await stage.ready('team-b/app', 'True')
    await stage.settle()
    expect(after.status?.resources?.[0]?.outputs?.map(({ preview }) => preview.trim())).toEqual(['own'])
    expect(await stage.things('team-b')).toHaveLength(1)
    expect(await stage.things('team-a')).toHaveLength(2)
  })
})
