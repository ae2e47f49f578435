import { ApiServer, memory, sqlite } from '@fairlead/apiserver'
import { systemClock } from '@fairlead/client'
import type { Client } from '@fairlead/client'
import { FakeClock, fieldErrors, isForbidden, isNotFound } from '@fairlead/kube'
import type { KubeObject } from '@fairlead/kube'
import { mkdtemp, rm } from 'node:fs/promises'
import { request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { TestApi } from './support/api.ts'
import { patience } from '../../../test/support/until.ts'

const configMap = (name: string, data: Record<string, string> = {}): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: 'default' },
  data,
})

test('a fresh server has its four namespaces and reports itself as Kubernetes 1.35', async () => {
  await using api = await TestApi.start()
  const { body } = await api.get('/api/v1/namespaces')
  const names = (body['items'] as unknown as KubeObject[]).map(({ metadata }) => metadata.name)
  expect(names).toEqual(['default', 'kube-node-lease', 'kube-public', 'kube-system'])
  const version = await api.get('/version')
  expect(version.body['gitVersion']).toMatch(/^v1\.35\.\d+\+fairlead$/)
})

test.each(['/healthz', '/livez', '/readyz'])('%s responds ok to anonymous users', async (path) => {
  await using server = await ApiServer.start({ controllers: false })
  const { status, body } = await server.inject({ method: 'GET', path })
  expect({ status, body }).toEqual({ status: 200, body: 'ok' })
})

test('one check of /readyz is forbidden to anonymous users and responds ok to others', async () => {
  await using server = await ApiServer.start({ controllers: false })
  const path = '/readyz/ping'
  const anonymous = await server.inject({ method: 'GET', path })
  const admin = await server.inject({ method: 'GET', path, user: { name: 'admin', groups: ['system:masters'] } })
  expect({ anonymous: anonymous.status, admin: [admin.status, admin.body] }).toEqual({
    anonymous: 403,
    admin: [200, 'ok'],
  })
})

test('a verbose health response lists its checks', async () => {
  await using api = await TestApi.start()
  const { text } = await api.get('/readyz?verbose')
  expect(text).toBe('[+]ping ok\n[+]etcd ok\nreadyz check passed\n')
})

test('the etcd check of /readyz and /metrics/slis fails while writes cannot be stored', async () => {
  let lastError: string | undefined
  const store = await memory().open({ clock: systemClock })
  Object.defineProperty(store, 'lastError', { get: () => lastError })
  await using server = await ApiServer.start({ storage: store, controllers: false })
  const ready = async (path: string): Promise<readonly [number, string]> => {
    const user = { name: 'admin', groups: ['system:masters'] }
    const { status, body } = await server.inject({ method: 'GET', path, user })
    return [status, body]
  }
  expect(await ready('/readyz/etcd')).toEqual([200, 'ok'])
  lastError = 'disk full'
  expect(await ready('/readyz')).toEqual([500, expect.stringContaining('[-]etcd failed')])
  expect(await ready('/metrics/slis')).toEqual([
    200,
    `# HELP kubernetes_healthcheck [STABLE] This metric records the result of a single healthcheck.
# TYPE kubernetes_healthcheck gauge
kubernetes_healthcheck{name="ping",type="healthz"} 1
kubernetes_healthcheck{name="ping",type="livez"} 1
kubernetes_healthcheck{name="ping",type="readyz"} 1
kubernetes_healthcheck{name="etcd",type="healthz"} 0
kubernetes_healthcheck{name="etcd",type="livez"} 0
kubernetes_healthcheck{name="etcd",type="readyz"} 0
`,
  ])
  lastError = undefined
  expect(await ready('/readyz')).toEqual([200, 'ok'])
})

test('the typed client in process and inject return the same object', async () => {
  await using server = await ApiServer.start({ controllers: false })
  const client = server.client()
  const created = await client.create(configMap('a', { k: 'v' }))
  const { body } = await server.inject({
    method: 'GET',
    path: '/api/v1/namespaces/default/configmaps/a',
    user: { name: 'x', groups: ['system:masters'] },
  })
  expect(JSON.parse(body)).toEqual(created)
})

