// The controller that mirrors Endpoints into EndpointSlices, on a whole server. The slices of the table are those that
// kube-controller-manager 1.35.4 makes, apart from the order of endpoints and ports, which is random there.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { kind, KubeEvent, Service } from '@fairlead/client'
import type { Client } from '@fairlead/client'
import type { JsonObject, KubeObject } from '@fairlead/kube'
import { ApiServer } from '@fairlead/apiserver'
import { patience } from '../../../../test/support/until.ts'

type Slice = KubeObject & {
  readonly addressType: string
  readonly endpoints?: JsonObject[] | null
  readonly ports?: JsonObject[]
}

const Endpoints = kind('v1', 'Endpoints')
const EndpointSlice = kind<Slice>('discovery.k8s.io/v1', 'EndpointSlice')
const managedBy = 'endpointslice.kubernetes.io/managed-by'
const controller = 'endpointslicemirroring-controller.k8s.io'

let server: ApiServer
let client: Client

beforeAll(async () => {
  server = await ApiServer.start({ controllers: ['endpointslice-mirroring'] })
  client = server.client()
})
afterAll(() => server[Symbol.asyncDispose]())

/** Creates a Service without a selector and Endpoints of its name. */
async function create(name: string, subsets: readonly object[], metadata: object = {}): Promise<KubeObject> {
  await client.create({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { namespace: 'default', name },
    spec: { ports: [{ port: 80 }] },
  } as KubeObject)
  return client.create({
    apiVersion: 'v1',
    kind: 'Endpoints',
    metadata: { namespace: 'default', name, ...metadata },
    subsets,
  } as KubeObject)
}

async function slicesOf(name: string): Promise<readonly Slice[]> {
  return (
    await client.list(EndpointSlice, { namespace: 'default', labelSelector: `kubernetes.io/service-name=${name}` })
  ).items
}

/** Formats slices as `IPv4 p:80/TCP 10.1.2.3 !10.1.2.4`; `!` marks endpoints that are not ready. */
function brief(slices: readonly Slice[]): readonly string[] {
  return slices
    .map(({ addressType, endpoints, ports }) =>
      [
        addressType,
        ...(ports ?? []).map(({ name, port, protocol, appProtocol }) =>
          [`${name as string}:${port as number}/${protocol as string}`, ...(appProtocol ? [appProtocol] : [])].join(
            '/',
          ),
        ),
        ...(endpoints ?? []).map(
          ({ addresses, conditions, hostname, targetRef }) =>
            `${(conditions as JsonObject)['ready'] === true ? '' : '!'}${(addresses as string[]).join()}${[
              hostname,
              (targetRef as JsonObject | undefined)?.['uid'],
            ]
              .filter(Boolean)
              .map((part) => `(${part as string})`)
              .join('')}`,
        ),
      ].join(' '),
    )
    .toSorted()
}

const poll = { timeout: patience, interval: 1 }

/** Waits for the slices of Endpoints, in the form of {@link brief}. */
async function expectSlices(name: string, expected: readonly string[]): Promise<void> {
  await expect.poll(async () => brief(await slicesOf(name)), poll).toEqual(expected)
}

const p = { name: 'p', port: 80 }
const q = { name: 'q', port: 81 }
const [one, two] = [{ ip: '10.1.2.3' }, { ip: '10.1.2.4' }]

test.for<readonly [string, readonly object[], readonly string[]]>([
  ['no subsets', [], []],
  ['no ports', [{ addresses: [one] }], ['IPv4 10.1.2.3']],
  ['not ready', [{ addresses: [one], notReadyAddresses: [two], ports: [p] }], ['IPv4 p:80/TCP 10.1.2.3 !10.1.2.4']],
  [
    'both families',
    [{ addresses: [one, { ip: 'FD00:0::5' }, { ip: '::ffff:10.1.2.8' }], ports: [{ port: 1, protocol: 'UDP' }] }],
    ['IPv4 :1/UDP 10.1.2.3 10.1.2.8', 'IPv6 :1/UDP fd00::5'],
  ],
  [
    'equal addresses of several ports',
    [
      { addresses: [one], ports: [p] },
      { addresses: [one], ports: [q] },
    ],
    ['IPv4 p:80/TCP q:81/TCP 10.1.2.3'],
  ],
  [
    'an address that is not ready for one port',
    [
      { notReadyAddresses: [one], ports: [p] },
      { addresses: [one, two], ports: [p, q] },
    ],
    ['IPv4 p:80/TCP 10.1.2.4 !10.1.2.3', 'IPv4 q:81/TCP 10.1.2.3 10.1.2.4'],
  ],
  [
    'equal ports of other protocols',
    [
      { addresses: [one] },
      { addresses: [one, two], ports: [q] },
      { addresses: [one], ports: [{ ...q, appProtocol: 'x' }] },
    ],
    ['IPv4 q:81/TCP 10.1.2.3 10.1.2.4', 'IPv4 q:81/TCP/x 10.1.2.3'],
  ],
  [
    'several targets of an address',
    [
      {
        addresses: [
          { ...one, hostname: 'h1' },
          { ...one, hostname: 'h2' },
          { ...two, targetRef: { name: 'x', uid: 'u1' } },
          { ...two, targetRef: { name: 'x', uid: 'u2' } },
          { ...two, targetRef: { name: 'z', uid: 'u3' } },
        ],
        ports: [p],
      },
    ],
    ['IPv4 p:80/TCP 10.1.2.3(h1) 10.1.2.4(u2) 10.1.2.4(u3)'],
  ],
])('mirrors Endpoints with %s', async ([title, subsets, expected]) => {
  const name = title.replaceAll(' ', '-').toLowerCase()
  await create(name, subsets)
  await create(`${name}-after`, [{ addresses: [one] }])
  await expectSlices(`${name}-after`, ['IPv4 10.1.2.3'])
  await expectSlices(name, expected)
})

