// Custom resources on a whole server: from the POST of a definition to the deletion of its objects.
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { JsonObject } from '@fairlead/kube'
import { FakeClock } from '@fairlead/kube'
import { ApiServer } from '@fairlead/apiserver'

const definitionsPath = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
const widgetsPath = '/apis/example.com/v1/namespaces/default/widgets'

const anything = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true }

interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | readonly string[]>>
  readonly body: JsonObject
}

let clock: FakeClock
let server: ApiServer

beforeEach(async () => {
  clock = new FakeClock('2026-01-01T00:00:00Z')
  server = await ApiServer.start({
    clock,
    tokens: [{ token: 'admin', user: { name: 'admin', groups: ['system:masters'] } }],
  })
})

afterEach(() => server[Symbol.asyncDispose]())

async function send(
  method: string,
  path: string,
  body?: unknown,
  contentType: string = 'application/json',
): Promise<Answer> {
  const response = await server.inject({
    method,
    path,
    headers: {
      authorization: 'Bearer admin',
      accept: 'application/json',
      ...(body === undefined ? {} : { 'content-type': contentType }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const text = typeof response.body === 'string' ? response.body : new TextDecoder().decode(response.body as Uint8Array)
  let json: JsonObject
  try {
    json = JSON.parse(text) as JsonObject
  } catch {
    json = { text }
  }
  return { status: response.status, headers: response.headers, body: json }
}

/** Runs all due timers. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await clock.advance(10)
}

function definition(
  schema: object = anything,
  more: object = {},
  names: object = {},
): { metadata: { name: string } } & Record<string, unknown> {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'widgets.example.com' },
    spec: {
      group: 'example.com',
      scope: 'Namespaced',
      names: { plural: 'widgets', kind: 'Widget', ...names },
      versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: schema }, ...more }],
    },
  }
}

const widget = (name: string, more: object = {}): object => ({
  apiVersion: 'example.com/v1',
  kind: 'Widget',
  metadata: { name },
  ...more,
})

async function establish(crd: { metadata: { name: string } }): Promise<void> {
  expect((await send('POST', definitionsPath, crd)).status).toBe(201)
  await settle()
}

async function conditionsOf(name: string = 'widgets.example.com'): Promise<Record<string, string>> {
  const { body } = await send('GET', `${definitionsPath}/${name}`)
  const { conditions } = body['status'] as {
    conditions?: readonly { type: string; status: string; reason: string }[] | null
  }
  return Object.fromEntries((conditions ?? []).map(({ type, status, reason }) => [type, `${status} ${reason}`]))
}

describe('a definition', () => {
  test('is created without conditions and established in a later iteration of the event loop', async () => {
    const created = await send('POST', definitionsPath, definition())
    expect(created.body['status']).toEqual({
      conditions: null,
      acceptedNames: { plural: '', kind: '' },
      storedVersions: ['v1'],
    })
    expect((await send('GET', widgetsPath)).status).toBe(404)
    await settle()
    expect(await conditionsOf()).toEqual({
      NamesAccepted: 'True NoConflicts',
      Established: 'True InitialNamesAccepted',
    })
    expect((await send('GET', widgetsPath)).body).toMatchObject({
      kind: 'WidgetList',
      apiVersion: 'example.com/v1',
      items: [],
    })
  })

  test('does not get a kind that another of its group has, until that is deleted', async () => {
    await establish(definition())
    const gadgets = definition(anything, {}, { plural: 'gadgets', singular: 'gadget', kind: 'Widget' })
    gadgets.metadata.name = 'gadgets.example.com'
    await establish(gadgets)
    expect(await conditionsOf('gadgets.example.com')).toEqual({
      NamesAccepted: 'False ListKindConflict',
      Established: 'False NotAccepted',
    })
    expect((await send('GET', '/apis/example.com/v1/gadgets')).status).toBe(404)
    await send('DELETE', `${definitionsPath}/widgets.example.com`)
    await settle()
    expect(await conditionsOf('gadgets.example.com')).toEqual({
      NamesAccepted: 'True NoConflicts',
      Established: 'True InitialNamesAccepted',
    })
    expect((await send('GET', '/apis/example.com/v1/gadgets')).status).toBe(200)
  })

  test('of a protected group has the condition of its API approval', async () => {
    const crd = definition()
    Object.assign(crd.metadata, {
      name: 'widgets.x.k8s.io',
      annotations: { 'api-approved.kubernetes.io': 'unapproved, a test' },
    })
    ;(crd['spec'] as { group: string }).group = 'x.k8s.io'
    await establish(crd)
    expect(await conditionsOf('widgets.x.k8s.io')).toMatchObject({
      KubernetesAPIApprovalPolicyConformant: 'False UnapprovedAnnotation',
    })
  })

  test('deletes its objects with it, and waits for their finalizers', async () => {
    await establish(definition())
    await send('POST', widgetsPath, widget('free'))
    await send('POST', widgetsPath, { ...widget('held'), metadata: { name: 'held', finalizers: ['example.com/hold'] } })
    const deleted = await send('DELETE', `${definitionsPath}/widgets.example.com`)
    expect(deleted.body['metadata']).toMatchObject({
      generation: 1,
      finalizers: ['customresourcecleanup.apiextensions.k8s.io'],
    })
    expect(deleted.body['metadata']).not.toHaveProperty('deletionGracePeriodSeconds')
    expect(await conditionsOf()).toMatchObject({ Terminating: 'True InstanceDeletionPending' })
    await settle()
    expect(await conditionsOf()).toMatchObject({ Terminating: 'True InstanceDeletionInProgress' })
    expect((await send('GET', `${widgetsPath}/free`)).status).toBe(404)
    expect((await send('POST', widgetsPath, widget('late'))).body).toMatchObject({
      code: 403,
      message:
        'widgets.example.com "late" is forbidden: create not allowed while custom resource definition is terminating',
    })
    await send('PATCH', `${widgetsPath}/held`, { metadata: { finalizers: null } }, 'application/merge-patch+json')
    await settle()
    expect((await send('GET', `${definitionsPath}/widgets.example.com`)).status).toBe(404)
    expect((await send('GET', widgetsPath)).status).toBe(404)
  })

  test('ends the watches of its objects a second after its spec has changed, and not for other changes', async () => {
    await send('POST', definitionsPath, definition())
    await settle()
    const opened = await server.transport().watch({ method: 'GET', path: widgetsPath, query: { watch: true } })
    if ('refused' in opened) throw new Error('The watch was refused')
    let isOver = false
    void (async () => {
      for await (const _event of opened.events) continue
      isOver = true
    })()
    const change = async (patch: object): Promise<void> => {
      await send('PATCH', `${definitionsPath}/widgets.example.com`, patch, 'application/merge-patch+json')
      await settle()
      await clock.advance(1000)
      await settle()
    }
    await change({ metadata: { labels: { a: 'b' } } })
    expect(isOver).toBe(false)
    await change({ spec: { names: { categories: ['all'] } } })
    expect(isOver).toBe(true)
  })

  test('ends the watches of its objects a second after their deletion, and only those', async () => {
    await send('POST', definitionsPath, definition())
    await settle()
    await send('POST', widgetsPath, { apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name: 'a' } })
    const transport = server.transport()
    const watch = async (path: string): Promise<{ readonly types: string[]; isOver: boolean }> => {
      const opened = await transport.watch({ method: 'GET', path, query: { watch: true } })
      if ('refused' in opened) throw new Error('The watch was refused')
      const seen = { types: [] as string[], isOver: false }
      void (async () => {
        for await (const { type } of opened.events) seen.types.push(type)
        seen.isOver = true
      })()
      return seen
    }
    const widgets = await watch(widgetsPath)
    const namespaces = await watch('/api/v1/namespaces')
    await settle()
    expect(widgets).toEqual({ types: ['ADDED'], isOver: false })
    await send('DELETE', `${definitionsPath}/widgets.example.com`)
    await settle()
    expect(widgets).toEqual({ types: ['ADDED', 'DELETED'], isOver: false })
    await clock.advance(1000)
    await settle()
    expect(widgets).toEqual({ types: ['ADDED', 'DELETED'], isOver: true })
    expect(namespaces.isOver).toBe(false)
  })

  test('is served again after a restart', async () => {
    await establish(definition())
    await send('POST', widgetsPath, widget('kept', { spec: { size: 3 } }))
    const again = await ApiServer.start({
      clock,
      storage: server.store,
      tokens: [{ token: 'admin', user: { name: 'admin', groups: ['system:masters'] } }],
    })
    const response = await again.inject({
      method: 'GET',
      path: `${widgetsPath}/kept`,
      headers: { authorization: 'Bearer admin' },
    })
    expect(response.status).toBe(200)
  })
})

describe('a custom resource', () => {
  test('is read with the defaults of the current schema, and stays stored unchanged', async () => {
    await establish(
      definition({ type: 'object', properties: { spec: { type: 'object', properties: { a: { type: 'string' } } } } }),
    )
    const created = await send('POST', widgetsPath, widget('w', { spec: { a: 'x' } }))
    const later = {
      op: 'add',
      path: '/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/b',
      value: { type: 'string', default: 'd' },
    }
    expect(
      (await send('PATCH', `${definitionsPath}/widgets.example.com`, [later], 'application/json-patch+json')).status,
    ).toBe(200)
    const read = await send('GET', `${widgetsPath}/w`)
    expect(read.body['spec']).toEqual({ a: 'x', b: 'd' })
    expect((read.body['metadata'] as JsonObject)['resourceVersion']).toBe(
      (created.body['metadata'] as JsonObject)['resourceVersion'],
    )
  })

  test('is served in every version with that version’s apiVersion and defaults', async () => {
    const crd = definition()
    const version = (name: string, storage: boolean): object => ({
      name,
      served: true,
      storage,
      schema: {
        openAPIV3Schema: {
          type: 'object',
          properties: { spec: { type: 'object', properties: { by: { type: 'string', default: name } } } },
        },
      },
    })
    ;(crd['spec'] as { versions: object[] }).versions = [version('v1', true), version('v2', false)]
    await establish(crd)
    await send('POST', '/apis/example.com/v2/namespaces/default/widgets', {
      ...widget('w', { spec: {} }),
      apiVersion: 'example.com/v2',
    })
    await send('POST', widgetsPath, { ...widget('empty', { spec: {} }) })
    expect((await send('GET', `${widgetsPath}/w`)).body).toMatchObject({
      apiVersion: 'example.com/v1',
      spec: { by: 'v2' },
    })
    expect((await send('GET', '/apis/example.com/v2/namespaces/default/widgets/empty')).body).toMatchObject({
      apiVersion: 'example.com/v2',
      spec: { by: 'v1' },
    })
  })

  test('is pruned by its schema, with a warning or an error by fieldValidation', async () => {
    await establish(
      definition({ type: 'object', properties: { spec: { type: 'object', properties: { a: { type: 'string' } } } } }),
    )
    const body = widget('w', { spec: { a: 'x', typo: 1 }, other: true })
    const warned = await send('POST', widgetsPath, body)
    expect(warned.body['spec']).toEqual({ a: 'x' })
    expect([warned.headers['warning']].flat()).toEqual([
      '299 - "unknown field \\"other\\""',
      '299 - "unknown field \\"spec.typo\\""',
    ])
    const strict = await send('POST', `${widgetsPath}?fieldValidation=Strict`, body)
    expect(strict.body).toMatchObject({
      code: 400,
      message:
        'Widget in version "v1" cannot be handled as a Widget: strict decoding error: unknown field "other", unknown field "spec.typo"',
    })
  })

  test('changes status through the subresource only when its version has it', async () => {
    await establish(definition(anything, { subresources: { status: {} } }))
    const created = await send('POST', widgetsPath, widget('w', { spec: { a: 1 }, status: { b: 1 } }))
    expect(created.body).not.toHaveProperty('status')
    const patched = await send(
      'PATCH',
      `${widgetsPath}/w/status`,
      { spec: { a: 2 }, status: { b: 2 } },
      'application/merge-patch+json',
    )
    expect(patched.body).toMatchObject({ metadata: { generation: 1 }, spec: { a: 1 }, status: { b: 2 } })
  })
})

describe('validation rules', () => {
  const causesIn = ({ body }: Answer): string[] =>
    ((body['details'] as { causes?: readonly { field: string; message: string }[] } | undefined)?.causes ?? []).map(
      ({ field, message }) => `${field}: ${message}`,
    )
  const withRules = (spec: object): ReturnType<typeof definition> =>
    definition({ type: 'object', properties: { spec } })

  test('are compiled when a definition is accepted', async () => {
    const refused = await send(
      'POST',
      definitionsPath,
      withRules({
        type: 'object',
        properties: { a: { type: 'integer' } },
        'x-kubernetes-validations': [{ rule: 'self.b > 1' }],
      }),
    )
    expect(refused.status).toBe(422)
    expect(causesIn(refused)).toEqual([
      expect.stringMatching(
        /^spec\.validation\.openAPIV3Schema\.properties\[spec\]\.x-kubernetes-validations\[0\]\.rule: Invalid value: .*undefined field 'b'/s,
      ),
    ])
  })

  test('run for new objects, transition rules with the old one, and not for malformed objects', async () => {
    await establish(
      withRules({
        type: 'object',
        properties: { a: { type: 'integer' } },
        'x-kubernetes-validations': [
          { rule: 'self.a > 0', message: 'positive' },
          { rule: 'self.a >= oldSelf.a', message: 'growing' },
        ],
      }),
    )
    expect(causesIn(await send('POST', widgetsPath, widget('w', { spec: { a: 0 } })))).toEqual([
      'spec: Invalid value: positive',
    ])
    expect((await send('POST', widgetsPath, widget('w', { spec: { a: 5 } }))).status).toBe(201)
    const merge = 'application/merge-patch+json'
    expect(causesIn(await send('PATCH', `${widgetsPath}/w`, { spec: { a: 4 } }, merge))).toEqual([
      'spec: Invalid value: growing',
    ])
    expect((await send('PATCH', `${widgetsPath}/w`, { spec: { a: 6 } }, merge)).status).toBe(200)
    expect(causesIn(await send('PATCH', `${widgetsPath}/w`, { spec: { a: 'x' } }, merge))).toEqual([
      'spec.a: Invalid value: "string": spec.a in body must be of type integer: "string"',
      '<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation',
    ])
  })

  test('apply to defaults too', async () => {
    const refused = await send(
      'POST',
      definitionsPath,
      withRules({
        type: 'integer',
        default: 1,
        'x-kubernetes-validations': [{ rule: 'self > 1', message: 'more than one' }],
      }),
    )
    expect(causesIn(refused)).toEqual([
      'spec.validation.openAPIV3Schema.properties[spec].default: Invalid value: 1: more than one',
    ])
  })
})

test('a 406 for a custom resource names protobuf, which its serializer lists, too', async () => {
  await send('POST', definitionsPath, {
    metadata: { name: 'plains.example.com' },
    spec: {
      group: 'example.com',
      scope: 'Namespaced',
      names: { plural: 'plains', kind: 'Plain' },
      versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: anything } }],
    },
  })
  await settle()
  const read = async (path: string): Promise<unknown> => {
    const headers = { authorization: 'Bearer admin', accept: 'text/html' }
    const { status, body } = await server.inject({ method: 'GET', path, headers })
    return [status, (JSON.parse(body) as { message: string }).message]
  }
  const plains = '/apis/example.com/v1/namespaces/default/plains'
  const types = 'application/json, application/yaml, application/vnd.kubernetes.protobuf'
  const refused = [406, `only the following media types are accepted: ${types}`]
  expect([await read(plains), await read(`${plains}/a`), await read(`${plains}?watch=true`)]).toEqual([
    refused,
    refused,
    refused,
  ])
})
