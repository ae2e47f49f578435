// A watch that runs beside the scenario: events gather until a step asks for them.
import type { IncomingMessage } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { parseJson } from '@fairlead/kube'
import type { JsonObject } from '@fairlead/kube'
import type { Scenario } from './scenario.ts'

const surplusMs = 400
const waitMs = 20_000

/** True for a scenario about periodic bookmarks, which others leave out. */
export function keepsBookmarks(scenario: Scenario): boolean {
  return scenario.name === 'watch/timeout-and-bookmark'
}

/** Collects the events of one open watch. */
export class WatchStream {
  readonly #events: JsonObject[] = []
  readonly #message: IncomingMessage
  #ended = false
  #wake: () => void = () => {}

  constructor(message: IncomingMessage) {
    this.#message = message
    let rest = ''
    message.setEncoding('utf8')
    message.on('data', (chunk: string) => {
      const lines = (rest + chunk).split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) if (line.trim() !== '') this.#events.push(parseJson(line) as JsonObject)
      this.#wake()
    })
    const end = (): void => {
      this.#ended = true
      this.#wake()
    }
    message.on('end', end)
    message.on('error', end)
    message.on('close', end)
  }

  /**
   * The events since the last call: waits for `count` of them and a little for any surplus, or for the end of the
   * stream.
   */
  async take(options: {
    count: number | null
    untilEnd: boolean
    keepBookmarks: boolean
  }): Promise<{ events: JsonObject[]; ended: boolean }> {
    const deadline = performance.now() + waitMs
    const seen = (): JsonObject[] =>
      options.keepBookmarks ? foldBookmarks(this.#events) : this.#events.filter((event) => !isPeriodicBookmark(event))
    const done = (): boolean =>
      this.#ended || (!options.untilEnd && options.count !== null && seen().length >= options.count)
    while (!done() && performance.now() < deadline) {
      await Promise.race([delay(100), new Promise<void>((resolve) => (this.#wake = resolve))])
    }
    if (!options.untilEnd) await delay(surplusMs)
    const events = seen()
    this.#events.length = 0
    return { events, ended: this.#ended }
  }

  close(): void {
    this.#message.destroy()
  }
}

function isPeriodicBookmark(event: JsonObject): boolean {
  if (event['type'] !== 'BOOKMARK') return false
  const metadata = (event['object'] as JsonObject)['metadata'] as JsonObject | undefined
  return (metadata?.['annotations'] as JsonObject | undefined)?.['k8s.io/initial-events-end'] === undefined
}

/** Consecutive bookmarks count as one. */
function foldBookmarks(events: readonly JsonObject[]): JsonObject[] {
  return events.filter(
    (event, index) =>
      !(
        isPeriodicBookmark(event) &&
        events[index - 1] !== undefined &&
        isPeriodicBookmark(events[index - 1] as JsonObject)
      ),
  )
}
