// Conversion of custom resources by webhook: reads, writes, batches, and errors of the webhook.
import type { WatchEvent } from '@fairlead/client'
import { AsyncDisposableStack, DisposableStack } from '@fairlead/kube'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { JsonObject, JsonValue } from '@fairlead/kube'
import { failureOf, TestApi } from '../support/api.ts'
import type { Answer } from '../support/api.ts'
import { OpenWatch } from '../support/open-watch.ts'
import { WebhookServer } from '../support/webhook-server.ts'
import type { WebhookAnswer } from '../support/webhook-server.ts'

let api: TestApi
let servers: AsyncDisposableStack

beforeEach(async () => {
  servers = new AsyncDisposableStack()
  api = servers.use(await TestApi.start())
})

afterEach(() => servers.disposeAsync())

type Change = (object: JsonObject) => JsonValue

/** v1 has `size`, v2 `amount` (a string). */
function converted(object: JsonObject, desired: string): JsonObject {
  const { spec, ...rest } = object as { spec?: JsonObject }
  const value = spec?.['size'] ?? Number(spec?.['amount'])
  return { ...rest, apiVersion: desired, spec: desired.endsWith('/v1') ? { size: value } : { amount: String(value) } }
}

function answer(review: JsonObject, change: Change = (object) => object, response: JsonObject = {}): WebhookAnswer {
  const { uid, desiredAPIVersion, objects } = review['request'] as {
    uid: string
    desiredAPIVersion: string
    objects: JsonObject[]
  }
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'ConversionReview',
    response: {
      uid,
      result: { status: 'Success' },
      convertedObjects: objects.map((object) => change(converted(object, desiredAPIVersion))),
      ...response,
    },
  }
}

const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
const v1 = '/apis/example.com/v1/namespaces/default/things'
const v2 = '/apis/example.com/v2/namespaces/default/things'

async function define(server: WebhookServer, storage = 'v1'): Promise<void> {
  const version = (name: string, field: JsonObject): JsonObject => ({
    name,
    served: true,
    storage: name === storage,
    schema: {
      openAPIV3Schema: { type: 'object', properties: { spec: { type: 'object', properties: field } } },
    },
  })
  const { status, text } = await api.post(definitions, {
    metadata: { name: 'things.example.com' },
    spec: {
      group: 'example.com',
      scope: 'Namespaced',
      names: { plural: 'things', kind: 'Thing' },
      versions: [
        version('v1', { size: { type: 'integer', maximum: 100 } }),
        version('v2', { amount: { type: 'string', default: 'none' } }),
      ],
      conversion: {
        strategy: 'Webhook',
        webhook: {
          clientConfig: { url: `${server.url}/convert`, caBundle: server.caBundle },
          conversionReviewVersions: ['v1'],
        },
      },
    },
  })
  expect(status, text).toBe(201)
  while ((await api.get(v1)).status !== 200) await new Promise((resolve) => setImmediate(resolve))
}

async function serve(change?: Change, response?: JsonObject): Promise<WebhookServer> {
  return servers.use(await WebhookServer.start((review) => answer(review, change, response)))
}

function thing(name: string, version: 'v1' | 'v2', spec: JsonObject): JsonObject {
  return { apiVersion: `example.com/${version}`, kind: 'Thing', metadata: { name }, spec }
}

