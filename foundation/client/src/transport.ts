// The interface between clients and an API server. HTTPS and the embedded server's in-process transport implement it.
import type { Clock, JsonValue, KubeObject } from '@fairlead/kube'
import type { Impersonation } from './impersonation.ts'
import type { Login } from './login.ts'

/** One request. `path` is percent-encoded and has no query. */
export interface ApiRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly path: string
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>
  readonly headers?: Readonly<Record<string, string>>
  /** Media type of `body`; `application/json` when left out. */
  readonly contentType?: string
  readonly accept?: string
  readonly body?: JsonValue | KubeObject
  readonly signal?: AbortSignal
}

/** A response. The client throws a status of 400 and above as a StatusError, the transport never does. */
export interface ApiResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** Parsed JSON, frozen; the unparsed string where the response is not JSON. */
  readonly body: JsonValue
  /** Messages of `Warning` headers, without code and agent. */
  readonly warnings: readonly string[]
}

/** An event of a watch, as on the wire. */
export interface WatchEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR'
  readonly object: KubeObject
}

/** Carries requests to an API server. */
export interface Transport extends AsyncDisposable {
  /** The address of the server, for messages: a URL or `in-process`. */
  readonly address: string
  request(request: ApiRequest): Promise<ApiResponse>
  /**
   * Opens a watch (the query holds `watch=true`). Resolves once the server has accepted or refused it (`refused`). The
   * iterable ends when the server ends the watch, and throws when the connection breaks. Leaving the loop closes the
   * watch.
   */
  watch(
    request: ApiRequest,
  ): Promise<{ readonly events: AsyncIterable<WatchEvent> } | { readonly refused: ApiResponse }>
  /** Returns a transport to the same server that impersonates another user. */
  as(who: Impersonation): Transport
  /**
   * Returns a transport to the same server with its own login, where the transport authenticates; dispose it
   * separately.
   */
  withLogin?(login: (clock: Clock) => Login): Transport
}
