// The checksum of a journal row: SQLite has none, so that a flipped bit on the disk would be another object.
import { crc32 } from 'node:zlib'
import type { Row } from './journal-messages.ts'

/** Returns the checksum of a row. */
export function rowChecksum([revision, resource, key, deleted, at, object]: Row): number {
  return crc32(object, crc32(`${revision} ${deleted} ${at} ${resource} ${key} `))
}
