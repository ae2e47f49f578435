// The message of an error that ended a command.
import { CommandError } from '@fairlead/offline/command-error'

/**
 * Returns what to print: for a server that does not respond or refuses the login, kubectl's
 * sentence and what to do about it.
 */
export function errorMessage(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if (error instanceof CommandError) return error.message
  if (process.env['FAIRLEAD_DEBUG']) return error.stack ?? error.message
  return unreachableMessage(error) ?? unauthenticatedMessage(error) ?? error.message
}

/** Recognizes the server's 401 by its fields, as {@link unreachableMessage} does. */
function unauthenticatedMessage({ name, code }: Error & { readonly code?: unknown }): string | undefined {
  return name === 'StatusError' && code === 401
    ? 'You must be logged in to the server (Unauthorized): renew the credentials of the kubeconfig, they are wrong or have expired.'
    : undefined
}

/** Recognizes the client's error by its fields: `--help` must not load the client. */
function unreachableMessage(error: Error): string | undefined {
  const { code, server, cause } = error as Error & { readonly code?: unknown; readonly server?: unknown }
  if (code !== 'ConnectionFailed' || typeof server !== 'string') return undefined
  const reason = (cause as { readonly code?: unknown } | undefined)?.code
  return reason === 'ECONNREFUSED'
    ? `The connection to the server ${server} was refused - did you specify the right host or port? If it is a server of this machine, start it with \`fairlead up\`.`
    : `Unable to connect to the server: ${error.message}`
}
