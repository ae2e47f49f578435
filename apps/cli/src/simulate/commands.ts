// Declares `fairlead simulate`; its implementation loads when it runs.
import type { Command } from 'commander'
import { describe } from '../help-text.ts'

/** Adds the command. */
export function addSimulateCommand(root: Command): void {
  const simulate = root
    .command('simulate')
    .argument('<file...>', 'files with rules')
    .option('--kubeconfig <file>', 'the kubeconfig to use')
    .option('--context <name>', 'the context of the kubeconfig to use')
    .action(async (files: readonly string[], options: Record<string, unknown>) => {
      const { simulate: run } = await import('./simulate.ts')
      await run(files, options)
    })
  describe(
    simulate,
    'set the status of objects by rules, in a cluster where nothing else does',
    [
      'fairlead simulate rules.yaml',
      'fairlead simulate deployments.yaml volumes.yaml --context kind-test',
      'fairlead up --simulate rules.yaml     the same beside a server of its own',
    ],
    `For test clusters: rules write the status of every object that they match, real ones too. The caller needs get, list and
watch on the kinds of the rules, and patch on their status.

Exit codes: 0 stopped by a signal, 1 error, 2 usage.`,
  )
}