test.each(['client', 'inject'])(
  'calls in this process without a pause leave room for timers and connections (%s)',
  async (listener) => {
    await using server = await ApiServer.start({ controllers: false })
    const client = server.client()
    await client.create(configMap('a'))
    const { url } = await server.listen()
    const call = (): Promise<unknown> =>
      listener === 'client'
        ? client.get({ apiVersion: 'v1', kind: 'ConfigMap' }, 'default/a')
        : server.inject({ method: 'GET', path: '/healthz' })
    const order: string[] = []
    const others = Promise.all([
      new Promise<void>((resolve) => setTimeout(resolve, 10)).then(() => order.push('timer')),
      new Promise<void>((resolve, reject) => {
        const asked = request(`${url}/healthz`, { rejectUnauthorized: false }, (answer) =>
          answer.resume().on('end', resolve),
        )
        asked.on('error', reject).end()
      }).then(() => order.push('connection')),
      client.create(configMap('b')).then(() => order.push('write')),
    ])
    // So many that none of the others could wait for the end of them.
    const busy = async (): Promise<void> => {
      for (const end = performance.now() + patience; order.length < 3 && performance.now() < end;) await call()
      order.push('calls')
    }
    await Promise.all([others, busy()])
    expect([order.toSorted(), order.at(-1)]).toEqual([['calls', 'connection', 'timer', 'write'], 'calls'])
  },
)

test('in-process requests are copied, and responses are frozen and shared', async () => {
  await using server = await ApiServer.start({ controllers: false })
  const client = server.client()
  const mine = configMap('a', { k: 'v' })
  const created = await client.create(mine)
  ;(mine['data'] as Record<string, string>)['k'] = 'changed later'
  const read = await client.get({ apiVersion: 'v1', kind: 'ConfigMap' }, 'default/a')
  expect(read['data']).toEqual({ k: 'v' })
  expect(read).toBe(created)
  expect(Object.isFrozen(read['data'])).toBe(true)
})

test('an in-process request is handled in a later iteration of the event loop', async () => {
  await using server = await ApiServer.start({ controllers: false })
  let answered = false
  const pending = server
    .client()
    .create(configMap('a'))
    .then(() => (answered = true))
  expect(answered).toBe(false)
  await pending
  expect(answered).toBe(true)
})

test('without RBAC every authenticated user is an administrator, and anonymous users are not', async () => {
  await using server = await ApiServer.start({
    controllers: false,
    tokens: [{ token: 't', user: { name: 'alice', groups: [] } }],
  })
  const path = '/api/v1/namespaces/default/configmaps'
  const statusWith = async (headers: Record<string, string>): Promise<number> =>
    (await server.inject({ method: 'GET', path, headers })).status
  expect(await statusWith({ authorization: 'Bearer t' })).toBe(200)
  expect(await statusWith({ authorization: 'Bearer wrong' })).toBe(401)
  expect(await statusWith({})).toBe(403)
})

test('with RBAC a client has the permissions of its user', async () => {
  await using server = await ApiServer.start({ controllers: false, authorization: 'RBAC' })
  const alice = server.client({ as: { name: 'alice', groups: [] } })
  await expect(alice.get({ apiVersion: 'v1', kind: 'ConfigMap' }, 'default/a')).rejects.toSatisfy(isForbidden)
  await expect(server.client().get({ apiVersion: 'v1', kind: 'ConfigMap' }, 'default/a')).rejects.toSatisfy(isNotFound)
})

test('validators of capabilities refuse with 422 and the field', async () => {
  const validator = {
    group: '',
    resources: ['configmaps'],
    validate: (object: KubeObject) =>
      object.metadata.name === 'bad' ? [fieldErrors.invalid('metadata.name', undefined, 'bad is taken')] : [],
  }
  await using api = await TestApi.start({ validators: [validator] })
  const { status, body } = await api.post('/api/v1/namespaces/default/configmaps', { metadata: { name: 'bad' } })
  expect({ status, message: body['message'] }).toEqual({
    status: 422,
    message: 'ConfigMap "bad" is invalid: metadata.name: Invalid value: bad is taken',
  })
})

