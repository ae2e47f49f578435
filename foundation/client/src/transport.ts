// The one seam between what asks a Kubernetes API and what answers it. HTTPS and the embedded server's in-process
// transport both implement it.
import type { Clock, JsonValue, KubeObject } from '@fairlead/kube'
import type { Login } from './config/login/login.ts'

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

/** One answer. A status of 400 and above is thrown as a StatusError by the client, never by the transport. */
export interface ApiResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** Parsed JSON, frozen; the text itself where the answer is not JSON. */
  readonly body: JsonValue
  /** Texts of `Warning` headers, without code and agent. */
  readonly warnings: readonly string[]
}

/** An event of a watch, as it stands on the wire. */
export interface WatchEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR'
  readonly object: KubeObject
}

/** Who a client acts as; the fields of `Impersonate-*` headers. */
export interface Impersonation {
  readonly user: string
  readonly uid?: string
  readonly groups?: readonly string[]
  readonly extra?: Readonly<Record<string, readonly string[]>>
}

/** Carries requests to an API server. */
export interface Transport extends AsyncDisposable {
  /** Where it leads, for messages: a URL or `in-process`. */
  readonly address: string
  request(request: ApiRequest): Promise<ApiResponse>
  /**
   * Opens a watch (the query holds `watch=true`). Resolves once the server has accepted it; a refusal resolves with
   * `refused`. The iterable ends when the server ends the watch, and throws when the connection breaks. Leaving the
   * loop closes the watch.
   */
  watch(
    request: ApiRequest,
  ): Promise<{ readonly events: AsyncIterable<WatchEvent> } | { readonly refused: ApiResponse }>
  /** The same server, acting as someone else. */
  as(who: Impersonation): Transport
  /** The same server with a login of its own, where the transport authenticates; disposed on its own. */
  withLogin?(login: (clock: Clock) => Login): Transport
}
