// What a fuzzing run tries: requests in a row on a fresh server, or a text at a pure door. Plain JSON, so that a case
// found can be kept.

/** One request. A body that is no text stands in base64. */
export interface FuzzRequest {
  readonly method: string
  /** With its query. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
  readonly base64?: string
}

/** Requests to a fresh server, one after another. */
export interface RequestInput {
  readonly target: 'server'
  readonly requests: readonly FuzzRequest[]
}

/** Texts for one pure function of @fairlead/kube or of the protobuf codec. */
export interface DoorInput {
  readonly target: 'door'
  readonly door: string
  readonly texts: readonly string[]
}

/** One thing to try. */
export type FuzzInput = RequestInput | DoorInput

/** The bytes of a request's body; undefined without one. */
export function bodyOf({ body, base64 }: FuzzRequest): string | Uint8Array | undefined {
  return base64 === undefined ? body : Buffer.from(base64, 'base64')
}
