// An extension API server, called directly: its authenticators, its requests to the cluster, and its registration.
import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { Agent } from 'node:https'
import { connect } from 'node:tls'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { eventually, turns } from '../../../../test/support/until.ts'
import { Client, Secret, systemClock } from '@fairlead/client'
import type { ApiRequest, ConfigMap, Namespace, Transport } from '@fairlead/client'
import { renewedCertificates, servedHosts } from '@fairlead/controller'
import type { KeyPair } from '@fairlead/controller'
import { ExtensionServer, extensionServerRules } from '@fairlead/apiserver'
import type { ExtensionServerOptions } from '@fairlead/apiserver'
import { FakeClock } from '@fairlead/kube'
import type { JsonObject, KubeObject } from '@fairlead/kube'
import { TestApi } from '../support/api.ts'
import { sendRequest, TestAuthority } from '../support/front-proxy.ts'
import type { TlsRequest, TlsResponse } from '../support/front-proxy.ts'
import { note, noteDefinition, NoteStorage } from '../support/notes.ts'

const notes = '/apis/notes.example.com/v1/namespaces/default/notes'
const account = { namespace: 'default', name: 'notes-server' }
const token = 'token-of-tom'

/** Counts the requests that pass through it. */
class CountingTransport implements Transport {
  readonly address = 'counted'
  readonly sent: string[] = []
  readonly #inner: Transport

  constructor(inner: Transport) {
    this.#inner = inner
  }

  request(request: ApiRequest): ReturnType<Transport['request']> {
    this.sent.push(`${request.method} ${request.path.split('/').at(-1)}`)
    return this.#inner.request(request)
  }

  watch(request: ApiRequest): ReturnType<Transport['watch']> {
    return this.#inner.watch(request)
  }

  as(): Transport {
    return this
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#inner[Symbol.asyncDispose]()
  }

  count(what: string): number {
    return this.sent.filter((sent) => sent === what).length
  }
}

let cluster: TestApi
let storage: NoteStorage
let server: ExtensionServer
let transport: CountingTransport
let frontProxy: TestAuthority
let clients: TestAuthority
let proxy: KeyPair

function settings(more: Readonly<Record<string, string>> = {}): Record<string, string> {
  return {
    'client-ca-file': clients.pair.cert,
    'requestheader-client-ca-file': frontProxy.pair.cert,
    'requestheader-allowed-names': '["front-proxy-client"]',
    'requestheader-username-headers': '["X-Remote-User"]',
    'requestheader-uid-headers': '["X-Remote-Uid"]',
    'requestheader-group-headers': '["X-Remote-Group"]',
    'requestheader-extra-headers-prefix': '["X-Remote-Extra-"]',
    ...more,
  }
}

function publish(data: Readonly<Record<string, string>>): Promise<unknown> {
  const metadata = { namespace: 'kube-system', name: 'extension-apiserver-authentication' }
  return cluster.server.client().apply<ConfigMap>({ apiVersion: 'v1', kind: 'ConfigMap', metadata, data })
}

async function start(more: Partial<ExtensionServerOptions> = {}): Promise<void> {
  const groups = ['system:serviceaccounts', 'system:serviceaccounts:default', 'system:authenticated']
  const as = { name: `system:serviceaccount:${account.namespace}:${account.name}`, groups }
  transport = new CountingTransport(cluster.server.transport({ as }))
  server = await ExtensionServer.start({
    client: new Client({ transport, clock: systemClock, manager: 'notes-server' }),
    resources: [{ definition: noteDefinition(), storage }],
    serving: { service: { namespace: 'default', name: 'notes' }, host: '127.0.0.1', port: 0 },
    ...more,
  })
  await eventually(() => expect(server.problem).toBe(undefined), 10)
}

function asked(method: string, path: string, more: Partial<TlsRequest> = {}): Promise<TlsResponse> {
  return sendRequest(method, path, { port: server.port, ca: server.caBundle, ...more })
}

/** Sends a request as the front proxy, for a user. */
function as(user: string, groups: readonly string[] = ['system:authenticated']): Partial<TlsRequest> {
  return { certificate: proxy, headers: { 'X-Remote-User': user, 'X-Remote-Group': [...groups] } }
}

/** Returns the certificate of a new connection. */
async function certificateOf({ port }: ExtensionServer): Promise<X509Certificate> {
  const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false })
  await once(socket, 'secureConnect')
  const { raw } = socket.getPeerCertificate()
  socket.destroy()
  return new X509Certificate(raw)
}

