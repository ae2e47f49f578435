// Resource storages: an example storage, and the features that the server adds to it.
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { kind } from '@fairlead/client'
import { Manager } from '@fairlead/controller'
import type { StorageChange, StorageKey, ResourceStorage, RestStorage, StorageWrite } from '@fairlead/controller'
import { forbidden } from '@fairlead/kube'
import type { JsonObject, KubeObject } from '@fairlead/kube'
import { turns } from '../../../../test/support/until.ts'
import { failureOf, TestApi } from '../support/api.ts'

/** Stores notes in a Map: the example to begin with. */
class NoteStorage implements RestStorage {
  readonly notes = new Map<string, KubeObject>()
  readonly writes: string[] = []
  readonly #listeners = new Set<(change: StorageChange) => void>()

  async get({ namespace, name }: StorageKey): Promise<KubeObject | undefined> {
    return this.notes.get(`${namespace}/${name}`)
  }

  async list(namespace: string | undefined): Promise<readonly KubeObject[]> {
    return [...this.notes.values()].filter(
      ({ metadata }) => namespace === undefined || metadata.namespace === namespace,
    )
  }

  validate({
    object,
    old,
    subresource,
  }: {
    object: KubeObject | undefined
    old: KubeObject | undefined
    subresource: string
  }): void {
    if (subresource === '' && approved(object) && !approved(old))
      throw forbidden({ group: 'example.com', plural: 'notes' }, object!.metadata.name!, 'use notes/approval')
  }

  async create(object: KubeObject, write: StorageWrite): Promise<KubeObject> {
    return this.#keep('create', object, undefined, write)
  }

  async update(object: KubeObject, old: KubeObject, write: StorageWrite): Promise<KubeObject> {
    return this.#keep('update', object, old, write)
  }

  async delete(old: KubeObject, write: StorageWrite): Promise<void> {
    this.writes.push(`delete ${old.metadata.name} by ${write.user.name}`)
    this.notes.delete(keyOf(old))
    this.tell({ type: 'delete', object: old, previous: old })
  }

  watch(listener: (change: StorageChange) => void): Disposable {
    this.#listeners.add(listener)
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) }
  }

  /** A change outside the server, such as a push to a git repository. */
  put(object: KubeObject): void {
    const previous = this.notes.get(keyOf(object))
    this.notes.set(keyOf(object), object)
    this.tell({ type: 'put', object, previous })
  }

  tell(change: StorageChange): void {
    for (const listener of this.#listeners) listener(change)
  }

  #keep(verb: string, object: KubeObject, old: KubeObject | undefined, write: StorageWrite): KubeObject {
    const sub = write.subresource === '' ? '' : `/${write.subresource}`
    this.writes.push(`${verb} ${object.metadata.name}${sub} by ${write.user.name}`)
    if (object.metadata.name === 'odd') write.warnings.push('an odd name')
    const kept = { ...object, status: { length: textOf(object).length } }
    this.notes.set(keyOf(kept), kept)
    this.tell({ type: 'put', object: kept, previous: old })
    return kept
  }
}

function keyOf({ metadata }: KubeObject): string {
  return `${metadata.namespace}/${metadata.name}`
}

function specOf(object: KubeObject | undefined): JsonObject {
  return (object?.['spec'] ?? {}) as JsonObject
}

function textOf(object: KubeObject): string {
  return String(specOf(object)['text'] ?? '')
}

function approved(object: KubeObject | undefined): boolean {
  return specOf(object)['approved'] === true
}

const definition: KubeObject = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'notes.example.com' },
  spec: {
    group: 'example.com',
    scope: 'Namespaced',
    names: {
      plural: 'notes',
      singular: 'note',
      kind: 'Note',
      listKind: 'NoteList',
      shortNames: ['nt'],
      categories: ['all'],
    },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        subresources: { status: {} },
        additionalPrinterColumns: [{ name: 'Text', type: 'string', jsonPath: '.spec.text' }],
        schema: {
          openAPIV3Schema: {
            type: 'object',
            description: 'A note.',
            properties: {
              spec: {
                type: 'object',
                properties: {
                  text: { type: 'string', maxLength: 10 },
                  approved: { type: 'boolean', default: false },
                },
              },
              status: { type: 'object', properties: { length: { type: 'integer' } } },
            },
          },
        },
      },
    ],
  },
}

