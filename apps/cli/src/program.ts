// The tree of subcommands as the parser sees it; what they do loads when one of them runs.
import { readFileSync } from 'node:fs'
import { Command, Help } from 'commander'
import type { Option } from 'commander'
import { addBackupCommands } from './backup/commands.ts'
import { capabilities } from './capabilities.ts'
import { addCapabilityCommands } from './capability-command.ts'
import { addCompletionCommands } from './completion/commands.ts'

/** The version that package.json carries. */
export function version(): string {
  const text = readFileSync(new URL('../package.json', import.meta.url), 'utf8')
  return (JSON.parse(text) as { version: string }).version
}

const collect = (value: string, before: readonly string[]): readonly string[] => [...before, value]

/** The whole command. Of the capabilities' groups only `wanted` has its commands, `all` has all of them. */
export async function program(wanted?: string): Promise<Command> {
  const root = new Command('fairlead')
    .description('Keeps derived things true on Kubernetes, with a cluster or without one.')
    .version(version(), '-v, --version', 'print the version')
    .exitOverride()
    .showSuggestionAfterError()
    .configureHelp({ optionDescription })
    .configureOutput({ outputError: (text, write) => write(text.replace(/^error: /, 'fairlead: ')) })
    .addHelpText(
      'before',
      'Examples:\n  fairlead up                              an API server and all controllers on this machine\n  fairlead up --example snapshot-schedule  the same, with an example loaded\n  fairlead map render -f controller.yaml -f objects.yaml\n',
    )
  root
    .command('up')
    .description('run a Kubernetes API server with every controller, on this machine')
    .option('--data <folder>', 'where everything is kept; .fairlead when left out')
    .option(
      '--in-memory',
      'keep nothing: all is gone when it stops; with --data, that folder holds the kubeconfig alone',
    )
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
  await addCapabilityCommands(root, wanted)
  addCompletionCommands(root)
  pointToHelp(root, root.name())
  return root
}

/** A mistake ends with where to read on. */
function pointToHelp(command: Command, path: string): void {
  command.exitOverride().showHelpAfterError(`See ${path} --help.`)
  for (const child of command.commands) pointToHelp(child, `${path} ${child.name()}`)
}

/** That a repeatable flag is given no time by default need not be said. */
function optionDescription(option: Option): string {
  const isEmpty = Array.isArray(option.defaultValue) && option.defaultValue.length === 0
  return isEmpty ? option.description : new Help().optionDescription(option)
}
