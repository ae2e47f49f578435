// Messages between the sandbox and its thread.

/** Calls the first function of a source with strings. */
export interface SnippetCall {
  readonly source: string
  readonly args: readonly string[]
  readonly limits: SnippetLimits
}

/** Limits of one call. */
export interface SnippetLimits {
  /** Milliseconds of processor time. */
  readonly milliseconds: number
  /** Bytes of memory that the snippet may allocate. */
  readonly bytes: number
}

/** The result of a call, or the reason of its failure. */
export type SnippetReply = { readonly value: string } | { readonly failure: string }

/** Sent once when the thread has loaded QuickJS: calls are timed from here on. */
export type SnippetReady = 'ready'
