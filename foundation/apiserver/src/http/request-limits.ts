// Limits of what requests in flight may take, for one user and for all. A request beyond them gets 429 at once, before
// it costs anything.
import type { UserInfo } from '@fairlead/kube'

/** One of the limits. */
export interface Limit {
  readonly perUser: number
  readonly total: number
}

/** The limits of requests in flight. */
export interface RequestLimitOptions {
  /** Requests that are being handled or whose response is being sent; watches and other streams do not count. */
  readonly requests: Limit
  /** Bytes of bodies. */
  readonly bodyBytes: Limit
}

const mebibyte = 1024 * 1024

/** The real server has 400 read-only and 200 mutating requests in flight, and queues by user before that. */
export const defaultRequestLimits: RequestLimitOptions = {
  requests: { perUser: 200, total: 600 },
  bodyBytes: { perUser: 64 * mebibyte, total: 256 * mebibyte },
}

/** A request in flight. */
export interface AdmittedRequest {
  /** Returns false when the bytes of the body are beyond the limit. */
  reserve(bytes: number): boolean
  /** Ends the request; calling it again changes nothing. */
  release(): void
}

/** A request that no limit holds for. */
const exempt: AdmittedRequest = { reserve: () => true, release: () => undefined }

interface Usage {
  requests: number
  bodyBytes: number
}

/** Counts requests in flight. Users in `system:masters` are exempt, as in the real server. */
export class RequestLimits {
  readonly #options: RequestLimitOptions
  readonly #total: Usage = { requests: 0, bodyBytes: 0 }
  readonly #users = new Map<string, Usage>()

  constructor(options: RequestLimitOptions = defaultRequestLimits) {
    this.#options = options
  }

  /** Returns the request in flight; undefined when it is beyond a limit. */
  admit({ name, groups }: UserInfo): AdmittedRequest | undefined {
    if (groups.includes('system:masters')) return exempt
    const user = this.#users.get(name) ?? { requests: 0, bodyBytes: 0 }
    if (!this.#take('requests', user, 1)) return undefined
    this.#users.set(name, user)
    let reserved = 0
    let isOpen = true
    return {
      reserve: (bytes) => {
        if (!this.#take('bodyBytes', user, bytes)) return false
        reserved += bytes
        return true
      },
      release: () => {
        if (!isOpen) return
        isOpen = false
        this.#give('requests', user, 1)
        this.#give('bodyBytes', user, reserved)
        if (user.requests === 0) this.#users.delete(name)
      },
    }
  }

  #take(what: keyof Usage, user: Usage, amount: number): boolean {
    const { perUser, total } = this.#options[what]
    if (user[what] + amount > perUser || this.#total[what] + amount > total) return false
    user[what] += amount
    this.#total[what] += amount
    return true
  }

  #give(what: keyof Usage, user: Usage, amount: number): void {
    user[what] -= amount
    this.#total[what] -= amount
  }
}