let api: TestApi
let storage: NoteStorage
let served: Disposable
const notes = '/apis/example.com/v1/namespaces/default/notes'

function resource(more: Partial<ResourceStorage> = {}): ResourceStorage {
  return {
    definition,
    storage,
    subresources: ['approval'],
    selectableFields: { 'spec.text': textOf },
    ...more,
  }
}

function note(name: string, text: string, metadata: JsonObject = {}): JsonObject {
  return { apiVersion: 'example.com/v1', kind: 'Note', metadata: { name, ...metadata }, spec: { text } }
}

beforeEach(async () => {
  storage = new NoteStorage()
  storage.notes.set('default/old', {
    apiVersion: 'example.com/v1',
    kind: 'Note',
    metadata: { name: 'old', namespace: 'default', uid: 'u', labels: { age: 'old' } },
    spec: { text: 'before' },
  } as KubeObject)
  api = await TestApi.start()
  served = await api.server.addStorage(resource())
})

afterEach(() => api[Symbol.asyncDispose]())

describe('a resource storage', () => {
  test('is in discovery with the verbs of its methods', async () => {
    const { body } = await api.get('/apis/example.com/v1')
    expect(body['resources']).toEqual([
      expect.objectContaining({
        name: 'notes',
        singularName: 'note',
        kind: 'Note',
        namespaced: true,
        shortNames: ['nt'],
        categories: ['all'],
        verbs: ['delete', 'deletecollection', 'get', 'list', 'patch', 'create', 'update', 'watch'],
      }),
      expect.objectContaining({ name: 'notes/status', verbs: ['get', 'patch', 'update'] }),
      expect.objectContaining({ name: 'notes/approval', verbs: ['get', 'patch', 'update'] }),
    ])
  })

  test('is in OpenAPI', async () => {
    const { text } = await api.get('/openapi/v3/apis/example.com/v1')
    expect(text).toContain('"A note."')
    expect(text).toContain('/apis/example.com/v1/namespaces/{namespace}/notes/{name}/approval')
  })

  test('serves objects from before the start of the server', async () => {
    const { body } = await api.get(`${notes}/old`)
    expect(body).toEqual({
      apiVersion: 'example.com/v1',
      kind: 'Note',
      metadata: {
        name: 'old',
        namespace: 'default',
        uid: 'u',
        labels: { age: 'old' },
        resourceVersion: expect.stringMatching(/^\d+$/),
      },
      spec: { text: 'before', approved: false },
    })
    expect((await api.get(`${notes}/none`)).status).toBe(404)
  })

  test('serves create, update, patch, apply and delete', async () => {
    const created = await api.post(notes, note('a', 'one'))
    expect(created.body).toEqual({
      ...note('a', 'one'),
      metadata: {
        name: 'a',
        namespace: 'default',
        uid: expect.any(String),
        resourceVersion: expect.any(String),
        generation: 1,
        creationTimestamp: expect.any(String),
        managedFields: expect.any(Array),
      },
      spec: { text: 'one', approved: false },
      status: { length: 3 },
    })
    const put = await api.put(`${notes}/a`, { ...created.body, spec: { text: 'two' } })
    const stale = await api.put(`${notes}/a`, { ...created.body, spec: { text: 'three' } })
    const merged = await api.merge(`${notes}/a`, { metadata: { labels: { x: 'y' } } })
    const applied = await api.apply(`${notes}/a?fieldManager=m&force=true`, note('a', 'four'))
    expect([put.status, stale.status, merged.status, applied.status]).toEqual([200, 409, 200, 200])
    const versions = [created, put, merged, applied].map(({ body }) => Number(body.metadata['resourceVersion']))
    expect(versions).toEqual(versions.toSorted((a, b) => a - b))
    expect(new Set(versions).size).toBe(4)
    expect((await api.get(`${notes}/a`)).body).toEqual(applied.body)
    const gone = await api.delete(`${notes}/a`)
    expect([gone.status, (await api.get(`${notes}/a`)).status]).toEqual([200, 404])
    expect(storage.writes).toEqual([
      'create a by admin',
      'update a by admin',
      'update a by admin',
      'update a by admin',
      'delete a by admin',
    ])
  })

  test('is not called for an update without changes', async () => {
    const { body } = await api.merge(`${notes}/old`, { spec: { text: 'before', approved: false } })
    const again = await api.merge(`${notes}/old`, { spec: { text: 'before' } })
    expect(again.body.metadata['resourceVersion']).toBe(body.metadata['resourceVersion'])
    expect(storage.writes.length).toBeLessThanOrEqual(1)
  })

  test('keeps an object until its finalizers are removed', async () => {
    await api.post(notes, note('a', 'one', { finalizers: ['example.com/hold'] }))
    const marked = await api.delete(`${notes}/a`)
    expect(marked.body.metadata['deletionTimestamp']).toEqual(expect.any(String))
    await api.merge(`${notes}/a`, { metadata: { finalizers: null } })
    expect([storage.notes.has('default/a'), storage.writes.at(-1)]).toEqual([false, 'delete a by admin'])
  })

  test('deletes a collection object by object', async () => {
    await api.post(notes, note('a', 'one', { labels: { is: 'new' } }))
    await api.post(notes, note('b', 'two', { labels: { is: 'new' } }))
    await api.delete(`${notes}?labelSelector=is%3Dnew`)
    expect([...storage.notes.keys()]).toEqual(['default/old'])
  })

  test('gets generated names, returns warnings, and rejects missing namespaces', async () => {
    const generated = await api.post(notes, { ...note('', 'x'), metadata: { generateName: 'n-' } })
    expect(generated.body.metadata['name']).toMatch(/^n-.{5}$/)
    expect((await api.post(notes, note('odd', 'x'))).headers['warning']).toEqual(['299 - "an odd name"'])
    expect((await api.post('/apis/example.com/v1/namespaces/none/notes', note('a', 'x'))).status).toBe(404)
  })
})

