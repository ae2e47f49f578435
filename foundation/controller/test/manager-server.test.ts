import { X509Certificate } from 'node:crypto'
import { request } from 'node:https'
import { connect } from 'node:tls'
import { ApiServer } from '@fairlead/apiserver'
import { CustomResourceDefinition, Secret, kind } from '@fairlead/client'
import { CertificateKeeper, installDefinitions, Manager, renewedCertificates, silentLogger } from '@fairlead/controller'
import type { ManagerServerOptions, SignedRoute, Validator } from '@fairlead/controller'
import { FakeClock, asJson, fieldErrors } from '@fairlead/kube'
import type { JsonValue, KubeObject } from '@fairlead/kube'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { memcached, memcachedDefinition } from './support/memcached.ts'
import type { Memcached } from './support/memcached.ts'
import { crd } from '../../../test/support/crd.ts'
import { recorded } from '../../../test/support/recorded-client.ts'
import { until } from '../../../test/support/until.ts'

const day = 86_400_000

interface Asked {
  readonly path: string
  readonly method?: string
  readonly body?: JsonValue | KubeObject
  readonly token?: string
}

/** One request to a manager's server, which has to be trusted by its bundle. */
function ask(manager: Manager, { path, method = 'GET', body, token }: Asked): Promise<{ code: number; text: string }> {
  const { port, caBundle } = manager.server!
  return new Promise((resolve, reject) => {
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
    const sent = request({ host: '127.0.0.1', port, path, method, headers, ca: caBundle, agent: false }, (response) => {
      let text = ''
      response.setEncoding('utf8')
      response.on('data', (chunk: string) => (text += chunk))
      response.on('end', () => resolve({ code: response.statusCode ?? 0, text }))
    })
    sent.on('error', reject)
    sent.end(body === undefined ? undefined : JSON.stringify(body))
  })
}

const smallOnly: Validator = {
  group: 'cache.example.com',
  resources: ['memcacheds'],
  validate: (object) =>
    (object as Memcached).spec.size > 9 ? [fieldErrors.invalid('spec.size', undefined, 'must be 9 or less')] : [],
}

const doubling = {
  group: 'cache.example.com',
  kind: 'Memcached',
  convert: (object: KubeObject, apiVersion: string): KubeObject => {
    const { spec } = object as Memcached
    if (spec.size < 0) throw new Error('spec.size is negative')
    return { ...object, apiVersion, spec: { size: spec.size * 2 } } as KubeObject
  },
}

async function served(server: ApiServer, options: ManagerServerOptions = {}, clock?: FakeClock): Promise<Manager> {
  return Manager.start({ client: server.client(), clock, server: { port: 0, host: '127.0.0.1', ...options } })
}

