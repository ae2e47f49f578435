// The format of a backup: gzipped JSON lines. The first line is the header, then one line per object in key order; the
// last line has the number of objects and the checksum of the lines before it. Start with `writeBackup` and
// `readBackup`.
import { createHash } from 'node:crypto'
import { pipeline, Readable } from 'node:stream'
import { createGunzip, createGzip } from 'node:zlib'
import { isJsonObject } from '@fairlead/kube'
import type { JsonObject } from '@fairlead/kube'
import { decodeObject, encodeObject } from '../storage/object-text.ts'
import type { Entry, Store } from '../storage/store.ts'
import { BackupError } from './backup-error.ts'

/** The format that this version writes; it reads this one and all before it. */
export const backupFormat = 1

/** The header of a backup. */
export interface BackupHeader {
  /** Version of the format. */
  readonly format: number
  /** The revision at which its objects were read. */
  readonly revision: number
  /** Time of the backup, RFC 3339. */
  readonly createdAt: string
  /** The version of the server that wrote it. */
  readonly server: string
}

/** A complete, verified backup. */
export interface Backup {
  readonly header: BackupHeader
  /** Objects as stored, frozen; `revision` is their revision at that time. */
  readonly entries: readonly Entry[]
}

const product = 'fairlead'
/** Approximate length of the chunks passed to the compressor, in characters. */
const chunkLength = 64 * 1024
/** Maximum length of a line in bytes; no stored object comes near it. */
const maxLine = 64 * 1024 * 1024

/** Yields the bytes of a backup of all objects of a store. Leaving the loop cancels it. */
export function writeBackup(
  store: Pick<Store, 'snapshot' | 'revision'>,
  about: { readonly now: number; readonly server: string },
): AsyncIterable<Uint8Array> {
  const gzip = createGzip()
  // Errors reach the reader through the compressor, which the pipeline destroys with them.
  pipeline(Readable.from(chunks(store, about), { objectMode: true }), gzip, () => undefined)
  return gzip as AsyncIterable<Uint8Array>
}

async function* chunks(
  store: Pick<Store, 'snapshot' | 'revision'>,
  { now, server }: { readonly now: number; readonly server: string },
): AsyncGenerator<string> {
  const hash = createHash('sha256')
  const snapshot = store.snapshot()[Symbol.asyncIterator]()
  const first = snapshot.next()
  const { revision } = store
  let chunk = lineOf({ product, format: backupFormat, revision, createdAt: new Date(now).toISOString(), server })
  let entries = 0
  for (let next = await first; next.done !== true; next = await snapshot.next()) {
    const { resource, key, revision: at, object } = next.value
    const head = JSON.stringify({ resource, key, revision: at })
    chunk += `${head.slice(0, -1)},"object":${encodeObject(object)}}\n`
    entries++
    if (chunk.length < chunkLength) continue
    hash.update(chunk)
    yield chunk
    chunk = ''
  }
  hash.update(chunk)
  yield chunk + lineOf({ end: true, entries, sha256: hash.digest('hex') })
}

function lineOf(value: JsonObject): string {
  return `${JSON.stringify(value)}\n`
}

/**
 * Reads a whole backup and verifies it.
 * @throws BackupError `NotABackup`, `BackupTooNew`, `BackupTruncated`, `BackupDamaged`; the errors of `bytes`
 */
export async function readBackup(bytes: AsyncIterable<Uint8Array>): Promise<Backup> {
  const hash = createHash('sha256')
  const entries: Entry[] = []
  let header: BackupHeader | undefined
  let ended = false
  for await (const line of lines(bytes)) {
    if (ended) throw new BackupError('BackupDamaged', 'something follows the end')
    const value = parsedLine(line, header === undefined)
    if (header === undefined) {
      header = headerOf(value)
    } else if (value['end'] === true) {
      ended = true
      checkEnd(value, entries.length, hash.digest('hex'))
      continue
    } else {
      entries.push(entryOf(value, entries.length))
    }
    hash.update(line).update('\n')
  }
  if (header === undefined) throw new BackupError('NotABackup', 'it is empty')
  if (!ended) throw new BackupError('BackupTruncated', `it ends after ${entries.length} objects`)
  return { header, entries }
}

