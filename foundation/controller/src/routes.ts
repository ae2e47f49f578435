// HTTP endpoints of a capability: with an authenticated caller, or signed by a secret.
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Client } from '@fairlead/client'
import type { JsonObject } from '@fairlead/kube'

/** The authenticated caller of an endpoint. */
export interface RouteUser {
  readonly name: string
  readonly groups: readonly string[]
}

/** A request to an endpoint of a capability. */
export interface RouteRequest {
  /** Upper case. */
  readonly method: string
  /** Decoded segments of the path after the prefix. */
  readonly path: readonly string[]
  readonly query: URLSearchParams
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  /** The body as a string; '' without a body. */
  readonly body: string
  readonly user: RouteUser
  /** A client with the rights of the caller and no more. */
  readonly client: Client
  readonly signal: AbortSignal
}

/** A JSON response of an endpoint. */
export interface RouteResponse {
  readonly status: number
  readonly body: JsonObject
  readonly headers?: Readonly<Record<string, string>>
}

/**
 * HTTP endpoints below a path. The server authenticates callers and authorizes the path as a non-resource URL; access
 * to objects is authorized request by request through `client`. A thrown StatusError becomes its Status response.
 */
export interface Route {
  /** Such as `/api/actions`. */
  readonly prefix: string
  /** Maximum size of a body in bytes; 1 MiB when left out. Larger ones get a 413 and are never read completely. */
  readonly bodyLimit?: number
  /** Handles a request; undefined for an unknown path. */
  handle(request: RouteRequest): Promise<RouteResponse | undefined>
  /**
   * Handles a request to upgrade the connection (WebSocket) by a caller with the right to GET the path; undefined for
   * an unknown path. The returned function takes over the connection; `signal` aborts when the connection breaks or the
   * server closes.
   */
  upgrade?(
    request: Omit<RouteRequest, 'method' | 'body'>,
  ): Promise<((connection: UpgradedConnection) => void) | undefined>
}

/** A request to a {@link SignedRoute}: nothing about its caller is known. */
export interface SignedRequest {
  /** Upper case. */
  readonly method: string
  /** Decoded segments of the path after the prefix. */
  readonly path: readonly string[]
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  /** The bytes that a signature covers. */
  readonly body: Uint8Array
}

/**
 * HTTP endpoints below a path for callers without an account in the cluster, which prove by a shared secret who they
 * are: the webhooks of git servers. The process serves them beside its health, under no one's rights: a handler must
 * refuse what is not signed, and may do no more than start work that is due anyway.
 */
export interface SignedRoute {
  /** Such as `/webhooks/git`. */
  readonly prefix: string
  /** Handles a request; undefined for an unknown path. A thrown StatusError becomes its Status response. */
  handle(request: SignedRequest): Promise<RouteResponse | undefined>
}

/**
 * An upgraded connection, as node:http emits it: the arguments of `handleUpgrade` of a WebSocket server.
 */
export interface UpgradedConnection {
  readonly request: IncomingMessage
  readonly socket: Duplex
  /** Bytes that were received after the headers. */
  readonly head: Buffer
}