describe('health and metrics', () => {
  test('are served over HTTPS with certificates that the manager created', async () => {
    await using server = await ApiServer.start()
    await using manager = await served(server, { metrics: 'open' })
    expect(await ask(manager, { path: '/healthz' })).toEqual({ code: 200, text: 'ok' })
    await until('the informers are synced', () => manager.informers.syncing().length === 0)
    expect(await ask(manager, { path: '/readyz' })).toEqual({ code: 200, text: 'ok' })
    expect((await ask(manager, { path: '/metrics' })).text).toContain(
      '# TYPE controller_runtime_reconcile_total counter',
    )
    const missing = await ask(manager, { path: '/nothing' })
    expect([missing.code, JSON.parse(missing.text).message]).toEqual([404, 'there is nothing at GET /nothing'])
  })

  test('metrics need a token whose user may get the path; health needs none', async () => {
    const user = (name: string, ...groups: string[]): { token: string; user: { name: string; groups: string[] } } => ({
      token: `${name}-token`,
      user: { name, groups },
    })
    await using server = await ApiServer.start({
      authorization: 'RBAC',
      tokens: [user('prometheus', 'monitors'), user('jane')],
    })
    const admin = server.client()
    const rbac = { apiVersion: 'rbac.authorization.k8s.io/v1', metadata: { name: 'metrics' } }
    const role = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'metrics' }
    const rules = [{ nonResourceURLs: ['/metrics'], verbs: ['get'] }]
    await admin.create({ ...rbac, kind: 'ClusterRole', rules } as KubeObject)
    const monitors = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name: 'monitors' }
    await admin.create({ ...rbac, kind: 'ClusterRoleBinding', roleRef: role, subjects: [monitors] } as KubeObject)
    const { client, transport } = recorded(admin, new FakeClock(Date.now()))
    await using manager = await Manager.start({ client, server: { port: 0, host: '127.0.0.1' } })
    const asked = async (token?: string): Promise<[number, unknown]> => {
      const { code, text } = await ask(manager, { path: '/metrics', token })
      return [code, code === 200 ? text.startsWith('# HELP') : (JSON.parse(text) as { message: string }).message]
    }
    expect([
      await asked(),
      await asked('nobody-knows'),
      await asked('jane-token'),
      await asked('prometheus-token'),
    ]).toEqual([
      [401, 'a bearer token is needed'],
      [401, 'the token is not known'],
      [403, 'User "jane" cannot get path "/metrics"'],
      [200, true],
    ])
    const reviews = (): number => transport.take().filter((request) => request.endsWith('reviews')).length
    expect(reviews()).toBe(5)
    expect([await asked('jane-token'), await asked('prometheus-token')].map(([code]) => code)).toEqual([403, 200])
    expect(reviews()).toBe(0)
    await (manager.clock as FakeClock).advance(10_000)
    // Without the right to ask, or without an answer, nobody is let in, and the caller is not to blame.
    transport.instead = ({ path }) =>
      path.endsWith('reviews') ? { status: 403, headers: {}, body: 'not you', warnings: [] } : undefined
    expect(await asked('prometheus-token')).toEqual([500, 'the request failed; the log says why'])
    transport.instead = () => undefined
    expect((await asked('prometheus-token'))[0]).toBe(200)
    expect((await ask(manager, { path: '/healthz' })).code).toBe(200)
  })

  test('metrics are open on loopback addresses only', async () => {
    await using server = await ApiServer.start({ controllers: false })
    for (const host of ['0.0.0.0', undefined])
      await expect(served(server, { metrics: 'open', host })).rejects.toThrow('on a loopback address only')
  })

  test('readiness names the failing checks', async () => {
    await using server = await ApiServer.start()
    let problem: string | undefined = 'the database is down'
    await using manager = await served(server, { checks: [{ name: 'database', check: () => problem }] })
    await until('the informers are synced', () => manager.informers.syncing().length === 0)
    expect(await ask(manager, { path: '/readyz' })).toEqual({
      code: 503,
      text: '[+]informers ok\n[-]database: the database is down\nreadyz check failed\n',
    })
    problem = undefined
    expect(await ask(manager, { path: '/readyz?verbose' })).toEqual({
      code: 200,
      text: '[+]informers ok\n[+]database ok\nreadyz check passed\n',
    })
  })
})

