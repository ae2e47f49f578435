// The SQLite file of the journal: one row per version, appended in revision order, so that a commit touches few pages.
// Runs in the worker only.
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
import { AcknowledgedRevision, readAcknowledgedRevision } from './acknowledged-revision.ts'
import type { Row } from './journal-messages.ts'
import { rowChecksum } from './row-checksum.ts'

/**
 * Error of a journal file.
 * @internal reported as a StoreError of the same code
 */
export class JournalFileError extends Error {
  readonly code: 'StoreLocked' | 'FormatTooNew' | 'OpenFailed'

  constructor(code: JournalFileError['code'], message: string) {
    super(message)
    this.code = code
  }
}

/**
 * Migrations from format n to n + 1, as SQL or a function. The format is in `user_version`; a new file runs all of
 * them. Never change a released one.
 */
const migrations: readonly (string | ((database: DatabaseSync) => void))[] = [
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
  (database) => {
    database.exec('alter table version add column checksum integer not null default 0')
    const set = database.prepare('update version set checksum = ? where revision = ?')
    const select = database.prepare('select revision, resource, key, deleted, at, object from version')
    select.setReturnArrays(true)
    for (const row of select.all() as unknown as Row[]) set.run(rowChecksum(row), row[0])
  },
]

const sqliteBusy = 5
const sqliteLocked = 6
/** A page with its header in the log. Bytes. */
const frame = 4096 + 24
/** Size of the log, in bytes, after which an idle worker checkpoints it into the file and restarts it. */
const checkpointAfter = 4 << 20
/** Number of commits after which the log is preallocated to its full size. */
const preallocateAfter = 32
const rowsPerChunk = 2000

/** An open journal file, locked for this process. */
export class JournalFile {
  readonly #database: DatabaseSync
  readonly #folder: string
  readonly #log: string
  readonly #ownerFile: string
  readonly #acknowledged: AcknowledgedRevision
  readonly #insert: StatementSync
  readonly #remove: StatementSync
  readonly #removeAbove: StatementSync
  readonly #setCompactedRevision: StatementSync
  readonly #setCounter: StatementSync
  #revision: number
  #unsaved = 0
  #commits = 0
  #isPreallocated = false

  /** Opens or creates the file. Throws JournalFileError. */
  constructor(folder: string, startedAt: string, firstRevision: number) {
    this.#folder = folder
    this.#log = join(folder, 'objects.sqlite-wal')
    this.#ownerFile = join(folder, 'owner.json')
    this.#database = openDatabase(folder, this.#ownerFile)
    writeFileSync(this.#ownerFile, `${JSON.stringify({ pid: process.pid, startedAt })}\n`, { mode: 0o600 })
    this.#insert = this.#database.prepare('insert into version values (?, ?, ?, ?, ?, ?, ?)')
    this.#remove = this.#database.prepare('delete from version where revision = ?')
    this.#removeAbove = this.#database.prepare('delete from version where revision > ?')
    this.#setCompactedRevision = this.#database.prepare(
      'insert into floor values (?, ?) on conflict do update set revision = excluded.revision',
    )
    this.#setCounter = this.#database.prepare(
      "insert into counter values ('revision', ?) on conflict do update set value = excluded.value",
    )
    const last = this.#database.prepare('select max(revision) as revision from version').get()
    const counter = this.#database.prepare("select value from counter where name = 'revision'").get()
    this.#revision = Math.max(firstRevision, Number(last?.revision ?? 0), Number(counter?.value ?? 0))
    const path = join(folder, 'acknowledged')
    checkLog(folder, path, this.#revision)
    this.#acknowledged = new AcknowledgedRevision(path)
    this.#acknowledged.write(this.#revision)
  }

  /** The newest revision ever committed. */
  get revision(): number {
    return this.#revision
  }

