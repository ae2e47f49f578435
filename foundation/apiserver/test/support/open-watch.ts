// A watch of a test server that stays open.
import type { WatchEvent } from '@fairlead/client'
import type { TestApi } from './api.ts'

/** A watch through the in-process transport until it is disposed; `next` waits for one event. */
export class OpenWatch implements Disposable {
  readonly #events: AsyncIterator<WatchEvent>
  readonly #stop: AbortController

  constructor(events: AsyncIterable<WatchEvent>, stop: AbortController) {
    this.#events = events[Symbol.asyncIterator]()
    this.#stop = stop
  }

  static async open(
    of: TestApi,
    path: string,
    query: Record<string, string | boolean | number> = {},
  ): Promise<OpenWatch> {
    const stop = new AbortController()
    const opened = await of.server
      .transport()
      .watch({ method: 'GET', path, query: { watch: true, ...query }, signal: stop.signal })
    if ('refused' in opened) throw new Error(JSON.stringify(opened.refused.body))
    return new OpenWatch(opened.events, stop)
  }

  async next(): Promise<WatchEvent | undefined> {
    const { done, value } = await this.#events.next()
    return done === true ? undefined : value
  }

  async take(count: number): Promise<string[]> {
    const seen: string[] = []
    for (let i = 0; i < count; i++) {
      const event = await this.next()
      if (event !== undefined) seen.push(`${event.type} ${event.object.metadata.name ?? ''}`.trim())
    }
    return seen
  }

  [Symbol.dispose](): void {
    this.#stop.abort()
  }
}
