import type { JsonObject, JsonValue } from '@fairlead/kube'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventually } from '../../../../test/support/until.ts'
import type { Answer } from '../support/api.ts'
import { failureOf, TestApi } from '../support/api.ts'

let api: TestApi
beforeAll(async () => {
  api = await TestApi.start()
  await api.post('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
    metadata: { name: 'widgets.example.com' },
    spec: {
      group: 'example.com',
      scope: 'Namespaced',
      names: { plural: 'widgets', singular: 'widget', kind: 'Widget', listKind: 'WidgetList' },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          subresources: { status: {} },
          schema: {
            openAPIV3Schema: {
              type: 'object',
              properties: {
                spec: {
                  type: 'object',
                  properties: { size: { type: 'integer' }, color: { type: 'string', default: 'red' } },
                },
                status: { type: 'object', properties: { ready: { type: 'boolean' } } },
              },
            },
          },
        },
      ],
    },
  })
  await eventually(async () => expect((await api.get('/apis/example.com/v1/widgets')).status).toBe(200), 10)
})
afterAll(() => api[Symbol.asyncDispose]())

const types = {
  json: 'application/json-patch+json',
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
  apply: 'application/apply-patch+yaml',
}
const patch = (path: string, type: keyof typeof types, body: JsonValue | string): Promise<Answer> =>
  api.send('PATCH', path, body, { contentType: types[type] })
const widgets = '/apis/example.com/v1/namespaces/default/widgets'

describe('on ConfigMaps', () => {
  test.each<[keyof typeof types, JsonValue]>([
    ['json', [{ op: 'add', path: '/data/b', value: '2' }]],
    ['merge', { data: { b: '2' } }],
    ['strategic', { data: { b: '2' } }],
  ])('a %s patch changes what it names', async (type, body) => {
    const maps = await api.namespace(`patch-${type}`)
    await api.post(maps, { metadata: { name: 'a' }, data: { a: '1' } })
    const { status, body: patched } = await patch(`${maps}/a`, type, body)
    expect({ status, data: patched['data'] }).toEqual({ status: 200, data: { a: '1', b: '2' } })
  })

  test.each<[string, keyof typeof types, JsonValue | string, JsonObject]>([
    [
      'text that is no JSON',
      'json',
      '{bad',
      {
        status: 400,
        reason: 'BadRequest',
        message: "error decoding patch: invalid character 'b' looking for beginning of object key string",
      },
    ],
    [
      'an operation that does not fit',
      'json',
      [{ op: 'remove', path: '/data/nope' }],
      {
        status: 422,
        reason: 'Invalid',
        message: 'the server rejected our request due to an error in our request',
        details: {},
      },
    ],
    [
      'too many operations',
      'json',
      Array.from({ length: 10_001 }, () => ({ op: 'test', path: '/kind', value: 'ConfigMap' })),
      {
        status: 413,
        reason: 'RequestEntityTooLarge',
        message: 'Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001',
      },
    ],
    ['null', 'merge', 'null', { status: 400, reason: 'BadRequest', message: 'Invalid JSON Patch' }],
    [
      'another name',
      'merge',
      { metadata: { name: 'b' } },
      {
        status: 400,
        reason: 'BadRequest',
        message: 'the name of the object (b) does not match the name on the URL (a)',
      },
    ],
    [
      'a stale revision',
      'merge',
      { metadata: { resourceVersion: '1' } },
      {
        status: 409,
        reason: 'Conflict',
        message:
          'Operation cannot be fulfilled on configmaps "a": the object has been modified; please apply your changes to the latest version and try again',
        details: { name: 'a', kind: 'configmaps' },
      },
    ],
    [
      'text that is no YAML',
      'apply',
      'a: [1',
      {
        status: 400,
        reason: 'BadRequest',
        message: "error decoding YAML: error converting YAML to JSON: yaml: line 1: did not find expected ',' or ']'",
      },
    ],
  ])('%s in a %s patch is refused', async (_name, type, body, expected) => {
    const maps = await api.namespace('patch-bad')
    await api.post(maps, { metadata: { name: 'a' }, data: { a: '1' } })
    const query = type === 'apply' ? '?fieldManager=m' : ''
    expect(failureOf(await patch(`${maps}/a${query}`, type, body))).toEqual(expected)
  })

  test('an address in the status of a load balancer is a VIP unless the patch says otherwise', async () => {
    const services = '/api/v1/namespaces/default/services'
    await api.post(services, { metadata: { name: 'lb' }, spec: { type: 'LoadBalancer', ports: [{ port: 80 }] } })
    const ingress: readonly JsonObject[] = [
      { ip: '203.0.113.1' },
      { ip: '203.0.113.2', ipMode: 'Proxy' },
      { hostname: 'a.example.com' },
    ]
    const contentType = 'application/merge-patch+json'
    const { status, body } = await api.send(
      'PATCH',
      `${services}/lb/status`,
      { status: { loadBalancer: { ingress } } },
      { contentType },
    )
    expect([status, body['status']]).toEqual([
      200,
      { loadBalancer: { ingress: [{ ip: '203.0.113.1', ipMode: 'VIP' }, ...ingress.slice(1)] } },
    ])
  })

  test('a value of the wrong type is refused with the patched object in the message', async () => {
    const maps = await api.namespace('patch-type')
    await api.post(maps, { metadata: { name: 'a' }, data: { a: '1' } })
    const { status, body } = await patch(`${maps}/a`, 'merge', { data: { a: 5 } })
    expect(status).toBe(422)
    expect(body['message']).toMatch(
      /^ "" is invalid: patch: Invalid value: "\{\\"apiVersion\\":\\"v1\\",\\"data\\":\{\\"a\\":5\}.*json: cannot unmarshal number into Go struct field ConfigMap.data of type string$/,
    )
  })

  test('a patch can set a field named __proto__', async () => {
    const maps = await api.namespace('patch-proto')
    await api.post(maps, '{"metadata":{"name":"a"},"data":{"__proto__":"x"}}')
    const { text } = await patch(`${maps}/a`, 'merge', '{"data":{"constructor":"y"}}')
    expect(text).toContain('"data":{"__proto__":"x","constructor":"y"}')
    expect(({} as Record<string, unknown>)['x']).toBeUndefined()
  })
})

