// Declares the tree of commands; their implementations load when one of them runs.
import { Command, CommanderError, Help, Option } from 'commander'
import { addApiserverCommands } from './apiserver/commands.ts'
import { addBackupCommands } from './backup/commands.ts'
import { addCapabilityCommands } from './capability-command.ts'
import { addCompletionCommands } from './completion/commands.ts'
import { addDoctorCommand } from './doctor/commands.ts'
import { describe } from './help-text.ts'
import { addGraphCommands } from './graph/commands.ts'
import { addInstallCommands } from './install/commands.ts'
import { addRunCommand } from './run/commands.ts'
import { addSimulateCommand } from './simulate/commands.ts'
import { addUpCommands } from './up/commands.ts'
import { version } from './version.ts'

/** Returns the program. Only the `wanted` capability's group has its commands; `all` loads those of all groups. */
export async function program(wanted?: string): Promise<Command> {
  const root = new Command('fairlead')
    .version(version(), '-v, --version', 'print the version')
    .addOption(new Option('-V').hideHelp())
    .on('option:V', () => {
      process.stdout.write(`${version()}\n`)
      throw new CommanderError(0, 'commander.version', version())
    })
    .exitOverride()
    .showSuggestionAfterError()
    .configureHelp({ optionDescription })
    .configureOutput({ outputError: (text, write) => write(text.replace(/^error: /, 'fairlead: ')) })
  describe(root, 'keeps derived things true on Kubernetes, with a cluster or without one', [
    'fairlead up                              an API server and all controllers on this machine',
    'fairlead up --example snapshot-schedule  the same, with an example loaded',
    'fairlead run                             the controllers against the cluster of the kubeconfig',
    'fairlead why workload/web                what an object waits for, and what to do next',
    'fairlead map render -f controller.yaml -f objects.yaml',
  ])
  addUpCommands(root)
  addApiserverCommands(root)
  addInstallCommands(root)
  addDoctorCommand(root)
  addRunCommand(root)
  addSimulateCommand(root)
  addGraphCommands(root)
  addBackupCommands(root)
  await addCapabilityCommands(root, wanted)
  addCompletionCommands(root, program)
  addVersionCommand(root)
  pointToHelp(root, root.name())
  return root
}

/** Adds `fairlead version`, as kubectl and helm have it. */
function addVersionCommand(root: Command): void {
  const command = root.command('version').action(() => {
    process.stdout.write(`fairlead ${version()} (Node ${process.versions.node}, ${process.platform} ${process.arch})\n`)
  })
  describe(command, 'print the version', ['fairlead version'])
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
