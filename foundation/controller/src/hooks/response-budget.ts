// Bounds the memory of large responses over all calls of a client: a response that grows large is read on when the
// budget has space for it. Start with ResponseBudget.reserve.

/** Bytes of a response that need no reservation: common responses never wait. */
export const smallResponse: number = 1024 * 1024

interface Waiter {
  readonly bytes: number
  readonly grant: () => void
}

/**
 * The memory that one piece of work has reserved for the responses that it uses. Dispose it when they are not needed
 * any more. Work that holds memory gets more at once: if it waited for others that do the same, none of them would end.
 */
export class ResponseReservation implements Disposable {
  readonly #releases: (() => void)[] = []

  /** Something is reserved. */
  get isHeld(): boolean {
    return this.#releases.length > 0
  }

  /** @internal */
  add(release: () => void): void {
    this.#releases.push(release)
  }

  [Symbol.dispose](): void {
    for (const release of this.#releases.splice(0)) release()
  }
}

/** The budget of one client. */
export class ResponseBudget {
  readonly #limit: number
  #reserved = 0
  /** In order of arrival. */
  readonly #waiting = new Set<Waiter>()

  /** `limit` in bytes. */
  constructor(limit: number) {
    this.#limit = limit
  }

  /**
   * Resolves when there is space for so many bytes, in FIFO order; a response that is larger than the whole budget is
   * served alone. Throws the reason of the signal when it aborts first.
   */
  async reserve(reservation: ResponseReservation, bytes: number, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    if (reservation.isHeld || (this.#waiting.size === 0 && this.#fits(bytes))) return this.#take(reservation, bytes)
    await new Promise<void>((resolve, reject) => {
      const abort = (): void => {
        this.#waiting.delete(waiter)
        reject(signal.reason as Error)
        this.#grant()
      }
      const waiter: Waiter = {
        bytes,
        grant: () => {
          signal.removeEventListener('abort', abort)
          this.#take(reservation, bytes)
          resolve()
        },
      }
      this.#waiting.add(waiter)
      signal.addEventListener('abort', abort, { once: true })
    })
  }

  #take(reservation: ResponseReservation, bytes: number): void {
    this.#reserved += bytes
    reservation.add(() => {
      this.#reserved -= bytes
      this.#grant()
    })
  }

  #grant(): void {
    for (const waiter of this.#waiting) {
      if (!this.#fits(waiter.bytes)) return
      this.#waiting.delete(waiter)
      waiter.grant()
    }
  }

  #fits(bytes: number): boolean {
    return this.#reserved === 0 || this.#reserved + bytes <= this.#limit
  }
}
