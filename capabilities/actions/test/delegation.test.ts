// Delegated runs: the server creates the Jobs of maps that name an account, for users who may run and no more.
import { actions, crds, defaults } from '@fairlead/actions'
import type { ActionService, Caller } from '@fairlead/actions'
import { ApiServer } from '@fairlead/apiserver'
import type { Client } from '@fairlead/client'
import { Manager } from '@fairlead/controller'
import type { JsonObject, KubeObject } from '@fairlead/kube'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventually } from '../../../test/support/until.ts'
import { kam, map } from './objects.ts'

const jobKind = { apiVersion: 'batch/v1', kind: 'Job' }
const rbac = 'rbac.authorization.k8s.io'
const web = { apiVersion: 'apps/v1', kind: 'Deployment', namespace: 'a', name: 'web' }
const runAs = 'actions.fairlead.dev/run-as'
const requestedBy = 'actions.fairlead.dev/requested-by'

let server: ApiServer
let service: ActionService
let admin: Client
const stack = new AsyncDisposableStack()

const as = (name: string, groups: readonly string[] = ['system:authenticated']): Caller => ({
  client: server.client({ as: { name, groups } }),
  user: { name, groups },
})
const account = (namespace: string, name: string): Caller =>
  as(`system:serviceaccount:${namespace}:${name}`, [
    'system:serviceaccounts',
    `system:serviceaccounts:${namespace}`,
    'system:authenticated',
  ])

async function grant(
  user: string,
  namespace: string,
  rules: readonly JsonObject[],
  subject: JsonObject = { apiGroup: rbac, kind: 'User', name: user },
): Promise<void> {
  const metadata = { name: user, namespace }
  await admin.create({ apiVersion: `${rbac}/v1`, kind: 'Role', metadata, rules })
  await admin.create({
    apiVersion: `${rbac}/v1`,
    kind: 'RoleBinding',
    metadata,
    roleRef: { apiGroup: rbac, kind: 'Role', name: user },
    subjects: [subject],
  })
}

const seeing = { apiGroups: ['apps'], resources: ['deployments'], verbs: ['get'] }
const running = { apiGroups: ['actions.kappnav.io'], resources: ['actions'], verbs: ['run'] }
const makingJobs = { apiGroups: ['batch'], resources: ['jobs'], verbs: ['create', 'get', 'list', 'patch', 'update'] }

async function isAllowed(caller: Caller, name = 'restart'): Promise<unknown> {
  return (await service.menu(caller, web)).actions.find((action) => action.name === name)?.isAllowed
}

function jobWith(annotations: Readonly<Record<string, string>>): KubeObject {
  return {
    ...jobKind,
    metadata: {
      name: 'forged',
      namespace: 'kappnav',
      labels: { 'kappnav-job-type': 'command', 'kappnav-job-action-name': 'restart' },
      annotations,
    },
    spec: { template: { spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'i' }] } } },
  }
}

beforeAll(async () => {
  server = stack.use(await ApiServer.start({ authorization: 'RBAC', validators: actions.admission ?? [] }))
  admin = server.client({ manager: 'kubectl' })
  for (const name of ['fairlead-system', 'a', 'b'])
    await admin.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } })
  for (const object of defaults) if (object.kind !== 'KindActionMapping') await admin.create(object)
  await admin.create({
    apiVersion: `${rbac}/v1`,
    kind: 'ClusterRole',
    metadata: { name: 'fairlead-actions' },
    rules: actions.rules,
  })
  await admin.create({
    apiVersion: `${rbac}/v1`,
    kind: 'ClusterRoleBinding',
    metadata: { name: 'fairlead-actions' },
    roleRef: { apiGroup: rbac, kind: 'ClusterRole', name: 'fairlead-actions' },
    subjects: [{ kind: 'ServiceAccount', name: 'fairlead-actions', namespace: 'fairlead-system' }],
  })
  const installing = stack.use(await Manager.start({ client: server.client(), crds }))
  const { client } = account('fairlead-system', 'fairlead-actions')
  const manager = stack.use(await Manager.start({ client }))
  const instance = await actions.setup(manager, { resolve: new Map(), signal: installing.signal })
  stack.defer(() => instance.stop())
  service = instance.service
  await grant('carol', 'a', [seeing, running])
  await grant('victor', 'a', [seeing])
  await grant('job-maker', 'kappnav', [makingJobs])
  const labels = { app: 'web' }
  await admin.create({
    apiVersion: web.apiVersion,
    kind: web.kind,
    metadata: { name: 'web', namespace: 'a' },
    spec: {
      replicas: 2,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'i' }] } },
    },
  })
  for (const object of defaults) if (object.kind === 'KindActionMapping') await admin.create(object)
  const caller: Caller = { client: admin, user: { name: 'admin', groups: [] } }
  await eventually(async () => expect(await isAllowed(caller)).toBe(true))
})

