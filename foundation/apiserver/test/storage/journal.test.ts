// A store in front of a slow or failing journal.
import { expect, test } from 'vitest'
import { ApiServer, journaled, memory, StoreError } from '@fairlead/apiserver'
import type { Entry, Journal, JournalBatch, Store } from '@fairlead/apiserver'

const resource = 'configmaps.'

/** A journal whose commits wait until the test lets them pass or fail. */
class HeldJournal implements Journal {
  readonly batches: JournalBatch[] = []
  readonly #held: { resolve: () => void; reject: (error: Error) => void }[] = []
  #arrived: (() => void) | undefined

  open(): Promise<{ revision: number; compactedRevisions: ReadonlyMap<string, number> }> {
    return Promise.resolve({ revision: 1000, compactedRevisions: new Map() })
  }

  commit(batch: JournalBatch): Promise<void> {
    this.batches.push(batch)
    this.#arrived?.()
    return new Promise((resolve, reject) => this.#held.push({ resolve, reject }))
  }

  [Symbol.asyncDispose](): Promise<void> {
    return Promise.resolve()
  }

  /** Resolves when the n-th commit has been requested. */
  async arrived(count: number): Promise<void> {
    while (this.batches.length < count) {
      await new Promise<void>((resolve) => {
        this.#arrived = resolve
      })
    }
  }

  pass(): void {
    this.#held.shift()!.resolve()
  }

  fail(reason: string): void {
    this.#held.shift()!.reject(new Error(reason))
  }
}

function put(store: Store, key: string, value: number, expected = 0): Promise<Entry> {
  return store.write({ resource, key, expected, object: { value } })
}

/** Returns the outcome of a write, for comparison. */
function outcome(writing: Promise<Entry>): Promise<string> {
  return writing.then(
    (entry) => `stored at ${entry.revision}`,
    (error: { code: string; message: string }) => `${error.code}: ${error.message}`,
  )
}

function revisions(batch: JournalBatch | undefined): number[] {
  return (batch?.records ?? []).map(({ revision }) => revision)
}

test('the store commits the writes of one iteration together and collects the next batch meanwhile', async () => {
  const journal = new HeldJournal()
  const store = await journaled(journal).open()
  const first = [put(store, 'a', 1), put(store, 'b', 1)]
  await journal.arrived(1)
  const second = [put(store, 'a', 2, 1001), put(store, 'c', 1)]
  journal.pass()
  await Promise.all(first)
  await journal.arrived(2)
  expect(journal.batches.map(revisions)).toEqual([
    [1001, 1002],
    [1003, 1004],
  ])
  expect(store.revision).toBe(1002)
  journal.pass()
  await Promise.all(second)
  expect(store.revision).toBe(1004)
})

test('the store serves reads during a slow commit', async () => {
  const journal = new HeldJournal()
  const store = await journaled(journal).open()
  const seen: number[] = []
  store.watch(resource, 1000, ({ entry }) => seen.push(entry.revision))
  const first = put(store, 'a', 1)
  await journal.arrived(1)
  journal.pass()
  await first
  const second = put(store, 'a', 2, 1001)
  await journal.arrived(2)
  expect((await store.get(resource, 'a'))?.object).toEqual({ value: 1 })
  expect((await store.list(resource)).revision).toBe(1001)
  expect(seen).toEqual([1001])
  journal.pass()
  await second
  expect(seen).toEqual([1001, 1002])
})

test('a failed commit fails its batch and the writes built on it, and no others', async () => {
  const journal = new HeldJournal()
  const store = await journaled(journal).open()
  const existing = put(store, 'old', 1)
  await journal.arrived(1)
  journal.pass()
  const old = await existing

  const batch = [put(store, 'a', 1), store.write({ resource, key: 'old', expected: old.revision, object: undefined })]
  await journal.arrived(2)
  const builtOn = [put(store, 'a', 2, 1002), put(store, 'a', 3, 1004), put(store, 'old', 2)]
  const independent = put(store, 'b', 1)
  const outcomes = Promise.all([...batch, ...builtOn].map(outcome))
  journal.fail('disk full')
  expect(await outcomes).toEqual(
    ['a', 'old', 'a', 'a', 'old'].map(
      (key) => `CommitFailed: The change of configmaps. ${key} could not be stored: disk full`,
    ),
  )
  expect(store.revision).toBe(1001)
  expect(await store.head(resource, 'a')).toBeUndefined()
  expect(await store.head(resource, 'old')).toBe(old)

  await journal.arrived(3)
  // Records that the failed commit may have left must be deleted first.
  expect([revisions(journal.batches[2]), journal.batches[2]?.dropAbove]).toEqual([[1007], 1001])
  const again = put(store, 'a', 9)
  journal.pass()
  expect((await independent).revision).toBe(1007)
  await journal.arrived(4)
  expect([revisions(journal.batches[3]), journal.batches[3]?.dropAbove]).toEqual([[1008], undefined])
  journal.pass()
  expect((await again).revision).toBe(1008)
  expect((await store.list(resource)).entries.map(({ key }) => key)).toEqual(['a', 'b', 'old'])
})

test('the store passes dropped versions to the journal in batches, and at once on compact()', async () => {
  const journal = new HeldJournal()
  const store = await journaled(journal, { window: { changes: 1 } }).open()
  let revision = 0
  for (let value = 0; value < 3; value++) {
    const writing = put(store, 'a', value, revision)
    await journal.arrived(value + 1)
    journal.pass()
    revision = (await writing).revision
  }
  expect(journal.batches.map(({ compaction }) => compaction)).toEqual([undefined, undefined, undefined])
  const compacting = store.compact()
  await journal.arrived(4)
  journal.pass()
  await compacting
  expect(journal.batches[3]).toEqual({
    records: [],
    compaction: { revisions: [1001], compactedRevisions: new Map([[resource, 1002]]) },
    dropAbove: undefined,
  })
})

test('the store survives a listener that throws, and the error surfaces', async () => {
  const heard = new Promise((resolve) => {
    const listeners = process.listeners('uncaughtException')
    process.removeAllListeners('uncaughtException')
    process.once('uncaughtException', (error) => {
      for (const listener of listeners) process.on('uncaughtException', listener)
      resolve(error)
    })
  })
  await using store = await memory().open()
  using _bad = store.watch(resource, 1000, () => {
    throw new Error('a bug')
  })
  const seen: number[] = []
  using _good = store.watch(resource, 1000, ({ entry }) => seen.push(entry.revision))
  await put(store, 'a', 1)
  expect(await heard).toEqual(new Error('a bug'))
  expect(seen).toEqual([1001])
})

test('the store yields to the event loop while it notifies many watchers, in order', async () => {
  await using store = await memory().open()
  const crowd = Array.from({ length: 1000 }, () => store.watch(resource, 1000, () => undefined))
  const seen: number[] = []
  store.watch(resource, 1000, ({ entry }) => seen.push(entry.revision))
  const turns: number[] = []
  const writing = Array.from({ length: 100 }, (_, index) => put(store, `o-${index}`, index))
  const all = Promise.all(writing).then(() => turns.push(-1))
  // Between two iterations part of the batch is visible, and a write checks against pending state.
  while (turns.at(-1) !== -1) {
    await new Promise((resolve) => setImmediate(resolve))
    if (turns.at(-1) !== -1) turns.push(store.revision)
    if (store.revision > 1000 && store.revision < 1100) {
      expect((await store.head(resource, 'o-99'))?.revision).toBe(1100)
      expect(await store.get(resource, 'o-99')).toBeUndefined()
    }
  }
  await all
  expect(new Set(turns).size).toBeGreaterThan(4)
  expect(seen).toEqual(Array.from({ length: 100 }, (_, index) => 1001 + index))
  for (const watch of crowd) watch[Symbol.dispose]()
})

test('the store commits a group of writes of any size atomically', async () => {
  const journal = new HeldJournal()
  await using store = await journaled(journal).open()
  const group = (prefix: string): Promise<string> =>
    store
      .writeAll(Array.from({ length: 1500 }, (_, n) => ({ resource, key: `${prefix}/${n}`, expected: 0, object: {} })))
      .then(
        (entries) => `stored ${entries.length}`,
        (error: { code: string }) => error.code,
      )
  const single = outcome(put(store, 'single', 1))
  const [first, second] = [group('first'), group('second')]
  await journal.arrived(1)
  expect(revisions(journal.batches[0])).toHaveLength(1501)
  journal.pass()
  await journal.arrived(2)
  expect(revisions(journal.batches[1])).toHaveLength(1500)
  journal.fail('the disk is full')
  expect(await Promise.all([single, first, second])).toEqual(['stored at 1001', 'stored 1500', 'CommitFailed'])
  expect([store.count(resource, 'first/'), store.count(resource, 'second/')]).toEqual([1500, 0])
})

test('a full disk is 507 without Retry-After, and writes go on once there is space', async () => {
  let isFull = false
  const journal: Journal = {
    open: () => Promise.resolve({ revision: 1000, compactedRevisions: new Map() }),
    commit: () => (isFull ? Promise.reject(new StoreError('StorageFull', 'the disk is full')) : Promise.resolve()),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  }
  await using server = await ApiServer.start({ storage: journaled(journal), controllers: false })
  const user = { name: 'admin', groups: ['system:masters'] }
  const path = '/api/v1/namespaces/default/configmaps'
  const create = () => server.inject({ method: 'POST', path, user, body: { metadata: { name: 'a' } } })
  isFull = true
  const refused = await create()
  expect({ status: refused.status, retry: refused.headers['retry-after'], body: refused.json() }).toMatchObject({
    status: 507,
    retry: undefined,
    body: {
      reason: 'InsufficientStorage',
      message: 'The change of configmaps. default/a could not be stored: the disk is full',
    },
  })
  expect((await server.inject({ method: 'GET', path, user })).status).toBe(200)
  isFull = false
  expect((await create()).status).toBe(201)
})