describe('on custom resources', () => {
  test('custom resources have no strategic merge patch', async () => {
    await api.post(widgets, { apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name: 'no-strategic' } })
    const { status, body } = await patch(`${widgets}/no-strategic`, 'strategic', {})
    expect({ status, message: body['message'] }).toEqual({
      status: 415,
      message:
        'the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml',
    })
  })

  test('patches of custom resources drop unknown fields with a warning and apply defaults', async () => {
    await api.post(widgets, { apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name: 'w' }, spec: {} })
    const { headers, body } = await patch(`${widgets}/w`, 'merge', { spec: { size: 3, bogus: 1 } })
    expect(body['spec']).toEqual({ color: 'red', size: 3 })
    expect(headers['warning']).toEqual(['299 - "unknown field \\"spec.bogus\\""'])
  })

  test('the status of a custom resource is patched through its subresource only', async () => {
    await api.post(widgets, {
      apiVersion: 'example.com/v1',
      kind: 'Widget',
      metadata: { name: 's' },
      spec: { size: 1 },
    })
    expect((await patch(`${widgets}/s`, 'merge', { status: { ready: true } })).body['status']).toBeUndefined()
    const { body } = await patch(`${widgets}/s/status`, 'merge', { spec: { size: 9 }, status: { ready: true } })
    expect(body).toMatchObject({ spec: { size: 1 }, status: { ready: true }, metadata: { generation: 1 } })
  })
})

