// The durable store: locks, formats, crashes, size.
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { Worker } from 'node:worker_threads'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { FakeClock, parseJson } from '@fairlead/kube'
import type { JsonObject } from '@fairlead/kube'
import { sqlite } from '@fairlead/apiserver'
import type { Store } from '@fairlead/apiserver'

const resource = 'configmaps.'
const fixtures = fileURLToPath(new URL('./fixtures/', import.meta.url))

async function withFolder(run: (folder: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'fairlead-store-'))
  try {
    await run(folder)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function contents(store: Store): Promise<[string, number, JsonObject][]> {
  const entries: [string, number, JsonObject][] = []
  for await (const { key, revision, object } of store.snapshot()) entries.push([key, revision, object])
  return entries
}

test('sqlite keeps objects, history and the revision across a restart, to the last digit', () =>
  withFolder(async (folder) => {
    const object = parseJson(
      '{"n":9007199254740993,"text":"ü\\u0000\\ud83d","__proto__":{"x":1},"none":null,"deep":[[{"a":1.5e300}]]}',
    ) as JsonObject
    {
      await using store = await sqlite(folder).open()
      const entry = await store.write({ resource, key: 'a/one', expected: 0, object: { n: 1 } })
      await store.write({ resource, key: 'a/one', expected: entry.revision, object })
      const gone = await store.write({ resource, key: 'a/two', expected: 0, object: { n: 2 } })
      await store.write({ resource, key: 'a/two', expected: gone.revision, object: undefined, last: { n: 3 } })
    }
    await using store = await sqlite(folder).open()
    expect(store.revision).toBe(1004)
    expect(await contents(store)).toEqual([['a/one', 1002, object]])
    expect(Object.isFrozen((await store.get(resource, 'a/one'))!.object)).toBe(true)
    expect((await store.get(resource, 'a/two', 1003))?.object).toEqual({ n: 2 })
    const seen: unknown[] = []
    store.watch(resource, 1001, ({ type, entry, previous }) =>
      seen.push([type, entry.revision, entry.object, previous?.revision]),
    )
    expect(seen).toEqual([
      ['put', 1002, object, 1001],
      ['put', 1003, { n: 2 }, undefined],
      ['delete', 1004, { n: 3 }, 1003],
    ])
  }))

test('sqlite never reuses a revision, even when the newest versions have been compacted', () =>
  withFolder(async (folder) => {
    const clock = new FakeClock()
    {
      await using store = await sqlite(folder, { clock }).open()
      const entry = await store.write({ resource, key: 'a', expected: 0, object: {} })
      await store.write({ resource, key: 'a', expected: entry.revision, object: undefined })
      await store.compact(store.revision)
    }
    await using store = await sqlite(folder, { clock }).open()
    expect([store.revision, await contents(store)]).toEqual([1002, []])
    expect(() => store.watch(resource, 1001, () => undefined)).toThrow(
      expect.objectContaining({ code: 'RevisionExpired', oldest: 1002 }),
    )
    expect((await store.write({ resource, key: 'a', expected: 0, object: {} })).revision).toBe(1003)
  }))

test('sqlite locks the data folder for one process, and names the holder', () =>
  withFolder(async (folder) => {
    const clock = new FakeClock('2026-03-04T05:06:07Z')
    const holder = await sqlite(folder, { clock }).open()
    await expect(sqlite(folder).open()).rejects.toMatchObject({
      code: 'StoreLocked',
      message: `The data folder ${folder} is in use by process ${process.pid}, started 2026-03-04T05:06:07.000Z. Stop it, or use another folder.`,
    })
    await holder.write({ resource, key: 'a', expected: 0, object: {} })
    await holder[Symbol.asyncDispose]()
    await using next = await sqlite(folder).open()
    expect(next.revision).toBe(1001)
  }))

test('sqlite files are readable by their owner only', () =>
  withFolder(async (parent) => {
    const folder = join(parent, 'made', 'here')
    await using store = await sqlite(folder).open()
    await store.write({ resource, key: 'a', expected: 0, object: {} })
    const modes = ['', 'objects.sqlite', 'objects.sqlite-wal', 'owner.json'].map((name) =>
      (statSync(join(folder, name)).mode & 0o777).toString(8),
    )
    expect(modes).toEqual(['700', '600', '600', '600'])
  }))

test.each([1, 2])('sqlite opens a folder of format %i', (format) =>
  withFolder(async (folder) => {
    const database = new DatabaseSync(join(folder, 'objects.sqlite'))
    database.exec(readFileSync(join(fixtures, `format-${format}.sql`), 'utf8'))
    database.close()
    await using store = await sqlite(folder, { clock: new FakeClock('2026-01-01T00:00:01Z') }).open()
    expect(store.revision).toBe(1009)
    expect(await contents(store)).toEqual([
      ['default/a', 1004, { metadata: { name: 'a' }, data: { n: 9007199254740993n } }],
    ])
    expect((await store.get('secrets.', 'default/s', 1006))?.revision).toBe(1006)
    await expect(store.get(resource, 'default/a', 1002)).rejects.toMatchObject({
      code: 'RevisionExpired',
      oldest: 1003,
    })
  }),
)

test('sqlite rejects a folder of a newer format with one line', () =>
  withFolder(async (folder) => {
    const database = new DatabaseSync(join(folder, 'objects.sqlite'))
    database.exec('pragma user_version = 99')
    database.close()
    await expect(sqlite(folder).open()).rejects.toMatchObject({
      code: 'FormatTooNew',
      message: expect.stringMatching(
        /^The data in .* has format 99, written by a newer Fairlead; this one reads up to 2\. .*$/,
      ),
    })
  }))

test.each([
  [
    'a file that is no database',
    (folder: string) =>
      writeFileSync(join(folder, 'objects.sqlite'), 'hello, this is not a database file at all'.repeat(100)),
  ],
  ['a folder where the file should be', (folder: string) => mkdirSync(join(folder, 'objects.sqlite'))],
])('refuses %s', (_, prepare) =>
  withFolder(async (folder) => {
    prepare(folder)
    await expect(sqlite(folder).open()).rejects.toMatchObject({
      code: 'OpenFailed',
      message: expect.stringContaining(folder),
    })
  }),
)

/** Number of objects of a large store; `npm run test:long` sets 100,000. */
const largeCount = Number(process.env['FAIRLEAD_STORED_OBJECTS'] ?? 10_000)

test(`sqlite opens ${largeCount} objects without blocking the process, and lists a page of them`, () =>
  withFolder(async (folder) => {
    {
      await using store = await sqlite(folder).open()
      const padding = 'x'.repeat(800)
      const writes = Array.from({ length: largeCount }, (_, n) =>
        store.write({ resource, key: `ns-${n % 10}/o-${n}`, expected: 0, object: { n, padding } }),
      )
      await Promise.all(writes)
    }
    // Iterations of the event loop while the store opens: one or two if it blocked.
    let turns = 0
    let isOpen = false
    const count = (): void => {
      turns++
      if (!isOpen) setImmediate(count)
    }
    count()
    await using store = await sqlite(folder)
      .open()
      .finally(() => (isOpen = true))
    expect(turns).toBeGreaterThan(20)
    const page = await store.list(resource, { prefix: 'ns-7/', limit: 500 })
    expect([store.revision, store.count(resource), page.entries.length, page.remaining]).toEqual([
      1000 + largeCount,
      largeCount,
      500,
      largeCount / 10 - 500,
    ])
  }))

/** Lines after which a writer is killed; `npm run test:long` kills 20 writers. */
const killedAfter = Array.from(
  { length: Number(process.env['FAIRLEAD_KILLED_WRITERS'] ?? 2) },
  (_, round) => [50, 400, 7, 150, 900][round % 5]!,
)

interface Acknowledged {
  readonly revision: number
  readonly value: string
}

/**
 * Runs the writer until `lines` writes were acknowledged, then kills it. Returns the last acknowledged write of each
 * key.
 */
async function writeAndKill(folder: string, lines: number, window: number): Promise<Map<string, Acknowledged>> {
  const child = spawn(
    process.execPath,
    [...process.execArgv, join(fixtures, 'writer.ts'), folder, '8', String(window)],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  )
  let text = ''
  let count = 0
  for await (const chunk of child.stdout as AsyncIterable<Buffer>) {
    text += chunk.toString()
    count += chunk.toString().split('\n').length - 1
    // Writes still in the pipe when it died were acknowledged, too.
    if (count >= lines) child.kill('SIGKILL')
  }
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
  expect(child.signalCode).toBe('SIGKILL')
  const last = new Map<string, Acknowledged>()
  for (const line of text.slice(0, text.lastIndexOf('\n')).split('\n').slice(1)) {
    const [key, revision, value] = line.split(' ')
    last.set(key!, { revision: Number(revision), value: value! })
  }
  return last
}

// Several processes, one after the other.
const each = { timeout: 60_000 + 60_000 * killedAfter.length }

test('sqlite loses no acknowledged write when it is killed, and keeps no partial write', each, () =>
  withFolder(async (folder) => {
    let revision = 1000
    for (const [round, lines] of killedAfter.entries()) {
      const acknowledged = await writeAndKill(folder, lines, round % 2 === 0 ? 10_000 : 20)
      await using store = await sqlite(folder).open()
      expect(store.revision).toBeGreaterThan(revision)
      revision = store.revision
      for (const [key, { revision: acknowledgedAt, value }] of acknowledged) {
        const entry = await store.get(resource, key)
        const newer = (entry?.revision ?? store.revision) > acknowledgedAt
        // One more write of the key was in progress; it may be stored without an acknowledgement. Every fifth one
        // deletes.
        if (entry === undefined) expect(value === 'gone' || (newer && Number(value) % 5 === 4)).toBe(true)
        else
          expect([entry.object.check, newer || entry.object.value === Number(value)]).toEqual([
            `${key}=${entry.object.value as number}`,
            true,
          ])
      }
    }
  }),
)

test('sqlite preallocates the log of a busy store, reuses it, and reads it to its end after a crash', () =>
  withFolder(async (folder) => {
    const size = (name: string): number => statSync(join(folder, name)).size
    const room = 4 << 20
    await using store = await sqlite(folder).open()
    const write = (index: number): Promise<unknown> =>
      store.write({ resource, key: `a/${index}`, expected: 0, object: { index } })
    for (let index = 0; index < 40; index++) await write(index)
    await expect.poll(() => size('objects.sqlite-wal')).toBe(room)
    await withFolder(async (crashed) => {
      for (const name of ['objects.sqlite', 'objects.sqlite-wal']) cpSync(join(folder, name), join(crashed, name))
      await using copy = await sqlite(crashed).open()
      expect([copy.revision, (await contents(copy)).length]).toEqual([1040, 40])
    })
    for (let index = 40; index < 2000; index++) await write(index)
    expect(size('objects.sqlite-wal')).toBeLessThan(1.1 * room)
  }))

test('sqlite replaces a dead journal thread, and drops records it may have left', () =>
  withFolder(async (folder) => {
    const threads: Worker[] = []
    const remember = (worker: Worker): void => void threads.push(worker)
    process.on('worker', remember)
    try {
      await using store = await sqlite(folder).open()
      const first = await store.write({ resource, key: 'a', expected: 0, object: { n: 1 } })
      const lost = store.write({ resource, key: 'a', expected: first.revision, object: { n: 2 } })
      const ending = threads[0]!.terminate()
      await expect(lost).rejects.toMatchObject({ code: 'CommitFailed' })
      await ending
      expect((await store.get(resource, 'a'))?.object).toEqual({ n: 1 })
      const next = await store.write({ resource, key: 'a', expected: first.revision, object: { n: 3 } })
      expect([next.revision, threads.length]).toEqual([1003, 2])
    } finally {
      process.off('worker', remember)
    }
    await using again = await sqlite(folder).open()
    expect([again.revision, await contents(again)]).toEqual([1003, [['a', 1003, { n: 3 }]]])
    await expect(again.get(resource, 'a', 1002)).resolves.toMatchObject({ revision: 1001 })
  }))

const canLimitFiles = spawnSync('prlimit', ['--version']).status === 0

test.skipIf(!canLimitFiles)(
  'keeps no half write when the disk is full, reads on, and writes again when there is space (needs prlimit)',
  () =>
    withFolder(async (folder) => {
      const command = `ulimit -S -f 3000; exec "$0" "$@"`
      const args = ['-c', command, process.execPath, ...process.execArgv, join(fixtures, 'filler.ts'), folder]
      const child = spawn('bash', args, { stdio: ['pipe', 'pipe', 'inherit'] })
      const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
      const next = async (): Promise<{
        stored: string[]
        failure?: { code: string; message: string }
        readable?: string[]
        lastError?: string
      }> => JSON.parse((await lines.next()).value as string) as never
      const full = await next()
      expect(full.failure).toMatchObject({
        code: 'CommitFailed',
        message: expect.stringMatching(/^The change of configmaps\. ns\/o-\d+ could not be stored: /),
      })
      expect(full.stored.length).toBeGreaterThan(10)
      expect(full.readable).toEqual(full.stored)
      expect(full.failure?.message).toContain(full.lastError)
      execFileSync('prlimit', ['--pid', String(child.pid), '--fsize=unlimited'])
      child.stdin.write('go on\n')
      const after = await next()
      expect([after.failure, after.lastError, after.stored.length]).toEqual([undefined, undefined, 20])
      child.kill('SIGKILL')
      await once(child, 'exit')
      await using store = await sqlite(folder).open()
      expect((await contents(store)).map(([key]) => key)).toEqual([...full.stored, ...after.stored])
    }),
)
