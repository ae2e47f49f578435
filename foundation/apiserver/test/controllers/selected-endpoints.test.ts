// The controllers that make EndpointSlices and Endpoints of Services with a selector, on a whole server. The objects of
// the tables are those that kube-controller-manager 1.35.4 makes, apart from the order of endpoints and ports.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Service, kind } from '@fairlead/client'
import type { Client } from '@fairlead/client'
import type { JsonObject, KubeObject } from '@fairlead/kube'
import { ApiServer, sqlite } from '@fairlead/apiserver'
import { patience } from '../../../../test/support/until.ts'

type Listed = KubeObject & { readonly [field: string]: unknown }

const Pod = kind('v1', 'Pod')
const Endpoints = kind<Listed>('v1', 'Endpoints')
const EndpointSlice = kind<Listed>('discovery.k8s.io/v1', 'EndpointSlice')
const poll = { timeout: patience, interval: 1 }

let server: ApiServer
let client: Client

beforeAll(async () => {
  server = await ApiServer.start({ controllers: ['endpoints', 'endpointslice', 'endpointslice-mirroring'] })
  client = server.client()
})
afterAll(() => server[Symbol.asyncDispose]())

function service(name: string, spec: object, metadata: object = {}): Promise<KubeObject> {
  return client.create({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { namespace: 'default', name, ...metadata },
    spec: { selector: { app: name }, ports: [{ port: 80 }], ...spec },
  } as KubeObject)
}

/** Creates a Pod with a status; `ip` undefined for a Pod without an address. */
async function pod(app: string, name: string, ips: readonly string[], spec: object = {}, ready = true): Promise<void> {
  await client.create({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { namespace: 'default', name: `${app}-${name}`, labels: { app } },
    spec: { containers: [{ name: 'c', image: 'i' }], ...spec },
  } as KubeObject)
  await setStatus(`default/${app}-${name}`, {
    phase: 'Running',
    podIPs: ips.map((ip) => ({ ip })),
    ...(ips[0] === undefined ? {} : { podIP: ips[0] }),
    conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }],
  })
}

const setStatus = (key: string, status: JsonObject): Promise<unknown> =>
  client.patch(Pod, key, { merge: { status } }, { subresource: 'status' })

async function slicesOf(name: string): Promise<readonly Listed[]> {
  return (
    await client.list(EndpointSlice, { namespace: 'default', labelSelector: `kubernetes.io/service-name=${name}` })
  ).items
}

interface Port {
  readonly name?: string
  readonly port: number
  readonly protocol?: string
}
interface Found {
  readonly addresses: readonly string[]
  readonly conditions: { readonly ready: boolean; readonly serving: boolean; readonly terminating: boolean }
  readonly hostname?: string
}

/** Formats slices as `IPv4 p:80/TCP 10.1.2.3 !10.1.2.4`; `!` marks endpoints that are not ready. */
function brief(slices: readonly Listed[]): readonly string[] {
  return slices
    .map(({ addressType, endpoints, ports }) =>
      [
        addressType as string,
        ...((ports ?? []) as Port[]).map(({ name = '', port, protocol = '' }) => `${name}:${port}/${protocol}`),
        ...((endpoints ?? []) as Found[])
          .map(
            ({ addresses, conditions, hostname }) =>
              `${conditions.ready ? '' : '!'}${addresses.join()}${hostname === undefined ? '' : `(${hostname})`}`,
          )
          .toSorted(),
      ].join(' '),
    )
    .toSorted()
}

interface Subset {
  readonly addresses?: readonly { readonly ip: string; readonly hostname?: string }[]
  readonly notReadyAddresses?: readonly { readonly ip: string }[]
  readonly ports?: readonly Port[]
}

/** Formats Endpoints as `p:80/TCP 10.1.2.3 !10.1.2.4`, a string for each subset; undefined when there are none. */
async function briefEndpoints(name: string): Promise<readonly string[] | undefined> {
  const found = await client.find(Endpoints, `default/${name}`)
  return ((found?.['subsets'] ?? (found && [])) as Subset[] | undefined)
    ?.map(({ addresses = [], notReadyAddresses = [], ports = [] }) =>
      [
        ...ports.map(({ name: portName = '', port, protocol = '' }) => `${portName}:${port}/${protocol}`).toSorted(),
        ...addresses.map(({ ip, hostname }) => `${ip}${hostname === undefined ? '' : `(${hostname})`}`).toSorted(),
        ...notReadyAddresses.map(({ ip }) => `!${ip}`).toSorted(),
      ].join(' '),
    )
    .toSorted()
}

async function expectBoth(name: string, slices: readonly string[], subsets: readonly string[]): Promise<void> {
  await expect
    .poll(async () => [brief(await slicesOf(name)), await briefEndpoints(name)], poll)
    .toEqual([slices, subsets])
}