beforeEach(async () => {
  storage = new NoteStorage()
  frontProxy = await TestAuthority.make('front-proxy-ca')
  clients = await TestAuthority.make('client-ca')
  proxy = frontProxy.client('front-proxy-client')
  cluster = await TestApi.start({
    authorization: 'RBAC',
    // This test publishes the authentication settings itself.
    aggregation: false,
    tokens: [{ token, user: { name: 'tom', groups: ['writers'], extra: { team: ['red'] } } }],
  })
  const client = cluster.server.client()
  for (const object of extensionServerRules({ serviceAccount: account, apiServices: ['v1.notes.example.com'] }))
    await client.create(object)
  const rbac = { apiGroup: 'rbac.authorization.k8s.io' }
  await client.create({
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRole',
    metadata: { name: 'notes' },
    rules: [{ apiGroups: ['notes.example.com'], resources: ['*'], verbs: ['*'] }],
  } as KubeObject)
  await client.create({
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRoleBinding',
    metadata: { name: 'notes' },
    roleRef: { ...rbac, kind: 'ClusterRole', name: 'notes' },
    subjects: [
      { ...rbac, kind: 'Group', name: 'writers' },
      { ...rbac, kind: 'User', name: 'alice' },
    ],
  } as KubeObject)
  await publish(settings())
})

afterEach(async () => {
  await server[Symbol.asyncDispose]()
  await cluster[Symbol.asyncDispose]()
})

describe('authentication of an extension API server', () => {
  test('accepts the user in the headers of the front proxy', async () => {
    const writers: unknown[] = []
    const { create } = storage
    storage.create = (object, write) => {
      writers.push(write.user)
      return create.call(storage, object, write)
    }
    await start()
    const headers = {
      'X-Remote-User': 'alice',
      'X-Remote-Uid': 'u-1',
      'X-Remote-Group': ['system:authenticated', 'readers, and others'],
      'X-Remote-Extra-scopes%2fmany': ['a', 'b,c'],
    }
    const made = await asked('POST', notes, { certificate: proxy, headers, body: note('a', 'one') })
    expect([made.status, writers]).toEqual([
      201,
      [
        {
          name: 'alice',
          uid: 'u-1',
          groups: ['system:authenticated', 'readers, and others'],
          extra: { 'scopes/many': ['a', 'b,c'] },
        },
      ],
    ])
  })

  test('accepts tokens by TokenReview and client certificates of the cluster', async () => {
    await start()
    const authorization = `Bearer ${token}`
    const answers = [
      await asked('POST', notes, { headers: { authorization }, body: note('a', 'one') }),
      await asked('POST', notes, { certificate: clients.client('ann', 'writers'), body: note('b', 'two') }),
      await asked('GET', notes, { certificate: clients.client('bob', 'readers') }),
      await asked('GET', notes, { headers: { authorization: 'Bearer other' } }),
    ]
    expect([answers.map(({ status }) => status), storage.writes]).toEqual([
      [201, 201, 403, 401],
      ['create a by tom', 'create b by ann'],
    ])
    expect(answers[2]!.body).toMatchObject({
      kind: 'Status',
      reason: 'Forbidden',
      message:
        'notes.notes.example.com is forbidden: User "bob" cannot list resource "notes" in API group "notes.example.com" in the namespace "default"',
    })
  })

  test.each<[string, () => Promise<Partial<TlsRequest>>, number]>([
    ['headers without a certificate', async () => ({ headers: as('alice').headers! }), 403],
    [
      'groups that would be masters',
      async () => ({ headers: { 'x-remote-user': 'x', 'x-remote-group': 'system:masters' } }),
      403,
    ],
    [
      'a proxy of another authority',
      async () => ({
        ...as('alice'),
        certificate: (await TestAuthority.make('front-proxy-ca')).client('front-proxy-client'),
      }),
      401,
    ],
    [
      'a proxy of a name that is not allowed',
      async () => ({ ...as('alice'), certificate: frontProxy.client('somebody') }),
      401,
    ],
    [
      'a client with the name of the proxy',
      async () => ({ ...as('alice'), certificate: clients.client('front-proxy-client') }),
      403,
    ],
    [
      'a client who is a member of masters, in headers only',
      async () => ({ ...as('alice', ['system:masters']), certificate: clients.client('mallory') }),
      403,
    ],
    ['the proxy for nobody', async () => ({ certificate: proxy }), 401],
    [
      'the proxy for nobody, as a master',
      async () => ({ certificate: proxy, headers: { 'x-remote-group': 'system:masters' } }),
      401,
    ],
    [
      'a token of nobody beside headers',
      async () => ({ headers: { ...as('alice').headers, authorization: 'Bearer junk' } }),
      401,
    ],
    ['nothing at all', async () => ({}), 403],
  ])('not: %s', async (_title, from, status) => {
    await start()
    const told = await asked('POST', notes, { ...(await from()), body: note('a', 'one') })
    expect([told.status, storage.notes.size]).toEqual([status, 0])
  })

  test('rejects a forged chain with the name of the proxy authority', async () => {
    await start()
    // The real authority's public certificate behind a certificate that another authority of the same name has signed.
    const forger = await TestAuthority.make('front-proxy-ca')
    const { key, cert } = forger.client('front-proxy-client')
    const told = await asked('GET', notes, {
      ...as('alice'),
      certificate: { key, cert: `${cert}\n${frontProxy.pair.cert}` },
    })
    expect(told.status).toBe(401)
  })

  test('authorizes impersonation', async () => {
    await start()
    const headers = { ...as('alice').headers, 'impersonate-user': 'tom', 'impersonate-group': 'system:masters' }
    expect((await asked('GET', notes, { certificate: proxy, headers })).status).toBe(403)
  })

  test('serves health to every client, other paths by SubjectAccessReview', async () => {
    await start()
    const paths = ['/healthz', '/livez', '/readyz', '/apis', '/openapi/v3', '/metrics']
    const anonymous = await Promise.all(paths.map((path) => asked('GET', path)))
    const authenticated = await Promise.all(paths.map((path) => asked('GET', path, as('bob'))))
    const masters = await Promise.all(paths.map((path) => asked('GET', path, as('root', ['system:masters']))))
    const codes = (answers: readonly TlsResponse[]): number[] => answers.map(({ status }) => status)
    expect([codes(anonymous), codes(authenticated), codes(masters)]).toEqual([
      [200, 200, 200, 403, 403, 403],
      [200, 200, 200, 200, 200, 403],
      [200, 200, 200, 200, 200, 200],
    ])
  })
})