test('rights that validators require are those of the user; a service account may name itself', async () => {
  const validator = {
    group: '',
    resources: ['configmaps'],
    validate: () => [],
    authorize: ({ metadata: { name } }: KubeObject) => {
      const namespace = name === 'all' ? undefined : 'a'
      return [
        { verb: 'impersonate', group: '', resource: 'serviceaccounts', namespace, name: 'me', reason: 'it is named' },
      ]
    },
  }
  await using server = await ApiServer.start({ controllers: false, authorization: 'RBAC', validators: [validator] })
  const apiVersion = 'rbac.authorization.k8s.io/v1'
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'writer' }
  const rules = [{ apiGroups: [''], resources: ['configmaps'], verbs: ['create'] }]
  const group = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name: 'system:authenticated' }
  const metadata = { name: 'writer' }
  await server.client().create({ apiVersion, kind: 'ClusterRole', metadata, rules } as KubeObject)
  await server
    .client()
    .create({ apiVersion, kind: 'ClusterRoleBinding', metadata, roleRef, subjects: [group] } as KubeObject)
  const account = (namespace: string): Client =>
    server.client({ as: { name: `system:serviceaccount:${namespace}:me`, groups: ['system:authenticated'] } })
  await account('a').create(configMap('me', {}))
  await expect(account('b').create(configMap('me', {}))).rejects.toMatchObject({
    code: 403,
    message:
      'configmaps "me" is forbidden: User "system:serviceaccount:b:me" cannot impersonate resource "serviceaccounts" ' +
      'in API group "" in the namespace "a": it is named',
  })
  await expect(account('a').create(configMap('all', {}))).rejects.toThrow('cannot impersonate')
  await server.client().create(configMap('all', {}))
})

test('objects survive a restart on the same folder', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'fairlead-'))
  try {
    {
      await using server = await ApiServer.start({ storage: sqlite(folder), controllers: false })
      await server.client().create(configMap('kept', { k: 'v' }))
    }
    await using server = await ApiServer.start({ storage: sqlite(folder), controllers: false })
    const read = await server.client().get({ apiVersion: 'v1', kind: 'ConfigMap' }, 'default/kept')
    expect(read['data']).toEqual({ k: 'v' })
  } finally {
    await rm(folder, { recursive: true })
  }
})

test('listen returns a kubeconfig and serves TLS', async () => {
  await using server = await ApiServer.start({ storage: memory(), controllers: false })
  const { url, certificateAuthority, kubeconfig } = await server.listen()
  expect(kubeconfig).toContain(url)
  expect(kubeconfig).toContain('namespace: default')
  const status = await new Promise((resolve, reject) => {
    request(`${url}/readyz`, { ca: certificateAuthority }, (response) => resolve(response.resume().statusCode))
      .on('error', reject)
      .end()
  })
  expect(status).toBe(200)
})

test('timestamps come from the clock option', async () => {
  await using server = await ApiServer.start({ clock: new FakeClock('2030-01-02T03:04:05Z'), controllers: false })
  const created = await server.client().create(configMap('a'))
  expect(created.metadata.creationTimestamp).toBe('2030-01-02T03:04:05Z')
})

test('impersonation in process needs the same permission as over HTTP and sets the same groups', async () => {
  await using server = await ApiServer.start({ controllers: false, authorization: 'RBAC' })
  const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' }
  const path = '/apis/authentication.k8s.io/v1/selfsubjectreviews'
  const account = server.transport().as({ user: 'system:serviceaccount:default:robot' })
  const { body } = await account.request({ method: 'POST', path, body: review })
  expect(body).toMatchObject({
    status: {
      userInfo: {
        username: 'system:serviceaccount:default:robot',
        groups: ['system:serviceaccounts', 'system:serviceaccounts:default', 'system:authenticated'],
      },
    },
  })
  const alice = server.transport({ as: { name: 'alice', groups: [] } }).as({ user: 'bob' })
  expect((await alice.request({ method: 'POST', path, body: review })).status).toBe(403)
})
