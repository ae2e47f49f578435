// Errors of a render, formatted as kpt does: the operations and packages on the way to the cause.

/** The cause of a failed function, whose messages were reported with its step. */
export const alreadyHandled = 'already handled error'

/** One level of a failed render: what was being done, in which package. */
export class RenderError extends Error {
  override readonly name = 'RenderError'
  readonly operation: string
  /** The package's folder below the root package. */
  readonly packagePath: string
  override readonly cause: Error

  constructor(operation: string, packagePath: string, cause: Error) {
    super(formatLevels(operation, packagePath, cause))
    this.operation = operation
    this.packagePath = packagePath
    this.cause = cause
  }

  /** The error at the bottom. */
  get root(): Error {
    return this.cause instanceof RenderError ? this.cause.root : this.cause
  }
}

/** Formats the levels, leaving out what a level shares with the one above it. */
function formatLevels(operation: string, packagePath: string, cause: Error): string {
  const head = [operation, packageText(packagePath)].join(': ')
  if (!(cause instanceof RenderError)) return `${head}: ${cause.message}`
  return `${head}:\n\t${formatBelow(cause, operation, packagePath)}`
}

function formatBelow(error: RenderError, operation: string, packagePath: string): string {
  const own = [
    error.operation === operation ? '' : error.operation,
    error.packagePath === packagePath ? '' : packageText(error.packagePath),
  ].filter((part) => part !== '')
  const { cause } = error
  if (!(cause instanceof RenderError)) return [...own, cause.message].join(': ')
  const below = formatBelow(cause, error.operation, error.packagePath)
  return own.length === 0 ? below : `${own.join(': ')}:\n\t${below}`
}

function packageText(path: string): string {
  return path === '' ? 'pkg .' : `pkg ./${path}`
}
