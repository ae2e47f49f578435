// The right to name service accounts in blueprints, owners and Runnables: two users, and the server with RBAC.
import type { Client } from '@fairlead/client'
import type { JsonObject, KubeObject } from '@fairlead/kube'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import {
  Stage,
  conditionsOf,
  git,
  runnable,
  sourceTemplate,
  supplyChain,
  template,
  workload,
  workloadOf,
} from './stage.ts'

const boss = { namespace: 'kube-system', name: 'boss' }
const resources = [{ name: 'source', templateRef: { kind: 'ClusterSourceTemplate' as const, name: 'source' } }]
const delivery = (more: object): KubeObject =>
  ({ ...supplyChain('web', 'web', resources, more), kind: 'ClusterDelivery' }) as KubeObject
const impersonating = (resourceNames?: readonly string[]): object => ({
  apiGroups: [''],
  resources: ['serviceaccounts'],
  verbs: ['impersonate'],
  ...(resourceNames && { resourceNames }),
})

let stage: Stage
/** May do everything with supply chains, and nothing else. */
let chainer: Client

beforeEach(async () => {
  stage = await Stage.set({ admission: true })
  await stage.grant('chainer', [{ apiGroups: ['carto.run'], resources: ['*'], verbs: ['*'] }], 'chainer')
  chainer = stage.server.client({ as: { name: 'chainer', groups: ['system:authenticated'] } })
})
afterEach(() => stage[Symbol.asyncDispose]())

/** Grants rights in a namespace through a RoleBinding. */
async function grantIn(namespace: string, user: string, rules: readonly object[]): Promise<void> {
  const apiVersion = 'rbac.authorization.k8s.io/v1'
  const metadata = { name: user, namespace }
  await stage.client.create({ apiVersion, kind: 'Role', metadata, rules } as KubeObject)
  await stage.client.create({
    apiVersion,
    kind: 'RoleBinding',
    metadata,
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: user },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: user }],
  } as KubeObject)
}

describe('a blueprint that names a service account', () => {
  test('is refused without the right to impersonate it, whatever the kind and verb', async () => {
    const message =
      'clustersupplychains.carto.run "web" is forbidden: User "chainer" cannot impersonate resource "serviceaccounts" in ' +
      'API group "" in the namespace "kube-system": spec.serviceAccountRef names the service account "boss" of the ' +
      'namespace "kube-system", and objects are written with its rights'
    const named = supplyChain('web', 'web', resources, { serviceAccountRef: boss })
    await expect(chainer.create(named)).rejects.toMatchObject({ code: 403, message })
    await expect(chainer.apply(named)).rejects.toMatchObject({ code: 403, message })
    await expect(chainer.create(delivery({ serviceAccountRef: boss }))).rejects.toMatchObject({ code: 403 })
    await chainer.create(supplyChain('web', 'web', resources))
    const merge = { spec: { serviceAccountRef: boss } }
    await expect(chainer.patch(named, 'web', { merge })).rejects.toMatchObject({ code: 403, message })
  })

  test('is accepted with the right, for that account only', async () => {
    await grantIn('kube-system', 'chainer', [impersonating(['boss'])])
    const named = supplyChain('web', 'web', resources, { serviceAccountRef: boss })
    await chainer.create(named)
    for (const serviceAccountRef of [{ name: 'other' }, { namespace: 'team-a' }] as readonly JsonObject[])
      await expect(chainer.patch(named, 'web', { merge: { spec: { serviceAccountRef } } })).rejects.toMatchObject({
        code: 403,
      })
  })

  test('without a namespace needs the right in every namespace', async () => {
    await grantIn('team-a', 'chainer', [impersonating()])
    const named = supplyChain('web', 'web', resources, { serviceAccountRef: { name: 'builder' } })
    await expect(chainer.create(named)).rejects.toThrow('at the cluster scope')
    await stage.grant('impersonators', [impersonating(['builder'])], 'chainer')
    await chainer.create(named)
  })

  test('may be changed and deleted by others as long as the account stays', async () => {
    const named = supplyChain('web', 'web', resources, { serviceAccountRef: boss })
    await stage.client.create(named)
    await chainer.patch(named, 'web', { merge: { metadata: { labels: { a: 'b' } } } })
    await chainer.patch(named, 'web', { merge: { spec: { serviceAccountRef: null } } })
    await chainer.delete(named, 'web')
  })
})

