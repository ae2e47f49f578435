// The cost of references grows with their number, not with its square: references of one object, dependents of one
// referent, chains and cycles, rules and their targets; in steps that V8 counts.
import type { JsonObject, KubeObject } from '@fairlead/kube'
import { stringifyJson } from '@fairlead/kube'
import { cyclesOf, decideDeletion, edgesOf, ReferenceIndex, references, resolveReferences } from '@fairlead/references'
import type { Dependent, Edge, ObjectId, ReferenceRow, Referents, ResolvedReference } from '@fairlead/references'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { expectSteadyGrowth, growsTooFast, stepsOf } from '../../../test/growth/expect-growth.ts'
import { manyOf } from '../../../test/growth/growing-schema.ts'
import { StepCounter } from '../../../test/growth/step-counter.ts'

let counter: StepCounter
beforeAll(async () => void (counter = await StepCounter.start()))
afterAll(() => counter[Symbol.asyncDispose]())

const group = 'test.dev'
const idOf = (at: number | string): ObjectId => ({ group, kind: 'App', namespace: 'a', name: `o${at}` })
const rowOf = (more: Partial<ReferenceRow>): ReferenceRow => ({
  fieldPath: 'host',
  refPath: 'hostRef',
  list: false,
  required: false,
  group,
  version: 'v1',
  kind: 'App',
  valuePath: 'spec.host',
  waitFor: 'Value',
  bothSet: 'prefer_external',
  ...more,
})
const list = rowOf({ fieldPath: 'hosts', refPath: 'hostRefs', list: true })
const items = rowOf({ fieldPath: 'items[].host', refPath: 'items[].hostRef' })
const found = (name: string): KubeObject => ({
  apiVersion: `${group}/v1`,
  kind: 'App',
  metadata: { name, namespace: 'a', uid: `uid-${name}`, generation: 1 },
  spec: { host: `host-of-${name}` },
})
const referents = (index?: ReferenceIndex, isThere = true): Referents => ({
  read: (_kind, _namespace, name) => (isThere ? { state: 'found', object: found(name) } : { state: 'absent' }),
  permission: () => 'granted',
  cycle: (from, to) => index?.cycle(from, to),
})
const named = (at: number): JsonObject => ({ from: { name: `o${at}` } })
const withList = (size: number): JsonObject => ({ hostRefs: manyOf(size).map(named) })
const withItems = (size: number): JsonObject => ({ items: manyOf(size).map((at) => ({ hostRef: named(at) })) })
const edge = (to: ObjectId, waitFor: Edge['waitFor'] = 'Value'): Edge => ({ to, valuePath: 'spec.host', waitFor })

function resolve(spec: JsonObject, row: ReferenceRow, more: Partial<Dependent> = {}, from = referents()): void {
  resolveReferences({ id: idOf('self'), spec, stored: [], exists: false, ...more }, [row], from)
}

const stored = (size: number, path: (at: number) => string): readonly ResolvedReference[] =>
  manyOf(size).map((at) => ({ path: path(at), value: 'v', referent: idOf(at), state: 'Resolved' }))

function indexOf(edges: readonly (readonly [from: number, to: number])[]): ReferenceIndex {
  const index = new ReferenceIndex()
  for (const [from, ends] of Map.groupBy(edges, ([one]) => one))
    index.set(
      idOf(from),
      ends.map(([, to]) => edge(idOf(to))),
    )
  return index
}

const ring = (size: number): readonly (readonly [number, number])[] =>
  manyOf(size).map((at) => [at, (at + 1) % size] as const)
const chainOf = (size: number): readonly (readonly [number, number])[] =>
  manyOf(size).map((at) => [at, at + 1] as const)

/** An index in which o0 refers to many objects that refer to it. */
const star = (size: number): ReferenceIndex =>
  indexOf(manyOf(size).flatMap((at) => [[0, at + 1] as const, [at + 1, 0] as const]))