afterAll(() => stack.disposeAsync())

describe('an action of a map that names an account', () => {
  test('is run by a user with the verb run, who may neither create Jobs nor change the target', async () => {
    const carol = as('carol')
    expect(await isAllowed(carol)).toBe(true)
    const [job] = await service.run(carol, web, 'restart')
    expect(job).toMatchObject({
      metadata: {
        namespace: 'kappnav',
        annotations: {
          [requestedBy]: 'carol',
          'actions.fairlead.dev/map': 'kappnav/kappnav.actions.deployment',
          'actions.fairlead.dev/inputs': '{}',
        },
      },
      spec: { template: { spec: { serviceAccountName: 'kappnav-sa' } } },
    })
    await expect(carol.client.create(jobWith({}))).rejects.toMatchObject({ code: 403 })
    await expect(carol.client.patch(web, web, { merge: { spec: { paused: true } } })).rejects.toMatchObject({
      code: 403,
    })
  })

  test('records the inputs, and takes the default of a field without a value', async () => {
    const [job] = await service.run(as('carol'), web, 'scale', { inputs: { replicas: '3' } })
    expect(job!.metadata.annotations).toMatchObject({ 'actions.fairlead.dev/inputs': '{"replicas":"3"}' })
    const [unchanged] = await service.run(as('carol'), web, 'scale', { dryRun: true })
    expect(JSON.stringify(unchanged)).toContain('--replicas=2')
  })

  test('is not allowed without the verb run, in the menu as in the run', async () => {
    expect(await isAllowed(as('victor'))).toBe(false)
    await expect(service.run(as('victor'), web, 'restart')).rejects.toMatchObject({ code: 403 })
    await expect(service.run(as('carol'), { ...web, namespace: 'b' }, 'restart')).rejects.toMatchObject({ code: 403 })
  })

  test('is shown in the history to the user who ran it, and no other run is', async () => {
    await admin.create({ ...jobWith({ 'kappnav-job-user-id': 'carol' }) })
    const runs = await service.runs.list(as('carol'))
    expect(runs.map(({ user, isRecorded }) => [user, isRecorded])).toEqual([
      ['carol', true],
      ['carol', true],
    ])
    const [run] = runs
    expect(await service.runs.outcome(as('carol'), run!.namespace, run!.job, 0)).toMatchObject({ state: 'Waiting' })
    expect(await service.runs.logs(as('carol'), run!.namespace, run!.job)).toEqual([])
    const victor = as('victor')
    expect(await service.runs.list(victor)).toEqual([])
    const { namespace, job } = run!
    await expect(service.runs.logs(victor, namespace, job)).rejects.toMatchObject({ code: 403 })
    await expect(service.runs.outcome(victor, namespace, job, 0)).rejects.toMatchObject({ code: 403 })
    await admin.delete(jobKind, 'kappnav/forged', { propagation: 'Background' })
  })

  test('runs with the rights of its account, which are enough for the default maps', async () => {
    const { client } = account('kappnav', 'kappnav-sa')
    await client.patch(web, web, { merge: { metadata: { annotations: { restarted: 'yes' } } } })
    await client.scale(web, web, 3)
    await expect(client.list({ apiVersion: 'v1', kind: 'Secret' })).rejects.toMatchObject({ code: 403 })
  })
})

