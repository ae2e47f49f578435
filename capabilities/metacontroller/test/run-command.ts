// Runs a command of the capability as the program does: a CommandError is printed and gives the exit code.
import type { Client } from '@fairlead/client'
import type { CommandContext } from '@fairlead/controller'
import { metacontroller } from '@fairlead/metacontroller'
import { CommandError } from '@fairlead/offline'

/** What a command printed, and its exit code. */
export interface Ran {
  readonly code: number
  readonly out: string
  readonly err: string
}

/** The arguments of a command; what is left out is empty. */
export interface RunOptions {
  readonly arguments?: CommandContext['arguments']
  readonly options?: Readonly<Record<string, unknown>>
  readonly stdin?: string
  /** There is no cluster when left out. */
  readonly client?: Client
  readonly signal?: AbortSignal
  /** Receives what is printed, as it is printed. */
  readonly onOutput?: (text: string) => void
}

/** Runs a command of that name. */
export async function runCommand(name: string, given: RunOptions = {}): Promise<Ran> {
  const command = (await metacontroller.commands!()).find((one) => one.name === name)!
  const [out, err]: [string[], string[]] = [[], []]
  const print = (lines: string[]) => (text: string) => {
    lines.push(text)
    given.onOutput?.(text)
  }
  const context: CommandContext = {
    arguments: given.arguments ?? [],
    options: given.options ?? {},
    stdin: async () => given.stdin ?? '',
    out: print(out),
    err: print(err),
    client: () =>
      given.client === undefined ? Promise.reject(new Error('there is no cluster')) : Promise.resolve(given.client),
    signal: given.signal ?? new AbortController().signal,
  }
  const code = await command.run(context).catch((error: unknown) => {
    if (!(error instanceof CommandError)) throw error
    err.push(error.message)
    return error.exitCode
  })
  return { code, out: out.join('\n'), err: err.join('\n') }
}
