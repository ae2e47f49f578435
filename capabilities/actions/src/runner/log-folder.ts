// A folder with the logs of pods, one file each: logs outlive the process, as long as their pods exist.
import { createReadStream, createWriteStream, existsSync, mkdirSync, readdirSync, rmSync, statSync } from 'node:fs'
import type { WriteStream } from 'node:fs'
import { join } from 'node:path'

const uidForm = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
const suffix = '.log'

/** The log files of pods, by the uid of the pod. */
export class LogFolder {
  readonly #path: string

  /** Creates the folder when it is missing; only its owner can read it. */
  constructor(path: string) {
    this.#path = path
    mkdirSync(path, { recursive: true, mode: 0o700 })
  }

  /** Opens the log of a pod for writing. Errors (a full disk) end the file, not the pod. */
  open(uid: string): WriteStream | undefined {
    if (!uidForm.test(uid)) return undefined
    const stream = createWriteStream(this.#file(uid), { flags: 'w', mode: 0o600 })
    stream.on('error', () => {})
    return stream
  }

  /** Returns the content of a log from the first of its last `tailLines` lines on; undefined when there is none. */
  read(uid: string, tailLines: number | undefined): AsyncIterable<Uint8Array> | undefined {
    if (!uidForm.test(uid) || !existsSync(this.#file(uid))) return undefined
    return tailLines === undefined ? createReadStream(this.#file(uid)) : this.#lastLines(uid, tailLines)
  }

  /** Deletes the log of a pod. */
  delete(uid: string): void {
    if (uidForm.test(uid)) rmSync(this.#file(uid), { force: true })
  }

  /** Deletes the logs of all pods that are not among `uids`. */
  keepOnly(uids: ReadonlySet<string>): void {
    for (const name of readdirSync(this.#path))
      if (name.endsWith(suffix) && !uids.has(name.slice(0, -suffix.length))) this.delete(name.slice(0, -suffix.length))
  }

  async *#lastLines(uid: string, count: number): AsyncGenerator<Uint8Array> {
    const chunks: Buffer[] = []
    // A log is bounded by what a pod may print.
    if (statSync(this.#file(uid)).size > 0)
      for await (const chunk of createReadStream(this.#file(uid))) chunks.push(chunk as Buffer)
    yield lastLines(Buffer.concat(chunks), count)
  }

  #file(uid: string): string {
    return join(this.#path, `${uid}${suffix}`)
  }
}

/** Returns the last lines of a log. */
export function lastLines(text: Buffer, count: number): Buffer {
  if (count <= 0) return Buffer.alloc(0)
  let from = text.length - (text.at(-1) === 10 ? 1 : 0)
  for (let lines = 0; lines < count; lines++) {
    from = text.lastIndexOf(10, from - 1)
    if (from < 0) return text
  }
  return text.subarray(from + 1)
}
