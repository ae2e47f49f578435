// The journal's file: one row per version, appended in revision order, so that a commit touches few pages. Runs in the worker only.
import {
  chmodSync,
  closeSync,
  fstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { StatementSync } from 'node:sqlite'
import type { Row } from './journal-messages.ts'

/**
 * A refusal.
 * @internal told as a StoreError of the same code
 */
export class JournalFileError extends Error {
  readonly code: 'StoreLocked' | 'FormatTooNew' | 'OpenFailed'

  constructor(code: JournalFileError['code'], message: string) {
    super(message)
    this.code = code
  }
}

/**
 * How a file of format n becomes one of format n + 1. The number stands in `user_version`; a new file has none and runs through all of them.
 * Never change one that has been released.
 */
const migrations: readonly string[] = [
  `create table version (
     revision integer primary key,
     resource text not null,
     key text not null,
     deleted integer not null,
     at integer not null,
     object text not null
   ) strict;
   create table floor (resource text primary key, revision integer not null) strict, without rowid;
   create table counter (name text primary key, value integer not null) strict, without rowid;`,
]

const sqliteBusy = 5
const sqliteLocked = 6
/** A page and its head in the log. Bytes. */
const frame = 4096 + 24
/** Pages are carried from the log into the file after about this many bytes of log, once nobody waits; the log begins anew then. */
const checkpointAfter = 4 << 20
/** A store that has been written to so often is given the whole of its log at once. */
const roomAfter = 32
const rowsPerChunk = 2000

/** An open journal file, locked for this process. */
export class JournalFile {
  readonly #database: DatabaseSync
  readonly #log: string
  readonly #ownerFile: string
  readonly #insert: StatementSync
  readonly #remove: StatementSync
  readonly #removeAbove: StatementSync
  readonly #setFloor: StatementSync
  readonly #setCounter: StatementSync
  #revision: number
  #unsaved = 0
  #commits = 0
  #hasRoom = false

  /** Opens or makes the file. Throws JournalFileError. */
  constructor(folder: string, startedAt: string, firstRevision: number) {
    this.#log = join(folder, 'objects.sqlite-wal')
    this.#ownerFile = join(folder, 'owner.json')
    this.#database = openDatabase(folder, this.#ownerFile)
    writeFileSync(this.#ownerFile, `${JSON.stringify({ pid: process.pid, startedAt })}\n`, { mode: 0o600 })
    this.#insert = this.#database.prepare('insert into version values (?, ?, ?, ?, ?, ?)')
    this.#remove = this.#database.prepare('delete from version where revision = ?')
    this.#removeAbove = this.#database.prepare('delete from version where revision > ?')
    this.#setFloor = this.#database.prepare(
      'insert into floor values (?, ?) on conflict do update set revision = excluded.revision',
    )
    this.#setCounter = this.#database.prepare(
      "insert into counter values ('revision', ?) on conflict do update set value = excluded.value",
    )
    const last = this.#database.prepare('select max(revision) as revision from version').get()
    const counter = this.#database.prepare("select value from counter where name = 'revision'").get()
    this.#revision = Math.max(firstRevision, Number(last?.revision ?? 0), Number(counter?.value ?? 0))
  }

  /** The newest revision ever committed. */
  get revision(): number {
    return this.#revision
  }

  /** By resource, the oldest revision that can be read. */
  floors(): Map<string, number> {
    const rows = this.#database.prepare('select resource, revision from floor').all() as {
      resource: string
      revision: number
    }[]
    return new Map(rows.map(({ resource, revision }) => [resource, revision]))
  }

  /** Every row in revision order, in portions. */
  *rows(): Iterable<readonly Row[]> {
    const statement = this.#database.prepare(
      'select revision, resource, key, deleted, at, object from version order by revision',
    )
    statement.setReturnArrays(true)
    let chunk: Row[] = []
    for (const row of statement.iterate() as Iterable<unknown>) {
      chunk.push(row as Row)
      if (chunk.length === rowsPerChunk) {
        yield chunk
        chunk = []
      }
    }
    yield chunk
  }

  /** Writes, forgets and drops as one; when it returns, it is on the disk. */
  commit(
    rows: readonly Row[],
    forget: { revisions: readonly number[]; floors: ReadonlyMap<string, number> } | undefined,
    dropAbove: number | undefined,
  ): void {
    const revision = rows.at(-1)?.[0] ?? this.#revision
    this.#database.exec('begin immediate')
    try {
      if (dropAbove !== undefined) this.#removeAbove.run(dropAbove)
      for (const row of rows) {
        this.#insert.run(...row)
        this.#unsaved += row[5].length + 100
      }
      if (forget !== undefined) {
        for (const gone of forget.revisions) this.#remove.run(gone)
        for (const [resource, floor] of forget.floors) this.#setFloor.run(resource, floor)
        // The newest row may be among those that go; revisions never come back.
        this.#setCounter.run(revision)
        this.#unsaved += forget.revisions.length * 500
      }
      this.#database.exec('commit')
    } catch (error) {
      if (this.#database.isTransaction) this.#database.exec('rollback')
      throw error
    }
    this.#revision = revision
    // A commit writes whole pages, however little it changes on them.
    this.#unsaved += frame
    this.#commits++
  }

  /** Carries the log into the file when there is enough of it. */
  checkpoint(): void {
    if (this.#commits >= roomAfter && !this.#hasRoom) this.#makeRoom()
    if (this.#unsaved < checkpointAfter) return
    this.#unsaved = 0
    this.#database.exec('pragma wal_checkpoint(passive)')
    this.#database.exec('pragma incremental_vacuum(1000)')
  }

  /**
   * Fills the log up with zeros, which SQLite reads as its end. A file that grows costs an entry in the journal of the file system at each fsync:
   * 0.4 ms where an fsync of what is there already takes 0.16 ms.
   */
  #makeRoom(): void {
    this.#hasRoom = true
    const file = openSync(this.#log, 'r+')
    try {
      const { size } = fstatSync(file)
      if (size < checkpointAfter) writeSync(file, Buffer.alloc(checkpointAfter - size), 0, undefined, size)
    } finally {
      closeSync(file)
    }
  }

  close(): void {
    rmSync(this.#ownerFile, { force: true })
    this.#database.close()
  }
}

function openDatabase(folder: string, ownerFile: string): DatabaseSync {
  const file = join(folder, 'objects.sqlite')
  let database: DatabaseSync | undefined
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    // SQLite gives its log the mode of the file; secrets are in both.
    closeSync(openSync(file, 'a', 0o600))
    chmodSync(file, 0o600)
    database = new DatabaseSync(file)
    database.exec(
      'pragma locking_mode = exclusive; pragma auto_vacuum = incremental; pragma journal_mode = wal; pragma synchronous = full',
    )
    database.exec('pragma wal_autocheckpoint = 0; begin exclusive; commit')
    migrate(database, folder)
    return database
  } catch (error) {
    if (database?.isOpen === true) database.close()
    throw refusal(error, folder, ownerFile)
  }
}

function migrate(database: DatabaseSync, folder: string): void {
  const format = Number(database.prepare('pragma user_version').get()?.user_version)
  if (format > migrations.length) {
    throw new JournalFileError(
      'FormatTooNew',
      `The data in ${folder} has format ${format}, written by a newer Fairlead; this one reads up to ${migrations.length}. Use that version, or another folder.`,
    )
  }
  if (format === migrations.length) return
  database.exec('begin immediate')
  for (const migration of migrations.slice(format)) database.exec(migration)
  database.exec(`pragma user_version = ${migrations.length}; commit`)
}

function refusal(error: unknown, folder: string, ownerFile: string): JournalFileError {
  if (error instanceof JournalFileError) return error
  const code = (error as { errcode?: number }).errcode
  if (code === sqliteBusy || code === sqliteLocked) {
    return new JournalFileError(
      'StoreLocked',
      `The data folder ${folder} is in use by ${describeOwner(ownerFile)}. Stop it, or use another folder.`,
    )
  }
  const reason = error instanceof Error ? error.message : String(error)
  return new JournalFileError(
    'OpenFailed',
    `The data folder ${folder} could not be opened: ${reason}. Use another folder; a backup can be restored into a new one.`,
  )
}

function describeOwner(file: string): string {
  try {
    const { pid, startedAt } = JSON.parse(readFileSync(file, 'utf8')) as { pid?: unknown; startedAt?: unknown }
    return `process ${String(pid)}, started ${String(startedAt)}`
  } catch {
    return 'another process'
  }
}
