// Damaged data folders: each opens with exactly what was stored, or is refused with a message that says what to do.
import { cpSync, existsSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { fc } from '@fast-check/vitest'
import { sqlite } from '@fairlead/apiserver'
import type { Store } from '@fairlead/apiserver'

/** Number of changed bits of each file; `npm run test:long` sets 200. */
const runs = Number(process.env['FAIRLEAD_CHANGED_BITS'] ?? 6)

let parent: string
/** A folder that was closed, and a copy of one that was in use, with its log. */
let closed: string
let inUse: string
let expected: string

async function contents(store: Store): Promise<string> {
  const entries: unknown[] = []
  for await (const { resource, key, revision, object } of store.snapshot())
    entries.push([resource, key, revision, object])
  return JSON.stringify([store.revision, entries])
}

beforeAll(async () => {
  parent = await mkdtemp(join(tmpdir(), 'fairlead-damage-'))
  closed = join(parent, 'closed')
  inUse = join(parent, 'in-use')
  const store = await sqlite(closed).open()
  for (let round = 0; round < 3; round++)
    await Promise.all(
      Array.from({ length: 40 }, async (_, index) => {
        const key = `ns/${index}`
        const { revision = 0 } = (await store.head('configmaps.', key)) ?? {}
        await store.write({
          resource: 'configmaps.',
          key,
          expected: revision,
          object: { round, text: `text ${index}` },
        })
      }),
    )
  expected = await contents(store)
  cpSync(closed, inUse, { recursive: true })
  await store[Symbol.asyncDispose]()
})
afterAll(() => rmSync(parent, { recursive: true, force: true }))

/** Opens a damaged copy. Returns what it holds, or the code of the refusal. */
async function opened(original: string, damage: (folder: string) => void): Promise<string> {
  const folder = join(parent, 'copy')
  rmSync(folder, { recursive: true, force: true })
  cpSync(original, folder, { recursive: true })
  damage(folder)
  try {
    await using store = await sqlite(folder).open()
    return await contents(store)
  } catch (error) {
    const { code, message } = error as { code: string; message: string }
    expect(message).toContain(folder)
    expect(message).toMatch(/a backup/)
    return code
  }
}

test('opens a copy of a folder in use, and one without the acknowledged revision', async () => {
  expect(await opened(inUse, () => undefined)).toBe(expected)
  expect(await opened(inUse, (folder) => rmSync(join(folder, 'acknowledged')))).toBe(expected)
  expect(
    await opened(inUse, (folder) => writeFileSync(join(folder, 'acknowledged'), '0000000000009999 00000000')),
  ).toBe(expected)
})

test.each(['objects.sqlite', 'objects.sqlite-wal', 'acknowledged'])(
  'never opens with other data after one changed bit of %s',
  async (name) => {
    const original = name === 'objects.sqlite' ? closed : inUse
    const size = readFileSync(join(original, name)).length
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 0, max: size * 8 - 1 }), async (bit) => {
        const found = await opened(original, (folder) => {
          const bytes = readFileSync(join(folder, name))
          bytes[bit >> 3]! ^= 1 << (bit & 7)
          writeFileSync(join(folder, name), bytes)
        })
        expect(found === 'OpenFailed' || found === 'FormatTooNew' ? expected : found).toBe(expected)
      }),
      { numRuns: runs, seed: 7 },
    )
  },
)

test('refuses a log that ends before what was acknowledged, and opens it without the acknowledged revision', async () => {
  const cut = (folder: string): void => {
    const log = join(folder, 'objects.sqlite-wal')
    truncateSync(log, readFileSync(log).length >> 1)
  }
  expect(await opened(inUse, cut)).toBe('OpenFailed')
  const found = await opened(inUse, (folder) => {
    cut(folder)
    rmSync(join(folder, 'acknowledged'))
  })
  expect(found).not.toBe(expected)
  expect(found).not.toBe('OpenFailed')
})

test('names a damaged object and the way to start without it', async () => {
  const folder = join(parent, 'named')
  cpSync(closed, folder, { recursive: true })
  const file = join(folder, 'objects.sqlite')
  const change = (sql: string): void => {
    using database = new DatabaseSync(file)
    database.exec(sql)
  }
  change("update version set object = replace(object, 'text 7', 'text 8') where revision = 1088")
  const { message } = (await sqlite(folder)
    .open()
    .catch((error: unknown) => error)) as Error
  expect(message).toContain('revision 1088 of configmaps. ns/')
  const statement = /"(delete from version [^"]*)"/.exec(message)![1]!
  change(statement)
  await using store = await sqlite(folder).open()
  expect((await store.list('configmaps.')).entries).toHaveLength(40)
  expect(existsSync(file)).toBe(true)
})
