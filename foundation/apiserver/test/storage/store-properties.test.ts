// Properties of every store, checked against a model: a list of all changes.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { memory, sqlite } from '@fairlead/apiserver'
import type { Change, Entry, Store, StoreError } from '@fairlead/apiserver'

const resource = 'configmaps.'

type Step =
  | { readonly kind: 'put'; readonly key: string; readonly stale: boolean }
  | { readonly kind: 'delete'; readonly key: string; readonly stale: boolean }
  | { readonly kind: 'settle' }
  | { readonly kind: 'watch'; readonly back: number }
  | { readonly kind: 'forget'; readonly back: number }

const key = fc.constantFrom('a/1', 'a/2', 'a-b/1', 'b/1', 'b/é', 'b/\u{1F600}', 'b/\uFFFD', 'c')
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('put' as const), key, stale: fc.nat(9).map((n) => n === 0) }) },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant('delete' as const), key, stale: fc.nat(9).map((n) => n === 0) }),
  },
  { weight: 3, arbitrary: fc.constant({ kind: 'settle' as const }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('watch' as const), back: fc.nat(8) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('forget' as const), back: fc.nat(8) }) },
)

interface ModelChange {
  readonly revision: number
  readonly key: string
  readonly value: number | undefined
}

/** Returns the state after all changes up to a revision, in bytewise order. */
function stateAt(changes: readonly ModelChange[], revision: number): [string, number, number][] {
  const state = new Map<string, [string, number, number]>()
  for (const change of changes) {
    if (change.revision > revision) break
    if (change.value === undefined) state.delete(change.key)
    else state.set(change.key, [change.key, change.revision, change.value])
  }
  return [...state.values()].toSorted(([left], [right]) => Buffer.compare(Buffer.from(left), Buffer.from(right)))
}

function brief(entry: Entry): [string, number, number] {
  return [entry.key, entry.revision, entry.object.value as number]
}

class Watching {
  readonly #since: number
  readonly #changes: Change[] = []

