// Borders between namespaces: what the writers of one namespace can do to the users of another.
import { actions, crds } from '@fairlead/actions'
import type { ActionService, Caller } from '@fairlead/actions'
import { ApiServer } from '@fairlead/apiserver'
import type { Client } from '@fairlead/client'
import { Manager } from '@fairlead/controller'
import type { JsonObject, KubeObject } from '@fairlead/kube'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventually } from '../../../test/support/until.ts'
import { kam, map } from './objects.ts'

const kamKind = { apiVersion: 'actions.kappnav.io/v1', kind: 'KindActionMapping' }
const webIn = (namespace: string): { apiVersion: string; kind: string; namespace: string; name: string } => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  namespace,
  name: 'web',
})

/** Waits until a condition holds. */
const until = (holds: () => Promise<boolean>): Promise<void> =>
  eventually(async () => {
    if (!(await holds())) throw new Error('the condition does not hold')
  })

let server: ApiServer
let service: ActionService
let admin: Client
const stack = new AsyncDisposableStack()

const as = (name: string): Caller => ({
  client: server.client({ as: { name, groups: ['system:authenticated'] } }),
  user: { name, groups: ['system:authenticated'] },
})
const asAdmin = (): Caller => ({ client: admin, user: { name: 'admin', groups: ['system:masters'] } })

function deployment(namespace: string): KubeObject {
  const labels = { app: 'web' }
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'web', namespace },
    spec: {
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'i' }] } },
    },
  }
}

const everyDeployment = (mapname: string): JsonObject => ({ apiVersion: 'apps/v1', kind: 'Deployment', mapname })
const url = (name: string, pattern: string): JsonObject => ({ name, 'url-pattern': pattern })
const command = (name: string): JsonObject => ({ name, image: 'i', 'cmd-pattern': 'true' })

async function names(caller: Caller, namespace: string): Promise<readonly string[]> {
  const { actions: found } = await service.menu(caller, webIn(namespace))
  return found.map(({ name, map: from, isUntrusted }) => `${name} ${from}${isUntrusted === true ? ' untrusted' : ''}`)
}

async function addressOf(caller: Caller, namespace: string, pattern: string): Promise<string> {
  await admin.apply(map('own', { 'url-actions': [url('probe', pattern)] }, { namespace }), { force: true })
  await until(async () =>
    JSON.stringify((await service.resolve(caller, webIn(namespace))).merged.actions).includes(JSON.stringify(pattern)),
  )
  return (await service.url(caller, webIn(namespace), 'probe')).url
}

async function trust(namespaces: string): Promise<void> {
  await admin.apply(
    {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'kappnav-config', namespace: 'kappnav' },
      data: { 'trusted-namespaces': namespaces },
    },
    { force: true },
  )
}

beforeAll(async () => {
  server = stack.use(await ApiServer.start({ authorization: 'RBAC' }))
  admin = server.client({ manager: 'kubectl' })
  const manager = stack.use(await Manager.start({ client: server.client(), crds }))
  const instance = await actions.setup(manager, { resolve: new Map(), signal: new AbortController().signal })
  stack.defer(() => instance.stop())
  for (const route of instance.routes ?? []) server.serve(route)
  service = instance.service
  for (const [namespace, user] of [
    ['kappnav', 'operator'],
    ['a', 'alice'],
    ['b', 'bob'],
    ['default', 'dora'],
  ] as const) {
    if (namespace !== 'default')
      await admin.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } })
    await admin.create({
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'RoleBinding',
      metadata: { name: 'editors', namespace },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'edit' },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: user }],
    })
  }
  await admin.create({
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRole',
    metadata: { name: 'run', labels: { 'rbac.authorization.k8s.io/aggregate-to-edit': 'true' } },
    rules: [{ apiGroups: ['actions.kappnav.io'], resources: ['actions'], verbs: ['run'] }],
  })
  for (const namespace of ['a', 'b']) {
    await admin.create(deployment(namespace))
    await admin.create({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'db', namespace },
      stringData: { password: 'hunter2' },
    })
  }
  await admin.create(map('shipped', { 'url-actions': [url('detail', 'https://shipped')] }))
  await admin.create(
    kam('default', [
      { apiVersion: '*/*', kind: '*', name: '*', mapname: 'own' },
      everyDeployment('shipped'),
      { apiVersion: '*', kind: '*', mapname: 'shipped' },
    ]),
  )
  await until(async () => (await names(asAdmin(), 'b')).length === 1)
})

