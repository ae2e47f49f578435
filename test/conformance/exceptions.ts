// Known exceptions of a suite: one JSON file of name -> reason. One that starts to pass, or one that no case has any
// more, is a failure.
import { readFileSync } from 'node:fs'

/** Names that are expected to fail, each with its reason. */
export type Exceptions = ReadonlyMap<string, string>

/** Reads a file of known exceptions. Throws when it is missing. */
export function readExceptions(path: URL): Exceptions {
  const parsed: unknown = JSON.parse(readFileSync(path, 'utf8'))
  return new Map(Object.entries(parsed as Record<string, string>))
}

/** The difference between results and the lists of exceptions. */
export interface Verdict {
  /** Failed and not listed. */
  readonly unexpected: readonly string[]
  /** Listed and passed. */
  readonly cured: readonly string[]
}

/** Compares results with the lists of exceptions. */
export function judge(
  results: readonly { readonly name: string; readonly passed: boolean }[],
  ...lists: readonly Exceptions[]
): Verdict {
  const isListed = (name: string): boolean => lists.some((list) => list.has(name))
  return {
    unexpected: results.filter((result) => !result.passed && !isListed(result.name)).map((result) => result.name),
    cured: results.filter((result) => result.passed && isListed(result.name)).map((result) => result.name),
  }
}
