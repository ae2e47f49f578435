// What the sandbox and its thread say to each other.

/** Run the first function of a source with texts. */
export interface SnippetCall {
  readonly source: string
  readonly args: readonly string[]
  readonly limits: SnippetLimits
}

/** Bounds of one call. */
export interface SnippetLimits {
  /** Milliseconds of processor time. */
  readonly milliseconds: number
  /** Bytes that the snippet may hold. */
  readonly bytes: number
}

/** What came out, or why nothing did. */
export type SnippetReply = { readonly value: string } | { readonly failure: string }

/** The thread has loaded what it needs: from now on time counts. */
export type SnippetReady = 'ready'