function admission(object: KubeObject | null, more: Record<string, JsonValue> = {}): KubeObject {
  const resource = { group: 'cache.example.com', version: 'v1alpha1', resource: 'memcacheds' }
  const of = { group: 'cache.example.com', version: 'v1alpha1', kind: 'Memcached' }
  const asked = { uid: 'u1', kind: of, resource, operation: 'CREATE', object, ...more }
  return { apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', metadata: {}, request: asked } as KubeObject
}

test('routes of signed requests get the decoded path and the bytes as they came, once they are there', async () => {
  await using server = await ApiServer.start()
  const routes: SignedRoute[] = []
  await using manager = await served(server, { signedRoutes: () => routes })
  const path = '/webhooks/git/team-a/a%2Fb'
  expect((await ask(manager, { path, method: 'POST' })).code).toBe(404)
  routes.push({
    prefix: '/webhooks/git',
    handle: async ({ method, path: segments, headers, body }) =>
      method === 'GET'
        ? undefined
        : {
            status: 202,
            body: { path: [...segments], agent: headers.host !== undefined, body: Buffer.from(body).toString() },
          },
  })
  const accepted = await ask(manager, { path, method: 'POST', body: { ref: 'main' } })
  expect([accepted.code, JSON.parse(accepted.text)]).toEqual([
    202,
    { path: ['team-a', 'a/b'], agent: true, body: '{"ref":"main"}' },
  ])
  const codes = [
    { path, method: 'GET' },
    { path: '/webhooks/gitea/team-a/b', method: 'POST' },
    { path: '/webhooks/git/%ff/b', method: 'POST' },
  ].map(async (asked) => (await ask(manager, asked)).code)
  expect(await Promise.all(codes)).toEqual([404, 404, 400])
})

describe('admission webhooks', () => {
  test.each([
    ['what validators accept is allowed', admission(memcached('a', { size: 9 })), { uid: 'u1', allowed: true }],
    [
      'other resources are none of theirs',
      admission(memcached('a', { size: 10 }), { resource: { group: 'x', version: 'v1', resource: 'memcacheds' } }),
      { uid: 'u1', allowed: true },
    ],
    [
      'writes of the status are not looked at',
      admission(memcached('a', { size: 10 }), { subResource: 'status' }),
      { uid: 'u1', allowed: true },
    ],
    [
      'deletions are not looked at',
      admission(null, { operation: 'DELETE', oldObject: memcached('a', { size: 10 }) as unknown as JsonValue }),
      { uid: 'u1', allowed: true },
    ],
    [
      'what a validator refuses is a 422 with its causes',
      admission(memcached('a', { size: 10 })),
      {
        uid: 'u1',
        allowed: false,
        status: {
          kind: 'Status',
          apiVersion: 'v1',
          metadata: {},
          status: 'Failure',
          message: 'Memcached.cache.example.com "a" is invalid: spec.size: Invalid value: must be 9 or less',
          reason: 'Invalid',
          details: {
            name: 'a',
            group: 'cache.example.com',
            kind: 'Memcached',
            causes: [{ reason: 'FieldValueInvalid', message: 'Invalid value: must be 9 or less', field: 'spec.size' }],
          },
          code: 422,
        },
      },
    ],
  ])('%s', async (_, review, response) => {
    await using server = await ApiServer.start()
    await using manager = await served(server, { validators: [smallOnly] })
    const { code, text } = await ask(manager, { path: '/validate', method: 'POST', body: review })
    expect([code, JSON.parse(text)]).toEqual([
      200,
      { apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', response },
    ])
  })

  test('require the rights that validators name, of the user and for writes of the status as well', async () => {
    const ownSecrets: Validator = {
      group: 'cache.example.com',
      resources: ['memcacheds'],
      validate: () => [],
      authorize: (_object, old) =>
        old === undefined
          ? [{ verb: 'get', group: '', resource: 'secrets', namespace: 'a', reason: 'it reads them' }]
          : [],
    }
    await using server = await ApiServer.start({ authorization: 'RBAC' })
    await using manager = await served(server, { validators: [ownSecrets] })
    const decided = async (userInfo: JsonValue, more: Record<string, JsonValue> = {}): Promise<unknown> => {
      const body = admission(memcached('a', { size: 1 }), { userInfo, ...more })
      const { code, text } = await ask(manager, { path: '/validate', method: 'POST', body })
      const { response } = JSON.parse(text) as {
        response?: { allowed: boolean; status?: { code: number; message: string } }
      }
      return [code, response?.allowed, response?.status?.code, response?.status?.message]
    }
    const jane = { username: 'jane', uid: '1', groups: ['system:authenticated'], extra: { scopes: ['a'] } }
    const refused = [
      200,
      false,
      403,
      'memcacheds.cache.example.com "a" is forbidden: User "jane" cannot get resource "secrets" in API group "" in the namespace "a": it reads them',
    ]
    expect(await decided(jane)).toEqual(refused)
    expect(await decided(jane, { subResource: 'status' })).toEqual(refused)
    expect(await decided({ username: 'root', groups: ['system:masters'] })).toEqual([200, true, undefined, undefined])
    const oldObject = memcached('a', { size: 2 }) as unknown as JsonValue
    expect(await decided(jane, { oldObject })).toEqual([200, true, undefined, undefined])
    // Without a user there is nothing to review: the webhook fails, and its failurePolicy decides.
    expect(await decided({})).toEqual([500, undefined, undefined, undefined])
  })

  test('require the right to a kind under the plural that the server serves', async () => {
    const group = 'infra.example.com'
    const reading = (apiGroup: string, kind: string): Validator => ({
      group: 'cache.example.com',
      resources: ['memcacheds'],
      validate: () => [],
      authorize: () => [{ verb: 'get', group: apiGroup, kind, namespace: 'a', reason: 'it reads them' }],
    })
    await using server = await ApiServer.start({ authorization: 'RBAC' })
    await installDefinitions(server.client(), [crd({ group, kind: 'Index', plural: 'indices' })])
    const refused = async (apiGroup: string, kind: string): Promise<unknown> => {
      await using manager = await served(server, { validators: [reading(apiGroup, kind)] })
      const body = admission(memcached('a', { size: 1 }), { userInfo: { username: 'jane' } })
      const { text } = await ask(manager, { path: '/validate', method: 'POST', body })
      const { response } = JSON.parse(text) as { response: { status: { message: string } } }
      return response.status.message.replace(/^.*cannot get /, '')
    }
    expect(await refused(group, 'Index')).toBe(
      `resource "indices" in API group "${group}" in the namespace "a": it reads them`,
    )
    expect(await refused('', 'Endpoints')).toBe(
      'resource "endpoints" in API group "" in the namespace "a": it reads them',
    )
    for (const [apiGroup, kind] of [
      [group, 'Other'],
      ['none.example.com', 'Index'],
    ] as const)
      expect(await refused(apiGroup, kind)).toBe(
        `resource "*" in API group "${apiGroup}" in the namespace "a": it reads them; the server serves no kind ${kind} in the API group "${apiGroup}"`,
      )
  })

  test.each([
    ['no JSON', '{', 'the body is not JSON'],
    ['another kind', JSON.stringify({ apiVersion: 'v1', kind: 'Pod' }), 'expected an AdmissionReview'],
    ['no request', JSON.stringify({ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview' }), 'has no request'],
  ])('refuses a body with %s', async (_, body, message) => {
    await using server = await ApiServer.start()
    await using manager = await served(server)
    const { port, caBundle } = manager.server!
    const answer = await new Promise<{ code?: number; text: string }>((resolve) => {
      request(
        { host: '127.0.0.1', port, path: '/validate', method: 'POST', ca: caBundle, agent: false },
        (response) => {
          let text = ''
          response.on('data', (chunk) => (text += String(chunk)))
          response.on('end', () => resolve({ code: response.statusCode, text }))
        },
      ).end(body)
    })
    expect(answer.code).toBe(400)
    expect(JSON.parse(answer.text).message).toContain(message)
  })
})

test('conversion webhooks convert all objects or say why not', async () => {
  await using server = await ApiServer.start()
  await using manager = await served(server, { converters: [doubling] })
  const review = (objects: readonly KubeObject[]): KubeObject =>
    ({
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'ConversionReview',
      metadata: {},
      request: { uid: 'u2', desiredAPIVersion: 'cache.example.com/v1', objects },
    }) as KubeObject
  const convert = async (objects: readonly KubeObject[]): Promise<unknown> =>
    JSON.parse((await ask(manager, { path: '/convert', method: 'POST', body: review(objects) })).text).response
  const there = { ...memcached('b', { size: 1 }), apiVersion: 'cache.example.com/v1' }
  expect(await convert([memcached('a', { size: 4 }), there])).toEqual({
    uid: 'u2',
    convertedObjects: [{ ...memcached('a', { size: 8 }), apiVersion: 'cache.example.com/v1' }, there],
    result: { status: 'Success' },
  })
  expect(await convert([memcached('a', { size: -1 })])).toEqual({
    uid: 'u2',
    result: { status: 'Failure', message: 'spec.size is negative' },
  })
})

describe('certificates', () => {
  const hosts = ['hooks.fairlead-system.svc', '127.0.0.1']
  const start = Date.parse('2026-01-01T00:00:00Z')

  test('are kept while they are valid', async () => {
    const first = await renewedCertificates(undefined, hosts, start)
    expect(await renewedCertificates(first, hosts, start + 59 * day)).toBe(first)
  })

  test('are renewed a month before they expire, under the same authority', async () => {
    const first = await renewedCertificates(undefined, hosts, start)
    const second = await renewedCertificates(first, hosts, start + 61 * day)
    expect(second).toEqual({ ...first, serving: second.serving })
    expect(new X509Certificate(second.serving.cert).validToDate.getTime()).toBe(start + 151 * day)
    expect(new X509Certificate(second.serving.cert).verify(new X509Certificate(first.bundle).publicKey)).toBe(true)
  })

  test('are renewed when the DNS names change', async () => {
    const first = await renewedCertificates(undefined, hosts, start)
    const { serving } = await renewedCertificates(first, [...hosts, 'new.example.com'], start)
    expect(new X509Certificate(serving.cert).checkHost('new.example.com')).toBe('new.example.com')
  })

  test('are always trusted by callers with the bundle of the previous check', async () => {
    // Looks at most three weeks apart, over eleven years and more.
    await fc.assert(
      fc.asyncProperty(fc.array(fc.integer({ min: 1, max: 21 }), { minLength: 1, maxLength: 12 }), async (gaps) => {
        let now = start
        let current = await renewedCertificates(undefined, hosts, now)
        for (let step = 0; now < start + 4100 * day; step++) {
          now += gaps[step % gaps.length]! * day
          const before = current
          current = await renewedCertificates(before, hosts, now)
          const serving = new X509Certificate(current.serving.cert)
          const trusted = before.bundle
            .split(/(?<=-----END CERTIFICATE-----\n)/)
            .map((cert) => new X509Certificate(cert))
          expect(trusted.some((cert) => cert.validToDate.getTime() > now && serving.verify(cert.publicKey))).toBe(true)
          expect(serving.validToDate.getTime()).toBeGreaterThan(now + 8 * day)
        }
      }),
      { numRuns: 2 },
    )
  })

  test('are the same for replicas that start at the same time', async () => {
    await using server = await ApiServer.start()
    const secret = { namespace: 'default', name: 'hooks' }
    const options = { client: server.client(), clock: server.clock, random: () => 0, log: silentLogger, hosts, secret }
    const keepers = await Promise.all([1, 2, 3].map(() => CertificateKeeper.start(options)))
    const { data, type } = await server.client().get(Secret, 'default/hooks')
    expect(type).toBe('kubernetes.io/tls')
    for (const keeper of keepers) {
      expect(keeper.current.serving.cert).toBe(Buffer.from(data!['tls.crt']!, 'base64').toString())
      keeper[Symbol.dispose]()
    }
  })

  test('are used for new connections as soon as they are renewed', async () => {
    const clock = new FakeClock(Date.now())
    await using server = await ApiServer.start()
    await using manager = await served(server, {}, clock)
    const shown = (): Promise<string> =>
      new Promise((resolve, reject) => {
        const socket = connect({ host: '127.0.0.1', port: manager.server!.port, rejectUnauthorized: false }, () => {
          resolve(socket.getPeerX509Certificate()!.toString())
          socket.end()
        }).on('error', reject)
      })
    const first = await shown()
    expect(await shown()).toBe(first)
    for (let look = 0; look < 61 * 4; look++) {
      await clock.advance(day / 4)
      await new Promise((resolve) => setImmediate(resolve))
    }
    await expect.poll(shown).not.toBe(first)
  })
})

const ValidatingWebhookConfiguration = kind('admissionregistration.k8s.io/v1', 'ValidatingWebhookConfiguration')

function webhooks(): KubeObject {
  const webhook = (name: string): JsonValue => ({
    name,
    clientConfig: { service: { namespace: 'default', name: 'hooks', path: '/validate' } },
    rules: [{ apiGroups: ['x'], apiVersions: ['*'], operations: ['CREATE'], resources: ['xs'] }],
    sideEffects: 'None',
    admissionReviewVersions: ['v1'],
  })
  return {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingWebhookConfiguration',
    metadata: { name: 'ours' },
    webhooks: [webhook('a.example.com'), webhook('b.example.com')],
  } as KubeObject
}

test('injects the bundle into webhook configurations and definitions, and again when it is removed', async () => {
  await using server = await ApiServer.start()
  const client = server.client()
  const conversion = {
    strategy: 'Webhook',
    webhook: { clientConfig: { service: { namespace: 'default', name: 'hooks' } }, conversionReviewVersions: ['v1'] },
  }
  await client.create({
    ...memcachedDefinition,
    spec: { ...memcachedDefinition.spec, conversion },
  } as CustomResourceDefinition)
  await client.create(webhooks())
  await using manager = await served(server, {
    caBundles: [
      { kind: 'ValidatingWebhookConfiguration', name: 'ours' },
      { kind: 'ValidatingWebhookConfiguration', name: 'not-there' },
      { kind: 'CustomResourceDefinition', name: memcachedDefinition.metadata.name! },
    ],
  })
  const bundle = Buffer.from(manager.server!.caBundle).toString('base64')
  const bundlesOf = (object: KubeObject): unknown[] =>
    ((asJson(object).webhooks ?? []) as { clientConfig: { caBundle?: string } }[]).map(
      (one) => one.clientConfig.caBundle,
    )
  const written = (object: KubeObject): boolean => bundlesOf(object).every((one) => one === bundle)
  await client.waitFor(ValidatingWebhookConfiguration, 'ours', written)
  await client.waitFor(CustomResourceDefinition, memcachedDefinition.metadata.name!, (definition) =>
    JSON.stringify(definition.spec).includes(bundle),
  )
  await client.patch(ValidatingWebhookConfiguration, 'ours', {
    json: [{ op: 'remove', path: '/webhooks/1/clientConfig/caBundle' }],
  })
  await client.waitFor(ValidatingWebhookConfiguration, 'ours', written)
  const [first] = asJson(await client.get(ValidatingWebhookConfiguration, 'ours')).webhooks as {
    clientConfig: object
  }[]
  expect(first!.clientConfig).toEqual({
    service: { namespace: 'default', name: 'hooks', path: '/validate', port: 443 },
    caBundle: bundle,
  })
})