function deletion(spec: JsonObject, row: ReferenceRow, size: number, path: (at: number) => string): void {
  const dependent = { id: idOf('self'), spec, stored: stored(size, path), exists: true }
  decideDeletion({ dependent, rows: [row], keyPaths: [], policy: 'delete', dependents: [] }, referents())
}

const rule = (name: string, more: JsonObject = {}): KubeObject => ({
  apiVersion: 'references.fairlead.dev/v1alpha1',
  kind: 'ReferenceRule',
  metadata: { name },
  spec: {
    target: {
      apiVersion: `${group}/v1`,
      kind: 'App',
      fieldPath: `spec.${name}`,
      reference: { annotation: 'test.dev/database' },
      ...more,
    },
    source: { apiVersion: `${group}/v1`, kind: 'Database', valuePath: 'spec.host' },
    serviceAccountName: 'resolver',
  },
})
const app = (name: string, database: string): KubeObject => ({
  apiVersion: `${group}/v1`,
  kind: 'App',
  metadata: { name, namespace: 'a', annotations: { 'test.dev/database': database }, labels: { app: name } },
  spec: {},
})
const databaseOf = (name: string): KubeObject => ({
  apiVersion: `${group}/v1`,
  kind: 'Database',
  metadata: { name, namespace: 'a' },
  spec: { host: name },
})

async function plan(objects: readonly KubeObject[]): Promise<void> {
  const command = (await references.commands!()).find(({ name }) => name === 'plan')!
  const lists = { apiVersion: 'v1', kind: 'List', items: objects as never }
  await command.run({
    arguments: [],
    options: { filename: ['-'], output: 'text' },
    stdin: async () => await Promise.resolve(stringifyJson(lists)),
    out: () => {},
    err: () => {},
    client: () => Promise.reject(new Error('there is no cluster')),
    signal: new AbortController().signal,
  } as never)
}

