// The contract of resource storages: optional methods, pagination, dry runs, subresources, over every transport.
import { once } from 'node:events'
import { request } from 'node:https'
import type { IncomingMessage } from 'node:http'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { kind } from '@fairlead/client'
import type { SubresourceRequest, ResourceStorage, RestStorage, SubresourceHandlers } from '@fairlead/controller'
import { notFound } from '@fairlead/kube'
import type { JsonObject, KubeObject } from '@fairlead/kube'
import { failureOf, TestApi } from '../support/api.ts'
import { findKubectl, Kubectl } from '../../../../test/support/kubectl.ts'
import { playNotes } from '../support/note-transcript.ts'
import { note, noteDefinition, NoteStorage, PagedNotes, textOf } from '../support/notes.ts'

const notes = '/apis/notes.example.com/v1/namespaces/default/notes'
const definition = noteDefinition()
const token = 'a-token'
let api: TestApi
let storage: NoteStorage

beforeEach(async () => {
  storage = new NoteStorage()
  api = await TestApi.start({ tokens: [{ token, user: { name: 'ann', groups: ['system:masters'] } }] })
})

afterEach(() => api[Symbol.asyncDispose]())

function serve(more: Partial<ResourceStorage> = {}): Promise<Disposable> {
  return api.server.addStorage({ definition, storage, ...more })
}

function names({ items }: JsonObject): string[] {
  return (items as unknown as readonly KubeObject[]).map(({ metadata }) => metadata.name!)
}

interface Sent {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  readonly text: string
}

/** Sends requests over a socket. */
class Https {
  readonly #port: number
  readonly #ca: string

  private constructor(port: number, ca: string) {
    this.#port = port
    this.#ca = ca
  }

  static async open(): Promise<Https> {
    const { port, certificateAuthority } = await api.server.listen()
    return new Https(port, certificateAuthority)
  }

