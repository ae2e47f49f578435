// The journal on the store's side: sends requests to the worker thread that owns the file.
import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'
import { Worker } from 'node:worker_threads'
import { isJsonObject } from '@fairlead/kube'
import type { Clock, JsonObject } from '@fairlead/kube'
import { firstRevision } from './journal.ts'
import type { Journal, JournalBatch, JournalState, StoredRecord } from './journal.ts'
import type { JournalReply, JournalRequest, Row } from './journal-messages.ts'
import { decodeObject } from './object-text.ts'
import { StoreError } from './store.ts'

type RequestOf<Kind extends JournalRequest['kind']> = Omit<Extract<JournalRequest, { kind: Kind }>, 'id'>

interface PendingReply {
  readonly resolve: (reply: JournalReply) => void
  readonly reject: (error: Error) => void
  readonly rows: ((rows: readonly Row[]) => void) | undefined
}

/**
 * A journal in `folder`/objects.sqlite, written by a worker thread. When a worker dies, its commit fails and the next
 * commit starts another.
 */
export class WorkerJournal implements Journal {
  readonly #folder: string
  readonly #clock: Pick<Clock, 'now'>
  readonly #pending = new Map<number, PendingReply>()
  #worker: Worker | undefined
  #nextId = 1

  constructor(folder: string, clock: Pick<Clock, 'now'>) {
    this.#folder = folder
    this.#clock = clock
  }

  async open(load: (records: readonly StoredRecord[]) => void): Promise<JournalState> {
    const opened = await this.#start((rows) => load(rows.map(storedRecord)))
    if (opened.kind !== 'opened') throw new Error(`The journal replied ${opened.kind} to open.`)
    return { revision: opened.revision, compactedRevisions: opened.compactedRevisions }
  }

  async commit(batch: JournalBatch): Promise<void> {
    const rows = batch.records.map(({ revision, resource, key, deleted, at, json }): Row => [
      revision,
      resource,
      key,
      deleted ? 1 : 0,
      at,
      json,
    ])
    if (this.#worker === undefined) await this.#start(undefined)
    await this.#request<'commit'>({ kind: 'commit', rows, compaction: batch.compaction, dropAbove: batch.dropAbove })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const worker = this.#worker
    if (worker === undefined) return
    await this.#request<'close'>({ kind: 'close' })
    this.#worker = undefined
    await worker.terminate()
  }

  async #start(rows: PendingReply['rows']): Promise<JournalReply> {
    const worker = new Worker(pathToFileURL(createRequire(import.meta.url).resolve('#journal-worker')), {
      name: 'fairlead-journal',
    })
    this.#worker = worker
    worker.on('message', (reply: JournalReply) => this.#receive(reply))
    worker.on('error', (error) => this.#lose(worker, error instanceof Error ? error : new Error(String(error))))
    worker.on('exit', (code) => this.#lose(worker, new Error(`The journal's thread ended with code ${code}.`)))
    worker.unref()
    const startedAt = new Date(this.#clock.now()).toISOString()
    try {
      return await this.#request<'open'>(
        { kind: 'open', folder: this.#folder, startedAt, firstRevision, load: rows !== undefined },
        rows,
      )
    } catch (error) {
      this.#worker = undefined
      await worker.terminate()
      throw error
    }
  }

  #request<Kind extends JournalRequest['kind']>(
    request: RequestOf<Kind>,
    rows?: PendingReply['rows'],
  ): Promise<JournalReply> {
    return new Promise((resolve, reject) => {
      const worker = this.#worker!
      const id = this.#nextId++
      this.#pending.set(id, { resolve, reject, rows })
      // The thread keeps the process alive only while a reply is pending.
      worker.ref()
      worker.postMessage({ ...request, id })
    })
  }

  #receive(reply: JournalReply): void {
    const pending = this.#pending.get(reply.id)
    if (pending === undefined) return
    if (reply.kind === 'rows') return pending.rows?.(reply.rows)
    this.#pending.delete(reply.id)
    if (this.#pending.size === 0) this.#worker?.unref()
    if (reply.kind === 'failed') pending.reject(new StoreError(reply.code, reply.message))
    else pending.resolve(reply)
  }

  #lose(worker: Worker, error: Error): void {
    if (this.#worker !== worker) return
    this.#worker = undefined
    for (const { reject } of this.#pending.values()) reject(error)
    this.#pending.clear()
  }
}

function storedRecord([revision, resource, key, deleted, at, text]: Row): StoredRecord {
  return {
    revision,
    resource,
    key,
    deleted: deleted === 1,
    at,
    bytes: Buffer.byteLength(text),
    object: () => readObject(text, resource, key, revision),
  }
}

/** @throws StoreError `OpenFailed` */
function readObject(text: string, resource: string, key: string, revision: number): JsonObject {
  let cause: unknown
  try {
    const object = decodeObject(text)
    if (isJsonObject(object)) return object
  } catch (error) {
    cause = error
  }
  const message = `The stored object ${resource} ${key} (revision ${revision}) is not a JSON object. Restore a backup.`
  throw new StoreError('OpenFailed', message, { cause })
}