describe('requests of an extension API server to the cluster', () => {
  test('cache reviews, and skip them for system:masters', async () => {
    await start()
    const reviews = 'POST subjectaccessreviews'
    await Promise.all(Array.from({ length: 10 }, () => asked('GET', notes, as('alice'))))
    await asked('GET', notes, as('root', ['system:masters']))
    expect(transport.count(reviews)).toBe(1)
    const authorization = `Bearer ${token}`
    await Promise.all(Array.from({ length: 10 }, () => asked('GET', notes, { headers: { authorization } })))
    expect([transport.count('POST tokenreviews'), transport.count(reviews)]).toEqual([1, 2])
  })

  test('look up namespaces, so that no object is created in a missing one', async () => {
    await start()
    const inNamespace = (name: string): string => notes.replace('default', name)
    const missing = await asked('POST', inNamespace('missing'), { ...as('alice'), body: note('a', 'one') })
    await cluster.server.client().create<Namespace>({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'new' } })
    const created = await asked('POST', inNamespace('new'), { ...as('alice'), body: note('a', 'one') })
    expect([missing.status, created.status, [...storage.notes.keys()]]).toEqual([404, 201, ['new/a']])
  })

  test('follow the rotation of authorities, on open connections too', async () => {
    await start()
    using agent = Object.assign(new Agent({ ca: server.caBundle, ...proxy, keepAlive: true, maxSockets: 1 }), {
      [Symbol.dispose]: () => agent.destroy(),
    })
    const onStanding = (): Promise<TlsResponse> => asked('GET', notes, { ...as('alice'), agent })
    expect((await onStanding()).status).toBe(200)
    const next = await TestAuthority.make('front-proxy-ca-2')
    const both = frontProxy.pair.cert + next.pair.cert
    const renewed = next.client('front-proxy-client')
    using early = Object.assign(new Agent({ ca: server.caBundle, ...renewed, keepAlive: true, maxSockets: 1 }), {
      [Symbol.dispose]: () => early.destroy(),
    })
    const tooEarly = (): Promise<TlsResponse> => asked('GET', notes, { ...as('alice'), agent: early })
    expect((await tooEarly()).status).toBe(401)
    await publish(settings({ 'requestheader-client-ca-file': both }))
    await eventually(async () => {
      const answers = [
        await onStanding(),
        await asked('GET', notes, { ...as('alice'), certificate: renewed }),
        await tooEarly(),
      ]
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 200])
    })
    await publish(settings({ 'requestheader-client-ca-file': next.pair.cert }))
    await eventually(async () => {
      const statuses = [
        (await onStanding()).status,
        (await asked('GET', notes, as('alice'))).status,
        (await asked('GET', notes, { ...as('alice'), certificate: renewed })).status,
      ]
      expect(statuses).toEqual([401, 401, 200])
    })
    // Invalid settings change nothing, and are reported.
    await publish(settings({ 'requestheader-allowed-names': 'front-proxy-client' }))
    await eventually(() => expect(server.problem).toBe('requestheader-allowed-names is not JSON'))
    expect((await asked('GET', notes, as('alice'))).status).toBe(401)
    expect((await asked('GET', '/readyz')).status).toBe(500)
  })
})