describe('an owner or Runnable that names a service account', () => {
  const run = (spec: object): KubeObject => ({
    ...runnable,
    metadata: { name: 'run', namespace: 'team-a' },
    spec: { runTemplateRef: { name: 'run' }, ...spec },
  })
  const owners = (serviceAccountName: string): readonly KubeObject[] => [
    workloadOf('app', 'web', { serviceAccountName }),
    { ...workloadOf('app', 'web', { serviceAccountName }), kind: 'Deliverable' } as KubeObject,
    run({ serviceAccountName }),
  ]

  test('is refused without the right to impersonate it, unless it is the default', async () => {
    for (const object of owners('builder')) {
      await expect(chainer.create(object)).rejects.toMatchObject({
        code: 403,
        message: expect.stringContaining(
          'spec.serviceAccountName names the service account "builder" of the namespace "team-a"',
        ) as string,
      })
    }
    for (const object of owners('default')) {
      await chainer.create(object)
      const merge = { spec: { serviceAccountName: 'builder' } }
      await expect(chainer.patch(object, `team-a/${object.metadata.name}`, { merge })).rejects.toMatchObject({
        code: 403,
      })
    }
  })

  test('is accepted from editors of the namespace', async () => {
    const apiGroup = 'rbac.authorization.k8s.io'
    await stage.client.create({
      apiVersion: `${apiGroup}/v1`,
      kind: 'RoleBinding',
      metadata: { name: 'edit', namespace: 'team-a' },
      roleRef: { apiGroup, kind: 'ClusterRole', name: 'edit' },
      subjects: [{ apiGroup, kind: 'User', name: 'chainer' }],
    } as KubeObject)
    for (const object of owners('builder')) await chainer.create(object)
  })

  test('may be changed by others as long as the account stays', async () => {
    for (const object of owners('builder')) {
      await stage.client.create(object)
      const merge = { metadata: { labels: { a: 'b' } } }
      await chainer.patch(object, `team-a/${object.metadata.name}`, { merge })
    }
  })

  test('is accepted from that account, as when a supply chain stamps it', async () => {
    await stage.grant(
      'builder-runs',
      [{ apiGroups: ['carto.run'], resources: ['runnables'], verbs: ['*'] }],
      'system:serviceaccount:team-a:builder',
    )
    await stage.apply(
      template('ClusterTemplate', 'run', {
        template: { ...run({ serviceAccountName: '$(params.account)$' }), metadata: { name: 'run' } },
      }),
      supplyChain('run', 'run', [{ name: 'run', templateRef: { kind: 'ClusterTemplate', name: 'run' } }]),
      workloadOf('other', 'run', { params: [{ name: 'account', value: 'boss' }] }),
    )
    const refused = await stage.owner('team-a/other', (one) =>
      Boolean(conditionsOf(one)['Ready']?.[2].includes('cannot impersonate')),
    )
    expect(conditionsOf(refused)['Ready']?.[1]).toBe('TemplateRejectedByAPIServer')
    await stage.client.delete(workload, 'team-a/other')
    await stage.apply(workloadOf('app', 'run', { params: [{ name: 'account', value: 'builder' }] }))
    await stage.client.waitFor(runnable, 'team-a/run', () => true)
  })

  test('cannot get the account that deletes its objects through its status', async () => {
    await chainer.create(workloadOf('app', 'none', { serviceAccountName: 'default' }))
    const write = (client: Client): Promise<KubeObject> =>
      client.patch(
        workload,
        'team-a/app',
        { merge: { status: { serviceAccountRef: boss } } },
        { subresource: 'status' },
      )
    await expect(write(chainer)).rejects.toThrow('status.serviceAccountRef names the service account "boss"')
    await write(stage.client)
  })
})

test('administrators may name every service account, and the controllers record the one that stamps', async () => {
  await stage.apply(
    { ...sourceTemplate, metadata: { name: 'source' } },
    supplyChain('web', 'web', resources, { serviceAccountRef: { namespace: 'team-a', name: 'builder' } }),
    workloadOf('app', 'web', { ...git, serviceAccountName: '' }),
  )
  const owner = await stage.owner('team-a/app', ({ status }) => status?.serviceAccountRef !== undefined)
  expect(owner.status?.serviceAccountRef).toEqual({ namespace: 'team-a', name: 'builder' })
})