const shapes: Readonly<Record<string, (size: number) => unknown>> = {
  'references of a list': (size) => resolve(withList(size), list),
  'references in the items of a list': (size) => resolve(withItems(size), items),
  'references whose referents are gone, and whose values are kept': (size) => {
    const gone = referents(undefined, false)
    resolve(withItems(size), items, { exists: true, stored: stored(size, (at) => `items[${at}].host`) }, gone)
  },
  'values of a list that are kept': (size) => {
    const gone = referents(undefined, false)
    resolve(withList(size), list, { exists: true, stored: stored(size, (at) => `hosts[${at}]`) }, gone)
  },
  'references of a list to objects of a cycle': (size) => {
    const index = indexOf([...ring(3), ...manyOf(size).map((at) => [at + 10, 0] as const)])
    index.set(idOf('self'), edgesOf(idOf('self'), withList(size), [list]))
    resolve(withList(size), list, {}, referents(index))
  },
  'references of a list, all in one cycle each': (size) => {
    const index = indexOf(manyOf(size).map((at) => [at, size] as const))
    const self = { group, kind: 'App', namespace: 'a', name: `o${size}` }
    index.set(self, edgesOf(self, withList(size), [list]))
    resolve(withList(size), list, { id: self }, referents(index))
  },
  'references of a rows list': (size) => {
    const rows = manyOf(size).map((at) => rowOf({ fieldPath: `f${at}`, refPath: `r${at}` }))
    const spec = Object.fromEntries(manyOf(size).map((at) => [`r${at}`, named(at)]))
    resolveReferences({ id: idOf('self'), spec, stored: [], exists: false }, rows, referents())
  },
  'characters of a name': (size) => resolve({ hostRef: { from: { name: 'x'.repeat(size) } } }, rowOf({})),
  'external identifiers': (size) =>
    resolve(
      { hostRef: { externalIdentifiers: Object.fromEntries(manyOf(size).map((at) => [`k${at}`, 'v'])) } },
      rowOf({}),
    ),
  'stored values of a deletion': (size) => deletion(withItems(size), items, size, (at) => `items[${at}].host`),
  'stored values of a list of a deletion': (size) => deletion(withList(size), list, size, (at) => `hosts[${at}]`),
  'dependents of a deletion': (size) => {
    const dependents = manyOf(size).map((at) => ({ id: idOf(at), exists: true, sameCycle: false }))
    const dependent = { id: idOf('self'), spec: {}, stored: [], exists: true }
    decideDeletion({ dependent, rows: [list], keyPaths: [], policy: 'delete', dependents }, referents())
  },
  'dependents of one referent': (size) => {
    const index = indexOf(manyOf(size).map((at) => [at + 1, 0] as const))
    index.dependentsOf(idOf(0))
    for (const value of ['a', 'b']) index.changed(idOf(0), { state: 'found', object: found(value) })
    for (const at of manyOf(size)) index.delete(idOf(at + 1))
  },
  'referents of one dependent': (size) => {
    const index = indexOf(manyOf(size).map((at) => [0, at + 1] as const))
    index.set(
      idOf(0),
      manyOf(size).map((at) => edge(idOf(-at))),
    )
    index.delete(idOf(0))
  },
  'views of one referent': (size) => {
    const index = new ReferenceIndex()
    for (const at of manyOf(size))
      index.set(idOf(at + 1), [{ to: idOf(0), valuePath: `spec.f${at}`, waitFor: 'Value' }])
    index.changed(idOf(0), { state: 'found', object: found('o0') })
    for (const at of manyOf(size)) index.delete(idOf(at + 1))
  },
  'a chain of references': (size) => void indexOf(chainOf(size)),
  'a chain of references from its end': (size) => void indexOf(chainOf(size).toReversed()),
  'a cycle of references': (size) => {
    const index = indexOf(ring(size))
    for (const [from, to] of ring(size)) index.cycle(idOf(from), idOf(to))
  },
  'a chain that leads into a cycle': (size) => {
    const index = indexOf([...chainOf(size), [size, size + 1], [size + 1, size]])
    for (const [from, to] of chainOf(size)) index.cycle(idOf(from), idOf(to))
  },
  'cycles of two': (size) => {
    const pairs = manyOf(size).flatMap((at) => [[2 * at, 2 * at + 1] as const, [2 * at + 1, 2 * at] as const])
    const index = indexOf(pairs)
    for (const [from, to] of pairs) index.cycle(idOf(from), idOf(to))
    for (const [from] of pairs) index.delete(idOf(from))
  },
  'cycles that share an object': (size) => void star(size),
  'cycles that share an object, removed at once': (size) => star(size).delete(idOf(0)),
  'cycles that share an object, removed one by one': (size) => {
    const index = star(size)
    for (const at of manyOf(size)) index.delete(idOf(at + 1))
  },
  'edges of a graph': (size) => cyclesOf(ring(size).map(([from, to]) => [`o${from}`, `o${to}`] as const)),
  'rules of one target': (size) => plan([...manyOf(size).map((at) => rule(`f${at}`)), app('x', 'd'), databaseOf('d')]),
  'targets of a rule': (size) => plan([rule('f'), databaseOf('d'), ...manyOf(size).map((at) => app(`x${at}`, 'd'))]),
  'targets and sources of a rule': (size) =>
    plan([rule('f'), ...manyOf(size).flatMap((at) => [app(`x${at}`, `d${at}`), databaseOf(`d${at}`)])]),
  'labels of the selector of a rule': (size) =>
    plan([
      rule('f', { labelSelector: { matchLabels: Object.fromEntries(manyOf(size).map((at) => [`k${at}`, 'v'])) } }),
      app('x', 'd'),
      databaseOf('d'),
    ]),
}

test.each(Object.entries(shapes))('costs grow with the number of references, not faster: %s', async (_, run) => {
  await expectSteadyGrowth(counter, async (size) => await run(size), 500)
})

test('quadratic work would be seen', async () => {
  const square = async (size: number): Promise<void> => {
    for (let at = 0; at < size / 10; at++) resolve(withList(size), list)
    await Promise.resolve()
  }
  expect(growsTooFast(await stepsOf(counter, square))).toBe(true)
})
