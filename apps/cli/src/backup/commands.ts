// Declares `fairlead backup` and `fairlead restore`; their implementations load when one of them runs.
import type { Command } from 'commander'

/** Adds both commands. */
export function addBackupCommands(root: Command): void {
  withPlace(root.command('backup').description('back up all objects of a server, running or not, into one file'))
    .argument('<file>', 'the backup file; it contains every Secret, so only you can read it')
    .option('--force', 'overwrite an existing file')
    .addHelpText(
      'before',
      'Examples:\n  fairlead backup monday.backup\n  fairlead backup demo.backup --data ./demo\n  fairlead backup ci.backup --kubeconfig ./kubeconfig\n',
    )
    .action(async (file: string, options: Record<string, unknown>) => {
      const { backup } = await import('./backup.ts')
      await backup(file, options)
    })
  withPlace(root.command('restore').description('restore a server, running or not, from a backup'))
    .argument('<file>', 'a file written by `fairlead backup`')
    .option('--force', 'restore although the server has objects: replace them, and delete those that the backup lacks')
    .option('--dry-run', 'print the changes without making them')
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
    .option('--data <folder>', 'data folder of `fairlead up`, running or not', '.fairlead')
    .option('--kubeconfig <file>', 'kubeconfig of a running Fairlead server, in place of --data')
    .option('--context <name>', 'the context of the kubeconfig')
}
