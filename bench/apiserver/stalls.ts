// The time that one request holds all others: the longest iteration of the event loop while the server handles the
// largest requests of one tenant. Server and probe share a process; the requests come in by `inject`.
import { ApiServer } from '@fairlead/apiserver'
import type { Figure } from '../figure.ts'

const user = { name: 'admin', groups: ['system:masters'] }
const configMaps = '/api/v1/namespaces/default/configmaps'
const pods = '/api/v1/namespaces/default/pods'
const things = '/apis/stalls.example.com/v1/namespaces/default/things'

const many = <T>(count: number, item: (index: number) => T): T[] => Array.from({ length: count }, (_, i) => item(i))
const named = (count: number, value: (index: number) => unknown): Record<string, unknown> =>
  Object.fromEntries(many(count, (i) => [`k${i}`, value(i)]))

/** Measures the iterations of the event loop while it exists: milliseconds of processor time of its thread. */
class IterationProbe implements Disposable {
  longest = 0
  #last = threadMs()
  #isOver = false

  constructor() {
    const iterate = (): void => {
      const now = threadMs()
      this.longest = Math.max(this.longest, now - this.#last)
      this.#last = now
      if (!this.#isOver) setImmediate(iterate)
    }
    setImmediate(iterate)
  }

  [Symbol.dispose](): void {
    this.#isOver = true
  }
}

function threadMs(): number {
  const { user: inUser, system } = process.threadCpuUsage()
  return (inUser + system) / 1000
}

interface LargeRequest {
  readonly what: string
  readonly method: string
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: object | string
}

const json = 'application/json'
const applied = 'application/apply-patch+yaml'
const configMap = (fields: object, metadata: object = {}): object => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { generateName: 'c-', ...metadata },
  ...fields,
})
const pod = (fields: object): object => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { generateName: 'p-' },
  spec: { containers: [{ name: 'c', image: 'i' }], ...fields },
})
const thing = (spec: object, metadata: object = { generateName: 't-' }): object => ({
  apiVersion: 'stalls.example.com/v1',
  kind: 'Thing',
  metadata,
  spec,
})
const post = (what: string, path: string, body: object): LargeRequest => ({ what, method: 'POST', path, body })
const apply = (what: string, path: string, body: object | string): LargeRequest => ({
  what,
  method: 'PATCH',
  path: `${path}?fieldManager=m&force=true`,
  headers: { 'content-type': applied },
  body,
})
const list = (what: string, accept: string, query = ''): LargeRequest => ({
  what,
  method: 'GET',
  path: `/api/v1/namespaces/large/configmaps${query}`,
  headers: { accept },
})

const tableWithObjects = 'application/json;as=Table;v=v1;g=meta.k8s.io'
const flat = named(29_000, () => 'v')
const elements = many(9_000, (i) => ({ name: `n${i}`, value: i }))

/** The requests; bodies just below the limit of stored objects, or of bodies where they are refused. */
const requests: readonly LargeRequest[] = [
  list('list of 22 MB, JSON', json),
  list('list of 22 MB, pretty', json, '?pretty=true'),
  list('list of 22 MB, YAML', 'application/yaml'),
  list('list of 22 MB, protobuf', 'application/vnd.kubernetes.protobuf'),
  list('list of 22 MB, Table with objects', tableWithObjects, '?includeObject=Object'),
  post('create a ConfigMap of 29,000 keys', configMaps, configMap({ data: flat }, { name: 'flat' })),
  apply('apply a ConfigMap of 29,000 keys', `${configMaps}/applied`, configMap({ data: flat }, { name: 'applied' })),
  apply('apply it again', `${configMaps}/applied`, configMap({ data: flat }, { name: 'applied' })),
  apply('apply without the keys', `${configMaps}/applied`, configMap({}, { name: 'applied' })),
  { what: 'get it as YAML', method: 'GET', path: `${configMaps}/flat`, headers: { accept: 'application/yaml' } },
  {
    what: 'get it as protobuf',
    method: 'GET',
    path: `${configMaps}/flat`,
    headers: { accept: 'application/vnd.kubernetes.protobuf' },
  },
  post('create a ConfigMap of 29,000 labels', configMaps, configMap({}, { labels: named(29_000, () => 'v') })),
  post('create a ConfigMap of 250,000 unknown fields', configMaps, configMap(named(250_000, () => 1))),
  post('create a ConfigMap of 29,000 unknown fields', configMaps, configMap(named(29_000, () => 1))),
  post('create a ConfigMap of 1 MB', configMaps, configMap({ data: { text: 'x'.repeat(1_000_000) } })),
  post(
    'create a Pod of 9,000 containers',
    pods,
    pod({ containers: many(9_000, (i) => ({ name: `c${i}`, image: 'i' })) }),
  ),
  post(
    'create a Pod of 9,000 variables',
    pods,
    pod({ containers: [{ name: 'c', image: 'i', env: many(9_000, (i) => ({ name: `E${i}`, value: 'v' })) }] }),
  ),
  post('create a Thing, map of 29,000', things, thing({ map: flat })),
  post('create a Thing, list of 9,000 by key', things, thing({ list: elements })),
  post('create a Thing, set of 29,000', things, thing({ set: many(29_000, (i) => `v${i}`) })),
  post('create a Thing, 14,000 items with a CEL rule', things, thing({ ruled: many(14_000, (i) => ({ size: i })) })),
  post('create a Thing, one rule at its cost limit', things, thing({ pairs: many(900, (i) => `v${i}`) })),
  apply('apply a Thing, list of 9,000 by key', `${things}/applied`, thing({ list: elements }, { name: 'applied' })),
  apply(
    'apply a Thing, list of 9,000 by key, again',
    `${things}/applied`,
    thing({ list: elements }, { name: 'applied' }),
  ),
  apply(
    'apply a Thing, free form of 29,000 values',
    `${things}/free`,
    thing({ free: many(7_000, (i) => ({ a: i, b: [i] })) }, { name: 'free' }),
  ),
  post('create a Thing, 29,000 bad values', things, thing({ set: many(29_000, (i) => i) })),
  post('create a Thing, 250,000 unknown fields', things, thing(named(250_000, () => 1))),
  post('create a Thing, 29,000 unknown fields', things, thing(named(29_000, () => 1))),
  apply('apply a ConfigMap, 60 kB of YAML', `${configMaps}/yaml`, yaml()),
]

