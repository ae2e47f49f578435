// Declares `fairlead run`; its implementation loads when it runs.
import { Option } from 'commander'
import type { Command } from 'commander'
import { usageError } from '@fairlead/offline/command-error'
import { capabilities } from '../capabilities.ts'
import { describe } from '../help-text.ts'

const collect = (value: string, before: readonly string[]): readonly string[] => [...before, value]

/** Flags of `fairlead up` that need its own API server, and what to do in a cluster instead. */
const refused: Readonly<Record<string, readonly [flags: string, instead: string]>> = {
  inMemory: ['--in-memory', 'the cluster stores the objects'],
  simulate: ['--simulate <file>', 'fairlead simulate FILE applies rules to a cluster, in a process of its own'],
  runJobs: ['--run-jobs <runner>', 'the cluster runs Jobs'],
  example: ['--example <name>', 'apply the manifests of the example with kubectl'],
  auditLog: ['--audit-log <file>', 'the audit log is the API server’s'],
}

const more = `Default of --only: all capabilities. Health: https://<pod>:9443/healthz and /readyz; metrics: /metrics, with a bearer token.

Environment:
  FAIRLEAD_LOG_LEVEL  debug, info (default), warn or error

Exit codes: 0 stopped by a signal, 1 error, 2 usage, 3 the cluster lacks what the capabilities need, 4 another process
leads now; 130 when a second Ctrl-C interrupted the shutdown.`

/** Adds the command. */
export function addRunCommand(root: Command): void {
  const command = root
    .command('run')
    .option('--kubeconfig <file>', 'the kubeconfig to use; in a pod its service account when left out')
    .option('--context <name>', 'the context of the kubeconfig to use')
    .option('--only <names>', `capabilities to run, of: ${capabilities.map((entry) => entry.name).join(', ')}`)
    .option(
      '-n, --namespace <name>',
      'namespace of its own Leases and Secrets; in a pod that of the pod, else fairlead-system, when left out',
    )
    .addOption(switchOption('--leader-elect [boolean]', 'one process works, the others stand by', true))
    .option('--shards <number>', 'all processes work, each on the namespaces of its shards; the same in all')
    .option('--port <number>', 'port of health, metrics and webhooks', '9443')
    .option('--api-port <number>', 'port of the extension API server, for capabilities that serve resources', '8443')
    .option('--host <address>', 'address to listen on; all of them in a pod, else 127.0.0.1, when left out')
    .addOption(
      switchOption(
        '--webhooks [boolean]',
        'check objects before they are stored; on in a pod or with --service when left out',
      ),
    )
    .option(
      '--service <name>',
      'Service of the webhooks and of the extension API server, which must lead here; in a pod fairlead when left out',
    )
    .option('--data <folder>', 'folder of what is no Kubernetes object, such as repositories of packages')
    .option('--install-crds', 'apply the definitions and default objects first, with the rights of the caller')
    .option(
      '--set <capability.name=value>',
      'setting of a capability, such as metacontroller.workers=8 (repeatable)',
      collect,
      [],
    )
    .option(
      '--resolve <name=host:port>',
      'address of a host name that resolves only in a cluster (repeatable)',
      collect,
      [],
    )
  for (const [flags] of Object.values(refused)) command.addOption(new Option(flags).hideHelp())
  command.action(async (options: Record<string, unknown>) => {
    for (const [name, [flags, instead]] of Object.entries(refused))
      if (options[name] !== undefined)
        throw usageError(`run has no ${flags.split(' ')[0]}: ${instead}; see fairlead up`)
    const { parseRunOptions } = await import('./options.ts')
    const parsed = await parseRunOptions(options)
    const { run } = await import('./run.ts')
    await run(parsed)
  })
  describe(
    command,
    'run the controllers against a cluster',
    [
      'fairlead run                                  all controllers, against the cluster of the kubeconfig',
      'fairlead run --only map,supply --shards 4     four shards, over as many processes as are started',
      'fairlead run --context staging --install-crds',
    ],
    more,
  )
}

function switchOption(flags: string, description: string, fallback?: boolean): Option {
  const option = new Option(flags, description).choices(['true', 'false']).preset('true')
  return fallback === undefined ? option : option.default(String(fallback))
}
