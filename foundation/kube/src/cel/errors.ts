// What can go wrong with an expression: it does not compile, it fails on a value, it takes too long.

/** One thing that is wrong with an expression; `at` is its offset in the text, in UTF-16 units. */
export interface Finding {
  readonly summary: string
  readonly at: number
}

/** More findings are counted, not told. */
const maxFindings = 100

/**
 * An expression does not compile. `message` is cel-go's, with the position and the marked line of everything that is wrong; line and column count
 * from 1, and are those of the first.
 * - `CelSyntax`: the text is no expression.
 * - `CelType`: names are not known, functions do not take what they are given, or the result is of another type than wanted.
 * - `CelProgram`: a part that never changes fails already (`int('x')`); it has no place.
 */
export class CelCompileError extends Error {
  override readonly name = 'CelCompileError'
  readonly code: 'CelSyntax' | 'CelType' | 'CelProgram'
  /** What is wrong first, without its position. */
  readonly summary: string
  readonly line: number
  readonly column: number

  constructor(code: CelCompileError['code'], findings: readonly Finding[], text: string) {
    const told = findings.slice(0, maxFindings).toSorted((a, b) => a.at - b.at)
    const more = findings.length - told.length
    const texts = told.map((finding) => (code === 'CelProgram' ? finding.summary : displayed(finding, text)))
    super([...texts, ...(more > 0 ? [`${more} more errors were truncated`] : [])].join('\n'))
    const [first] = told
    this.code = code
    this.summary = first?.summary ?? ''
    const { line, column } = placeOf(first?.at ?? 0, text)
    this.line = line
    this.column = column + 1
  }

  /** The message with the stage that failed, as Kubernetes tells of it. */
  get problem(): string {
    return `${this.code === 'CelProgram' ? 'program instantiation' : 'compilation'} failed: ${this.message}`
  }
}

function placeOf(at: number, text: string): { readonly line: number; readonly column: number } {
  const lines = text.slice(0, at).split('\n')
  return { line: lines.length, column: Array.from(lines.at(-1)!).length }
}

/** The message with its place and the line around it; marks below wide characters are wide. */
function displayed({ summary, at }: Finding, text: string): string {
  const { line, column } = placeOf(at, text)
  const characters = Array.from((text.split('\n')[line - 1] ?? '').replaceAll('\t', ' '))
  const isWide = (character: string | undefined): boolean => character !== undefined && character > '\x7f'
  const dots = characters.slice(0, column).map((character) => (isWide(character) ? '\uff0e' : '.'))
  const mark = isWide(characters[column]) ? '\uff3e' : '^'
  return `ERROR: <input>:${line}:${column + 1}: ${summary}\n | ${characters.join('')}\n | ${dots.join('')}${mark}`
}

/** An expression fails on a value: `no such key: x`, `division by zero`. Not worth a stack trace: `||` and `&&` swallow many. */
export class CelError extends Error {
  override readonly name = 'CelError'
  readonly code = 'CelEvaluation'

  constructor(message: string) {
    const limit = Error.stackTraceLimit
    Error.stackTraceLimit = 0
    super(message)
    Error.stackTraceLimit = limit
  }
}

/** An evaluation used up its budget; nothing in the expression can catch it. */
export class CelBudgetError extends Error {
  override readonly name = 'CelBudgetError'
  readonly code = 'CelBudget'

  constructor() {
    super('operation cancelled: actual cost limit exceeded')
  }
}