describe('the APIServices of an extension API server', () => {
  const path = '/apis/apiregistration.k8s.io/v1/apiservices/v1.notes.example.com'
  const spec = async (): Promise<JsonObject> => (await cluster.get(path)).body['spec'] as JsonObject

  test('are registered and reconciled', async () => {
    await start({ groupPriority: 1500 })
    const wanted = {
      group: 'notes.example.com',
      version: 'v1',
      service: { namespace: 'default', name: 'notes', port: 443 },
      caBundle: Buffer.from(server.caBundle).toString('base64'),
      groupPriorityMinimum: 1500,
      versionPriority: 100,
    }
    expect(await spec()).toEqual(wanted)
    await cluster.send(
      'PATCH',
      path,
      { spec: { caBundle: 'AAAA', versionPriority: 7 } },
      { contentType: 'application/merge-patch+json' },
    )
    await eventually(async () => expect(await spec()).toEqual(wanted))
    await cluster.delete(path)
    await eventually(async () => expect(await spec()).toEqual(wanted))
  })

  test('are backed off when two servers fight over one name', async () => {
    const clock = new FakeClock(systemClock.now())
    const serve = (name: string): Promise<ExtensionServer> =>
      ExtensionServer.start({
        client: new Client({ transport: cluster.server.transport(), clock, manager: name }),
        resources: [{ definition: noteDefinition(), storage: new NoteStorage() }],
        serving: { service: { namespace: 'default', name }, host: '127.0.0.1', port: 0 },
      })
    server = await serve('notes')
    await using _rival = await serve('others')
    const services: string[] = []
    for (let step = 0; step < 300; step++) {
      await clock.advance(100)
      await turns()
      const { body } = await cluster.get(path)
      const service = (body['spec'] as JsonObject | undefined)?.['service'] as JsonObject | undefined
      if (service !== undefined && service['name'] !== services.at(-1)) services.push(String(service['name']))
    }
    // Each of them waits for half a second, one, two …: without backoff it would be one change in each step.
    expect(services.length).toBeGreaterThan(2)
    expect(services.length).toBeLessThan(20)
  })

  test('get the new CA bundle when certificates are renewed', async () => {
    const certificateSecret = { namespace: 'default', name: 'notes-certificates' }
    const rights = { serviceAccount: account, apiServices: ['v1.notes.example.com'], certificateSecret }
    const admin = cluster.server.client()
    for (const object of extensionServerRules(rights)) await admin.apply(object, { force: true, manager: 'x' })
    const clock = new FakeClock(systemClock.now())
    const as = { name: `system:serviceaccount:${account.namespace}:${account.name}`, groups: ['system:authenticated'] }
    const serving = { service: { namespace: 'default', name: 'notes' }, host: '127.0.0.1', port: 0, certificateSecret }
    server = await ExtensionServer.start({
      client: new Client({ transport: cluster.server.transport({ as }), clock, manager: 'notes-server' }),
      resources: [{ definition: noteDefinition(), storage }],
      serving,
    })
    /** Advances the clock until a condition holds. */
    const passing = (step: number, holds: () => Promise<void>): Promise<void> =>
      eventually(async () => (await clock.advance(step), await holds()), 5)
    const day = 86_400_000
    await passing(1, async () => expect(server.problem).toBe(undefined))
    // Certificates that another replica created two months ago.
    const aged = await renewedCertificates(undefined, servedHosts(serving), clock.now() - 61 * day)
    const secret = await admin.get(Secret, certificateSecret)
    const data = {
      'authority.crt': aged.authority.cert,
      'ca.key': aged.authority.key,
      'ca.crt': aged.bundle,
      'tls.crt': aged.serving.cert,
      'tls.key': aged.serving.key,
    }
    const encoded = Object.entries(data).map(([key, text]) => [key, Buffer.from(text).toString('base64')])
    await admin.update<Secret>({ ...secret, data: Object.fromEntries(encoded) as Record<string, string> })
    await passing(day / 12, async () =>
      expect(Buffer.from(String((await spec())['caBundle']), 'base64').toString()).toBe(aged.bundle),
    )
    const shown = await certificateOf(server)
    expect([shown.checkIssued(new X509Certificate(aged.bundle)), server.caBundle]).toEqual([true, aged.bundle])
    expect(shown.fingerprint256).not.toBe(new X509Certificate(aged.serving.cert).fingerprint256)
    expect(Date.parse(shown.validTo)).toBeGreaterThan(clock.now() + 60 * day)
  })

  test('keep their CA bundle across restarts when a Secret stores the certificates', async () => {
    const certificateSecret = { namespace: 'default', name: 'notes-certificates' }
    const rights = extensionServerRules({ serviceAccount: account, apiServices: [], certificateSecret })
    for (const object of rights) await cluster.server.client().apply(object, { force: true, manager: 'x' })
    for (const object of extensionServerRules({ serviceAccount: account, apiServices: ['v1.notes.example.com'] }))
      await cluster.server.client().apply(object, { force: true, manager: 'x' })
    const serving = { service: { namespace: 'default', name: 'notes' }, host: '127.0.0.1', port: 0, certificateSecret }
    await start({ serving })
    const first = server.caBundle
    await server[Symbol.asyncDispose]()
    await start({ serving })
    expect(server.caBundle).toBe(first)
    expect((await asked('GET', notes, as('alice'))).status).toBe(200)
  })
})

