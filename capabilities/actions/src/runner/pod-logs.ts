// Logs of pods, with followers: in memory while a pod runs, then in a folder; in memory alone without one.
import type { WriteStream } from 'node:fs'
import type { KubeObject } from '@fairlead/kube'
import { LogFolder, lastLines } from './log-folder.ts'

/** A request for the log of a pod. */
export interface LogQuery {
  readonly follow: boolean
  readonly tailLines: number | undefined
  readonly signal: AbortSignal
}

/** Bytes of logs in memory; those that ended first are dropped first. */
const maxKept = 64 * 1024 * 1024

interface Log {
  readonly chunks: Buffer[]
  length: number
  ended: boolean
  readonly followers: Set<() => void>
  readonly file: WriteStream | undefined
}

/** The logs of pods, by the uid of the pod. */
export class PodLogs {
  readonly #logs = new Map<string, Log>()
  readonly #folder: LogFolder | undefined
  #size = 0

  /** Keeps the logs of ended pods in `folder`, beyond the life of this process. */
  constructor(folder?: string) {
    this.#folder = folder === undefined ? undefined : new LogFolder(folder)
  }

  /** Creates the log of a pod. */
  begin(uid: string): void {
    const file = this.#folder?.open(uid)
    this.#logs.set(uid, { chunks: [], length: 0, ended: false, followers: new Set(), file })
  }

  /** Appends to a log and returns its length in bytes. */
  add(uid: string, chunk: Buffer): number {
    const log = this.#logs.get(uid)
    if (log === undefined) return 0
    log.chunks.push(chunk)
    log.length += chunk.length
    this.#size += chunk.length
    log.file?.write(chunk)
    notifyFollowers(log)
    return log.length
  }

  /** Marks a log as complete. */
  end(uid: string): void {
    const log = this.#logs.get(uid)
    if (log === undefined) return
    log.ended = true
    notifyFollowers(log)
    if (log.file === undefined) this.#dropOldest()
    else log.file.end(() => this.#forget(uid))
  }

  /** Deletes the log of a deleted pod. */
  delete(uid: string): void {
    if (this.#logs.get(uid)?.ended === true) this.#forget(uid)
    this.#folder?.delete(uid)
  }

  /** Deletes the logs of pods that are not among `uids`. */
  keepOnly(uids: ReadonlySet<string>): void {
    for (const [uid, { ended }] of this.#logs) if (ended && !uids.has(uid)) this.#forget(uid)
    this.#folder?.keepOnly(new Set([...uids, ...this.#logs.keys()]))
  }

  /** Returns the response to `GET pods/NAME/log`; undefined for pods that did not run here. */
  readonly read = (pod: KubeObject, query: LogQuery): AsyncIterable<Uint8Array> | undefined => {
    const log = this.#logs.get(pod.metadata.uid ?? '')
    return log === undefined ? this.#folder?.read(pod.metadata.uid ?? '', query.tailLines) : follow(log, query)
  }

  #dropOldest(): void {
    for (const [uid, { ended }] of this.#logs) {
      if (this.#size <= maxKept) return
      if (ended) this.#forget(uid)
    }
  }

  #forget(uid: string): void {
    this.#size -= this.#logs.get(uid)?.length ?? 0
    this.#logs.delete(uid)
  }
}

async function* follow(log: Log, { follow: isFollowing, tailLines, signal }: LogQuery): AsyncGenerator<Uint8Array> {
  let next = log.chunks.length
  yield tailLines === undefined ? Buffer.concat(log.chunks) : lastLines(Buffer.concat(log.chunks), tailLines)
  while (isFollowing && !signal.aborted) {
    if (next < log.chunks.length) yield log.chunks[next++]!
    else if (log.ended) return
    else await changeOf(log, signal)
  }
}

function changeOf(log: Log, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      log.followers.delete(done)
      signal.removeEventListener('abort', done)
      resolve()
    }
    log.followers.add(done)
    signal.addEventListener('abort', done, { once: true })
  })
}

function notifyFollowers(log: Log): void {
  for (const notify of log.followers) notify()
}