afterAll(() => stack.disposeAsync())

describe('the writers of a namespace', () => {
  test('create no mapping by kam-defs', async () => {
    const alice = as('alice')
    await expect(alice.client.create(kam('mine', [], { namespace: 'a' }))).rejects.toMatchObject({ code: 403 })
    const embedded = { metadata: { name: 'takeover' }, spec: { precedence: 9, mappings: [everyDeployment('evil')] } }
    await alice.client.create(map('evil', { 'kam-defs': embedded }, { namespace: 'a' }))
    await until(async () =>
      (await admin.list({ apiVersion: 'events.k8s.io/v1', kind: 'Event' }, { namespace: 'a' })).items.some(
        ({ reason }) => reason === 'UntrustedNamespace',
      ),
    )
    expect((await admin.list(kamKind, { namespace: 'a' })).items).toEqual([])
  })

  test('change no menu of another namespace, and are marked in their own', async () => {
    await admin.create(
      map('takeover', { 'url-actions': [url('detail', 'https://evil')] }, { namespace: 'a', replace: true }),
    )
    await admin.create(kam('takeover', [everyDeployment('takeover')], { namespace: 'a', precedence: 9 }))
    await until(async () => (await names(asAdmin(), 'a'))[0] === 'detail a/takeover untrusted')
    expect(await names(as('bob'), 'b')).toEqual(['detail kappnav/shipped'])
    expect(await names(asAdmin(), 'b')).toEqual(['detail kappnav/shipped'])
  })

  test('change all menus, and may embed mappings, once kappnav-config trusts the namespace', async () => {
    await trust('ops, a')
    await until(async () => (await names(asAdmin(), 'b'))[0] === 'detail a/takeover')
    await admin.waitFor(kamKind, 'a/takeover', () => true)
    await trust('ops')
    await until(async () => (await names(asAdmin(), 'b'))[0] === 'detail kappnav/shipped')
    await admin.delete(kamKind, 'a/takeover')
    await until(async () => (await names(asAdmin(), 'a'))[0] === 'detail kappnav/shipped')
  })

  test.each([
    'https://x/${func.kubectlGet(secret,db,-o,jsonpath=~7B.data.password~7D)}',
    'https://x/${func.kubectlGet(secrets.v1.,-n,b,-o,json)}',
    'https://x/${func.kubectlGet(secrets,-A,-o,name)}',
    'https://x/${func.kubectlGet(configmaps,-A,-o,name)}',
    'https://x/${func.kubectlGet(deployments,web,-n,b,-o,name)}',
    'https://x/${func.kubectlGet(namespaces,b,-o,name)}',
    'https://x/${func.kubectlGet(nodes,-o,name)}',
    'https://x/${func.podlist(b,web)}',
    'https://x/${func.replicaset(b,web)}',
  ])('read nothing with the rights of an administrator who opens %s', async (pattern) => {
    await expect(addressOf(asAdmin(), 'a', pattern)).rejects.toMatchObject({ code: 'FunctionFailed' })
  })

  test('read the objects of their own namespace, as the caller', async () => {
    expect(await addressOf(asAdmin(), 'a', 'https://x/${func.kubectlGet(deployments,web,-o,name)}')).toBe(
      'https://x/deployment.apps/web',
    )
  })

  test('read ConfigMaps of kAppNav with the rights of the caller only', async () => {
    await admin.create(map('private', { key: 'value' }))
    await expect(addressOf(as('alice'), 'a', 'https://x/${global.private#key}')).rejects.toMatchObject({ code: 403 })
  })

  test('run commands in their own namespace, with its default account', async () => {
    await admin.apply(map('own', { 'cmd-actions': [command('go')] }, { namespace: 'a' }), { force: true })
    await until(async () => (await names(asAdmin(), 'a')).includes('go a/own untrusted'))
    const [job] = await service.run(asAdmin(), webIn('a'), 'go')
    expect(job).toMatchObject({
      metadata: { namespace: 'a' },
      spec: { backoffLimit: 0, template: { spec: { serviceAccountName: 'default' } } },
    })
    expect((await service.runs.list(as('alice'), { namespace: 'a' })).map(({ namespace }) => namespace)).toEqual(['a'])
  })

  test('cannot change the snippets, variables and inputs of an action of a trusted map', async () => {
    await admin.apply(map('shipped', { 'url-actions': [url('detail', 'https://${var.host,default.shipped}')] }), {
      force: true,
    })
    await admin.apply(map('own', { variables: { host: 'evil' } }, { namespace: 'a' }), { force: true })
    await until(async () => {
      const { merged } = await service.resolve(asAdmin(), webIn('a'))
      return merged.parts.variables['host'] === 'evil' && JSON.stringify(merged.actions).includes('var.host')
    })
    expect((await service.url(asAdmin(), webIn('a'), 'detail')).url).toBe('https://shipped')
  })
})

