// A request and its answer, free of sockets: what all three doors (HTTPS, inject, in-process) hand to the one handler.
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
  /** The body's bytes, or for in-process callers the object itself (copied before it is kept). */
  readonly body: Uint8Array | { readonly json: JsonValue } | undefined
  /** The result of resolving the request, from a transport that did so before it read the body. */
  readonly target?: RequestTarget | undefined
  /** The body as it comes, in place of `body`, where a path has asked for that. */
  readonly stream?: AsyncIterable<Uint8Array>
  readonly credentials: Credentials
  /** In-process callers come with an identity; no authenticator is asked. */
  readonly user?: UserInfo
  /** In-process callers take the value of a JSON answer as it is; no bytes are made for them. */
  readonly takesValue?: boolean
  readonly signal: AbortSignal
}

/** A resolved method, path and query. */
export interface RequestTarget {
  /** Bytes that the body may have, or `stream` for an unbuffered body; 3 MiB when undefined. */
  readonly bodyLimit: number | 'stream' | undefined
}

/** An event of a watch on its way out. `bytes` is the JSON of the object when it is already there. */
export interface ServedEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR'
  readonly object: KubeObject
  readonly bytes?: Uint8Array
  /** Part of the state at the beginning, which waits for its reader; changes do not wait for anyone. */
  readonly initial?: boolean
}

/** What an answer carries. */
export type ServerBody =
  /**
   * JSON that the door encodes (bytes of the object when they are already there); in-process callers get the frozen
   * value itself.
   */
  | { readonly kind: 'json'; readonly value: JsonValue | KubeObject; readonly bytes?: Uint8Array }
  /** `pieces`: the same bytes, of which most are shared with other answers. */
  | { readonly kind: 'bytes'; readonly bytes: Uint8Array; readonly pieces?: readonly Uint8Array[] }
  /**
   * A watch: the door pulls events, those together that are there at once, until the iterable ends, and closes it when
   * the client goes.
   */
  | {
      readonly kind: 'watch'
      readonly events: AsyncIterable<readonly ServedEvent[]>
      readonly encode: (event: ServedEvent) => Uint8Array
    }
  /** Any other stream (logs). */
  | { readonly kind: 'stream'; readonly chunks: AsyncIterable<Uint8Array> }

/** The answer. Several `warning` values stay apart. */
export interface ServerResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string | readonly string[]>>
  readonly body: ServerBody
}
