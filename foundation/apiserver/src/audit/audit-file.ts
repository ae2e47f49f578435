// The audit log as a file of JSON lines, as kube-apiserver's `--audit-log-path` writes it.
import { createWriteStream } from 'node:fs'
import type { WriteStream } from 'node:fs'
import { open } from 'node:fs/promises'
import type { JsonObject } from '@fairlead/kube'
import type { AuditSink } from './audit-log.ts'

/** Bytes that wait for a slow disk; events beyond are dropped and counted. */
const bufferLimit = 16 * 1024 * 1024

/** A file that only its owner reads; events are appended. Requests never wait for it. */
export class AuditFile implements AuditSink, AsyncDisposable {
  readonly #stream: WriteStream
  readonly #onError: (error: Error) => void
  #isBroken = false
  #dropped = 0

  private constructor(stream: WriteStream, onError: (error: Error) => void) {
    this.#stream = stream
    this.#onError = onError
    stream.on('error', (error) => this.#break(error))
  }

  /** Opens a file. `onError` is called once when it can be written no more. Rejects when it cannot be opened. */
  static async open(path: string, onError: (error: Error) => void): Promise<AuditFile> {
    await (await open(path, 'a', 0o600)).close()
    return new AuditFile(createWriteStream(path, { flags: 'a', mode: 0o600 }), onError)
  }

  /** Number of events that were not written. */
  get dropped(): number {
    return this.#dropped
  }

  write(event: JsonObject): void {
    if (this.#isBroken || this.#stream.writableLength > bufferLimit) {
      this.#dropped++
      return
    }
    this.#stream.write(`${JSON.stringify(event)}\n`)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#isBroken) return
    await new Promise<void>((resolve) => this.#stream.end(resolve))
  }

  #break(error: Error): void {
    if (this.#isBroken) return
    this.#isBroken = true
    this.#onError(error)
  }
}
