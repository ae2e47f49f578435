// A request and its response, independent of sockets: every transport (HTTPS, inject, in-process) passes them to and
// from the handler.
import type { JsonValue, KubeObject, UserInfo } from '@fairlead/kube'
import type { Credentials } from '../identity/credentials.ts'

/** A request as the handler sees it. */
export interface ServerRequest {
  readonly method: string
  /** Percent-encoded path, no query. */
  readonly path: string
  readonly query: URLSearchParams
  /** Names in lower case; repeated headers joined as node:http does, `impersonate-group` as a list. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  /** The bytes of the body, or the object of an in-process client (copied before it is kept). */
  readonly body: Uint8Array | { readonly json: JsonValue } | undefined
  /** The resolved target, from a transport that resolves before it reads the body. */
  readonly target?: RequestTarget | undefined
  /** The unbuffered body, in place of `body`, for a path that streams. */
  readonly stream?: AsyncIterable<Uint8Array>
  /** A body that has not been read yet, in place of `body`: the handler reads it once the request is authorized. */
  readonly incoming?: IncomingBody | undefined
  /** Calls back when the response has been sent or its connection is closed; at once when it is closed already. */
  readonly onSent?: (callback: () => void) => void
  readonly credentials: Credentials
  /** The IP address of the client; undefined in process. */
  readonly remoteAddress?: string | undefined
  /** In-process clients have an identity; no authenticator is called. */
  readonly user?: UserInfo
  /** In-process clients take the value of a JSON response; no bytes are made for them. */
  readonly takesValue?: boolean
  readonly signal: AbortSignal
}

/** A body that has not been read yet. */
export interface IncomingBody {
  /** The bytes that reading it may take. */
  readonly maxBytes: number
  /** Reads the body. @throws StatusError 413, 400 when the client disconnects */
  read(): Promise<Uint8Array | undefined>
}

/** A resolved method, path and query. */
export interface RequestTarget {
  /** Bytes that the body may have, or `stream` for an unbuffered body; 3 MiB when undefined. */
  readonly bodyLimit: number | 'stream' | undefined
}

/** An event of a watch. `bytes` is the JSON of the object where it exists already. */
export interface ServedEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR'
  readonly object: KubeObject
  readonly bytes?: Uint8Array
  /** Part of the initial state, which waits for a slow client; changes do not wait. */
  readonly initial?: boolean
}

/** The body of a response. */
export type ServerBody =
  /**
   * JSON that the listener encodes (or the bytes of the object where they exist already); in-process clients get the
   * frozen value itself.
   */
  | { readonly kind: 'json'; readonly value: JsonValue | KubeObject; readonly bytes?: Uint8Array }
  /** `chunks`: the same bytes, most of them shared with other responses. */
  | { readonly kind: 'bytes'; readonly bytes: Uint8Array; readonly chunks?: readonly Uint8Array[] }
  /**
   * A watch: the transport pulls batches of events until the iterable ends, and closes it when the client disconnects.
   */
  | {
      readonly kind: 'watch'
      readonly events: AsyncIterable<readonly ServedEvent[]>
      readonly encode: (event: ServedEvent) => Uint8Array
    }
  /** Any other stream (logs). */
  | { readonly kind: 'stream'; readonly chunks: AsyncIterable<Uint8Array> }

/** A response. Each of several `warning` values becomes a header of its own. */
export interface ServerResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string | readonly string[]>>
  readonly body: ServerBody
}
