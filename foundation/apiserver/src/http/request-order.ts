// The order of requests on one connection: a client that pipelines requests costs no more than one response at a time.
import type { ServerResponse as HttpResponse } from 'node:http'
import type { Duplex } from 'node:stream'

/** A connection with more requests that wait is closed; each takes a few kilobytes. */
const waitingLimit = 100

/** Serves the requests of a connection in FIFO order, each after the response to the one before was sent. */
export class RequestOrder {
  readonly #socket: Duplex
  readonly #waiting: (() => void)[] = []
  #isBusy = false

  constructor(socket: Duplex) {
    this.#socket = socket
  }

  /** Calls `serve` when the responses to earlier requests have been sent; never when the connection closes before. */
  add(response: HttpResponse, serve: () => void): void {
    const begin = (): void => {
      response.once('close', () => this.#next())
      serve()
    }
    if (this.#isBusy) {
      // Pausing the connection instead would conflict with the back-pressure of node:http.
      if (this.#waiting.push(begin) > waitingLimit) this.#socket.destroy()
      return
    }
    this.#isBusy = true
    begin()
  }

  #next(): void {
    if (this.#socket.destroyed) return
    const next = this.#waiting.shift()
    this.#isBusy = next !== undefined
    next?.()
  }
}
