// The `fairlead` command: a tree of subcommands, each loaded when it is asked for. Start with program().
import { readFileSync } from 'node:fs'
import { Command, CommanderError } from 'commander'
import { addBackupCommands } from './backup/commands.ts'
import { capabilities } from './capabilities.ts'
import { addCapabilityCommands } from './capability-command.ts'
import { CliError, exitCode } from './error.ts'

/** The version that package.json carries. */
export function version(): string {
  const text = readFileSync(new URL('../package.json', import.meta.url), 'utf8')
  return (JSON.parse(text) as { version: string }).version
}

const collect = (value: string, before: readonly string[]): readonly string[] => [...before, value]

function program(wanted: string | undefined): Command {
  const root = new Command('fairlead')
    .description('Keeps derived things true on Kubernetes, with a cluster or without one.')
    .version(version(), '-v, --version', 'print the version')
    .exitOverride()
    .showSuggestionAfterError()
    .addHelpText(
      'before',
      'Examples:\n  fairlead up                              an API server and all controllers on this machine\n  fairlead up --example snapshot-schedule  the same, with an example loaded\n  fairlead map render -f controller.yaml -f objects.yaml\n',
    )
  root
    .command('up')
    .description('run a Kubernetes API server with every controller, on this machine')
    .option('--data <folder>', 'where everything is kept', '.fairlead')
    .option('--in-memory', 'keep nothing: all is gone when it stops')
    .option('--port <number>', 'port of the API server; without it 6443 or the next free one')
    .option('--only <names>', `capabilities to run, of: ${capabilities.map((entry) => entry.name).join(', ')}`)
    .option('--simulate <file>', 'simulator rules (repeatable)', collect, [])
    .option('--resolve <name=host:port>', 'where an address of the cluster leads (repeatable)', collect, [])
    .option('--example <name>', 'load an example, once per data folder')
    .option(
      '--run-jobs <how>',
      'who runs Jobs: process (a child process with your rights), podman, docker or off',
      'off',
    )
    .option('--tour', 'load the tour example and say what to try')
    .addHelpText(
      'before',
      'Examples:\n  fairlead up\n  fairlead up --example snapshot-schedule --data ./demo\n  fairlead up --in-memory --port 7443\n',
    )
    .action(async (options: Record<string, unknown>) => {
      const { up } = await import('./up/up.ts')
      await up(options)
    })
  addBackupCommands(root)
  addCapabilityCommands(root, wanted)
  return root
}

/** Runs the command line; sets the exit code: 0, 1 error, 2 usage, 3 not ready. */
export async function main(args: readonly string[]): Promise<void> {
  try {
    const wanted = args.find((argument) => !argument.startsWith('-'))
    const root = program(wanted)
    for (const command of root.commands) command.exitOverride()
    await root.parseAsync([...args], { from: 'user' })
  } catch (error) {
    if (error instanceof CommanderError) {
      process.exitCode = error.exitCode === 0 ? 0 : exitCode.usage
      return
    }
    const text =
      error instanceof CliError
        ? error.message
        : error instanceof Error
          ? process.env['FAIRLEAD_DEBUG']
            ? error.stack
            : error.message
          : String(error)
    process.stderr.write(`fairlead: ${text}\n`)
    process.exitCode = error instanceof CliError ? error.exitCode : exitCode.error
  }
}
