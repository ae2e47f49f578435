// Expected values against actual ones by unification: a placeholder binds to the value at its place, the same one to
// the same value everywhere. Start with Unifier.match; at the end of a scenario ask Unifier.rankErrors.
import type { JsonObject, JsonValue } from '@fairlead/kube'

/** One place where the response differs from the recorded one. */
export interface Difference {
  readonly path: string
  readonly expected: JsonValue | undefined
  readonly actual: JsonValue | undefined
  readonly why?: string
}

const uuid = '[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}'
const date = '\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}'

/**
 * Placeholders and the strings they match; `N` is a number. `bound` ones keep their value through the scenario.
 */
const kinds: readonly { readonly name: RegExp; readonly pattern: string; readonly bound?: boolean }[] = [
  { name: /^uid-\d+$/, pattern: uuid, bound: true },
  { name: /^rv-\d+$/, pattern: '\\d+', bound: true },
  { name: /^listrv-\d+$/, pattern: '\\d+', bound: true },
  { name: /^listrv$|^requested-rv$|^n$/, pattern: '\\d+' },
  { name: /^rv$/, pattern: '"?\\d+"?|<rv>' },
  { name: /^time$/, pattern: `${date}Z` },
  { name: /^microtime$/, pattern: `${date}\\.\\d{6}Z` },
  { name: /^nanotime$/, pattern: `${date}\\.\\d+Z` },
  { name: /^rfc1123-time$/, pattern: '\\w{3}, \\d{2} \\w{3} \\d{4} \\d{2}:\\d{2}:\\d{2} [+\\-\\w]+' },
  { name: /^klog$/, pattern: '[IWEF]\\d{4} \\d{2}:\\d{2}:\\d{2}\\.\\d+\\s+\\d+ [^\\]]*\\]' },
  { name: /^tmp$/, pattern: '/[^\\s"]*' },
  { name: /^age$/, pattern: '(?:\\d+(?:y|d|h|m|s))+|<unknown>|<invalid>' },
  { name: /^gen-\d+$/, pattern: '[bcdfghjklmnpqrstvwxz2456789]{5}', bound: true },
  { name: /^continue-\d+$/, pattern: '[A-Za-z0-9_=\\-]+', bound: true },
  { name: /^jwt-\d+$/, pattern: '[A-Za-z0-9_\\-]+\\.[A-Za-z0-9_\\-]+\\.[A-Za-z0-9_\\-]+', bound: true },
  { name: /^hash$/, pattern: '[A-Za-z0-9+/=_\\-]+' },
  { name: /^etag$/, pattern: '"?[^"]+"?' },
  { name: /^key$/, pattern: '[\\s\\S]+?' },
  { name: /^server$/, pattern: '(?:https?://)?[\\w.\\-\\[\\]:]+' },
  { name: /^description$|^any$/, pattern: '[\\s\\S]*' },
]

const placeholder = /<([a-z][a-z0-9]*(?:-[a-z0-9]+)*)>/g

function patternOf(name: string): { pattern: string; bound: boolean } | undefined {
  const found = kinds.find((kind) => kind.name.test(name))
  return found && { pattern: found.pattern, bound: found.bound ?? false }
}

function escape(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&')
}

/** Options of one comparison. */
export interface MatchOptions {
  /** Runs of spaces are folded: an age changes the padding after it. */
  readonly foldSpaces?: boolean
}

/** Holds what the placeholders of one scenario are bound to. */
export class Unifier {
  readonly #values = new Map<string, string>()
  readonly #names = new Map<string, string>()

  /** Differences between an expected value and the actual one; none when they unify. Binds only when they do. */
  match(
    expected: JsonValue | undefined,
    actual: JsonValue | undefined,
    path = '',
    options: MatchOptions = {},
  ): Difference[] {
    const differences: Difference[] = []
    this.#walk(expected, actual, path, options, differences)
    return differences
  }

