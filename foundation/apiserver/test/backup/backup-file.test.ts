// The format of backups: written backups are read back, and other files are rejected.
import { createHash } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { BackupError, memory, readBackup, writeBackup } from '@fairlead/apiserver'
import type { Backup, Entry, Store } from '@fairlead/apiserver'
import { parseJson } from '@fairlead/kube'
import type { JsonObject } from '@fairlead/kube'

const about = { now: Date.parse('2026-03-04T05:06:07Z'), server: 'v1.35.4+fairlead' }

async function bytesOf(store: Pick<Store, 'snapshot' | 'revision'>): Promise<Buffer> {
  return Buffer.concat(await Array.fromAsync(writeBackup(store, about)))
}

async function* inPieces(bytes: Uint8Array, length: number = 1000): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += length) yield bytes.subarray(at, at + length)
}

async function refusal(bytes: Uint8Array): Promise<string> {
  const error = await readBackup(inPieces(bytes)).then(
    () => undefined,
    (reason: unknown) => reason,
  )
  return error instanceof BackupError ? error.code : String(error)
}

async function filled(objects: readonly JsonObject[]): Promise<Store> {
  const store = await memory().open()
  for (const [index, object] of objects.entries())
    await store.write({
      resource: index % 2 === 0 ? 'configmaps.' : 'apples.example.com',
      key: `n/${index}`,
      expected: 0,
      object,
    })
  return store
}

test('a backup contains the objects of the store, to the last digit, in key order', async () => {
  const exact = parseJson('{"metadata":{"uid":"u"},"n":9007199254740993,"text":"ü\\u0000\\ud83d\\n"}') as JsonObject
  await using store = await filled([exact, { metadata: {} }, { metadata: { name: 'x' } }])
  expect(await readBackup(inPieces(await bytesOf(store), 7))).toEqual<Backup>({
    header: { format: 1, revision: 1003, createdAt: '2026-03-04T05:06:07.000Z', server: 'v1.35.4+fairlead' },
    entries: [
      { resource: 'apples.example.com', key: 'n/1', revision: 1002, object: { metadata: {} } },
      { resource: 'configmaps.', key: 'n/0', revision: 1001, object: exact },
      { resource: 'configmaps.', key: 'n/2', revision: 1003, object: { metadata: { name: 'x' } } },
    ],
  })
})

test('a backup does not contain writes made while it is read', async () => {
  const padding = 'x'.repeat(1000)
  await using store = await filled(Array.from({ length: 500 }, (_, n) => ({ metadata: { n }, padding })))
  const chunks: Uint8Array[] = []
  for await (const chunk of writeBackup(store, about)) {
    chunks.push(chunk)
    await store.write({ resource: 'zebras.', key: `z/${chunks.length}`, expected: 0, object: { metadata: {} } })
  }
  const { header, entries } = await readBackup(inPieces(Buffer.concat(chunks)))
  expect({
    revision: header.revision,
    count: entries.length,
    newest: Math.max(...entries.map((entry) => entry.revision)),
  }).toEqual({
    revision: 1500,
    count: 500,
    newest: 1500,
  })
})

test('an error of the store reaches the reader of a backup', async () => {
  const failing = {
    revision: 1000,
    async *snapshot(): AsyncGenerator<Entry> {
      yield { resource: 'a.', key: 'b', revision: 1, object: {} }
      throw new Error('the disk is gone')
    },
  }
  await expect(bytesOf(failing)).rejects.toThrow('the disk is gone')
})

describe('readBackup', () => {
  const header = JSON.stringify({ product: 'fairlead', format: 1, revision: 1, createdAt: 'now', server: 'v1' })
  const entry = JSON.stringify({ resource: 'a.', key: 'b', revision: 1, object: { metadata: {} } })
  const endOf = (...lines: string[]): string =>
    JSON.stringify({
      end: true,
      entries: lines.length - 1,
      sha256: createHash('sha256')
        .update(lines.map((line) => `${line}\n`).join(''))
        .digest('hex'),
    })
  const packed = (...lines: string[]): Uint8Array => gzipSync(lines.map((line) => `${line}\n`).join(''))

  test('accepts a complete backup', async () => {
    expect(await refusal(packed(header, entry, endOf(header, entry)))).toBe('undefined')
  })

  test.each([
    ['an empty file', new Uint8Array(), 'BackupTruncated'],
    ['text', Buffer.from('apiVersion: v1\nkind: List\n'), 'NotABackup'],
    ['another compressed file', packed('hello'), 'NotABackup'],
    ['compressed JSON of others', packed('{"kind":"List"}'), 'NotABackup'],
    ['a form of the future', packed(header.replace('"format":1', '"format":2'), entry), 'BackupTooNew'],
    ['a file without its last line', packed(header, entry), 'BackupTruncated'],
    ['half a line', gzipSync(`${header}\n${entry.slice(0, 20)}`), 'BackupTruncated'],
    ['a missing object', packed(header, endOf(header, entry)), 'BackupDamaged'],
    ['a changed object', packed(header, entry.replace('"b"', '"c"'), endOf(header, entry)), 'BackupDamaged'],
    ['a changed first line', packed(header.replace('v1', 'v2'), entry, endOf(header, entry)), 'BackupDamaged'],
    ['an object without metadata', packed(header, entry.replace('"metadata":{}', ''), ''), 'BackupDamaged'],
    [
      'a revision that a store cannot go on from',
      packed(header.replace('"revision":1', '"revision":9007199254740982')),
      'BackupDamaged',
    ],
    [
      'an object of such a revision',
      packed(header, entry.replace('"revision":1', '"revision":1e300'), ''),
      'BackupDamaged',
    ],
    [
      'an object of a resource without a name',
      packed(header, entry.replace('"a."', '"__proto__"'), ''),
      'BackupDamaged',
    ],
    ['a line that is not JSON', packed(header, '{'), 'BackupDamaged'],
    ['something after the end', packed(header, entry, endOf(header, entry), entry), 'BackupDamaged'],
  ])('%s', async (_, bytes, code) => {
    expect(await refusal(bytes)).toBe(code)
  })

  test('rejects every truncated backup', async () => {
    await using store = await filled(Array.from({ length: 40 }, (_, n) => ({ metadata: { n: `${n * 7919}` } })))
    const whole = await bytesOf(store)
    for (let length = 0; length < whole.length; length += 13)
      expect([length, await refusal(whole.subarray(0, length))]).toEqual([
        length,
        expect.stringMatching(/^(NotABackup|BackupTruncated)$/),
      ])
  })

  test('rejects every backup with a changed byte', async () => {
    await using store = await filled([{ metadata: { name: 'a' } }, { metadata: { name: 'b' } }])
    const whole = await bytesOf(store)
    await fc.assert(
      // Bytes 4 to 9 of the gzip header are the time and the system; readers ignore them.
      fc.asyncProperty(
        fc.integer({ min: 10, max: whole.length - 1 }),
        fc.integer({ min: 1, max: 255 }),
        async (at, by) => {
          const changed = Buffer.from(whole)
          changed[at] = (changed[at]! + by) % 256
          expect(await refusal(changed)).toMatch(/^(NotABackup|BackupDamaged|BackupTruncated)$/)
        },
      ),
      { numRuns: 300 },
    )
  })
})
