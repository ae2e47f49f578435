// Refuses writes while another process may lead or own a shard. A process that continues after a pause does not know
// that its Lease has expired until its timers have fired; responses that arrive before that continue its runs.
import type { ApiRequest, Transport } from '@fairlead/client'

/** A write that was not sent: the Lease was not renewed in time, so another process may work by now. */
export class LeaseExpired extends Error {
  readonly code = 'LeaseExpired' as const
  readonly remote = true as const

  constructor({ method, path }: ApiRequest) {
    super(`${method} ${path} was not sent: the Lease was not renewed in time, and another process may work by now`)
    this.name = 'LeaseExpired'
  }
}

/** Refuses writes while `isClosed`. */
export class WriteFence {
  /** Reports whether another process may work in place of this one. */
  isClosed: () => boolean = () => false

  /** Returns a transport that refuses writes while the fence is closed, under any identity. Reads pass. */
  over(transport: Transport): Transport {
    return {
      address: transport.address,
      request: async (request) => {
        if (request.method !== 'GET' && this.isClosed()) throw new LeaseExpired(request)
        return transport.request(request)
      },
      watch: (request) => transport.watch(request),
      as: (who) => this.over(transport.as(who)),
      ...(transport.withLogin && { withLogin: (login) => this.over(transport.withLogin!(login)) }),
      [Symbol.asyncDispose]: () => transport[Symbol.asyncDispose](),
    }
  }
}
