// A bare watch over HTTPS that goes on from the last revision it saw whenever its connection ends.
import { request } from 'node:https'
import type { Agent } from 'node:https'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import type { SeenEvent } from './watch-log.ts'

/** Where the watched server is. */
export interface WatchTarget {
  readonly host: string
  readonly port: number
  readonly agent: Agent
  /** Path of the collection, without a query. */
  readonly path: string
}

interface WatchLine {
  readonly type: string
  readonly object: {
    readonly code?: number
    readonly message?: string
    readonly metadata: { readonly name: string; readonly resourceVersion: string }
    readonly data?: { readonly n?: string }
  }
}

/**
 * Watches from a revision until the signal. `onEvent` is called for every event, `onFailure` when the watch cannot be
 * resumed. Bookmarks move the revision only.
 */
export class ResumingWatch {
  resumes = 0
  #revision: number
  readonly #target: WatchTarget

  constructor(target: WatchTarget, revision: number) {
    this.#target = target
    this.#revision = revision
  }

  async run(
    signal: AbortSignal,
    onEvent: (event: SeenEvent) => void,
    onFailure: (what: string) => void,
  ): Promise<void> {
    while (!signal.aborted) {
      await this.#connect(signal, onEvent, onFailure)
      this.resumes++
      await delay(50 + (this.resumes % 7) * 20)
    }
  }

  #connect(signal: AbortSignal, onEvent: (event: SeenEvent) => void, onFailure: (what: string) => void): Promise<void> {
    const { host, port, agent, path } = this.#target
    return new Promise((resolve) => {
      const sent = request(
        {
          host,
          port,
          agent,
          signal,
          path: `${path}?watch=true&allowWatchBookmarks=true&resourceVersion=${this.#revision}`,
        },
        (response) => {
          if (response.statusCode !== 200) onFailure(`watch from ${this.#revision} was answered ${response.statusCode}`)
          const lines = createInterface({ input: response })
          lines.on('line', (line) => {
            const event = parseLine(line)
            // The last line of a killed server may be half a line.
            if (event !== undefined) this.#take(event, onEvent, onFailure)
          })
          lines.on('error', () => {})
          response.on('close', resolve)
        },
      )
      sent.on('error', () => resolve())
      sent.end()
    })
  }

  #take({ type, object }: WatchLine, onEvent: (event: SeenEvent) => void, onFailure: (what: string) => void): void {
    if (type === 'ERROR') {
      onFailure(`watch from ${this.#revision} was refused: ${object.code} ${object.message}`)
      return
    }
    const revision = Number(object.metadata.resourceVersion)
    this.#revision = revision
    if (type !== 'BOOKMARK')
      onEvent({ type, name: object.metadata.name, revision, value: type === 'DELETED' ? '' : (object.data?.n ?? '') })
  }
}

function parseLine(line: string): WatchLine | undefined {
  try {
    return JSON.parse(line) as WatchLine
  } catch {
    return undefined
  }
}