  /** True when both unify; leaves no binding behind when not. */
  tries(expected: JsonValue, actual: JsonValue): boolean {
    const values = new Map(this.#values)
    const names = new Map(this.#names)
    if (this.match(expected, actual).length === 0) return true
    this.#restore(this.#values, values)
    this.#restore(this.#names, names)
    return false
  }

  /** A copy with the same bindings, to try something without consequences. */
  fork(): Unifier {
    const copy = new Unifier()
    for (const [name, value] of this.#values) copy.#values.set(name, value)
    for (const [value, name] of this.#names) copy.#names.set(value, name)
    return copy
  }

  /** `<rv-N>` must rise with N: what breaks that. */
  rankErrors(): string[] {
    const ranked = [...this.#values]
      .filter(([name]) => /^rv-\d+$/.test(name))
      .map(([name, value]) => ({ name, rank: Number(name.slice(3)), value: Number(value) }))
      .sort((a, b) => a.rank - b.rank)
    return ranked.flatMap((entry, index) => {
      const before = ranked[index - 1]
      return before && before.value >= entry.value
        ? [`<${before.name}> is ${before.value}, which is not below <${entry.name}>, ${entry.value}`]
        : []
    })
  }

  #restore(live: Map<string, string>, saved: Map<string, string>): void {
    live.clear()
    for (const [key, value] of saved) live.set(key, value)
  }

  #walk(
    expected: JsonValue | undefined,
    actual: JsonValue | undefined,
    path: string,
    options: MatchOptions,
    out: Difference[],
  ): void {
    if (expected === '<any>' || expected === '<description>') return
    if (typeof expected === 'string' && (typeof actual === 'string' || typeof actual === 'number')) {
      const why = this.#text(expected, String(actual), options)
      if (why !== undefined || (typeof actual === 'number' && !expected.startsWith('<')))
        out.push({ path, expected, actual, ...(why ? { why } : {}) })
    } else if (Array.isArray(expected) && Array.isArray(actual)) {
      if (expected.length !== actual.length)
        out.push({ path: `${path}.length`, expected: expected.length, actual: actual.length })
      const length = Math.max(expected.length, actual.length)
      for (let index = 0; index < length; index++) {
        this.#walk(expected[index] as JsonValue, actual[index] as JsonValue, `${path}[${index}]`, options, out)
      }
    } else if (isObject(expected) && isObject(actual)) {
      this.#object(expected, actual, path, options, out)
    } else if (
      expected !== actual &&
      !(isNumber(expected) && isNumber(actual) && String(expected) === String(actual))
    ) {
      out.push({ path, expected, actual })
    }
  }

  #object(expected: JsonObject, actual: JsonObject, path: string, options: MatchOptions, out: Difference[]): void {
    const left = new Set(Object.keys(actual))
    const templated: string[] = []
    for (const key of Object.keys(expected)) {
      if (key.search(placeholder) >= 0 && !left.has(key)) templated.push(key)
      else {
        left.delete(key)
        this.#walk(expected[key], Object.hasOwn(actual, key) ? actual[key] : undefined, join(path, key), options, out)
      }
    }
    for (const key of templated) {
      const found = [...left].find((candidate) => this.tries(key, candidate))
      if (found !== undefined) left.delete(found)
      this.#walk(expected[key], found === undefined ? undefined : actual[found], join(path, key), options, out)
    }
    for (const key of left) out.push({ path: join(path, key), expected: undefined, actual: actual[key] })
  }

  /** Undefined when the text unifies, else why not. */
  #text(expected: string, actual: string, options: MatchOptions): string | undefined {
    const fold = (text: string): string => (options.foldSpaces ? text.replace(/ +/g, ' ') : text)
    const wanted = fold(expected)
    const got = fold(actual)
    if (wanted === got) return undefined
    const names: string[] = []
    let source = ''
    let last = 0
    for (const match of wanted.matchAll(placeholder)) {
      const kind = patternOf(match[1] as string)
      if (kind === undefined) continue
      source += `${escape(wanted.slice(last, match.index))}(${kind.pattern})`
      names.push(match[1] as string)
      last = match.index + match[0].length
    }
    if (names.length === 0) return ''
    source += escape(wanted.slice(last))
    const found = new RegExp(`^${source}$`).exec(got)
    if (found === null) return ''
    return names.map((name, index) => this.#bind(name, found[index + 1] as string)).find((why) => why !== undefined)
  }

  #bind(name: string, value: string): string | undefined {
    if (!patternOf(name)?.bound) return undefined
    const known = this.#values.get(name)
    if (known !== undefined) return known === value ? undefined : `<${name}> was ${known} before`
    const family = name.replace(/-\d+$/, '')
    const other = family === 'uid' || family === 'rv' ? this.#names.get(`${family} ${value}`) : undefined
    if (other !== undefined) return `${value} was <${other}> before and should not be <${name}> too`
    this.#values.set(name, value)
    this.#names.set(`${family} ${value}`, name)
    return undefined
  }
}

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isNumber(value: JsonValue | undefined): value is number | bigint {
  return typeof value === 'number' || typeof value === 'bigint'
}

function join(path: string, key: string): string {
  return /^[\w-]+$/.test(key) ? `${path}.${key}` : `${path}[${JSON.stringify(key)}]`
}
