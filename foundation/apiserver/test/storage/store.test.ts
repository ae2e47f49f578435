// The contract of every store: the behaviour that the API server relies on.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { FakeClock } from '@fairlead/kube'
import { memory, sqlite } from '@fairlead/apiserver'
import type { Change, Entry, Storage, Store, StoreOptions } from '@fairlead/apiserver'

const folders: string[] = []

async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'fairlead-store-'))
  folders.push(folder)
  return folder
}

afterAll(() => Promise.all(folders.map((folder) => rm(folder, { recursive: true, force: true }))))

const kinds: { name: string; storage: (options?: StoreOptions) => Promise<Storage> }[] = [
  { name: 'memory', storage: async (options) => memory(options) },
  { name: 'sqlite', storage: async (options) => sqlite(await temporaryFolder(), options) },
]

const resource = 'configmaps.'

function put(store: Store, key: string, value: number, expected = 0): Promise<Entry> {
  return store.write({ resource, key, expected, object: { value } })
}

function remove(store: Store, entry: Entry): Promise<Entry> {
  return store.write({ resource: entry.resource, key: entry.key, expected: entry.revision, object: undefined })
}

function brief({ type, entry, previous }: Change): unknown[] {
  return [type, entry.key, entry.revision, entry.object.value, previous?.revision]
}

async function keys(store: Store, range: Parameters<Store['list']>[1] = {}): Promise<string[]> {
  return (await store.list(resource, range)).entries.map(({ key }) => key)
}

