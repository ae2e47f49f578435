// Counts the requests of controllers under measurement.
import type { ApiRequest, ApiResponse, Impersonation, Transport } from '@fairlead/client'

/** Numbers of requests. */
export interface Requests {
  reads: number
  writes: number
}

/** Reports whether a request reads, writes, or is not counted. */
export type Classify = (request: ApiRequest) => keyof Requests | undefined

/** A transport that counts what passes. */
export class CountingTransport implements Transport {
  readonly address: string
  readonly #inner: Transport
  readonly #requests: Requests
  readonly #classify: Classify

  constructor(inner: Transport, requests: Requests, classify: Classify = readOrWrite) {
    this.address = inner.address
    this.#inner = inner
    this.#requests = requests
    this.#classify = classify
  }

  request(request: ApiRequest): Promise<ApiResponse> {
    const counted = this.#classify(request)
    if (counted !== undefined) this.#requests[counted]++
    return this.#inner.request(request)
  }

  watch(request: ApiRequest): ReturnType<Transport['watch']> {
    return this.#inner.watch(request)
  }

  as(who: Impersonation): Transport {
    return new CountingTransport(this.#inner.as(who), this.#requests, this.#classify)
  }

  [Symbol.asyncDispose](): PromiseLike<void> {
    return this.#inner[Symbol.asyncDispose]()
  }
}

/** Access reviews are reads, although they are posted. */
function readOrWrite({ method, path }: ApiRequest): keyof Requests | undefined {
  if (method === 'GET') return 'reads'
  return /\/(?:events|subjectaccessreviews)/.test(path) ? undefined : 'writes'
}