describe('validation of a resource storage', () => {
  test("schema and field validation are the server's", async () => {
    const long = await api.post(notes, note('a', 'far too long a text'))
    const unknown = await api.post(`${notes}?fieldValidation=Strict`, { ...note('a', 'x'), junk: 1 })
    expect([long.status, unknown.status, storage.writes]).toEqual([422, 400, []])
  })

  test('runs in dry runs too, which write nothing', async () => {
    const approve = { spec: { approved: true } }
    const refused = await api.merge(`${notes}/old?dryRun=All`, approve)
    expect(failureOf(refused)).toEqual({
      status: 403,
      reason: 'Forbidden',
      message: 'notes.example.com "old" is forbidden: use notes/approval',
      details: { name: 'old', group: 'example.com', kind: 'notes' },
    })
    const dry = await api.merge(`${notes}/old/approval?dryRun=All`, approve)
    expect([dry.status, dry.body['spec'], storage.writes]).toEqual([200, { approved: true, text: 'before' }, []])
    const real = await api.merge(`${notes}/old/approval`, approve)
    expect([real.status, real.body['spec'], storage.writes]).toEqual([
      200,
      { approved: true, text: 'before' },
      ['update old/approval by admin'],
    ])
  })

  test('changes status through its subresource only', async () => {
    await api.merge(`${notes}/old`, { status: { length: 99 } })
    expect((await api.get(`${notes}/old`)).body['status']).not.toEqual({ length: 99 })
  })

  test('limits the size of objects', async () => {
    served[Symbol.dispose]()
    await api.server.addStorage(resource({ maxObjectBytes: 1000 }))
    const answer = await api.post(notes, note('a', 'x', { annotations: { long: 'x'.repeat(2000) } }))
    expect([answer.status, storage.writes]).toEqual([413, []])
  })

  test('includes the admission policies of the cluster', async () => {
    const group = '/apis/admissionregistration.k8s.io/v1'
    const rule = { apiGroups: ['example.com'], apiVersions: ['*'], operations: ['*'], resources: ['notes'] }
    await api.post(`${group}/validatingadmissionpolicies`, {
      metadata: { name: 'p' },
      spec: {
        matchConstraints: { resourceRules: [rule] },
        validations: [{ expression: "object.spec.text != 'no'", message: 'not that' }],
      },
    })
    await api.post(`${group}/validatingadmissionpolicybindings`, {
      metadata: { name: 'b' },
      spec: { policyName: 'p', validationActions: ['Deny'] },
    })
    expect((await api.post(notes, note('a', 'no'))).status).toBe(422)
  })
})

