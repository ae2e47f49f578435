// The pattern language of actions: literals and `${source.rest}` segments (originals/kappnav.md §1.5). Start with
// parsePattern.

/**
 * Stable codes:
 * - `InvalidPattern`: the string is not a valid pattern.
 * - `NoValue`: a segment has no value: a missing field, input, key, variable or snippet.
 * - `NotResolved`: an argument or a variable contains a `${…}` without a source.
 * - `Cycle`: a variable refers to itself.
 * - `SnippetFailed`: a snippet threw, took too long, or returned nothing.
 * - `FunctionFailed`: a function could not return a value.
 * - `TooLarge`: the result is too long, or took too many steps.
 */
export type PatternErrorCode =
  | 'InvalidPattern'
  | 'NoValue'
  | 'NotResolved'
  | 'Cycle'
  | 'SnippetFailed'
  | 'FunctionFailed'
  | 'TooLarge'

/** A pattern that cannot be resolved. */
export class PatternError extends Error {
  override readonly name = 'PatternError'
  readonly code: PatternErrorCode

  constructor(code: PatternErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}

/** A parsed pattern: its parts in order. */
export type Pattern = readonly PatternPart[]

/** A part of a pattern. `raw` is the segment as written. */
export type PatternPart =
  | { readonly source: 'literal'; readonly text: string }
  /** `${x}` without a source is left unresolved. */
  | { readonly source: 'none'; readonly raw: string }
  | { readonly source: 'resource'; readonly raw: string; readonly path: readonly string[] }
  | { readonly source: 'builtin' | 'global'; readonly raw: string; readonly map: string; readonly key: string }
  | { readonly source: 'input'; readonly raw: string; readonly name: string }
  | { readonly source: 'var'; readonly raw: string; readonly name: string; readonly default: string | undefined }
  | {
      readonly source: 'snippet' | 'func'
      readonly raw: string
      readonly name: string
      readonly args: readonly Pattern[]
    }

/** Maximum nesting of arguments within arguments. */
const maxDepth = 20

/** Parses a pattern. Throws PatternError `InvalidPattern`. */
export function parsePattern(text: string): Pattern {
  return parse(text, 0)
}

/**
 * Splits a string into literals and `${…}` segments, without unescaping. Command lines are split before substitution.
 */
export function rawParts(text: string): readonly { readonly isSegment: boolean; readonly text: string }[] {
  const parts: { isSegment: boolean; text: string }[] = []
  let from = 0
  let at = 0
  const end = (): void => void (at > from && parts.push({ isSegment: false, text: text.slice(from, at) }))
  while (at < text.length) {
    if (text.startsWith('$$', at)) at += 2
    else if (text.startsWith('${', at)) {
      end()
      const after = endOfSegment(text, at)
      parts.push({ isSegment: true, text: text.slice(at, after) })
      from = at = after
    } else at++
  }
  end()
  return parts
}

function parse(text: string, depth: number): Pattern {
  if (depth > maxDepth) throw invalid(`it nests deeper than ${maxDepth}`)
  return rawParts(text).map((part) =>
    part.isSegment ? segment(part.text, depth) : { source: 'literal', text: unescape(part.text) },
  )
}

/** Replaces `$$` with `$`, and `~hh` with the character of that hexadecimal code. */
function unescape(text: string): string {
  return text.replaceAll(/\$\$|~([0-9a-fA-F]{2})/g, (_match, code: string | undefined) =>
    code === undefined ? '$' : String.fromCharCode(Number.parseInt(code, 16)),
  )
}

/** Returns the index after the `}` that closes the `${` at `start`. */
function endOfSegment(text: string, start: number): number {
  let depth = 0
  for (let at = start; at < text.length; at++) {
    if (text.startsWith('$$', at)) at++
    else if (text.startsWith('${', at)) {
      depth++
      at++
    } else if (text[at] === '}' && --depth === 0) return at + 1
  }
  throw invalid(`"${excerpt(text.slice(start))}" has no closing "}"; write $$ for a literal "$"`)
}

function segment(raw: string, depth: number): PatternPart {
  const content = raw.slice(2, -1)
  if (/\s/.test(content)) throw invalid(`"${excerpt(raw)}" contains a blank; write ~20 for a blank in an argument`)
  const dot = content.indexOf('.')
  if (dot < 0) return { source: 'none', raw }
  const source = content.slice(0, dot)
  const rest = content.slice(dot + 1)
  switch (source) {
    case 'resource':
      return { source, raw, path: resourcePath(raw, rest) }
    case 'builtin':
      return { source, raw, map: 'builtin', key: plain(raw, rest) }
    case 'global': {
      const hash = rest.indexOf('#')
      if (hash < 0) throw invalid(`"${excerpt(raw)}" must name a map and a key: \${global.MAP#KEY}`)
      return { source, raw, map: plain(raw, rest.slice(0, hash)), key: plain(raw, rest.slice(hash + 1)) }
    }
    case 'input':
      return { source, raw, name: plain(raw, rest) }
    case 'var':
      return { source, raw, ...variable(raw, rest) }
    case 'snippet':
    case 'func':
      return { source, raw, ...call(raw, rest, depth) }
    case 'secret':
      throw invalid(
        `"${excerpt(raw)}": secrets are never substituted; let the command read the Secret with its own service account`,
      )
    default:
      throw invalid(
        `"${excerpt(raw)}": unknown source "${excerpt(source)}"; the sources are resource, builtin, global, input, var, snippet and func`,
      )
  }
}

function resourcePath(raw: string, text: string): readonly string[] {
  const path: string[] = []
  const step = /\.([^\s.[\]'"(){}$*@?,]+)|\['([^'${}]*)'\]/y
  step.lastIndex = 1
  if (text.startsWith('$')) {
    while (step.lastIndex < text.length) {
      const match = step.exec(text)
      if (match === null) break
      path.push(match[1] ?? match[2]!)
    }
    if (step.lastIndex === text.length && path.length > 0) return path
  }
  throw invalid(`"${excerpt(raw)}" must be a path such as $.metadata.labels['app.name']: only names, no indexes`)
}

function variable(raw: string, text: string): { readonly name: string; readonly default: string | undefined } {
  const comma = text.indexOf(',')
  if (comma < 0) return { name: plain(raw, text), default: undefined }
  const given = plain(raw, text.slice(comma + 1))
  return { name: plain(raw, text.slice(0, comma)), default: given.slice(given.indexOf('.') + 1) }
}

function call(raw: string, text: string, depth: number): { readonly name: string; readonly args: readonly Pattern[] } {
  const open = text.indexOf('(')
  if (open < 0 || !text.endsWith(')'))
    throw invalid(`"${excerpt(raw)}" must end with arguments in parentheses; write () for none`)
  const inner = text.slice(open + 1, -1)
  return {
    name: plain(raw, text.slice(0, open)),
    args: inner === '' ? [] : splitArguments(inner).map((argument) => parse(argument, depth + 1)),
  }
}

/** Splits at commas outside `${…}`; there is no quoting. */
function splitArguments(text: string): string[] {
  const found = ['']
  for (const part of rawParts(text)) {
    const [first, ...others] = part.isSegment ? [part.text] : part.text.split(',')
    found[found.length - 1]! += first!
    for (const other of others) found.push(other)
  }
  return found
}

function plain(raw: string, text: string): string {
  if (text === '' || text.includes('${'))
    throw invalid(
      `"${excerpt(raw)}": \${…} is only resolved in arguments of func and snippet and in variables, and no name may be empty`,
    )
  return text
}

function invalid(message: string): PatternError {
  return new PatternError('InvalidPattern', message)
}

function excerpt(text: string): string {
  return text.length > 100 ? `${text.slice(0, 100)}…` : text
}
