// Declares `fairlead install` and `fairlead uninstall`; their implementations load when one of them runs.
import type { Command } from 'commander'
import { capabilities } from '../capabilities.ts'
import { describe } from '../help-text.ts'

const collect = (value: string, before: readonly string[]): readonly string[] => [...before, value]

/** Adds both commands. */
export function addInstallCommands(root: Command): void {
  const install = withPlace(root.command('install'))
    .option('--image <image>', 'container image, with tag or digest; fairlead:<version> when left out')
    .option('--replicas <number>', 'number of pods; one of them works, the others stand by', '1')
    .option('--shards <number>', 'number of shards that all pods share, in place of leader election')
    .option('--data-claim <name>', 'PersistentVolumeClaim for repositories of packages that have no address')
    .option(
      '--set <capability.name=value>',
      'setting of a capability, such as metacontroller.workers=8 (repeatable)',
      collect,
      [],
    )
    .option('--no-webhooks', 'leave the checks of objects before they are stored out')
    .option('--no-network-policy', 'leave the NetworkPolicy out')
    .option('--no-defaults', 'leave default objects out, such as the action maps of well-known kinds')
    .action(async (options: Record<string, unknown>) => {
      const { install: run } = await import('./install.ts')
      await run(options)
    })
  describe(
    install,
    'print the manifests that run the controllers in a cluster',
    [
      'fairlead install --image registry.example.com/fairlead:0.1.0 | kubectl apply -f -',
      'fairlead install --only map,supply --replicas 2 | kubectl apply --server-side -f -',
      'fairlead install --only map --replicas 3 --shards 8 > fairlead.yaml',
    ],
    `Nothing is sent anywhere: read the manifests before you apply them. Applying them again changes nothing, and applying those of a
newer version upgrades. --server-side spares every definition an annotation of its own size. docs/how-to/install.md says more.`,
  )
  const uninstall = withPlace(root.command('uninstall'))
    .option('--crds', 'delete the definitions as well, and with them ALL objects of their kinds')
    .action(async (options: Record<string, unknown>) => {
      const { uninstall: run } = await import('./install.ts')
      await run(options)
    })
  describe(
    uninstall,
    'print what to delete from a cluster, in the right order',
    [
      'fairlead uninstall | kubectl delete --ignore-not-found -f -',
      'fairlead uninstall --only supply --name supply | kubectl delete --ignore-not-found -f -',
    ],
    'Nothing is sent anywhere. Definitions and objects of users stay without --crds; so do default objects, and a namespace of another name.',
  )
}

function withPlace(command: Command): Command {
  return command
    .option('-n, --namespace <name>', 'namespace of the pods; fairlead-system when left out')
    .option('--name <name>', 'name of Deployment, Service and service account, and prefix of the roles', 'fairlead')
    .option('--service-monitor', 'with a ServiceMonitor, a kind of the Prometheus operator')
    .option('--only <names>', `capabilities, of: ${capabilities.map((entry) => entry.name).join(', ')}`)
}