describe('conversion webhooks', () => {
  test('are called for reads and writes in another version only', async () => {
    const server = await serve()
    await define(server)
    const created = await api.post(v1, thing('a', 'v1', { size: 3 }))
    const read = await api.get(`${v1}/a`)
    expect([created.status, read.body['spec'], server.calls.length]).toEqual([201, { size: 3 }, 0])
    const other = await api.get(`${v2}/a`)
    expect([other.body['apiVersion'], other.body['spec'], other.body.metadata['uid']]).toEqual([
      'example.com/v2',
      { amount: '3' },
      created.body.metadata['uid'],
    ])
    expect(server.calls[0]).toEqual({
      path: '/convert?timeout=30s',
      review: {
        kind: 'ConversionReview',
        apiVersion: 'apiextensions.k8s.io/v1',
        request: {
          uid: expect.any(String),
          desiredAPIVersion: 'example.com/v2',
          objects: [expect.objectContaining({ apiVersion: 'example.com/v1', kind: 'Thing', spec: { size: 3 } })],
        },
      },
    })
    await api.get(`${v2}/a`)
    expect(server.calls.length).toBe(1)
  })

  test('serve create, update, patch, apply and delete in a version that is not stored', async () => {
    await define(await serve())
    expect((await api.post(v2, thing('a', 'v2', { amount: '1' }))).body['spec']).toEqual({ amount: '1' })
    const stored = (await api.get(`${v1}/a`)).body
    expect(stored['spec']).toEqual({ size: 1 })
    const put = await api.put(`${v2}/a`, { ...thing('a', 'v2', { amount: '2' }), metadata: { ...stored.metadata } })
    expect([put.status, put.body['spec']]).toEqual([200, { amount: '2' }])
    expect((await api.merge(`${v2}/a`, { spec: { amount: '3' } })).body['spec']).toEqual({ amount: '3' })
    const applied = await api.apply(`${v2}/a?fieldManager=m&force=true`, thing('a', 'v2', { amount: '4' }))
    expect(applied.body['spec']).toEqual({ amount: '4' })
    expect((await api.get(`${v1}/a`)).body['spec']).toEqual({ size: 4 })
    expect((await api.delete(`${v2}/a`)).status).toBe(200)
    expect((await api.get(`${v1}/a`)).status).toBe(404)
  })

  test('do not cause a write for an update without changes', async () => {
    await define(await serve())
    await api.post(v1, thing('a', 'v1', { size: 3 }))
    const before = (await api.get(`${v2}/a`)).body
    const after = await api.merge(`${v2}/a`, { spec: { amount: '3' } })
    expect(after.body.metadata['resourceVersion']).toBe(before.metadata['resourceVersion'])
  })

  test('are called once for the objects of a list, and not again', async () => {
    const server = await serve()
    await define(server)
    for (let i = 0; i < 20; i++) await api.post(v1, thing(`a${i}`, 'v1', { size: i }))
    await api.get(`${v2}/a7`)
    const lists = [await api.get(v2), await api.get(v2)]
    const counts = server.calls.map(({ review }) => (review['request'] as { objects: unknown[] }).objects.length)
    expect(counts).toEqual([1, 19])
    expect(lists.map(({ body }) => (body['items'] as JsonObject[]).length)).toEqual([20, 20])
    expect((lists[0]!.body['items'] as JsonObject[])[0]!['spec']).toEqual({ amount: '0' })
  })

  test('are called once for all watchers of a version', async () => {
    const server = await serve()
    await define(server)
    const started = (await api.get(v1)).body.metadata['resourceVersion'] as string
    await api.post(v1, thing('a', 'v1', { size: 3 }))
    using watches = new DisposableStack()
    const next = async (): Promise<WatchEvent | undefined> =>
      await watches.use(await OpenWatch.open(api, v2, { resourceVersion: started })).next()
    const events = await Promise.all(Array.from({ length: 5 }, next))
    expect(events.map((event) => [event?.type, event?.object['spec']])).toEqual(
      Array.from({ length: 5 }, () => ['ADDED', { amount: '3' }]),
    )
    expect(server.calls.length).toBe(1)
  })

  test('leave validation and defaults to the requested version', async () => {
    await define(await serve())
    expect((await api.post(v2, thing('a', 'v2', {}))).status).toBe(201)
    const refused = await api.post(v1, thing('b', 'v1', { size: 300 }))
    expect(refused.status).toBe(422)
    expect((await api.post(v2, thing('c', 'v2', { amount: '300' }))).status).toBe(201)
  })

  test('convert objects that are stored in an older version', async () => {
    const server = await serve()
    await define(server)
    await api.post(v1, thing('a', 'v1', { size: 1 }))
    const { body } = await api.get(`${definitions}/things.example.com`)
    const spec = body['spec'] as JsonObject & { versions: JsonObject[] }
    const versions = spec.versions.map((version) => ({ ...version, storage: version['name'] === 'v2' }))
    await api.merge(`${definitions}/things.example.com`, { spec: { versions } })
    await api.post(v1, thing('b', 'v1', { size: 2 }))
    const items = (await api.get(v2)).body['items'] as JsonObject[]
    expect(items.map((item) => item['spec'])).toEqual([{ amount: '1' }, { amount: '2' }])
  })
})

describe('ownership across versions', () => {
  test('treats a field that converts to the same value as the same field', async () => {
    await define(await serve())
    await api.apply(`${v2}/a?fieldManager=one`, thing('a', 'v2', { amount: '3' }))
    const conflict = await api.apply(`${v1}/a?fieldManager=two`, thing('a', 'v1', { size: 4 }))
    expect(failureOf(conflict)).toEqual({
      status: 409,
      reason: 'Conflict',
      message: 'Apply failed with 1 conflict: conflict with "one": .spec.amount',
      details: {
        causes: [
          {
            reason: 'FieldManagerConflict',
            message: 'conflict with "one"',
            field: '.spec.amount',
          },
        ],
      },
    })
    const shared = await api.apply(`${v1}/a?fieldManager=two`, thing('a', 'v1', { size: 3 }))
    const forced = await api.apply(`${v1}/a?fieldManager=two&force=true`, thing('a', 'v1', { size: 4 }))
    const owners = ({ body }: Answer): JsonValue =>
      (body.metadata['managedFields'] as JsonObject[])
        .map(({ manager, apiVersion }) => `${String(manager)} ${String(apiVersion)}`)
        .toSorted()
    expect([shared.status, owners(shared), forced.status, owners(forced)]).toEqual([
      200,
      ['one example.com/v2', 'two example.com/v1'],
      200,
      ['two example.com/v1'],
    ])
  })
})

