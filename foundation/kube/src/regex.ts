// Regular expressions that users supply, in Go's dialect (RE2): linear time for every pattern and input.
import { RE2JS } from 're2js'

/** Thrown for a pattern that is not a regular expression; the message is Go's: error parsing regexp: ... */
export class RegexError extends Error {
  override readonly name = 'RegexError'
  readonly code = 'InvalidRegex'
}

/** A compiled expression. Offsets are UTF-16 units. */
export interface Regex {
  readonly pattern: string
  /** Reports whether the expression matches somewhere in the text. */
  test(text: string): boolean
  /** Returns the first match, or undefined. */
  find(text: string): string | undefined
  /** Returns the groups of the first match, the empty string for one that took no part; undefined without a match. */
  groups(text: string): string[] | undefined
  /** Returns the matches that do not overlap, at most `limit` of them. */
  findAll(text: string, limit?: number): string[]
  /** Replaces every match; `$1` and `${name}` in the replacement refer to groups. */
  replaceAll(text: string, replacement: string): string
}

/** The number of compiled expressions that are cached. */
const cacheSize = 1_000
const cache = new Map<string, Regex>()

/**
 * Compiles a pattern of Go's regexp; compiled expressions are cached.
 * @throws RegexError `InvalidRegex`
 */
export function compileRegex(pattern: string): Regex {
  const cached = cache.get(pattern)
  if (cached !== undefined) {
    // Reinserted at the end: the map is in order of last use.
    cache.delete(pattern)
    cache.set(pattern, cached)
    return cached
  }
  const regex = compile(pattern)
  cache.set(pattern, regex)
  if (cache.size > cacheSize) cache.delete(cache.keys().next().value!)
  return regex
}

/** Returns the error message, or undefined when the pattern compiles. */
export function regexError(pattern: string): string | undefined {
  try {
    compileRegex(pattern)
    return undefined
  } catch (error) {
    if (error instanceof RegexError) return error.message
    throw error
  }
}

function compile(pattern: string): Regex {
  let re: RE2JS
  try {
    re = RE2JS.compile(pattern)
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    // Go always quotes the offending part, even an empty one.
    throw new RegexError(message.includes(': `') ? message : `${message}: \`\``)
  }
  const findAll = (text: string, limit: number = Infinity): string[] => {
    const found: string[] = []
    const matcher = re.matcher(text)
    while (found.length < limit && matcher.find()) found.push(matcher.group() ?? '')
    return found
  }
  return {
    pattern,
    test: (text) => re.test(text),
    find: (text) => findAll(text, 1)[0],
    groups: (text) => {
      const matcher = re.matcher(text)
      if (!matcher.find()) return undefined
      return Array.from({ length: matcher.groupCount() }, (_, index) => matcher.group(index + 1) ?? '')
    },
    findAll,
    replaceAll: (text, replacement) => re.matcher(text).replaceAll(replacement),
  }
}
