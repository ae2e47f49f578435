// What the command says when it cannot go on.

/** Exit codes of every subcommand (specs: cli-and-install §1). */
export const exitCode: { readonly error: 1; readonly usage: 2; readonly notReady: 3 } = {
  error: 1,
  usage: 2,
  notReady: 3,
}

/** An error whose message is all that the user needs: what is wrong, where, and what to write instead. */
export class CliError extends Error {
  readonly exitCode: number

  constructor(message: string, code: number = exitCode.error, options?: ErrorOptions) {
    super(message, options)
    this.name = 'CliError'
    this.exitCode = code
  }
}

/** A mistake in flags or files: exit code 2. */
export function usageError(message: string): CliError {
  return new CliError(message, exitCode.usage)
}
