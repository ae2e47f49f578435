// Inputs of a fuzzing run: a sequence of requests to a fresh server, or strings for a pure function. Plain JSON, so
// that a case found can be kept.

/** One request. A body that is not UTF-8 is in base64. */
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

/** Arguments of one pure function of @fairlead/kube or of the protobuf codec. */
export interface FunctionInput {
  readonly target: 'function'
  readonly name: string
  readonly texts: readonly string[]
}

/** One thing to try. */
export type FuzzInput = RequestInput | FunctionInput

/** The bytes of a request's body; undefined without one. */
export function bodyOf({ body, base64 }: FuzzRequest): string | Uint8Array | undefined {
  return base64 === undefined ? body : Buffer.from(base64, 'base64')
}