function parsedLine(line: Buffer, isFirst: boolean): JsonObject {
  try {
    const value = decodeObject(line.toString('utf8'))
    if (isJsonObject(value)) return value
  } catch {
    // Reported below.
  }
  throw isFirst
    ? new BackupError('NotABackup', 'it does not begin as one')
    : new BackupError('BackupDamaged', 'a line is not JSON')
}

/** Revisions of a backup are below this: after them a store must be able to count on for ever. */
const revisionLimit = 2 ** 48

function isRevision(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0 && value < revisionLimit
}

function headerOf(value: JsonObject): BackupHeader {
  const { format, revision, createdAt, server } = value
  if (value['product'] !== product || typeof format !== 'number')
    throw new BackupError('NotABackup', 'it does not begin as one')
  if (format > backupFormat)
    throw new BackupError('BackupTooNew', `it has format ${format} and this version reads up to ${backupFormat}`)
  if (!isRevision(revision) || typeof createdAt !== 'string' || typeof server !== 'string')
    throw new BackupError('BackupDamaged', 'its first line lacks fields')
  return { format, revision, createdAt, server }
}

function entryOf(value: JsonObject, index: number): Entry {
  const { resource, key, revision, object } = value
  if (
    typeof resource !== 'string' ||
    !/^[a-z][a-z0-9-]*\.[a-z0-9.-]*$/.test(resource) ||
    typeof key !== 'string' ||
    !isRevision(revision) ||
    !isJsonObject(object) ||
    !isJsonObject(object['metadata'])
  )
    throw new BackupError('BackupDamaged', `object ${index + 1} lacks fields`)
  return { resource, key, revision, object }
}

function checkEnd({ entries, sha256 }: JsonObject, count: number, digest: string): void {
  if (entries !== count)
    throw new BackupError('BackupDamaged', `it should hold ${String(entries)} objects, not ${count}`)
  if (sha256 !== digest) throw new BackupError('BackupDamaged', 'its checksum does not match')
}

/** Yields the lines of a compressed file, without line ends. */
async function* lines(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  let parts: Buffer[] = []
  let length = 0
  for await (const chunk of unpacked(bytes)) {
    let start = 0
    for (let end = chunk.indexOf(0x0a); end >= 0; end = chunk.indexOf(0x0a, start)) {
      const last = chunk.subarray(start, end)
      yield parts.length === 0 ? last : Buffer.concat([...parts, last])
      parts = []
      length = 0
      start = end + 1
    }
    if (start === chunk.length) continue
    parts.push(chunk.subarray(start))
    length += chunk.length - start
    if (length > maxLine) throw new BackupError('BackupDamaged', 'a line is too long')
  }
  if (length > 0) throw new BackupError('BackupTruncated', 'it ends within a line')
}

async function* unpacked(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  const gunzip = createGunzip()
  let failed: Error | undefined
  pipeline(Readable.from(bytes, { objectMode: true }), gunzip, (error) => (failed = error ?? undefined))
  try {
    yield* gunzip as AsyncIterable<Buffer>
  } catch (error) {
    throw unpackError(failed ?? (error as Error), error as Error)
  }
}

/** Converts an error of the decompressor to a BackupError; other errors are those of the source. */
function unpackError(first: Error & { code?: string }, seen: Error & { code?: string }): Error {
  const error = seen.code?.startsWith('Z_') ? seen : first
  switch (error.code) {
    case 'Z_BUF_ERROR':
      return new BackupError('BackupTruncated', 'its end is missing')
    case 'Z_DATA_ERROR':
      return error.message.includes('header')
        ? new BackupError('NotABackup', 'it is not compressed as one')
        : new BackupError('BackupDamaged', 'it cannot be decompressed')
    default:
      return error
  }
}