  begin(method: string, path: string, body?: string, type = 'application/json'): ReturnType<typeof request> {
    const headers = {
      authorization: `Bearer ${token}`,
      ...(body === undefined ? {} : { 'content-type': type, 'content-length': Buffer.byteLength(body) }),
    }
    const sent = request({ host: '127.0.0.1', port: this.#port, ca: this.#ca, method, path, headers, agent: false })
    sent.on('error', () => undefined)
    sent.end(body)
    return sent
  }

  async send(method: string, path: string, body?: string, type?: string): Promise<Sent> {
    const [answer] = (await once(this.begin(method, path, body, type), 'response')) as [IncomingMessage]
    let text = ''
    for await (const chunk of answer) text += String(chunk)
    return { status: answer.statusCode!, headers: answer.headers, text }
  }
}

describe('a resource storage that composes names', () => {
  const uid = '00000000-0000-5000-8000-000000000001'

  function named(): RestStorage {
    const composed: RestStorage = storage.withOnly('get', 'list', 'watch', 'create', 'update', 'delete')
    return { ...composed, identity: (object) => ({ name: `note.${textOf(object)}`, uid }) }
  }

  test('creates objects without a name, and ignores the names of clients', async () => {
    await serve({ storage: named() })
    const unnamed = await api.post(notes, { ...note('', 'one'), metadata: {} })
    const renamed = await api.post(notes, note('mine', 'two'))
    expect([unnamed.status, renamed.status]).toEqual([201, 201])
    expect(unnamed.body['metadata']).toMatchObject({ name: 'note.one', uid })
    expect(names((await api.get(notes)).body)).toEqual(['note.one', 'note.two'])
    expect((await api.post(notes, note('other', 'one'))).status).toBe(409)
  })

  test('validates the composed name', async () => {
    await serve({ storage: named() })
    expect(failureOf(await api.post(notes, note('fine', 'Not A Name')))).toMatchObject({
      status: 422,
      message: expect.stringContaining('metadata.name: Invalid value: "note.Not A Name"') as string,
    })
  })

  test('answers a dry run with the composed name and creates nothing', async () => {
    await serve({ storage: named() })
    const tried = await api.post(`${notes}?dryRun=All`, note('mine', 'one'))
    expect([tried.status, (tried.body['metadata'] as JsonObject)['name'], storage.notes.size]).toEqual([
      201,
      'note.one',
      0,
    ])
  })
})

test('prints the columns of a resource storage', async () => {
  await serve({
    columns: [
      { name: 'Length', type: 'integer', description: 'Length of the text.', cell: (object) => textOf(object).length },
      { name: 'Empty', type: 'boolean', description: 'No text.', priority: 1, cell: (object) => textOf(object) === '' },
    ],
  })
  await api.post(notes, note('a', 'one'))
  const table = await api.get(notes, { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' })
  expect(table.body).toMatchObject({
    columnDefinitions: [
      { name: 'Name', type: 'string', format: 'name' },
      { name: 'Length', type: 'integer', format: '', description: 'Length of the text.', priority: 0 },
      { name: 'Empty', type: 'boolean', format: '', description: 'No text.', priority: 1 },
    ],
    rows: [{ cells: ['a', 3, false] }],
  })
})

describe('a resource storage without some methods', () => {
  test('serves get, list and create without watch', async () => {
    await serve({ storage: storage.withOnly('get', 'list', 'create') })
    expect((await api.get('/apis/notes.example.com/v1')).body['resources']).toMatchObject([
      { name: 'notes', verbs: ['get', 'list', 'create'] },
      { name: 'notes/status' },
      { name: 'notes/scale' },
    ])
    const created = await api.post(notes, note('a', 'one'))
    const list = await api.get(notes)
    const others = [await api.put(`${notes}/a`, created.body), await api.delete(`${notes}/a`)]
    expect([created.status, names(list.body), ...others.map(({ status }) => status)]).toEqual([201, ['a'], 405, 405])
    expect(failureOf(await api.get(`${notes}?watch=true`))).toEqual({
      status: 405,
      reason: 'MethodNotAllowed',
      message: 'watch is not supported on resources of kind "notes.notes.example.com"',
      details: { group: 'notes.example.com', kind: 'notes' },
    })
  })

  test.each([
    ['update without get', ['list', 'watch', 'update']],
    ['update without watch', ['get', 'list', 'update']],
    ['delete without watch', ['get', 'list', 'delete']],
    ['watch without list', ['get', 'watch']],
    ['nothing at all', ['validate']],
  ] as const)('%s is refused', async (_title, methods) => {
    await expect(serve({ storage: storage.withOnly(...methods) })).rejects.toMatchObject({ code: 'StorageIncomplete' })
  })

  test('rejects an apply of a missing object without create', async () => {
    await serve({ storage: storage.withOnly('get', 'list', 'watch', 'update') })
    const applied = await api.apply(`${notes}/a?fieldManager=m`, note('a', 'one'))
    expect([applied.status, storage.notes.size]).toEqual([405, 0])
  })

  test('answers a review when it has create alone', async () => {
    const asked: (readonly [string, string])[] = []
    const answers: RestStorage = {
      create: async (object, { user }) => {
        asked.push([user.name, textOf(object)])
        return { ...object, status: { length: textOf(object).length } }
      },
    }
    await serve({ storage: answers })
    const answered = await api.post(notes, { ...note('', 'how long'), metadata: {} })
    const tooLong = await api.post(notes, note('', 'far too long a question'))
    const strict = await api.post(`${notes}?fieldValidation=Strict`, { ...note('', 'x'), junk: 1 })
    const dry = await api.post(`${notes}?dryRun=All`, note('', 'dry'))
    expect([answered.status, answered.body['spec'], answered.body['status']]).toEqual([
      201,
      { text: 'how long', copies: 1 },
      { length: 8 },
    ])
    expect([tooLong.status, strict.status, dry.status, dry.body['status']]).toEqual([422, 400, 201, undefined])
    expect([asked, (await api.get(notes)).status]).toEqual([[['admin', 'how long']], 405])
  })
})

describe('dry runs of a resource storage', () => {
  test('are rejected for the operations in noDryRun only', async () => {
    const limited = Object.assign(storage.withOnly('get', 'list', 'watch', 'create', 'update', 'delete'), {
      noDryRun: ['create', 'delete'] as const,
    })
    await serve({ storage: limited })
    await api.post(notes, note('a', 'one'))
    const answers = [
      await api.post(`${notes}?dryRun=All`, note('b', 'two')),
      await api.apply(`${notes}/c?dryRun=All&fieldManager=m`, note('c', 'three')),
      await api.delete(`${notes}/a?dryRun=All`),
      await api.delete(`${notes}?dryRun=All`),
      await api.send(
        'PATCH',
        `${notes}/a?dryRun=All`,
        { spec: { text: 'x' } },
        { contentType: 'application/merge-patch+json' },
      ),
    ]
    expect(answers.map(({ status, body }) => [status, body['message']])).toEqual([
      [400, 'dryRun is not supported by create of notes.notes.example.com'],
      [400, 'dryRun is not supported by create of notes.notes.example.com'],
      [400, 'dryRun is not supported by delete of notes.notes.example.com'],
      [400, 'dryRun is not supported by delete of notes.notes.example.com'],
      [200, undefined],
    ])
    expect([[...storage.notes.keys()], storage.writes]).toEqual([['default/a'], ['create a by admin']])
    const { body } = await api.get('/openapi/v3/apis/notes.example.com/v1')
    const paths = body['paths'] as Record<string, Record<string, { parameters?: readonly { name: string }[] }>>
    const offers = (path: string, method: string): boolean =>
      paths[path]![method]!.parameters!.some(({ name }) => name === 'dryRun')
    const collection = '/apis/notes.example.com/v1/namespaces/{namespace}/notes'
    expect([
      offers(collection, 'post'),
      offers(`${collection}/{name}`, 'put'),
      offers(`${collection}/{name}`, 'delete'),
    ]).toEqual([false, true, false])
  })
})

describe('a resource storage that paginates', () => {
  let paged: PagedNotes

  beforeEach(async () => {
    paged = new PagedNotes()
    storage = paged
    await serve({ storage: paged })
    for (const name of ['a', 'b', 'c', 'd', 'e']) {
      const labels: JsonObject = name < 'd' ? { half: 'first' } : {}
      await api.post(notes, note(name, name, { labels }))
    }
    paged.queries.length = 0
  })

  test('receives selectors and limits, and its order is preserved', async () => {
    const first = await api.get(`${notes}?limit=2`)
    const more = `${notes}?limit=2&continue=${String(first.body.metadata['continue'])}`
    const [second, again] = [await api.get(more), await api.get(more)]
    const last = await api.get(`${notes}?limit=2&continue=${String(second.body.metadata['continue'])}`)
    expect([first, second, again, last].map(({ body }) => names(body))).toEqual([
      ['e', 'd'],
      ['c', 'b'],
      ['c', 'b'],
      ['a'],
    ])
    expect([first, second, last].map(({ body }) => body.metadata['remainingItemCount'])).toEqual([3, 1, undefined])
    const selected = await api.get(`${notes}?limit=2&labelSelector=half%3Dfirst&fieldSelector=metadata.name!%3Dc`)
    expect([names(selected.body), selected.body.metadata['continue']]).toEqual([['b'], expect.stringMatching(/./)])
    expect(paged.queries).toEqual([
      'default   2 -',
      'default   2 from:2',
      'default   2 from:2',
      'default   2 from:4',
      'default half=first metadata.name!=c 2 -',
    ])
  })

  test('is read to the last page for a list without limit', async () => {
    const all = await api.get('/apis/notes.example.com/v1/notes')
    const events = await api.events(`${notes}?watch=true&timeoutSeconds=1&labelSelector=half`)
    await api.delete(`${notes}?labelSelector=half`)
    expect([names(all.body), events.map(({ object }) => object.metadata['name']), [...paged.notes.keys()]]).toEqual([
      ['e', 'd', 'c', 'b', 'a'],
      ['c', 'b', 'a'],
      ['default/d', 'default/e'],
    ])
  })

  test('gives 410 for an expired continue token and 400 for one that it does not know', async () => {
    const first = await api.get(`${notes}?limit=2`)
    await api.post(notes, note('f', 'f'))
    const expired = await api.get(`${notes}?limit=2&continue=${String(first.body.metadata['continue'])}`)
    const rest = await api.get(`${notes}?limit=2&continue=${String(expired.body.metadata['continue'])}`)
    expect([expired.status, names(rest.body)]).toEqual([410, ['d', 'c']])
    const forged = Buffer.from(JSON.stringify({ v: 'meta.k8s.io/v1', rv: -1, start: 'junk' })).toString('base64url')
    expect((await api.get(`${notes}?limit=2&continue=${forged}`)).status).toBe(400)
  })
})

describe('subresources of a resource storage', () => {
  const calls: SubresourceRequest[] = []
  const stamp: SubresourceHandlers = {
    name: 'stamp',
    apiVersion: 'notes.example.com/v1',
    kind: 'Stamp',
    create: async (object, call) => {
      calls.push(call)
      const { namespace, name } = call.key
      if (!storage.notes.has(`${namespace}/${name}`))
        throw notFound({ group: 'notes.example.com', plural: 'notes' }, name)
      return { ...object, status: { by: call.user.name, dryRun: call.dryRun } }
    },
  }
  const lines: SubresourceHandlers = {
    name: 'lines',
    get: async ({ query }) => ({
      contentType: 'text/x-lines',
      chunks: (async function* () {
        for (let i = 0; i < Number(query.get('count')); i++) yield Buffer.from(`line ${i}\n`)
      })(),
    }),
  }

  test('handle their own requests: an action, a stream', async () => {
    await serve({ subresources: [stamp, lines] })
    await api.post(notes, note('a', 'one'))
    const { body } = await api.get('/apis/notes.example.com/v1')
    expect(body['resources']).toMatchObject([
      { name: 'notes' },
      { name: 'notes/status' },
      { name: 'notes/scale' },
      { name: 'notes/stamp', kind: 'Stamp', group: 'notes.example.com', version: 'v1', verbs: ['create'] },
      { name: 'notes/lines', kind: 'Note', verbs: ['get'] },
    ])
    const body2 = { apiVersion: 'notes.example.com/v1', kind: 'Stamp', ink: 'red' }
    const stamped = await api.post(`${notes}/a/stamp`, body2)
    expect([stamped.status, stamped.body]).toEqual([
      201,
      { ...body2, metadata: {}, status: { by: 'admin', dryRun: false } },
    ])
    const refused = [
      await api.post(`${notes}/none/stamp`, body2),
      await api.post(`${notes}/a/stamp?dryRun=All`, body2),
      await api.post(`${notes}/a/stamp`, { ...body2, kind: 'Other' }),
      await api.get(`${notes}/a/stamp`),
      await api.post(`${notes}/a/lines`, body2),
    ]
    expect([refused.map(({ status }) => status), calls.length]).toEqual([[404, 400, 400, 405, 405], 2])
    expect(refused[1]!.body['message']).toBe('dryRun is not supported by create of notes.notes.example.com/stamp')
    const read = await api.get(`${notes}/a/lines?count=3`)
    expect([read.headers['content-type'], read.text]).toEqual(['text/x-lines', 'line 0\nline 1\nline 2\n'])
  })

  test('are admitted by the policies of the cluster', async () => {
    await serve({ subresources: [{ ...stamp, canDryRun: true }] })
    await api.post(notes, note('a', 'one'))
    const group = '/apis/admissionregistration.k8s.io/v1'
    const rule = {
      apiGroups: ['notes.example.com'],
      apiVersions: ['*'],
      operations: ['CREATE'],
      resources: ['notes/stamp'],
    }
    await api.post(`${group}/validatingadmissionpolicies`, {
      metadata: { name: 'p' },
      spec: {
        matchConstraints: { resourceRules: [rule] },
        validations: [{ expression: "object.ink == 'red'", message: 'red ink only' }],
      },
    })
    await api.post(`${group}/validatingadmissionpolicybindings`, {
      metadata: { name: 'b' },
      spec: { policyName: 'p', validationActions: ['Deny'] },
    })
    const stampOf = (ink: string): JsonObject => ({ apiVersion: 'notes.example.com/v1', kind: 'Stamp', ink })
    const [red, blue] = [
      await api.post(`${notes}/a/stamp?dryRun=All`, stampOf('red')),
      await api.post(`${notes}/a/stamp`, stampOf('blue')),
    ]
    expect([red.status, red.body['status'], blue.status]).toEqual([201, { by: 'admin', dryRun: true }, 422])
  })

  test('serve scale by the paths of the definition', async () => {
    await serve()
    await api.post(notes, note('a', 'one'))
    await api.send(
      'PATCH',
      `${notes}/a/scale`,
      { spec: { replicas: 4 } },
      { contentType: 'application/merge-patch+json' },
    )
    const scale = await api.get(`${notes}/a/scale`)
    expect([scale.body.kind, scale.body['spec'], scale.body['status']]).toEqual([
      'Scale',
      { replicas: 4 },
      { replicas: 4 },
    ])
    expect(storage.writes).toEqual(['create a by admin', 'update a/scale by admin'])
  })
})

const binary = findKubectl('1.33')
test.skipIf(binary === undefined)(
  `kubectl 1.33 works with them${binary === undefined ? ' (not found)' : ''}`,
  async () => {
    await serve()
    using kubectl = new Kubectl(binary!, (await api.server.listen()).kubeconfig)
    await playNotes(kubectl)
    expect(storage.notes.size).toBe(0)
  },
)

describe('a resource storage over sockets', () => {
  test('sends initial events, bookmarks and the end of watches', async () => {
    await serve()
    const https = await Https.open()
    for (const name of ['a', 'b']) await api.post(notes, note(name, name))
    const query =
      'watch=true&timeoutSeconds=3&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan'
    const answer = await https.send('GET', `${notes}?${query}`)
    const events = answer.text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { type: string; object: KubeObject })
    expect(events.map(({ type, object }) => [type, object.metadata.name, object.metadata.annotations])).toEqual([
      ['ADDED', 'a', undefined],
      ['ADDED', 'b', undefined],
      ['BOOKMARK', undefined, { 'k8s.io/initial-events-end': 'true' }],
      ['BOOKMARK', undefined, undefined],
    ])
    expect(answer.headers['transfer-encoding']).toBe('chunked')
  })

  test('enforces its maxBodyBytes for every client', async () => {
    const big = 4 * 1024 * 1024
    await serve({ maxBodyBytes: 5 * 1024 * 1024, maxObjectBytes: 5 * 1024 * 1024 })
    const https = await Https.open()
    const sized = (name: string, bytes: number): string =>
      JSON.stringify({ ...note(name, 'x'), status: { junk: 'x'.repeat(bytes) } })
    const statuses = [
      (await https.send('POST', notes, sized('a', big))).status,
      (await api.post(notes, sized('b', big))).status,
      (await https.send('POST', notes, sized('c', big + 1024 * 1024))).status,
      (await api.post(notes, sized('d', big + 1024 * 1024))).status,
      (await https.send('POST', '/api/v1/namespaces/default/configmaps', sized('e', big))).status,
    ]
    expect([statuses, [...storage.notes.keys()]]).toEqual([
      [201, 201, 413, 413, 413],
      ['default/a', 'default/b'],
    ])
  })

  test('enforces a maxBodyBytes below the default', async () => {
    await serve({ maxBodyBytes: 1000 })
    const https = await Https.open()
    const body = JSON.stringify(note('a', 'x', { annotations: { long: 'x'.repeat(1000) } }))
    expect([(await https.send('POST', notes, body)).status, storage.notes.size]).toEqual([413, 0])
  })

  test.each(['get', 'list', 'create', 'update', 'delete', 'watch'] as const)(
    'a client that hangs up ends its %s in the storage',
    async (verb) => {
      const hanging = Promise.withResolvers<AbortSignal>()
      const hang = (signal: AbortSignal): Promise<never> => {
        hanging.resolve(signal)
        return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)))
      }
      const errors: unknown[] = []
      await api[Symbol.asyncDispose]()
      api = await TestApi.start({
        tokens: [{ token, user: { name: 'ann', groups: ['system:masters'] } }],
        onError: (error) => errors.push(error),
      })
      await serve()
      await api.post(notes, note('a', 'one'))
      const https = await Https.open()
      if (verb === 'get') storage.get = (_key, signal) => hang(signal)
      if (verb === 'list' || verb === 'watch') storage.list = (_namespace, signal) => hang(signal)
      if (verb === 'create') storage.create = (_object, { signal }) => hang(signal)
      if (verb === 'update') storage.update = (_object, _old, { signal }) => hang(signal)
      if (verb === 'delete') storage.delete = (_old, { signal }) => hang(signal)
      const asked = {
        get: () => https.begin('GET', `${notes}/a`),
        list: () => https.begin('GET', notes),
        watch: () => https.begin('GET', `${notes}?watch=true`),
        create: () => https.begin('POST', notes, JSON.stringify(note('b', 'x'))),
        update: () => https.begin('PATCH', `${notes}/a`, '{"spec":{"text":"y"}}', 'application/merge-patch+json'),
        delete: () => https.begin('DELETE', `${notes}/a`),
      }[verb]()
      const signal = await hanging.promise
      expect(signal.aborted).toBe(false)
      asked.destroy()
      if (!signal.aborted) await once(signal, 'abort')
      expect([signal.aborted, errors]).toEqual([true, []])
    },
  )
})

test('aborts the read of an in-process client that gives up', async () => {
  const hanging = Promise.withResolvers<AbortSignal>()
  storage.get = (_key, signal) => {
    hanging.resolve(signal)
    return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)))
  }
  await serve()
  const caller = new AbortController()
  const Note = kind('notes.example.com/v1', 'Note', { plural: 'notes', namespaced: true })
  const read = api.server.client().get(Note, 'default/a', { signal: caller.signal })
  const failed = expect(read).rejects.toThrow()
  const signal = await hanging.promise
  caller.abort(new Error('enough'))
  expect(signal.aborted).toBe(true)
  await failed
})

test('aborts its requests when the server stops', async () => {
  const hanging = Promise.withResolvers<AbortSignal>()
  storage.get = (_key, signal) => {
    hanging.resolve(signal)
    return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)))
  }
  const served = await serve()
  const answer = api.get(`${notes}/a`)
  const signal = await hanging.promise
  served[Symbol.dispose]()
  expect([signal.aborted, (await answer).status]).toEqual([true, 500])
})