describe('a Secret', () => {
  test('is a target without its values', async () => {
    await admin.apply(map('shipped', { 'url-actions': [url('leak', 'https://x/${resource.$.data.password}')] }), {
      force: true,
    })
    const ref = { apiVersion: 'v1', kind: 'Secret', namespace: 'b', name: 'db' }
    await until(async () => (await service.menu(asAdmin(), ref)).actions.some(({ name }) => name === 'leak'))
    await expect(service.url(asAdmin(), ref, 'leak')).rejects.toMatchObject({ code: 'NoValue' })
  })
})

describe('a cluster-scoped resource', () => {
  const ref = { apiVersion: 'v1', kind: 'Namespace', name: 'a' }

  test('has no actions of mappings of the namespace default, and needs a cluster-wide right to run one', async () => {
    await admin.create(map('planted', { 'url-actions': [url('planted', 'https://evil')] }, { namespace: 'default' }))
    await admin.create(
      kam('planted', [{ apiVersion: 'v1', kind: 'Namespace', mapname: 'planted' }], { namespace: 'default' }),
    )
    await admin.apply(map('shipped', { 'cmd-actions': [command('tidy')] }), { force: true })
    const menu = (): ReturnType<ActionService['menu']> => service.menu(asAdmin(), ref)
    await until(async () => (await menu()).actions.some(({ name }) => name === 'tidy'))
    expect(await menu()).toMatchObject({
      resource: { kind: 'Namespace', namespace: '', name: 'a' },
      actions: [{ name: 'tidy', isAllowed: true }],
    })
    const dora = as('dora')
    await admin.create({
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRoleBinding',
      metadata: { name: 'dora' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'view' },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'dora' }],
    })
    expect((await service.menu(dora, ref)).actions).toMatchObject([{ name: 'tidy', isAllowed: false }])
    await expect(service.run(dora, ref, 'tidy')).rejects.toThrow('at the cluster scope')
  })
})

describe('the rights that a menu shows', () => {
  test('include the right to create the Job', async () => {
    await admin.apply(map('shipped', { 'cmd-actions': [command('tidy')] }), { force: true })
    const item = async (name: string): Promise<unknown> =>
      (await service.menu(as(name), webIn('b'))).actions.find((action) => action.name === 'tidy')
    await until(async () => (await item('bob')) !== undefined)
    expect(await item('bob')).toMatchObject({ isAllowed: false })
    await expect(service.run(as('bob'), webIn('b'), 'tidy')).rejects.toMatchObject({ code: 403 })
  })
})

describe('the mapping endpoint', () => {
  test('needs the right to get maps in the namespace of the request', async () => {
    await admin.create({
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRole',
      metadata: { name: 'mappings' },
      rules: [
        { apiGroups: ['actions.kappnav.io'], resources: ['kindactionmappings'], verbs: ['get'] },
        { nonResourceURLs: ['/kappnav/*'], verbs: ['get'] },
      ],
    })
    await admin.create({
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRoleBinding',
      metadata: { name: 'mappings' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'mappings' },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'alice' }],
    })
    const request = (namespace: string): Promise<{ readonly status: number }> =>
      as('alice').client.sendRaw({
        method: 'GET',
        path: '/kappnav/kindactionmapping/Deployment',
        query: { apiVersion: 'apps/v1', namespace },
      })
    expect(await request('a')).toMatchObject({ status: 200 })
    expect(await request('b')).toMatchObject({ status: 403 })
  })
})