test('copies labels and annotations and refers to the Endpoints', async () => {
  const endpoints = await create('meta', [{ addresses: [{ ...one, nodeName: 'n1' }] }], {
    labels: { app: 'a', 'kubernetes.io/service-name': 'other' },
    annotations: { note: 'n', 'endpoints.kubernetes.io/last-change-trigger-time': '2020-01-01T00:00:00Z' },
  })
  await expectSlices('meta', ['IPv4 10.1.2.3'])
  const [slice] = await slicesOf('meta')
  expect(slice).toMatchObject({
    metadata: {
      generateName: 'meta-',
      generation: 1,
      labels: { app: 'a', 'kubernetes.io/service-name': 'meta', [managedBy]: controller },
      annotations: { note: 'n' },
      ownerReferences: [
        {
          apiVersion: 'v1',
          kind: 'Endpoints',
          name: 'meta',
          uid: endpoints.metadata.uid,
          controller: true,
          blockOwnerDeletion: true,
        },
      ],
      managedFields: [{ manager: 'kube-controller-manager', operation: 'Update' }],
    },
    endpoints: [{ addresses: ['10.1.2.3'], conditions: { ready: true }, nodeName: 'n1' }],
  })
  expect(slice!.metadata.annotations).toEqual({ note: 'n' })
  await client.patch(Endpoints, 'default/meta', { merge: { metadata: { labels: { app: null, new: 'b' } } } })
  await expect
    .poll(
      async () =>
        (await slicesOf('meta')).map(({ metadata: { name, generation, labels } }) => [name, generation, labels]),
      poll,
    )
    .toEqual([[slice!.metadata.name, 2, { new: 'b', 'kubernetes.io/service-name': 'meta', [managedBy]: controller }]])
})

const skipLabel = { metadata: { labels: { 'endpointslice.kubernetes.io/skip-mirror': 'true' } } }
const leader = { metadata: { annotations: { 'control-plane.alpha.kubernetes.io/leader': '{}' } } }

test.for<readonly [string, (key: string) => Promise<unknown>]>([
  ['skip label', (key) => client.patch(Endpoints, key, { merge: skipLabel })],
  ['annotation of leader election', (key) => client.patch(Endpoints, key, { merge: leader })],
  ['missing subsets', (key) => client.patch(Endpoints, key, { merge: { subsets: null } })],
  ['selector', (key) => client.patch(Service, key, { merge: { spec: { selector: { app: 'a' } } } })],
  ['deleted Service', (key) => client.delete(Service, key)],
  ['deleted Endpoints', (key) => client.delete(Endpoints, key)],
])('deletes the slices when there is a %s, and leaves those of others', async ([title, change]) => {
  const name = title.replaceAll(' ', '-').toLowerCase()
  await create(name, [{ addresses: [one, { ip: 'fd00::1' }] }])
  await client.create({
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { namespace: 'default', name: `${name}-own`, labels: { 'kubernetes.io/service-name': name } },
    addressType: 'FQDN',
    endpoints: [],
    ports: [],
  } as KubeObject)
  await expectSlices(name, ['FQDN', 'IPv4 10.1.2.3', 'IPv6 fd00::1'])
  await change(`default/${name}`)
  await expectSlices(name, ['FQDN'])
})

test('follows quick changes without a second slice, and restores what was changed or deleted by hand', async () => {
  await create('quick', [])
  await Promise.all(
    Array.from({ length: 20 }, (_, index) =>
      client.patch(Endpoints, 'default/quick', {
        merge: { subsets: [{ addresses: [{ ip: `10.1.3.${index + 1}` }], ports: [{ port: index + 1 }] }] },
      }),
    ),
  )
  await client.patch(Endpoints, 'default/quick', { merge: { subsets: [{ addresses: [one], ports: [p] }] } })
  const restored = ['IPv4 p:80/TCP 10.1.2.3']
  await expectSlices('quick', restored)
  const key = `default/${(await slicesOf('quick'))[0]!.metadata.name}`
  await client.patch(EndpointSlice, key, { merge: { endpoints: [{ addresses: ['10.9.9.9'] }] } })
  await expectSlices('quick', restored)
  await client.patch(EndpointSlice, key, { merge: { endpoints: [] } })
  await expectSlices('quick', restored)
  await client.patch(EndpointSlice, key, { merge: { metadata: { labels: { [managedBy]: null } } } })
  await expectSlices('quick', [...restored, ...restored])
  await client.delete(EndpointSlice, key)
  await expectSlices('quick', restored)
  await client.delete(EndpointSlice, `default/${(await slicesOf('quick'))[0]!.metadata.name}`)
  await expectSlices('quick', restored)
})

test('mirrors 1000 addresses of a subset and reports the rest in an event', async () => {
  const addresses = Array.from({ length: 1002 }, (_, index) => ({ ip: `10.2.${index >> 8}.${index & 255}` }))
  await create('many', [{ addresses }])
  await expect.poll(async () => (await slicesOf('many')).map((slice) => slice.endpoints?.length), poll).toEqual([1000])
  const notes = async (): Promise<unknown> =>
    (await client.list(KubeEvent, { namespace: 'default' })).items.map(({ reason, note }) => ({ reason, note }))
  await expect.poll(notes, poll).toEqual([
    {
      reason: 'TooManyAddressesToMirror',
      note: 'A max of 1000 addresses can be mirrored to EndpointSlices per Endpoints subset. 2 addresses were skipped',
    },
  ])
})
