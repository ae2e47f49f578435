// The form of a backup: gzip of lines of JSON. The first line says what it is, then one line per object in the order of their keys, the last line
// says how many there were and what the lines before it add up to. Start with `writeBackup` and `readBackup`.
import { createHash } from 'node:crypto'
import { pipeline, Readable } from 'node:stream'
import { createGunzip, createGzip } from 'node:zlib'
import { isJsonObject } from '@fairlead/kube'
import type { JsonObject } from '@fairlead/kube'
import { decodeObject, encodeObject } from '../storage/object-text.ts'
import type { Entry, Store } from '../storage/store.ts'
import { BackupError } from './backup-error.ts'

/** The newest form that this version writes, and reads with all before it. */
export const backupFormat = 1

/** What a backup says of itself. */
export interface BackupHeader {
  /** Number of the form. */
  readonly format: number
  /** The revision that all its objects were read at. */
  readonly revision: number
  /** When, in RFC 3339. */
  readonly createdAt: string
  /** The version of the server that wrote it. */
  readonly server: string
}

/** A backup that was read whole and found sound. */
export interface Backup {
  readonly header: BackupHeader
  /** Objects as stored, frozen; `revision` is the one that they had. */
  readonly entries: readonly Entry[]
}

const product = 'fairlead'
/** Lines are handed to the compressor in pieces of about so many characters. */
const pieceLength = 64 * 1024
/** No stored object comes near this. */
const maxLine = 64 * 1024 * 1024

/** The bytes of a backup of everything that a store holds now. Leaving the loop stops the work. */
export function writeBackup(
  store: Pick<Store, 'snapshot' | 'revision'>,
  about: { readonly now: number; readonly server: string },
): AsyncIterable<Uint8Array> {
  const gzip = createGzip()
  // Errors reach the reader through the compressor, which the pipeline destroys with them.
  pipeline(Readable.from(pieces(store, about), { objectMode: true }), gzip, () => undefined)
  return gzip as AsyncIterable<Uint8Array>
}

async function* pieces(
  store: Pick<Store, 'snapshot' | 'revision'>,
  { now, server }: { readonly now: number; readonly server: string },
): AsyncGenerator<string> {
  const hash = createHash('sha256')
  const snapshot = store.snapshot()[Symbol.asyncIterator]()
  const first = snapshot.next()
  const { revision } = store
  let piece = lineOf({ product, format: backupFormat, revision, createdAt: new Date(now).toISOString(), server })
  let entries = 0
  for (let next = await first; next.done !== true; next = await snapshot.next()) {
    const { resource, key, revision: at, object } = next.value
    const head = JSON.stringify({ resource, key, revision: at })
    piece += `${head.slice(0, -1)},"object":${encodeObject(object)}}\n`
    entries++
    if (piece.length < pieceLength) continue
    hash.update(piece)
    yield piece
    piece = ''
  }
  hash.update(piece)
  yield piece + lineOf({ end: true, entries, sha256: hash.digest('hex') })
}

function lineOf(value: JsonObject): string {
  return `${JSON.stringify(value)}\n`
}

/**
 * Reads a whole backup and checks it: nothing of it should be used before this has resolved.
 * @throws BackupError `NotABackup`, `BackupTooNew`, `BackupTruncated`, `BackupDamaged`; what `bytes` throws
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
    // Said below.
  }
  throw isFirst
    ? new BackupError('NotABackup', 'it does not begin as one')
    : new BackupError('BackupDamaged', 'a line is not JSON')
}

function headerOf(value: JsonObject): BackupHeader {
  const { format, revision, createdAt, server } = value
  if (value['product'] !== product || typeof format !== 'number')
    throw new BackupError('NotABackup', 'it does not begin as one')
  if (format > backupFormat)
    throw new BackupError('BackupTooNew', `it has format ${format} and this version reads up to ${backupFormat}`)
  if (typeof revision !== 'number' || typeof createdAt !== 'string' || typeof server !== 'string')
    throw new BackupError('BackupDamaged', 'its first line lacks fields')
  return { format, revision, createdAt, server }
}

function entryOf(value: JsonObject, index: number): Entry {
  const { resource, key, revision, object } = value
  if (
    typeof resource !== 'string' ||
    typeof key !== 'string' ||
    typeof revision !== 'number' ||
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

/** The lines of compressed text, without their ends. */
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

/** What the decompressor complains of, in terms of the backup; other errors are the source's own. */
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