describe.each(kinds)('$name store', ({ storage }) => {
  async function opened(options?: StoreOptions): Promise<Store> {
    return (await storage(options)).open()
  }

  test('starts at revision 1000 and increments it with every write', async () => {
    await using store = await opened()
    expect(store.revision).toBe(1000)
    const created = await put(store, 'a/one', 1)
    const changed = await put(store, 'a/one', 2, created.revision)
    const removed = await remove(store, changed)
    expect([created, changed, removed].map(({ revision }) => revision)).toEqual([1001, 1002, 1003])
    expect(removed).toEqual({ resource, key: 'a/one', revision: 1003, object: { value: 2 } })
    expect(store.revision).toBe(1003)
  })

  test('commits a group of writes atomically, above a revision', async () => {
    await using store = await opened()
    const old = await put(store, 'a/one', 1)
    const seen: unknown[] = []
    store.watch(resource, store.revision, (change) => seen.push([brief(change), store.revision]))
    const write = { resource, key: 'a/one', expected: old.revision }
    await expect(
      store.writeAll([
        { resource, key: 'a/two', expected: 0, object: { value: 2 } },
        { ...write, expected: 7, object: {} },
      ]),
    ).rejects.toMatchObject({ code: 'Conflict' })
    await expect(
      store.writeAll([
        { ...write, object: { value: 2 } },
        { ...write, object: { value: 3 } },
      ]),
    ).rejects.toMatchObject({ code: 'Conflict', message: expect.stringContaining('is written twice at once') })
    expect({ revision: store.revision, keys: await keys(store) }).toEqual({ revision: 1001, keys: ['a/one'] })
    const written = await store.writeAll(
      [
        { ...write, object: undefined },
        { ...write, expected: 0, object: { value: 2 } },
        { resource, key: 'a/two', expected: 0, object: { value: 3 } },
      ],
      5000,
    )
    expect(written.map(({ revision }) => revision)).toEqual([5001, 5002, 5003])
    expect(seen).toEqual([
      [['delete', 'a/one', 5001, 1, 1001], 5001],
      [['put', 'a/one', 5002, 2, undefined], 5002],
      [['put', 'a/two', 5003, 3, undefined], 5003],
    ])
    expect((await put(store, 'a/three', 4)).revision).toBe(5004)
    expect((await store.list(resource, { revision: 3000 })).entries).toEqual([old])
  })

  test('hides a write until its commit, except from writers of the same key', async () => {
    await using store = await opened()
    const seen: unknown[] = []
    store.watch(resource, 1000, (change) => seen.push(brief(change)))
    const writing = put(store, 'a/one', 1)
    expect({ revision: store.revision, seen, count: store.count(resource) }).toEqual({
      revision: 1000,
      seen: [],
      count: 0,
    })
    expect(await store.get(resource, 'a/one')).toBeUndefined()
    expect((await store.head(resource, 'a/one'))?.revision).toBe(1001)
    const entry = await writing
    expect(await store.get(resource, 'a/one')).toBe(entry)
    expect(await store.head(resource, 'a/one')).toBe(entry)
    expect(seen).toEqual([['put', 'a/one', 1001, 1, undefined]])
  })

  test('accepts writes of one iteration that build on each other', async () => {
    await using store = await opened()
    const writes = [
      put(store, 'a', 1),
      put(store, 'a', 2, 1001),
      store.write({ resource, key: 'a', expected: 1002, object: undefined, last: { value: 9 } }),
      put(store, 'a', 3),
    ]
    expect((await Promise.all(writes)).map(({ revision, object }) => [revision, object.value])).toEqual([
      [1001, 1],
      [1002, 2],
      [1003, 9],
      [1004, 3],
    ])
    expect((await store.get(resource, 'a', 1002))?.object).toEqual({ value: 2 })
    expect(await store.get(resource, 'a', 1003)).toBeUndefined()
  })

  test.each([
    ['a creation of what exists', 'a', 0, {}],
    ['an update at an old revision', 'a', 1000, {}],
    ['an update of what is absent', 'b', 1001, {}],
    ['a deletion at an old revision', 'a', 1000, undefined],
    ['a deletion of what is absent', 'b', 0, undefined],
  ])('refuses %s', async (_, key, expected, object) => {
    await using store = await opened()
    await put(store, 'a', 1)
    await expect(store.write({ resource, key, expected, object })).rejects.toMatchObject({
      name: 'StoreError',
      code: 'Conflict',
    })
    expect(store.revision).toBe(1001)
  })

  test('freezes stored objects', async () => {
    await using store = await opened()
    const object = { spec: { list: [{ a: 1 }] } }
    await store.write({ resource, key: 'a', expected: 0, object })
    expect([object, object.spec, object.spec.list, object.spec.list[0]].every(Object.isFrozen)).toBe(true)
    expect((await store.get(resource, 'a'))?.object).toBe(object)
  })

  test('lists by prefix in bytewise order, in pages at one revision', async () => {
    await using store = await opened()
    const names = ['b/z', 'a/y', 'a-b/x', 'a/\u{1F600}', 'a/\uFF5E', 'a/é', 'a/Y', 'a/y-1', 'a/y.2', 'c/w']
    await Promise.all(names.map((name, index) => put(store, name, index)))
    expect(await keys(store)).toEqual([
      'a-b/x',
      'a/Y',
      'a/y',
      'a/y-1',
      'a/y.2',
      'a/é',
      'a/\uFF5E',
      'a/\u{1F600}',
      'b/z',
      'c/w',
    ])
    const first = await store.list(resource, { prefix: 'a/', limit: 3 })
    expect([first.entries.map(({ key }) => key), first.remaining, first.revision]).toEqual([
      ['a/Y', 'a/y', 'a/y-1'],
      4,
      1010,
    ])
    await put(store, 'a/zz', 1)
    await remove(store, (await store.get(resource, 'a/é'))!)
    const second = await store.list(resource, { prefix: 'a/', limit: 3, after: 'a/y-1', revision: first.revision })
    expect([second.entries.map(({ key }) => key), second.remaining, second.revision]).toEqual([
      ['a/y.2', 'a/é', 'a/\uFF5E'],
      1,
      1010,
    ])
    const last = await store.list(resource, { prefix: 'a/', limit: 3, after: 'a/\uFF5E', revision: first.revision })
    expect([last.entries.map(({ key }) => key), last.remaining]).toEqual([['a/\u{1F600}'], 0])
    expect(store.count(resource, 'a/')).toBe(7)
    expect(store.count(resource)).toBe(10)
    expect(store.count('secrets.')).toBe(0)
  })

  test('keeps order and counts of thousands of keys', async () => {
    await using store = await opened()
    const names = Array.from({ length: 3000 }, (_, index) => `ns-${index % 3}/${((index * 7919) % 3000).toString(36)}`)
    const entries = await Promise.all(names.map((name, index) => put(store, name, index)))
    await Promise.all(entries.filter((_, index) => index % 2 === 0).map((entry) => remove(store, entry)))
    const left = names.filter((_, index) => index % 2 === 1).toSorted((a, b) => (a < b ? -1 : 1))
    expect(await keys(store)).toEqual(left)
    const inMiddle = left.filter((name) => name.startsWith('ns-1/'))
    const page = await store.list(resource, { prefix: 'ns-1/', after: inMiddle[99]!, limit: 50 })
    expect([page.entries.map(({ key }) => key), page.remaining]).toEqual([
      inMiddle.slice(100, 150),
      inMiddle.length - 150,
    ])
    expect(store.count(resource, 'ns-2/')).toBe(left.filter((name) => name.startsWith('ns-2/')).length)
    expect((await store.list(resource, { revision: 4000 })).entries.length).toBe(3000)
  })

  test('replays past changes to a watch and continues without gap or duplicate', async () => {
    await using store = await opened()
    const created = await put(store, 'a', 1)
    await put(store, 'b', 1)
    const seen: unknown[] = []
    const open = put(store, 'c', 1)
    store.watch(resource, created.revision, (change) => seen.push(brief(change)))
    expect(seen).toEqual([['put', 'b', 1002, 1, undefined]])
    await open
    await store.write({ resource: 'secrets.', key: 'a', expected: 0, object: {} })
    const changed = await put(store, 'a', 2, 1001)
    await remove(store, changed)
    expect(seen).toEqual([
      ['put', 'b', 1002, 1, undefined],
      ['put', 'c', 1003, 1, undefined],
      ['put', 'a', 1005, 2, 1001],
      ['delete', 'a', 1006, 2, 1005],
    ])
  })

  test('sends nothing to a closed watch', async () => {
    await using store = await opened()
    const seen: unknown[] = []
    const watch = store.watch(resource, 1000, (change) => seen.push(brief(change)))
    await put(store, 'a', 1)
    watch[Symbol.dispose]()
    await put(store, 'b', 1)
    expect(seen).toEqual([['put', 'a', 1001, 1, undefined]])
  })

  test('sends each change once to a watch that is opened during notifications', async () => {
    await using store = await opened()
    const late: unknown[] = []
    store.watch(resource, 1000, ({ entry }) => {
      if (entry.revision === 1002) store.watch(resource, 1000, (change) => late.push(brief(change)))
    })
    await Promise.all([put(store, 'a', 1), put(store, 'b', 1), put(store, 'c', 1)])
    expect(late).toEqual([
      ['put', 'a', 1001, 1, undefined],
      ['put', 'b', 1002, 1, undefined],
      ['put', 'c', 1003, 1, undefined],
    ])
  })

  test('has the revision of a change during its notification', async () => {
    await using store = await opened()
    const seen: unknown[] = []
    using _watch = store.watchAll(({ entry }) => seen.push([entry.revision, store.revision, store.count(resource)]))
    await Promise.all([put(store, 'a', 1), put(store, 'b', 1)])
    expect(seen).toEqual([
      [1001, 1001, 1],
      [1002, 1002, 2],
    ])
  })

  test('sends changes of every resource to watchAll', async () => {
    await using store = await opened()
    const seen: unknown[] = []
    const watch = store.watchAll(({ entry }) => seen.push([entry.resource, entry.key]))
    await put(store, 'a', 1)
    await store.write({ resource: 'secrets.', key: 'b', expected: 0, object: {} })
    watch[Symbol.dispose]()
    await put(store, 'c', 1)
    expect(seen).toEqual([
      [resource, 'a'],
      ['secrets.', 'b'],
    ])
  })

  test('reads at a past revision, and rejects a future one', async () => {
    await using store = await opened()
    const first = await put(store, 'a', 1)
    const second = await put(store, 'a', 2, first.revision)
    await remove(store, second)
    const found = await Promise.all([1000, 1001, 1002, 1003].map((revision) => store.get(resource, 'a', revision)))
    expect(found.map((entry) => entry?.object.value)).toEqual([undefined, 1, 2, undefined])
    expect(await keys(store, { revision: 1002 })).toEqual(['a'])
    await expect(store.get(resource, 'a', 1004)).rejects.toMatchObject({ code: 'RevisionInFuture' })
    await expect(store.list(resource, { revision: 1004 })).rejects.toMatchObject({ code: 'RevisionInFuture' })
    await expect(store.get(resource, 'a', 999)).rejects.toMatchObject({ code: 'RevisionExpired', oldest: 1000 })
    expect(() => store.watch(resource, 1, () => undefined)).toThrow(
      expect.objectContaining({ code: 'RevisionExpired', oldest: 1000 }),
    )
  })

  test('compacts by number of changes, per resource', async () => {
    await using store = await opened({ window: { changes: 3 } })
    let entry = await put(store, 'a', 0)
    await store.write({ resource: 'secrets.', key: 's', expected: 0, object: {} })
    for (let value = 1; value <= 4; value++) entry = await put(store, 'a', value, entry.revision)
    expect(entry.revision).toBe(1006)
    expect((await store.get(resource, 'a', 1003))?.object).toEqual({ value: 1 })
    await expect(store.get(resource, 'a', 1002)).rejects.toMatchObject({ code: 'RevisionExpired', oldest: 1003 })
    expect(await store.get('secrets.', 's', 1001)).toBeUndefined()
    const seen: unknown[] = []
    store.watch(resource, 1003, (change) => seen.push(brief(change)))
    expect(seen).toEqual([
      ['put', 'a', 1004, 2, 1003],
      ['put', 'a', 1005, 3, 1004],
      ['put', 'a', 1006, 4, 1005],
    ])
    expect(() => store.watch(resource, 1002, () => undefined)).toThrow(
      expect.objectContaining({ code: 'RevisionExpired' }),
    )
  })

  test('compacts by age', async () => {
    const clock = new FakeClock()
    await using store = await opened({ clock })
    const first = await put(store, 'a', 1)
    await remove(store, first)
    await clock.advance(5 * 60_000 + 1)
    await put(store, 'b', 1)
    await expect(store.list(resource, { revision: 1001 })).rejects.toMatchObject({
      code: 'RevisionExpired',
      oldest: 1002,
    })
    expect(await keys(store, { revision: 1002 })).toEqual([])
    expect(await keys(store)).toEqual(['b'])
    expect((await put(store, 'a', 7)).revision).toBe(1004)
  })

  test('expires reads at a revision of more than five minutes ago without a write', async () => {
    const clock = new FakeClock()
    await using store = await opened({ clock })
    const first = await store.write({ resource, key: 'a', expected: 0, object: {} })
    await clock.advance(60_000)
    await store.write({ resource: 'others.', key: 'b', expected: 0, object: {} })
    await clock.advance(4 * 60_000)
    expect((await store.list(resource, { revision: first.revision })).entries).toHaveLength(1)
    await clock.advance(60_000 + 1)
    const expired = expect.objectContaining({ code: 'RevisionExpired', oldest: store.revision }) as Error
    await expect(store.list(resource, { revision: first.revision })).rejects.toThrow(expired)
    await expect(store.get(resource, 'a', first.revision)).rejects.toThrow(expired)
    expect((await store.list(resource, { revision: store.revision })).entries).toHaveLength(1)
    // Watches go by the changes of their resource.
    store.watch(resource, first.revision, () => undefined)[Symbol.dispose]()
  })

  test('keeps the window on compact(), and drops it below a given revision', async () => {
    await using store = await opened()
    const first = await put(store, 'a', 1)
    const second = await put(store, 'a', 2, first.revision)
    await remove(store, await put(store, 'b', 1))
    await store.compact()
    expect((await store.get(resource, 'a', 1001))?.object).toEqual({ value: 1 })
    await store.compact(1003)
    await expect(store.get(resource, 'a', 1002)).rejects.toMatchObject({ code: 'RevisionExpired', oldest: 1003 })
    expect(await keys(store, { revision: 1003 })).toEqual(['a', 'b'])
    await store.compact(store.revision)
    await expect(store.list(resource, { revision: 1003 })).rejects.toMatchObject({
      code: 'RevisionExpired',
      oldest: 1004,
    })
    expect(await store.get(resource, 'a')).toBe(await store.get(resource, 'a', 1004))
    expect((await store.get(resource, 'a'))?.revision).toBe(second.revision)
  })

  test('resolves reached() at its revision', async () => {
    await using store = await opened()
    const reached: number[] = []
    const never = new AbortController()
    const waiting = [1002, 1001, 1000].map((revision) =>
      store.reached(revision, never.signal).then(() => reached.push(revision)),
    )
    const aborted = store.reached(5000, never.signal)
    await put(store, 'a', 1)
    await Promise.all(waiting.slice(1))
    expect(new Set(reached)).toEqual(new Set([1000, 1001]))
    await put(store, 'b', 1)
    await waiting[0]
    never.abort(new Error('enough'))
    await expect(aborted).rejects.toThrow('enough')
    await expect(store.reached(5000, never.signal)).rejects.toThrow('enough')
  })

  test('yields a snapshot at one revision for a backup', async () => {
    await using store = await opened()
    await Promise.all([
      put(store, 'b', 1),
      put(store, 'a', 1),
      store.write({ resource: 'apps.', key: 'z', expected: 0, object: {} }),
    ])
    const copy: string[] = []
    for await (const entry of store.snapshot()) {
      copy.push(`${entry.resource} ${entry.key} ${entry.revision}`)
      if (copy.length === 1) await put(store, 'c', 1)
    }
    expect(copy).toEqual(['apps. z 1003', 'configmaps. a 1002', 'configmaps. b 1001'])
  })

  test('commits the open batch when it is closed, and rejects further writes', async () => {
    const store = await opened()
    const waiting = store.reached(9000, new AbortController().signal)
    const writing = put(store, 'a', 1)
    const closing = store[Symbol.asyncDispose]()
    await expect(put(store, 'b', 1)).rejects.toMatchObject({ code: 'StoreClosed' })
    expect((await writing).revision).toBe(1001)
    await expect(waiting).rejects.toMatchObject({ code: 'StoreClosed' })
    await closing
    await store[Symbol.asyncDispose]()
  })
})