  constructor(store: Store, since: number) {
    this.#since = since
    store.watch(resource, since, (change) => this.#changes.push(change))
  }

  /** The received changes are those after `since`, and their previous versions match. */
  check(changes: readonly ModelChange[]): void {
    const wanted = changes.filter(({ revision }) => revision > this.#since)
    expect(this.#changes.map(({ type, entry }) => [entry.revision, entry.key, type])).toEqual(
      wanted.map(({ revision, key, value }) => [revision, key, value === undefined ? 'delete' : 'put']),
    )
    for (const { entry, previous } of this.#changes) {
      const before = stateAt(changes, entry.revision - 1).find(([key]) => key === entry.key)
      expect(previous === undefined ? undefined : brief(previous)).toEqual(before)
    }
  }
}

async function run(
  store: Store,
  steps: readonly Step[],
  compare: (store: Store, changes: readonly ModelChange[], compacted: number) => Promise<void>,
): Promise<void> {
  const changes: ModelChange[] = []
  const revisions = new Map<string, number>()
  const watching: Watching[] = []
  let pending: Promise<unknown>[] = []
  let assigned = store.revision
  let compacted = store.revision
  const write = (kind: 'put' | 'delete', key: string, stale: boolean): void => {
    const actual = revisions.get(key) ?? 0
    const expected = stale ? actual + 1 : actual
    const done = store.write({ resource, key, expected, object: kind === 'put' ? { value: assigned + 1 } : undefined })
    if (expected !== actual || (kind === 'delete' && actual === 0)) {
      pending.push(
        done.then(
          () => expect.fail('a conflict was not seen'),
          (error: unknown) => expect((error as StoreError).code).toBe('Conflict'),
        ),
      )
      return
    }
    assigned++
    const revision = assigned
    pending.push(done.then((entry) => expect(entry.revision).toBe(revision)))
    changes.push({ revision, key, value: kind === 'put' ? revision : undefined })
    if (kind === 'put') revisions.set(key, revision)
    else revisions.delete(key)
  }
  const settle = async (): Promise<void> => {
    await Promise.all(pending)
    pending = []
  }
  for (const current of steps) {
    if (current.kind === 'put' || current.kind === 'delete') write(current.kind, current.key, current.stale)
    else if (current.kind === 'settle') await settle()
    else if (current.kind === 'watch')
      watching.push(new Watching(store, Math.max(compacted, store.revision - current.back)))
    else {
      await settle()
      compacted = Math.max(compacted, store.revision - current.back)
      await store.compact(compacted)
    }
  }
  await settle()
  for (const watch of watching) watch.check(changes)
  await compare(store, changes, compacted)
}

/** Checks that every readable revision has the model's state, whole and in pages. */
async function compareStates(store: Store, changes: readonly ModelChange[], compacted: number): Promise<void> {
  for (let revision = compacted; revision <= store.revision; revision++) {
    const wanted = stateAt(changes, revision)
    expect((await store.list(resource, { revision })).entries.map(brief)).toEqual(wanted)
    const paged: [string, number, number][] = []
    for (let after: string | undefined; ; after = paged.at(-1)![0]) {
      const page = await store.list(resource, { revision, limit: 2, ...(after === undefined ? {} : { after }) })
      paged.push(...page.entries.map(brief))
      expect(page.remaining).toBe(wanted.length - paged.length)
      if (page.remaining === 0) break
    }
    expect(paged).toEqual(wanted)
  }
  const now = stateAt(changes, store.revision)
  expect(store.count(resource, 'b/')).toBe(now.filter(([name]) => name.startsWith('b/')).length)
  if (compacted > 1000)
    await expect(store.list(resource, { revision: compacted - 1 })).rejects.toMatchObject({ code: 'RevisionExpired' })
}

describe('any sequence of writes', () => {
  test('gives the memory store the state of the model at every readable revision', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
        await using store = await memory().open()
        await run(store, steps, compareStates)
      }),
      { numRuns: 150 },
    )
  })

  test('gives the sqlite store the state of the model, also after a restart', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        const folder = await mkdtemp(join(tmpdir(), 'fairlead-store-'))
        try {
          let changes: readonly ModelChange[] = []
          let oldest = 0
          {
            await using store = await sqlite(folder).open()
            await run(store, steps, async (settled, made, compacted) => {
              changes = made
              oldest = compacted
              await compareStates(settled, made, compacted)
            })
          }
          await using again = await sqlite(folder).open()
          expect(again.revision).toBe(changes.at(-1)?.revision ?? 1000)
          await compareStates(again, changes, Math.max(oldest, 1000))
          new Watching(again, Math.max(oldest, 1000)).check(changes)
        } finally {
          await rm(folder, { recursive: true })
        }
      }),
      { numRuns: 12 },
    )
  })

  test('gives a list with a watch from its revision the final state', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), fc.array(step, { maxLength: 40 }), async (before, after) => {
        await using store = await memory().open()
        await run(store, before, () => Promise.resolve())
        const page = await store.list(resource)
        const state = new Map(page.entries.map((entry) => [entry.key, brief(entry)]))
        store.watch(resource, page.revision, ({ type, entry }) => {
          if (type === 'put') state.set(entry.key, brief(entry))
          else state.delete(entry.key)
        })
        const known = new Map(page.entries.map(({ key, revision }) => [key, revision]))
        for (const current of after) {
          if (current.kind !== 'put' && current.kind !== 'delete') continue
          const expected = known.get(current.key) ?? 0
          if (current.kind === 'delete' && expected === 0) continue
          const entry = await store.write({
            resource,
            key: current.key,
            expected,
            object: current.kind === 'put' ? { value: store.revision } : undefined,
          })
          if (current.kind === 'put') known.set(current.key, entry.revision)
          else known.delete(current.key)
        }
        const end = (await store.list(resource)).entries.map((entry) => [entry.key, brief(entry)])
        expect([...state].toSorted(([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b)))).toEqual(end)
      }),
      { numRuns: 100 },
    )
  })
})