function yaml(): string {
  const head = 'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: yaml\ndata:\n'
  return `${head}${many(4_000, (i) => `  k${i}: v${i}`).join('\n')}\n`
}

const listOf = (items: object): object => ({ type: 'array', items })
const definition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'things.stalls.example.com' },
  spec: {
    group: 'stalls.example.com',
    scope: 'Namespaced',
    names: { plural: 'things', singular: 'thing', kind: 'Thing', listKind: 'ThingList' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: {
              spec: {
                type: 'object',
                properties: {
                  map: { type: 'object', additionalProperties: { type: 'string' } },
                  list: {
                    ...listOf({
                      type: 'object',
                      required: ['name'],
                      properties: {
                        name: { type: 'string' },
                        value: { type: 'integer' },
                        mode: { type: 'string', default: 'a' },
                      },
                    }),
                    'x-kubernetes-list-type': 'map',
                    'x-kubernetes-list-map-keys': ['name'],
                  },
                  set: { ...listOf({ type: 'string' }), 'x-kubernetes-list-type': 'set' },
                  ruled: {
                    maxItems: 20_000,
                    ...listOf({
                      type: 'object',
                      properties: { size: { type: 'integer' } },
                      'x-kubernetes-validations': [{ rule: 'self.size >= 0' }],
                    }),
                  },
                  pairs: {
                    maxItems: 900,
                    ...listOf({ type: 'string', maxLength: 8 }),
                    'x-kubernetes-validations': [{ rule: 'self.all(x, self.exists_one(y, y == x))' }],
                  },
                  free: listOf({ type: 'object', 'x-kubernetes-preserve-unknown-fields': true }),
                },
              },
            },
          },
        },
      },
    ],
  },
}

/** Returns a function that sends the request; its body is encoded here, outside of the measurement. */
function prepared(server: ApiServer, { method, path, headers, body }: LargeRequest): () => Promise<number> {
  const text = body === undefined || typeof body === 'string' ? body : JSON.stringify(body)
  const bytes = text === undefined ? undefined : new TextEncoder().encode(text)
  return async () => {
    const response = await server.inject({
      method,
      path,
      user,
      headers: { 'content-type': json, ...headers },
      ...(bytes === undefined ? {} : { body: bytes }),
    })
    return response.status
  }
}

const send = (server: ApiServer, request: LargeRequest): Promise<number> => prepared(server, request)()

const limitMs = 100

/** Measures the longest iteration of the event loop for each of the requests. */
export async function stalls(): Promise<Figure[]> {
  await using server = await ApiServer.start({ controllers: ['crd'] })
  await send(server, post('', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', definition))
  while ((await send(server, { what: '', method: 'GET', path: things })) !== 200)
    await new Promise((resolve) => setImmediate(resolve))
  await send(
    server,
    post('', '/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'large' } }),
  )
  const text = 'x'.repeat(500)
  for (let index = 0; index < 44; index++) {
    const data = named(900, () => text)
    await send(server, post('', '/api/v1/namespaces/large/configmaps', configMap({ data }, { name: `c${index}` })))
  }
  const figures: Figure[] = []
  for (const request of requests) {
    const run = prepared(server, request)
    // Lets the garbage of the preparation go first.
    await new Promise((resolve) => setImmediate(resolve))
    const before = performance.now()
    using probe = new IterationProbe()
    const status = await run()
    await new Promise((resolve) => setImmediate(resolve))
    const took = performance.now() - before
    figures.push({
      figure: `longest iteration: ${request.what}`,
      asked: `${limitMs} ms`,
      reached: `${probe.longest.toFixed(0)} ms of ${took.toFixed(0)} ms (${status})`,
      holds: probe.longest <= limitMs,
    })
  }
  return figures
}
