// What can go wrong with an expression: it does not compile, it fails on a value, it takes too long.

/**
 * An expression does not compile. `message` is cel-go's, position and marked line included; line and column count from 1.
 * - `CelSyntax`: the text is no expression.
 * - `CelType`: a name is not known, a function does not take what it is given, or the result is of another type than wanted.
 */
export class CelCompileError extends Error {
  override readonly name = 'CelCompileError'
  readonly code: 'CelSyntax' | 'CelType'
  /** The message without position. */
  readonly summary: string
  readonly line: number
  readonly column: number

  constructor(code: CelCompileError['code'], summary: string, text: string, offset: number) {
    const before = text.slice(0, offset)
    const lines = before.split('\n')
    const line = lines.length
    const column = Array.from(lines.at(-1)!).length
    const marked = text.split('\n')[line - 1] ?? ''
    super(`ERROR: <input>:${line}:${column + 1}: ${summary}\n | ${marked}\n | ${'.'.repeat(column)}^`)
    this.code = code
    this.summary = summary
    this.line = line
    this.column = column + 1
  }
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
