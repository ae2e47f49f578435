// Runs the `fairlead` command. Start with main(); the commands are in program.ts.
import { CommanderError } from 'commander'
import { CommandError, exitCode } from '@fairlead/offline/command-error'
import { program } from './program.ts'

/** Runs the command line; sets the exit code: 0, 1 error, 2 usage, 3 not ready. */
export async function main(args: readonly string[]): Promise<void> {
  try {
    const [first, second] = args.filter((argument) => !argument.startsWith('-'))
    const wanted = first === 'help' ? second : first
    const root = await program(wanted)
    await root.parseAsync([...args], { from: 'user' })
  } catch (error) {
    if (error instanceof CommanderError) {
      process.exitCode = error.exitCode === 0 ? 0 : exitCode.usage
      return
    }
    const text =
      error instanceof CommandError
        ? error.message
        : error instanceof Error
          ? process.env['FAIRLEAD_DEBUG']
            ? error.stack
            : error.message
          : String(error)
    process.stderr.write(`fairlead: ${text}\n`)
    process.exitCode = error instanceof CommandError ? error.exitCode : exitCode.error
  }
}
