// Declares `fairlead doctor`; its implementation loads when it runs.
import { Option } from 'commander'
import type { Command } from 'commander'
import { describe } from '../help-text.ts'

/** Adds the command. */
export function addDoctorCommand(root: Command): void {
  const doctor = root
    .command('doctor')
    .option('-n, --namespace <name>', 'namespace of the installation; fairlead-system when left out')
    .option('--name <name>', 'name of the installation', 'fairlead')
    .option('--only <names>', 'capabilities to check; all when left out')
    .option('--kubeconfig <file>', 'the kubeconfig to use')
    .option('--context <name>', 'the context of the kubeconfig to use')
    .addOption(new Option('-o, --output <format>', 'form of the output').choices(['text', 'json']).default('text'))
    .action(async (options: Record<string, unknown>) => {
      const { doctor: run } = await import('./doctor.ts')
      await run(options)
    })
  describe(
    doctor,
    'check versions, cluster, installation, definitions, rights and clocks',
    ['fairlead doctor', 'fairlead doctor --context staging --only map', 'fairlead doctor -o json'],
    `Every line begins with ok, warn or fail, and says what to do. Rights are those of the installation's service account, or yours where there is none.

Exit codes: 0, 1 something failed, 2 usage.`,
  )
}