describe('lists and watches of a resource storage', () => {
  const names = (body: JsonObject): string[] =>
    (body['items'] as readonly KubeObject[]).map(({ metadata }) => metadata.name!)

  test('support selectors, pages and tables', async () => {
    for (const name of ['c', 'a', 'b']) await api.post(notes, note(name, name, { labels: { is: 'new' } }))
    const label = await api.get(`${notes}?labelSelector=is%3Dnew`)
    const field = await api.get(`${notes}?fieldSelector=spec.text%3Db`)
    const all = await api.get('/apis/example.com/v1/notes')
    expect([label, field, all].map(({ body }) => names(body))).toEqual([['a', 'b', 'c'], ['b'], ['a', 'b', 'c', 'old']])
    const first = await api.get(`${notes}?limit=3`)
    const rest = await api.get(`${notes}?limit=3&continue=${String(first.body.metadata['continue'])}`)
    expect([names(first.body), names(rest.body)]).toEqual([['a', 'b', 'c'], ['old']])
    const table = await api.get(notes, { accept: 'application/json;as=Table;g=meta.k8s.io;v=v1' })
    expect((table.body['rows'] as JsonObject[]).map(({ cells }) => cells)).toEqual([
      ['a', 'a'],
      ['b', 'b'],
      ['c', 'c'],
      ['old', 'before'],
    ])
  })

  test('deliver every change once to a list with a watch from its revision', async () => {
    const list = await api.get(notes)
    const since = String(list.body.metadata['resourceVersion'])
    await api.post(notes, note('a', 'one'))
    storage.put({ ...storage.notes.get('default/old')!, spec: { text: 'pushed' } } as KubeObject)
    await api.delete(`${notes}/a`)
    const events = await api.events(`${notes}?watch=true&timeoutSeconds=1&resourceVersion=${since}`)
    expect(events.map(({ type, object }) => [type, object.metadata['name'], object['spec']])).toEqual([
      ['ADDED', 'a', { approved: false, text: 'one' }],
      ['MODIFIED', 'old', { approved: false, text: 'pushed' }],
      ['DELETED', 'a', { approved: false, text: 'one' }],
    ])
    const revisions = events.map(({ object }) => Number(object.metadata['resourceVersion']))
    expect(revisions).toEqual(revisions.toSorted((a, b) => a - b))
    expect((await api.get(`${notes}/old`)).body.metadata['resourceVersion']).toBe(String(revisions[1]))
  })

  test('send ADDED and DELETED when objects enter and leave a selection', async () => {
    const since = String((await api.get(notes)).body.metadata['resourceVersion'])
    await api.merge(`${notes}/old`, { metadata: { labels: { age: 'new' } } })
    await api.merge(`${notes}/old`, { metadata: { labels: { age: 'old' } } })
    const watch = `${notes}?watch=true&timeoutSeconds=1&resourceVersion=${since}&labelSelector=age%3D`
    const [from, to] = [await api.events(`${watch}old`), await api.events(`${watch}new`)]
    expect([from, to].map((events) => events.map(({ type }) => type))).toEqual([
      ['DELETED', 'ADDED'],
      ['ADDED', 'DELETED'],
    ])
  })

  test('compact the oldest changes', async () => {
    const since = String((await api.get(notes)).body.metadata['resourceVersion'])
    for (let i = 0; i <= 1000; i++)
      storage.put({ ...storage.notes.get('default/old')!, spec: { text: String(i) } } as KubeObject)
    const list = await api.get(notes)
    const [first] = await api.events(`${notes}?watch=true&timeoutSeconds=1&resourceVersion=${since}`)
    expect([first!.type, (first!.object as JsonObject)['code'], names(list.body)]).toEqual(['ERROR', 410, ['old']])
  })

  test('end with a 410 when the storage has replaced its objects, which then have a new revision', async () => {
    const list = await api.get(notes)
    const since = String(list.body.metadata['resourceVersion'])
    const watch = `${notes}?watch=true&resourceVersion=${since}`
    const open = api.events(watch)
    await turns()
    storage.notes.set('default/new', {
      ...storage.notes.get('default/old')!,
      metadata: { name: 'new', namespace: 'default' },
    })
    storage.tell({ type: 'replaced' })
    const ends = [await open, await api.events(watch)]
    expect(ends.map((events) => events.map(({ type, object }) => [type, (object as JsonObject)['code']]))).toEqual([
      [['ERROR', 410]],
      [['ERROR', 410]],
    ])
    const after = await api.get(notes)
    expect(names(after.body)).toEqual(['new', 'old'])
    const items = after.body['items'] as readonly KubeObject[]
    const revision = Number(items[1]!.metadata.resourceVersion)
    expect(revision).toBeGreaterThan(Number((list.body['items'] as readonly KubeObject[])[0]!.metadata.resourceVersion))
    storage.put({ ...storage.notes.get('default/old')!, spec: { text: 'later' } } as KubeObject)
    const next = await api.events(
      `${notes}?watch=true&timeoutSeconds=1&resourceVersion=${String(after.body.metadata['resourceVersion'])}`,
    )
    expect(next.map(({ type, object }) => [type, object.metadata['name']])).toEqual([['MODIFIED', 'old']])
  })

  test('reject revisions before the start', async () => {
    const [event] = await api.events(`${notes}?watch=true&timeoutSeconds=1&resourceVersion=1`)
    expect([event!.type, (event!.object as JsonObject)['code'], (event!.object as JsonObject)['reason']]).toEqual([
      'ERROR',
      410,
      'Expired',
    ])
  })
})

