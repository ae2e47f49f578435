// `fairlead backup` and `fairlead restore` as the parser sees them; what they do loads when one of them runs.
import type { Command } from 'commander'

/** Adds both commands. */
export function addBackupCommands(root: Command): void {
  withPlace(
    root.command('backup').description('write everything that a server holds into one file, also while it runs'),
  )
    .argument('<file>', 'where the backup goes; it holds every Secret, so only you can read it')
    .option('--force', 'replace the file when it is there already')
    .addHelpText(
      'before',
      'Examples:\n  fairlead backup monday.backup\n  fairlead backup demo.backup --data ./demo\n  fairlead backup ci.backup --kubeconfig ./kubeconfig\n',
    )
    .action(async (file: string, options: Record<string, unknown>) => {
      const { backup } = await import('./backup.ts')
      await backup(file, options)
    })
  withPlace(root.command('restore').description('bring a server, running or not, to what a backup holds'))
    .argument('<file>', 'what `fairlead backup` has written')
    .option(
      '--force',
      'also when objects are there already: they are replaced, and deleted where the backup lacks them',
    )
    .option('--dry-run', 'say what would be done and do nothing')
    .addHelpText(
      'before',
      'Examples:\n  fairlead restore monday.backup --data ./fresh\n  fairlead restore monday.backup --dry-run --force\n  fairlead restore monday.backup --force\n',
    )
    .action(async (file: string, options: Record<string, unknown>) => {
      const { restore } = await import('./restore.ts')
      await restore(file, options)
    })
}

function withPlace(command: Command): Command {
  return command
    .option('--data <folder>', 'the data folder of `fairlead up`, whether it runs or not', '.fairlead')
    .option('--kubeconfig <file>', 'a running server of Fairlead instead')
    .option('--context <name>', 'the context of the kubeconfig')
}
