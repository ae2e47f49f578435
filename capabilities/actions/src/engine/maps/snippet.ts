// Snippets: JavaScript functions that authors of maps write. They run outside the engine, which only states how they
// are called.

/** Options of a call. */
export interface SnippetOptions {
  /** The caller on whose behalf the snippet runs: callers take turns. */
  readonly group?: string
  /** Drops the call when it has not started yet. */
  readonly signal?: AbortSignal
  /** The result may be that of an earlier call with the same source and arguments, a few seconds old. */
  readonly mayBeCached?: boolean
}

/**
 * Runs the first function of a source with string arguments and returns its result as a string. Rejects with an Error
 * whose message says why there is no result.
 */
export type RunSnippet = (source: string, args: readonly string[], options?: SnippetOptions) => Promise<string>