const named = { containers: [{ name: 'c', image: 'i', ports: [{ name: 'web', containerPort: 8080 }] }] }
const twoPorts = {
  ports: [
    { name: 'a', port: 80, targetPort: 'web' },
    { name: 'b', port: 81, targetPort: 9000, protocol: 'UDP' },
  ],
}

type Row = readonly [
  title: string,
  spec: object,
  pods: readonly (readonly [ips: readonly string[], spec?: object, ready?: boolean])[],
  slices: readonly string[],
  subsets: readonly string[],
]

test.for<Row>([
  ['no Pods', {}, [], ['IPv4'], []],
  ['a Pod without an address', {}, [[[]]], ['IPv4'], []],
  [
    'ready and other Pods',
    {},
    [[['10.1.0.1']], [['10.1.0.2'], {}, false]],
    ['IPv4 :80/TCP !10.1.0.2 10.1.0.1'],
    [':80/TCP 10.1.0.1 !10.1.0.2'],
  ],
  [
    'Pods that are published before they are ready',
    { publishNotReadyAddresses: true },
    [[['10.1.0.1'], {}, false]],
    ['IPv4 :80/TCP 10.1.0.1'],
    [':80/TCP 10.1.0.1'],
  ],
  [
    'ports that not all Pods have',
    twoPorts,
    [[['10.1.0.1'], named], [['10.1.0.2']]],
    ['IPv4 a:8080/TCP b:9000/UDP 10.1.0.1', 'IPv4 b:9000/UDP 10.1.0.2'],
    ['a:8080/TCP 10.1.0.1', 'b:9000/UDP 10.1.0.1 10.1.0.2'],
  ],
  [
    'host names and without ports',
    { clusterIP: 'None', ports: [] },
    [[['10.1.0.1', 'fd00::1'], { hostname: 'h', subdomain: 'host-names-and-without-ports' }]],
    ['IPv4 10.1.0.1(h)'],
    ['10.1.0.1(h)'],
  ],
])('makes EndpointSlices and Endpoints of a Service with %s', async ([title, spec, pods, slices, subsets]) => {
  const name = title.replaceAll(' ', '-').toLowerCase()
  await service(name, spec)
  for (const [index, [ips, podSpec, ready]] of pods.entries()) await pod(name, `${index}`, ips, podSpec, ready)
  await expectBoth(name, slices, subsets)
})

test('labels, owner and the time of the change are those of Kubernetes', async () => {
  const { metadata } = await service('meta', { clusterIP: 'None' }, { labels: { team: 't' } })
  await expectBoth('meta', ['IPv4'], [])
  const [slice] = await slicesOf('meta')
  const time = { 'endpoints.kubernetes.io/last-change-trigger-time': metadata.creationTimestamp }
  const managedBy = 'endpointslice-controller.k8s.io'
  const labels = { team: 't', 'service.kubernetes.io/headless': '' }
  const owner = { apiVersion: 'v1', kind: 'Service', name: 'meta', uid: metadata.uid }
  expect(slice).toMatchObject({
    metadata: {
      generateName: 'meta-',
      annotations: time,
      ownerReferences: [{ ...owner, controller: true, blockOwnerDeletion: true }],
      managedFields: [{ manager: 'kube-controller-manager', operation: 'Update' }],
    },
    endpoints: null,
    ports: null,
  })
  expect(slice!.metadata.labels).toEqual({
    ...labels,
    'kubernetes.io/service-name': 'meta',
    'endpointslice.kubernetes.io/managed-by': managedBy,
  })
  const endpoints = await client.get(Endpoints, 'default/meta')
  expect(endpoints.metadata).toMatchObject({ annotations: time, labels: { ...labels } })
  expect(endpoints.metadata.labels).toEqual({ ...labels, 'endpoints.kubernetes.io/managed-by': 'endpoint-controller' })
  expect(endpoints).not.toHaveProperty('subsets')
})

