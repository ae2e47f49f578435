// Errors of a server's backup endpoint.
import type { ByteResponse } from '@fairlead/client'
import { CommandError } from '@fairlead/offline/command-error'

/** Returns the Status of a response as a CommandError. */
export async function refusalOf(
  place: { readonly name: string },
  { status, body }: ByteResponse,
): Promise<CommandError> {
  const chunks: Uint8Array[] = []
  for await (const chunk of body) chunks.push(chunk)
  const text = Buffer.concat(chunks).toString('utf8')
  if (status === 404) return new CommandError(`${place.name} is not a Fairlead server: it has no backup endpoint`)
  return new CommandError(`${place.name}: ${messageOf(text) ?? `status ${status}`}`)
}

function messageOf(text: string): string | undefined {
  try {
    const { message } = JSON.parse(text) as { readonly message?: unknown }
    return typeof message === 'string' ? message : undefined
  } catch {
    return undefined
  }
}
