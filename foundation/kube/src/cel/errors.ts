// Errors of expressions: compilation, evaluation and the cost budget.

/** One error in an expression; `at` is its offset in the source, in UTF-16 units. */
export interface Issue {
  readonly summary: string
  readonly at: number
}

/** Further errors are counted, not listed. */
const maxIssues = 100

/**
 * Thrown for an expression that does not compile. `message` is cel-go's, with the position and the marked line of every
 * error; line and column count from 1, and are those of the first.
 * - `CelSyntax`: the source is not an expression.
 * - `CelType`: undeclared names, no matching overloads, or a result of another type than expected.
 * - `CelProgram`: a constant part fails (`int('x')`); it has no position.
 */
export class CelCompileError extends Error {
  override readonly name = 'CelCompileError'
  readonly code: 'CelSyntax' | 'CelType' | 'CelProgram'
  /** The first error, without its position. */
  readonly summary: string
  readonly line: number
  readonly column: number

  constructor(code: CelCompileError['code'], issues: readonly Issue[], text: string) {
    const listed = issues.slice(0, maxIssues).toSorted((a, b) => a.at - b.at)
    const more = issues.length - listed.length
    const messages = listed.map((issue) => (code === 'CelProgram' ? issue.summary : displayed(issue, text)))
    super([...messages, ...(more > 0 ? [`${more} more errors were truncated`] : [])].join('\n'))
    const [first] = listed
    this.code = code
    this.summary = first?.summary ?? ''
    const { line, column } = placeOf(first?.at ?? 0, text)
    this.line = line
    this.column = column + 1
  }

  /** The message with the stage that failed, as Kubernetes reports it. */
  get problem(): string {
    return `${this.code === 'CelProgram' ? 'program instantiation' : 'compilation'} failed: ${this.message}`
  }
}

function placeOf(at: number, text: string): { readonly line: number; readonly column: number } {
  const lines = text.slice(0, at).split('\n')
  return { line: lines.length, column: Array.from(lines.at(-1)!).length }
}

/** Formats the message with its position and line; marks below wide characters are wide. */
function displayed({ summary, at }: Issue, text: string): string {
  const { line, column } = placeOf(at, text)
  const characters = Array.from((text.split('\n')[line - 1] ?? '').replaceAll('\t', ' '))
  const isWide = (character: string | undefined): boolean => character !== undefined && character > '\x7f'
  const dots = characters.slice(0, column).map((character) => (isWide(character) ? '\uff0e' : '.'))
  const mark = isWide(characters[column]) ? '\uff3e' : '^'
  return `ERROR: <input>:${line}:${column + 1}: ${summary}\n | ${characters.join('')}\n | ${dots.join('')}${mark}`
}

/**
 * Thrown when an evaluation fails: `no such key: x`, `division by zero`. Without a stack trace, because `||` and `&&`
 * catch many.
 */
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

/** Thrown when an evaluation exceeds its budget; expressions cannot catch it. */
export class CelBudgetError extends Error {
  override readonly name = 'CelBudgetError'
  readonly code = 'CelBudget'

  constructor() {
    super('operation cancelled: actual cost limit exceeded')
  }
}
