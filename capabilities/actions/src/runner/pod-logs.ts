// Logs of pods, in memory, with followers.
import type { KubeObject } from '@fairlead/kube'

/** A request for the log of a pod. */
export interface LogQuery {
  readonly follow: boolean
  readonly tailLines: number | undefined
  readonly signal: AbortSignal
}

/** Maximum number of logs; the oldest are dropped first. */
const maxPods = 200

interface Log {
  readonly chunks: Buffer[]
  length: number
  ended: boolean
  readonly followers: Set<() => void>
}

/** The logs of pods, by the uid of the pod. */
export class PodLogs {
  readonly #logs = new Map<string, Log>()

  /** Creates the log of a pod. */
  begin(uid: string): void {
    this.#logs.set(uid, { chunks: [], length: 0, ended: false, followers: new Set() })
    for (const oldest of this.#logs.keys()) {
      if (this.#logs.size <= maxPods) break
      this.#logs.delete(oldest)
    }
  }

  /** Appends to a log and returns its length in bytes. */
  add(uid: string, chunk: Buffer): number {
    const log = this.#logs.get(uid)
    if (log === undefined) return 0
    log.chunks.push(chunk)
    log.length += chunk.length
    notifyFollowers(log)
    return log.length
  }

  /** Marks a log as complete. */
  end(uid: string): void {
    const log = this.#logs.get(uid)
    if (log === undefined) return
    log.ended = true
    notifyFollowers(log)
  }

  /** Returns the response to `GET pods/NAME/log`; undefined for pods that did not run here. */
  readonly read = (pod: KubeObject, query: LogQuery): AsyncIterable<Uint8Array> | undefined => {
    const log = this.#logs.get(pod.metadata.uid ?? '')
    return log && follow(log, query)
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

function lastLines(text: Buffer, count: number): Buffer {
  if (count <= 0) return Buffer.alloc(0)
  let from = text.length - (text.at(-1) === 10 ? 1 : 0)
  for (let lines = 0; lines < count; lines++) {
    from = text.lastIndexOf(10, from - 1)
    if (from < 0) return text
  }
  return text.subarray(from + 1)
}
