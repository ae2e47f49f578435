// Declares `fairlead backup` and `fairlead restore`; their implementations load when one of them runs.
import type { Command } from 'commander'
import { describe } from '../help-text.ts'

/** Adds both commands. */
export function addBackupCommands(root: Command): void {
  const backup = withPlace(root.command('backup'))
    .argument('<file>', 'the backup file; it contains every Secret, so only you can read it')
    .option('--force', 'overwrite an existing file')
    .action(async (file: string, options: Record<string, unknown>) => {
      const { backup: run } = await import('./backup.ts')
      await run(file, options)
    })
  describe(backup, 'back up all objects of a server, running or not, into one file', [
    'fairlead backup monday.backup',
    'fairlead backup demo.backup --data ./demo',
    'fairlead backup ci.backup --kubeconfig ./kubeconfig',
  ])
  const restore = withPlace(root.command('restore'))
    .argument('<file>', 'a file written by `fairlead backup`')
    .option('--force', 'restore although the server has objects: replace them, and delete those that the backup lacks')
    .option('--dry-run', 'print the changes without making them')
    .action(async (file: string, options: Record<string, unknown>) => {
      const { restore: run } = await import('./restore.ts')
      await run(file, options)
    })
  describe(restore, 'restore a server, running or not, from a backup', [
    'fairlead restore monday.backup --data ./fresh',
    'fairlead restore monday.backup --dry-run --force',
    'fairlead restore monday.backup --force',
  ])
}

function withPlace(command: Command): Command {
  return command
    .option('--data <folder>', 'data folder of `fairlead up`, running or not (default: .fairlead)')
    .option('--kubeconfig <file>', 'kubeconfig of a running Fairlead server, in place of --data (default: $KUBECONFIG)')
    .option('--context <name>', 'the context of the kubeconfig')
}