describe('a server with resource storages', () => {
  test('rejects a second storage for the same resource', async () => {
    await expect(api.server.addStorage(resource())).rejects.toMatchObject({ code: 'ResourceServed' })
    served[Symbol.dispose]()
    expect((await api.get(notes)).status).toBe(404)
    await api.server.addStorage(resource())
    expect((await api.get(notes)).status).toBe(200)
  })

  test('serves only the verbs of the methods', async () => {
    served[Symbol.dispose]()
    const readOnly: RestStorage = {
      get: (key) => storage.get(key),
      list: (namespace) => storage.list(namespace),
      watch: (listener) => storage.watch(listener),
    }
    await api.server.addStorage(resource({ storage: readOnly }))
    const answers = [await api.post(notes, note('a', 'x')), await api.delete(`${notes}/old`), await api.get(notes)]
    expect(answers.map(({ status }) => status)).toEqual([405, 405, 200])
  })

  test('responds 500 to an error of the storage, and goes on', async () => {
    storage.create = () => Promise.reject(new Error('the disk is full'))
    expect((await api.post(notes, note('a', 'x'))).status).toBe(500)
    expect((await api.get(notes)).status).toBe(200)
  })

  test('serializes writes of one object', async () => {
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_unused, i) =>
        api.merge(`${notes}/old`, { metadata: { labels: { [`l${i}`]: 'x' } } }),
      ),
    )
    expect(answers.every(({ status }) => status === 200)).toBe(true)
    expect(Object.keys(storage.notes.get('default/old')!.metadata.labels!).length).toBe(21)
  })

  test('deletes the objects of a terminating namespace', async () => {
    await api[Symbol.asyncDispose]()
    storage = new NoteStorage()
    api = await TestApi.start({ controllers: ['namespace'] })
    await api.server.addStorage(resource())
    await api.namespace('gone')
    await api.post('/apis/example.com/v1/namespaces/gone/notes', note('a', 'x'))
    await api.delete('/api/v1/namespaces/gone')
    while ((await api.get('/api/v1/namespaces/gone')).status !== 404) await new Promise((r) => setImmediate(r))
    expect(storage.notes.size).toBe(0)
  })

  test('serves an informer', async () => {
    const Note = kind('example.com/v1', 'Note', { plural: 'notes', namespaced: true })
    await using manager = await Manager.start({ client: api.server.client(), setup: () => undefined })
    using use = manager.use(Note)
    const text = (): unknown => specOf(use.informer.lastKnown.get('default/old'))['text']
    while (text() !== 'before') await new Promise((resolve) => setImmediate(resolve))
    storage.put({ ...storage.notes.get('default/old')!, spec: { text: 'pushed' } } as KubeObject)
    while (text() !== 'pushed') await new Promise((resolve) => setImmediate(resolve))
    expect(use.informer.lastKnown.size).toBe(1)
  })
})