describe('server-side apply', () => {
  const configuration = (data: Record<string, string>): JsonObject => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'a' },
    data,
  })

  test('apply creates with 201, changes with 200, and does not write an unchanged object', async () => {
    const maps = await api.namespace('apply-create')
    const made = await api.apply(`${maps}/a?fieldManager=m`, configuration({ k: 'v' }))
    const again = await api.apply(`${maps}/a?fieldManager=m`, configuration({ k: 'v' }))
    expect([made.status, again.status]).toEqual([201, 200])
    expect(again.body).toEqual(made.body)
  })

  test('applying a field of another manager is a conflict, unless forced', async () => {
    const maps = await api.namespace('apply-conflict')
    await api.apply(`${maps}/a?fieldManager=one`, configuration({ k: 'v' }))
    expect(failureOf(await api.apply(`${maps}/a?fieldManager=two`, configuration({ k: 'w' })))).toEqual({
      status: 409,
      reason: 'Conflict',
      message: 'Apply failed with 1 conflict: conflict with "one": .data.k',
      details: { causes: [{ reason: 'FieldManagerConflict', message: 'conflict with "one"', field: '.data.k' }] },
    })
    expect((await api.apply(`${maps}/a?fieldManager=two&force=true`, configuration({ k: 'w' }))).body['data']).toEqual({
      k: 'w',
    })
  })

  const unnamed = 'the name of the object (a based on URL) was undeterminable: name must be provided'
  test.each<[string, JsonObject, string | undefined]>([
    ['no metadata', {}, unnamed],
    ['no name', { metadata: { labels: { a: 'b' } } }, unnamed],
    ['an empty name', { metadata: { name: '' } }, unnamed],
    ['null as name', { metadata: { name: null } }, unnamed],
    ['a generateName', { metadata: { generateName: 'a-' } }, unnamed],
    ['another name', { metadata: { name: 'b' } }, 'the name of the object (b) does not match the name on the URL (a)'],
    ['its name', { metadata: { name: 'a' } }, undefined],
  ])('apply of a new object with %s needs its name', async (what, given, message) => {
    const maps = await api.namespace(`apply-name-${what.replaceAll(/\W/g, '-').toLowerCase()}`)
    const applied = await api.apply(`${maps}/a?fieldManager=m`, { apiVersion: 'v1', kind: 'ConfigMap', ...given })
    if (message === undefined) return expect(applied.status).toBe(201)
    expect(failureOf(applied)).toEqual({ status: 400, reason: 'BadRequest', message })
    expect((await api.get(`${maps}/a`)).status).toBe(404)
  })

  test('apply to an existing object needs no name', async () => {
    const maps = await api.namespace('apply-name-exists')
    await api.post(maps, { metadata: { name: 'a' } })
    const applied = await api.apply(`${maps}/a?fieldManager=m`, {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      data: { k: 'v' },
    })
    expect([applied.status, applied.body['data']]).toEqual([200, { k: 'v' }])
  })

  test('apply requires a fieldManager and refuses managedFields', async () => {
    const maps = await api.namespace('apply-manager')
    expect((await api.apply(`${maps}/a`, configuration({}))).body['message']).toBe(
      'PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required for apply patch',
    )
    const { status, body } = await api.apply(`${maps}/a?fieldManager=m`, {
      ...configuration({}),
      metadata: { name: 'a', managedFields: [] },
    })
    expect({ status, message: body['message'] }).toEqual({ status: 400, message: 'metadata.managedFields must be nil' })
  })

  test('a dry run of an apply returns the result and stores nothing', async () => {
    const maps = await api.namespace('apply-dry')
    const { status, body } = await api.apply(`${maps}/a?fieldManager=m&dryRun=All`, configuration({ k: 'v' }))
    expect({ status, data: body['data'] }).toEqual({ status: 201, data: { k: 'v' } })
    expect((await api.get(`${maps}/a`)).status).toBe(404)
  })

  test('applies of disjoint configurations by many managers commute', async () => {
    const maps = await api.namespace('apply-commute')
    let run = 0
    await fc.assert(
      fc.asyncProperty(fc.shuffledSubarray(['a', 'b', 'c', 'd'], { minLength: 4, maxLength: 4 }), async (order) => {
        const name = `c${run++}`
        const path = `${maps}/${name}?fieldManager=`
        for (const manager of order)
          await api.apply(path + manager, { ...configuration({ [manager]: manager }), metadata: { name } })
        expect((await api.get(`${maps}/${name}`)).body['data']).toEqual({ a: 'a', b: 'b', c: 'c', d: 'd' })
      }),
      { numRuns: 15 },
    )
  })
})

test('five hundred concurrent writers of one object all succeed, and none is lost', async () => {
  const maps = await api.namespace('patch-hot')
  await api.post(maps, { metadata: { name: 'hot' } })
  const writers = Array.from({ length: 500 }, (_, i) => patch(`${maps}/hot`, 'merge', { data: { [`k${i}`]: 'v' } }))
  expect(new Set((await Promise.all(writers)).map(({ status }) => status))).toEqual(new Set([200]))
  expect(Object.keys((await api.get(`${maps}/hot`)).body['data'] as JsonObject)).toHaveLength(500)
})