describe('the record of a run', () => {
  test.each(['requested-by', 'map', 'inputs'])('is not written by a user who may create Jobs: %s', async (key) => {
    const { client } = as('job-maker')
    await expect(client.create(jobWith({ [`actions.fairlead.dev/${key}`]: 'kubernetes-admin' }))).rejects.toMatchObject(
      { code: 403, message: expect.stringContaining('only the server of actions') as string },
    )
  })

  test.each<Readonly<Record<string, string | null>>>([
    { [requestedBy]: 'job-maker' },
    { [requestedBy]: null },
    { 'kappnav-job-action-text': 'Harmless' },
    { 'actions.fairlead.dev/inputs': '{}{}' },
  ])('is not changed by a user who may change Jobs: %j', async (annotations) => {
    const [job] = await service.run(as('carol'), web, 'restart')
    const { client } = as('job-maker')
    const key = { namespace: 'kappnav', name: job!.metadata.name! }
    await expect(client.patch(jobKind, key, { merge: { metadata: { annotations } } })).rejects.toMatchObject({
      code: 403,
    })
    await client.patch(jobKind, key, { merge: { metadata: { annotations: { note: 'mine' } } } })
  })

  test('is told apart from what the creator of a Job claims', async () => {
    await as('job-maker').client.create(jobWith({ 'kappnav-job-user-id': 'kubernetes-admin' }))
    const [forged] = await service.runs.list({ client: admin, user: { name: 'admin', groups: [] } }, { limit: 1 })
    expect(forged).toMatchObject({ job: 'forged', user: 'kubernetes-admin' })
    expect(forged).not.toHaveProperty('isRecorded')
  })
})

describe('a map of an untrusted namespace', () => {
  test('delegates nothing: its commands run as the default account of its namespace, with the rights of the caller', async () => {
    const own = map('own', { 'cmd-actions': [{ name: 'mine', image: 'i', 'cmd-pattern': 'true' }] }, { namespace: 'a' })
    await admin.create({ ...own, metadata: { ...own.metadata, annotations: { [runAs]: 'kappnav-sa' } } })
    await admin.create(kam('own', [{ apiVersion: 'apps/v1', kind: 'Deployment', mapname: 'own' }], { namespace: 'a' }))
    await eventually(async () => expect(await isAllowed(as('carol'), 'mine')).toBe(false))
    await expect(service.run(as('carol'), web, 'mine')).rejects.toMatchObject({ code: 403 })
    const [job] = await service.run({ client: admin, user: { name: 'admin', groups: [] } }, web, 'mine')
    expect(job).toMatchObject({
      metadata: { namespace: 'a' },
      spec: { template: { spec: { serviceAccountName: 'default' } } },
    })
    expect(job!.metadata.annotations).not.toHaveProperty(requestedBy)
  })
})

describe('in a namespace where the server may not create Jobs', () => {
  test('an action needs the rights of the caller, and menus say so', async () => {
    const config = { 'job-namespace': 'b', 'kappnav-sa-name': 'x' }
    await admin.apply(map('kappnav-config', config), { force: true })
    await eventually(async () => expect(await isAllowed(as('carol'))).toBe(false))
    await expect(service.run(as('carol'), web, 'restart')).rejects.toMatchObject({ code: 403 })
  })
})

describe('the addresses of the default maps', () => {
  test('are served', async () => {
    const caller: Caller = { client: admin, user: { name: 'admin', groups: [] } }
    const { actions: menu } = await service.menu(caller, web)
    const urls = menu.filter(({ type, isEnabled }) => type === 'url' && isEnabled)
    expect(urls.map(({ name }) => name)).toEqual(['detail', 'events'])
    for (const { name } of urls) {
      const { url } = await service.url(caller, web, name)
      const [path = '', query] = url.split('?')
      const answer = await admin.sendRaw({ method: 'GET', path, query: Object.fromEntries(new URLSearchParams(query)) })
      expect([url, answer.status]).toEqual([url, 200])
    }
  })
})
