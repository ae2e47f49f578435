// Exit codes of commands, and the errors that end one. The program prints the message and exits with the code: commands
// throw and do not catch.

/** Exit codes of every command (specs: cli-and-install §1). */
export const exitCode: { readonly ok: 0; readonly error: 1; readonly usage: 2; readonly notReady: 3 } = {
  ok: 0,
  error: 1,
  usage: 2,
  notReady: 3,
}

/** An error whose message is all that the user needs: what is wrong, where, and what to write instead. */
export class CommandError extends Error {
  readonly exitCode: number

  constructor(message: string, code: number = exitCode.error, options?: ErrorOptions) {
    super(message, options)
    this.name = 'CommandError'
    this.exitCode = code
  }
}

/** Returns the error for a mistake in flags or arguments: exit code 2. */
export function usageError(message: string): CommandError {
  return new CommandError(message, exitCode.usage)
}
