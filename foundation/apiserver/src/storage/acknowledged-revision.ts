// The newest acknowledged revision, in a file beside the database: SQLite ends its log at the first damaged page
// without an error, and only something outside of it knows that there was more.
import { closeSync, openSync, readFileSync, writeSync } from 'node:fs'
import { crc32 } from 'node:zlib'

/** Digits of a revision in the file. */
const width = 16

/**
 * The file. It is written after each commit and never flushed: it survives the end of the process, and after a power
 * cut it may be behind the database, never ahead.
 */
export class AcknowledgedRevision {
  readonly #file: number

  constructor(path: string) {
    this.#file = openSync(path, openFlags(path), 0o600)
  }

  write(revision: number): void {
    writeSync(this.#file, lineOf(revision), 0)
  }

  close(): void {
    closeSync(this.#file)
  }
}

/** Returns the revision in a file; undefined without a file, or when it is damaged itself. */
export function readAcknowledgedRevision(path: string): number | undefined {
  let line: string
  try {
    line = readFileSync(path, 'latin1')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
  const revision = Number(line.slice(0, width))
  return Number.isSafeInteger(revision) && line === lineOf(revision) ? revision : undefined
}

function lineOf(revision: number): string {
  const digits = String(revision).padStart(width, '0')
  return `${digits} ${crc32(digits).toString(16).padStart(8, '0')}\n`
}

/** Creates the file where it is missing, and keeps its content. */
function openFlags(path: string): string {
  closeSync(openSync(path, 'a', 0o600))
  return 'r+'
}
