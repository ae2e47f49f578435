// Runs the `fairlead` command. Start with main(); the commands are in program.ts.
import { CommanderError } from 'commander'
import { CommandError, exitCode } from '@fairlead/offline/command-error'
import { errorMessage } from './error-message.ts'
import { program } from './program.ts'

/** Runs the command line; sets the exit code: 0, 1 error, 2 usage, 3 not ready. */
export async function main(args: readonly string[]): Promise<void> {
  endWhenOutputCloses(args)
  try {
    if (args[0] === 'apiserver') {
      // Its flags are those of a Go program, and must not wait for the tree of commands.
      const { runApiserver } = await import('./apiserver/main.ts')
      return await runApiserver(args.slice(1), 'fairlead apiserver')
    }
    const [first, second] = args.filter((argument) => !argument.startsWith('-'))
    const wanted = first === 'help' ? second : first
    const root = await program(wanted)
    // The parser prints the general help for `help` of a command that there is not.
    const isUnknown =
      first === 'help' &&
      second !== undefined &&
      !root.commands.some((one) => one.name() === second || one.aliases().includes(second))
    await root.parseAsync(isUnknown ? [second] : [...args], { from: 'user' })
  } catch (error) {
    if (error instanceof CommanderError) {
      process.exitCode = error.exitCode === 0 ? 0 : exitCode.usage
      return
    }
    process.stderr.write(`fairlead: ${errorMessage(error)}\n`)
    process.exitCode = error instanceof CommandError ? error.exitCode : exitCode.error
  }
}

/** Exit code of a process that SIGPIPE ends, as shells report it: kubectl's when `head` has read enough. */
const brokenPipe = 128 + 13

/** Ends a command whose reader closed the pipe, without a word. A server keeps running: its output was the banner. */
function endWhenOutputCloses(args: readonly string[]): void {
  const command = args.find((argument) => !argument.startsWith('-'))
  const isServer = ['up', 'run', 'apiserver'].includes(command ?? '') && !args.includes('--help')
  process.stderr.on('error', () => {})
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (isServer) return
    if (error.code === 'EPIPE') process.exit(brokenPipe)
    process.stderr.write(`fairlead: standard output cannot be written: ${error.message}\n`)
    process.exit(exitCode.error)
  })
}
