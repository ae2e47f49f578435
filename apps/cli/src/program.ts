// Declares the tree of commands; their implementations load when one of them runs.
import { readFileSync } from 'node:fs'
import { Command, Help } from 'commander'
import type { Option } from 'commander'
import { addBackupCommands } from './backup/commands.ts'
import { capabilities } from './capabilities.ts'
import { addCapabilityCommands } from './capability-command.ts'
import { addCompletionCommands } from './completion/commands.ts'

/** Returns the version in package.json. */
export function version(): string {
  const text = readFileSync(new URL('../package.json', import.meta.url), 'utf8')
  return (JSON.parse(text) as { version: string }).version
}

const collect = (value: string, before: readonly string[]): readonly string[] => [...before, value]

/** Returns the program. Only the `wanted` capability's group has its commands; `all` loads those of all groups. */
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
    .option('--data <folder>', 'folder of the store and the kubeconfig; .fairlead when left out')
    .option('--in-memory', 'store objects in memory only; with --data, that folder holds only the kubeconfig')
    .option('--port <number>', 'port of the API server; 6443 or the next free one when left out')
    .option('--only <names>', `capabilities to run, of: ${capabilities.map((entry) => entry.name).join(', ')}`)
    .option('--simulate <file>', 'simulator rules (repeatable)', collect, [])
    .option(
      '--resolve <name=host:port>',
      'address of a host name that resolves only in a cluster (repeatable)',
      collect,
      [],
    )
    .option('--example <name>', 'load an example; once per data folder')
    .option(
      '--run-jobs <runner>',
      'how to run Jobs: process (a child process with your rights), podman, docker or off',
      'off',
    )
    .option('--tour', 'load the tour example and print commands to try')
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

/** Makes usage errors point to the help of the command. */
function pointToHelp(command: Command, path: string): void {
  command.exitOverride().showHelpAfterError(`See ${path} --help.`)
  for (const child of command.commands) pointToHelp(child, `${path} ${child.name()}`)
}

/** Returns the description of an option without an empty list as its default. */
function optionDescription(option: Option): string {
  const isEmpty = Array.isArray(option.defaultValue) && option.defaultValue.length === 0
  return isEmpty ? option.description : new Help().optionDescription(option)
}