describe('converted metadata', () => {
  test('may change labels and annotations only', async () => {
    await define(
      await serve((object) => ({
        ...object,
        metadata: {
          ...(object['metadata'] as JsonObject),
          labels: { converted: 'yes' },
          annotations: null,
          finalizers: ['x/y'],
          creationTimestamp: null,
        },
      })),
    )
    const created = await api.post(v1, {
      ...thing('a', 'v1', { size: 3 }),
      metadata: { name: 'a', annotations: { k: 'v' } },
    })
    const { metadata } = (await api.get(`${v2}/a`)).body
    const { annotations: _annotations, managedFields, ...kept } = created.body.metadata
    expect(metadata).toEqual({ ...kept, managedFields, labels: { converted: 'yes' } })
  })

  const broken: [string, Change, string][] = [
    [
      'another name',
      (object) => withMetadata(object, { name: 'b' }),
      'returned invalid object: must have the same name: a != b',
    ],
    [
      'another namespace',
      (object) => withMetadata(object, { namespace: 'x' }),
      'returned invalid object: must have the same namespace: default != x',
    ],
    [
      'another kind',
      (object) => ({ ...object, kind: 'Other' }),
      'returned invalid object at index 0: invalid kind (expected Thing, received Other)',
    ],
    [
      'another version',
      (object) => ({ ...object, apiVersion: 'example.com/v3' }),
      'returned invalid object at index 0: invalid groupVersion (expected example.com/v2, received example.com/v3)',
    ],
    ['no metadata', ({ metadata: _metadata, ...object }) => object, 'returned invalid object: missing metadata'],
    [
      'labels that are none',
      (object) => withMetadata(object, { labels: 'x' }),
      'returned invalid metadata: invalid metadata.labels of type string in converted object',
    ],
  ]
  test.each(broken)('%s is refused', async (_name, change, message) => {
    await define(await serve(change))
    await api.post(v1, thing('a', 'v1', { size: 3 }))
    expect(failureOf(await api.get(`${v2}/a`))).toEqual({
      status: 500,
      message: `conversion webhook for example.com/v1, Kind=Thing ${message}`,
    })
  })
})

function withMetadata(object: JsonObject, more: JsonObject): JsonObject {
  return { ...object, metadata: { ...(object['metadata'] as JsonObject), ...more } }
}

describe('a failing conversion webhook', () => {
  const cases: [string, WebhookAnswer, string][] = [
    ['a refusal', { ...review({ result: { status: 'Failed', message: 'cannot' } }) }, 'failed: cannot'],
    [
      'a refusal without a word',
      { ...review({ result: { status: 'Failed' } }) },
      "failed: response.result.status was 'Failed', not 'Success'",
    ],
    [
      'no response',
      { apiVersion: 'apiextensions.k8s.io/v1', kind: 'ConversionReview' },
      'failed: no response provided',
    ],
    [
      'another kind',
      { apiVersion: 'v1', kind: 'Pod' },
      'failed: expected webhook response of apiextensions.k8s.io/v1, Kind=ConversionReview, got v1, Kind=Pod',
    ],
    ['too few objects', { ...review({ result: { status: 'Success' } }) }, 'returned 0 objects, expected 1'],
    [
      'a broken server',
      { code: 500, text: 'boom' },
      'failed: an error on the server ("boom") has prevented the request from succeeding',
    ],
  ]
  test.each(cases)('%s', async (_name, said, message) => {
    const server = servers.use(
      await WebhookServer.start((asked) => {
        const { uid } = asked['request'] as { uid: string }
        return JSON.parse(JSON.stringify(said).replaceAll('UID', uid)) as WebhookAnswer
      }),
    )
    await define(server)
    await api.post(v1, thing('a', 'v1', { size: 3 }))
    const answers = [await api.get(`${v2}/a`), await api.get(v2)]
    const expected = { status: 500, message: `conversion webhook for example.com/v1, Kind=Thing ${message}` }
    expect(answers.map(failureOf)).toEqual([expected, expected])
    expect((await api.get(`${v1}/a`)).status).toBe(200)
  })

  test('prevents the write', async () => {
    const server = servers.use(await WebhookServer.start(() => ({ code: 503, text: '' })))
    await define(server)
    const refused = failureOf(await api.post(v2, thing('a', 'v2', { amount: '3' })))
    expect(refused).toEqual({
      status: 500,
      message:
        'conversion webhook for example.com/v2, Kind=Thing failed: the server is currently unable to handle the request',
    })
    expect((await api.get(`${v1}/a`)).status).toBe(404)
  })

  test('ends a watch with an error', async () => {
    const server = servers.use(await WebhookServer.start(() => ({ code: 503, text: '' })))
    await define(server)
    const started = (await api.get(v1)).body.metadata['resourceVersion'] as string
    await api.post(v1, thing('a', 'v1', { size: 3 }))
    const [event] = await api.events(`${v2}?watch=true&resourceVersion=${started}`)
    expect([event!.type, (event!.object as JsonObject)['message']]).toEqual([
      'ERROR',
      'conversion webhook for example.com/v1, Kind=Thing failed: the server is currently unable to handle the request',
    ])
  })
})

function review(response: JsonObject): JsonObject {
  return { apiVersion: 'apiextensions.k8s.io/v1', kind: 'ConversionReview', response: { uid: 'UID', ...response } }
}