describe('an extension API server', () => {
  test('reports not ready before it stops, and ends watches', async () => {
    await start({ shutdownDelay: 300 })
    const watching = asked('GET', `${notes}?watch=true`, as('alice'))
    await eventually(async () => expect((await asked('GET', '/readyz')).status).toBe(200))
    const stopped = server[Symbol.asyncDispose]()
    expect([(await asked('GET', '/readyz')).status, (await asked('GET', notes, as('alice'))).status]).toEqual([
      500, 200,
    ])
    await stopped
    expect((await watching).status).toBe(200)
    await expect(asked('GET', '/healthz')).rejects.toThrow()
  })

  test('starts with revisions above those before a restart', async () => {
    await start()
    const { body } = await asked('POST', notes, { ...as('alice'), body: note('a', 'one') })
    const before = (body['metadata'] as JsonObject)['resourceVersion']
    await server[Symbol.asyncDispose]()
    await start()
    const list = await asked('GET', notes, as('alice'))
    expect(Number((list.body['metadata'] as JsonObject)['resourceVersion'])).toBeGreaterThan(Number(before))
    const watch = await asked('GET', `${notes}?watch=true&resourceVersion=${String(before)}`, as('alice'))
    expect(watch.body).toMatchObject({ type: 'ERROR', object: { code: 410, reason: 'Expired' } })
  })

  test('serves other clients during large bodies and unfinished requests', async () => {
    await start()
    const huge = JSON.stringify(note('a', 'x', { annotations: { big: 'x'.repeat(3 * 1024 * 1024) } }))
    expect((await asked('POST', notes, { ...as('alice'), body: huge })).status).toBe(413)
    const sockets = Array.from({ length: 40 }, (_unused, index) => {
      const socket = connect({
        host: '127.0.0.1',
        port: server.port,
        ca: server.caBundle,
        ...(index % 2 === 0 ? proxy : {}),
      })
      socket.on('error', () => undefined)
      // Clients without a permission are refused before their body has arrived; they see that when they read.
      socket.resume()
      socket.write(
        `POST ${notes} HTTP/1.1\r\nHost: x\r\nX-Remote-User: alice\r\nContent-Type: application/json\r\n${index % 4 < 2 ? '' : 'Content-Length: 1000\r\n\r\n{'}`,
      )
      return socket
    })
    await Promise.all(sockets.map((socket) => once(socket, 'secureConnect')))
    expect((await asked('POST', notes, { ...as('alice'), body: note('b', 'two') })).status).toBe(201)
    await server[Symbol.asyncDispose]()
    await Promise.all(sockets.map(async (socket) => socket.destroyed || once(socket, 'close')))
    expect([...storage.notes.keys()]).toEqual(['default/b'])
  })
})