  /** Returns the oldest readable revision by resource. */
  compactedRevisions(): Map<string, number> {
    const rows = this.#database.prepare('select resource, revision from floor').all() as {
      resource: string
      revision: number
    }[]
    return new Map(rows.map(({ resource, revision }) => [resource, revision]))
  }

  /** Yields the rows in revision order, in chunks. @throws JournalFileError for a row that is damaged */
  *rows(): Iterable<readonly Row[]> {
    const statement = this.#database.prepare(
      'select revision, resource, key, deleted, at, object, checksum from version order by revision',
    )
    statement.setReturnArrays(true)
    let chunk: Row[] = []
    for (const stored of statement.iterate() as Iterable<unknown>) {
      const [revision, resource, key, deleted, at, object, checksum] = stored as [...Row, number]
      const row: Row = [revision, resource, key, deleted, at, object]
      if (rowChecksum(row) !== checksum) throw damagedRow(this.#folder, row)
      chunk.push(row)
      if (chunk.length === rowsPerChunk) {
        yield chunk
        chunk = []
      }
    }
    yield chunk
  }

  /** Inserts, compacts and drops rows in one transaction; on return it is on disk. */
  commit(
    rows: readonly Row[],
    compaction: { revisions: readonly number[]; compactedRevisions: ReadonlyMap<string, number> } | undefined,
    dropAbove: number | undefined,
  ): void {
    const revision = rows.at(-1)?.[0] ?? this.#revision
    this.#database.exec('begin immediate')
    try {
      if (dropAbove !== undefined) this.#removeAbove.run(dropAbove)
      for (const row of rows) {
        this.#insert.run(...row, rowChecksum(row))
        this.#unsaved += row[5].length + 100
      }
      if (compaction !== undefined) {
        for (const dropped of compaction.revisions) this.#remove.run(dropped)
        for (const [resource, compacted] of compaction.compactedRevisions)
          this.#setCompactedRevision.run(resource, compacted)
        // The newest row may be among the deleted ones; revisions are never reused.
        this.#setCounter.run(revision)
        this.#unsaved += compaction.revisions.length * 500
      }
      this.#database.exec('commit')
    } catch (error) {
      if (this.#database.isTransaction) this.#database.exec('rollback')
      throw error
    }
    this.#revision = revision
    // The commit is durable; a file that is behind costs nothing but a part of its use.
    ignoreErrors(() => this.#acknowledged.write(revision))
    // A commit writes whole pages, even for small changes.
    this.#unsaved += frame
    this.#commits++
  }

  /** Checkpoints the log into the file once it is large enough. */
  checkpoint(): void {
    if (this.#commits >= preallocateAfter && !this.#isPreallocated) this.#preallocate()
    if (this.#unsaved < checkpointAfter) return
    this.#unsaved = 0
    this.#database.exec('pragma wal_checkpoint(passive)')
    this.#database.exec('pragma incremental_vacuum(1000)')
  }

  /**
   * Fills the log with zeros, which SQLite reads as its end. Growing a file costs an entry in the journal of the file
   * system at each fsync: 0.4 ms instead of 0.16 ms for an fsync within the existing size.
   */
  #preallocate(): void {
    this.#isPreallocated = true
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
    this.#acknowledged.close()
    this.#database.close()
  }
}

function ignoreErrors(run: () => void): void {
  try {
    run()
  } catch {
    // See the caller.
  }
}

/** Milliseconds to wait for the lock of another process. */
const lockPatience = 1_000

function openDatabase(folder: string, ownerFile: string): DatabaseSync {
  const file = join(folder, 'objects.sqlite')
  let database: DatabaseSync | undefined
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    // SQLite creates its log with the mode of the file; both contain secrets.
    closeSync(openSync(file, 'a', 0o600))
    chmodSync(file, 0o600)
    database = new DatabaseSync(file)
    // The system releases the lock of a killed process only when it has taken that process down.
    database.exec(`pragma busy_timeout = ${lockPatience}`)
    database.exec(
      'pragma locking_mode = exclusive; pragma auto_vacuum = incremental; pragma journal_mode = wal; pragma synchronous = full',
    )
    database.exec('pragma wal_autocheckpoint = 0; begin exclusive; commit')
    migrate(database, folder)
    checkStructure(database)
    return database
  } catch (error) {
    if (database?.isOpen === true) database.close()
    throw openError(error, folder, ownerFile)
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
  for (const migration of migrations.slice(format)) {
    if (typeof migration === 'string') database.exec(migration)
    else migration(database)
  }
  database.exec(`pragma user_version = ${migrations.length}; commit`)
}

/** Throws where pages of the file do not fit together. */
function checkStructure(database: DatabaseSync): void {
  const found = database.prepare('pragma quick_check(1)').get() as { quick_check?: string } | undefined
  if (found?.quick_check !== 'ok') throw new Error(`the file is damaged: ${found?.quick_check ?? 'no result'}`)
}

/** Throws where the database is behind what was acknowledged. */
function checkLog(folder: string, path: string, revision: number): void {
  const acknowledged = readAcknowledgedRevision(path)
  if (acknowledged === undefined || acknowledged <= revision) return
  throw new JournalFileError(
    'OpenFailed',
    `The data in ${folder} is damaged: its log ends at revision ${revision}, but ${acknowledged} was acknowledged. Restore a backup into a new folder; to start with what is left, delete the file ${path}.`,
  )
}

function damagedRow(folder: string, [revision, resource, key]: Row): JournalFileError {
  return new JournalFileError(
    'OpenFailed',
    `The data in ${folder} is damaged: revision ${revision} of ${resource} ${key} is not what was written. Restore a backup into a new folder; to start without this version, run the statement "delete from version where revision = ${revision}" on ${join(folder, 'objects.sqlite')}.`,
  )
}

/** Returns the error of a file that cannot be opened or read. */
export function openError(
  error: unknown,
  folder: string,
  ownerFile: string = join(folder, 'owner.json'),
): JournalFileError {
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