test('follows Pods and the Service, and restores what was changed or deleted by hand', async () => {
  await service('life', {})
  await pod('life', 'one', ['10.1.0.1'])
  await pod('life', 'two', ['10.1.0.2'])
  const both = [['IPv4 :80/TCP 10.1.0.1 10.1.0.2'], [':80/TCP 10.1.0.1 10.1.0.2']] as const
  await expectBoth('life', ...both)
  const [{ metadata }] = (await slicesOf('life')) as [Listed]
  const key = `default/${metadata.name}`
  await client.patch(EndpointSlice, key, { merge: { endpoints: [] } })
  await client.delete(Endpoints, 'default/life')
  await expectBoth('life', ...both)
  await client.delete(EndpointSlice, key)
  await expectBoth('life', ...both)
  await client.patch(Pod, 'default/life-one', { merge: { metadata: { labels: { app: 'other' } } } })
  await setStatus('default/life-two', { conditions: [{ type: 'Ready', status: 'False' }] })
  await expectBoth('life', ['IPv4 :80/TCP !10.1.0.2'], [':80/TCP !10.1.0.2'])
  await setStatus('default/life-two', { phase: 'Succeeded' })
  await expectBoth('life', ['IPv4'], [])
  await client.patch(Service, 'default/life', {
    merge: { spec: { selector: { app: 'other' } }, metadata: { labels: { x: 'y' } } },
  })
  await expectBoth('life', ['IPv4 :80/TCP 10.1.0.1'], [':80/TCP 10.1.0.1'])
  expect(await slicesOf('life')).toMatchObject([{ metadata: { generateName: 'life-', labels: { x: 'y' } } }])
  await client.delete(Pod, 'default/life-one', { gracePeriod: 0 })
  await expectBoth('life', ['IPv4'], [])
  await client.delete(Service, 'default/life')
  await expect.poll(() => briefEndpoints('life'), poll).toBeUndefined()
})

test('a Pod that terminates is no longer ready, unless the Service publishes Pods that are not', async () => {
  await pod('going', 'one', ['10.1.0.1'])
  await service('going', {})
  await service('published', { selector: { app: 'going' }, publishNotReadyAddresses: true })
  await client.patch(Pod, 'default/going-one', { merge: { metadata: { finalizers: ['example.com/wait'] } } })
  await client.delete(Pod, 'default/going-one', { gracePeriod: 0 })
  await expectBoth('going', ['IPv4 :80/TCP !10.1.0.1'], [])
  await expectBoth('published', ['IPv4 :80/TCP 10.1.0.1'], [':80/TCP 10.1.0.1'])
  const [slice] = await slicesOf('going')
  expect(slice?.['endpoints']).toMatchObject([{ conditions: { ready: false, serving: true, terminating: true } }])
})

test('Services without a selector and those that rename a host get none; other objects of these names stay', async () => {
  await service('manual', { selector: null })
  await service('renamed', { type: 'ExternalName', externalName: 'example.com', ports: [] })
  const subsets = [{ addresses: [{ ip: '10.9.9.9' }] }]
  for (const name of ['manual', 'no-service'])
    await client.create({
      apiVersion: 'v1',
      kind: 'Endpoints',
      metadata: { namespace: 'default', name },
      subsets,
    } as KubeObject)
  await service('later', {})
  await expectBoth('later', ['IPv4'], [])
  await expectBoth('manual', ['IPv4 10.9.9.9'], ['10.9.9.9'])
  expect(await slicesOf('renamed')).toEqual([])
  expect(await briefEndpoints('no-service')).toEqual(['10.9.9.9'])
  await client.delete(Service, 'default/manual')
  await expect.poll(() => briefEndpoints('manual'), poll).toBeUndefined()
})

test('fills slices of 100 endpoints and keeps endpoints in their slice', async () => {
  await Promise.all(Array.from({ length: 102 }, (_, index) => pod('many', `${index}`, [`10.2.0.${index + 1}`])))
  await service('many', {})
  const counts = async (): Promise<readonly number[]> =>
    (await slicesOf('many')).map(({ endpoints }) => (endpoints as unknown[]).length).toSorted((one, two) => one - two)
  await expect.poll(counts, poll).toEqual([2, 100])
  const full = (await slicesOf('many')).find(({ endpoints }) => (endpoints as unknown[]).length === 100)!
  const [first] = full['endpoints'] as [{ targetRef: { name: string } }]
  await client.delete(Pod, `default/${first.targetRef.name}`, { gracePeriod: 0 })
  await expect.poll(counts, poll).toEqual([2, 99])
})

test('deletes at the start Endpoints whose Service went while no controller ran, except locks', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'fairlead-endpoints-'))
  try {
    {
      await using before = await ApiServer.start({ storage: sqlite(folder), controllers: false })
      const lock = { 'control-plane.alpha.kubernetes.io/leader': '{}' }
      for (const [name, annotations] of Object.entries({ left: {}, lock })) {
        const metadata = { namespace: 'default', name, annotations }
        await before.client().create({ apiVersion: 'v1', kind: 'Endpoints', metadata })
      }
    }
    await using after = await ApiServer.start({ storage: sqlite(folder), controllers: ['endpoints'] })
    await expect
      .poll(async () => (await after.client().list(Endpoints)).items.map((found) => found.metadata.name), poll)
      .toEqual(['lock'])
  } finally {
    await rm(folder, { recursive: true })
  }
})
