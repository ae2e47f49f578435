// Snippets: JavaScript functions that authors of maps write. They run outside the engine, which only states how they
// are called.

/**
 * Runs the first function of a source with string arguments and returns its result as a string. Rejects with an Error
 * whose message says why there is no result.
 */
export type RunSnippet = (source: string, args: readonly string[]) => Promise<string>
