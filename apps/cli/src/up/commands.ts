// Declares `fairlead up` and `fairlead down`; their implementations load when one of them runs.
import type { Command } from 'commander'
import { usageError } from '@fairlead/offline/command-error'
import { capabilities } from '../capabilities.ts'
import { describe } from '../help-text.ts'
import { exampleNames } from './example-names.ts'

const collect = (value: string, before: readonly string[]): readonly string[] => [...before, value]

const more = (): string => `Examples to load: ${exampleNames().join(', ')}.

Environment:
  FAIRLEAD_LOG_LEVEL  debug, info, warn (default) or error

Exit codes: 0, 1 error, 2 usage; that of the command after --; 130 when a second Ctrl-C interrupted the shutdown.`

/** Adds both commands. */
export function addUpCommands(root: Command): void {
  const up = root
    .command('up')
    .usage('[options] [-- command...]')
    .argument('[command...]', 'after --: a command to run with KUBECONFIG set; the server stops after it')
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
    .option(
      '--set <capability.name=value>',
      'setting of a capability, such as metacontroller.workers=8 (repeatable)',
      collect,
      [],
    )
    .option('--example <name>', 'load an example; once per data folder')
    .option(
      '--run-jobs <runner>',
      'how to run Jobs: process (a child process with your rights), podman, docker or off',
      'off',
    )
    .option('--audit-log <file>', 'append who did what, as audit events of Kubernetes (level Metadata)')
    .option(
      '--max-stored-bytes <quantity>',
      'bytes of JSON that live objects may take, such as 512Mi; a quarter of the memory for objects when left out',
    )
    .option('--tour', 'load the tour example and print commands to try')
    .option('-d, --detach', 'run in the background: end when the server is ready; `fairlead down` stops it')
    .action(async (words: readonly string[], options: Record<string, unknown>) => {
      const args = process.argv.slice(2)
      if (words.length > 0 && !args.includes('--'))
        throw usageError(`unexpected argument ${words[0]}: write a command to run after --`)
      const { parseUpOptions } = await import('./options.ts')
      const parsed = await parseUpOptions(options, words)
      if (parsed.detach) {
        const { isDetached, startDetached } = await import('./detached.ts')
        if (!isDetached) return startDetached(parsed.data!, args)
      }
      // Loads the API server, which a usage error and the parent of a background process do without.
      const { up: run } = await import('./up.ts')
      await run(parsed)
    })
  describe(
    up,
    'run a Kubernetes API server with every controller, on this machine',
    [
      'fairlead up',
      'fairlead up --example snapshot-schedule --data ./demo',
      'fairlead up --in-memory --port 7443',
      'fairlead up -- npm test                 in memory, on a free port, until the command ends',
      'fairlead up --detach && kubectl get namespaces --kubeconfig .fairlead/kubeconfig && fairlead down',
    ],
    more(),
  )
  const down = root
    .command('down')
    .option('--data <folder>', 'data folder of the server', '.fairlead')
    .action(async (options: Record<string, unknown>) => {
      const { down: run } = await import('./down.ts')
      await run(options)
    })
  describe(down, 'stop the server of a data folder', ['fairlead down', 'fairlead down --data ./demo'])
}
