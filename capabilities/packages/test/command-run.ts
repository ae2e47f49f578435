// Runs a command of this package in a folder, as the `fairlead` program does.
import { chdir, cwd } from 'node:process'
import type { CommandContext } from '@fairlead/controller/command'
import { CommandError, exitCode } from '@fairlead/offline'

/** What a command printed, and its exit code. */
export interface CommandRun {
  readonly exitCode: number
  readonly out: string
  readonly err: string
}

/** Runs a command. Options and arguments are those of its declaration; switches are off unless given. */
export async function runCommand<Options, Arguments>(
  command: (context: CommandContext<Options, Arguments>) => Promise<number>,
  {
    folder,
    stdin = '',
    options,
    args,
  }: { readonly folder: string; readonly stdin?: string; readonly options: Options; readonly args: Arguments },
): Promise<CommandRun> {
  const out: string[] = []
  const err: string[] = []
  const before = cwd()
  chdir(folder)
  try {
    const code = await command({
      arguments: args,
      options,
      stdin: async () => await Promise.resolve(stdin),
      out: (text: string) => out.push(text),
      err: (text: string) => err.push(text),
      client: async () => await Promise.reject(new Error('no cluster')),
      signal: new AbortController().signal,
    })
    return { exitCode: code, out: out.join('\n'), err: err.join('\n') }
  } catch (error) {
    if (!(error instanceof CommandError)) throw error
    return { exitCode: exitCode.error, out: out.join('\n'), err: `Error: ${error.message}` }
  } finally {
    chdir(before)
  }
}
