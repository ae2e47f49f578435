// `fairlead run`: the controllers against a cluster. Start with run().
import { resolve } from 'node:path'
import type { Client } from '@fairlead/client'
import { Manager, Metrics } from '@fairlead/controller'
import type { Capability, Logger, ManagerOptions, ManagerServerOptions, ReadinessCheck } from '@fairlead/controller'
import { AsyncDisposableStack, isForbidden } from '@fairlead/kube'
import { CommandError } from '@fairlead/offline/command-error'
import { checkSettings } from '../capability-settings.ts'
import { commandLogger } from '../command-logger.ts'
import { clientFromKubeconfig } from '../connect.ts'
import { aborted, stopOnSignals } from '../stop-signals.ts'
import { install, requireDefinitions } from './definitions.ts'
import type { RunOptions } from './options.ts'
import { RunningCapability } from './running-capability.ts'

/** Exit code of a process that lost its leadership: another one leads now, and a supervisor may start it again. */
const leadershipLost = 4

/** Runs until a signal stops it. Throws CommandError for every error that the user can fix. */
export async function run(options: RunOptions): Promise<void> {
  const stop = stopOnSignals()
  const [logger, metrics, loaded] = await Promise.all([
    commandLogger('info'),
    Metrics.create(),
    Promise.all(options.capabilities.map((entry) => entry.load())),
  ])
  checkSettings(options.settings, loaded)
  await using resources = new AsyncDisposableStack()
  const { kubeconfig, context } = options
  const client = (await clientFromKubeconfig({ kubeconfig, context })).with({ manager: 'fairlead' })
  resources.defer(() => client.transport[Symbol.asyncDispose]())
  if (options.installDefinitions) await install(client, loaded, options.namespace)
  await requireDefinitions(client, loaded)
  const running: RunningCapability[] = []
  const leader = resources.use(await startLeader(options, loaded, running, { client, logger, metrics }))
  for (const capability of loaded)
    running.push(
      resources.use(
        await RunningCapability.start(capability, capabilityOptions(options, capability), {
          client,
          leader,
          logger,
          metrics,
        }),
      ),
    )
  logger.info('Started the controllers', {
    capabilities: running.map(({ name }) => name),
    server: client.transport.address,
    namespace: options.namespace,
    port: leader.server!.port,
    identity: leader.identity,
  })
  await aborted(stop)
  logger.info('Stopping', { signal: stop.reason as string })
}

interface Parts {
  readonly client: Client
  readonly logger: Logger
  readonly metrics: Metrics
}

function capabilityOptions(
  { resolve: addresses, settings, data }: RunOptions,
  { name }: Capability,
): Parameters<typeof RunningCapability.start>[1] {
  return {
    resolve: addresses,
    isEmbedded: false,
    settings: settings.get(name) ?? new Map<string, string>(),
    ...(data !== undefined && { dataFolder: resolve(data, name) }),
  }
}

/**
 * Starts the manager that takes part in the election or in the shards, and that serves health, metrics and webhooks.
 * Without the right to the Secret of the certificates it serves no webhooks.
 */
async function startLeader(
  options: RunOptions,
  loaded: readonly Capability[],
  running: readonly RunningCapability[],
  { client, logger, metrics }: Parts,
): Promise<Manager> {
  const started: ReadinessCheck = {
    name: 'capabilities',
    check: () => running.flatMap(({ name, problem }) => (problem === undefined ? [] : `${name}: ${problem}`))[0],
  }
  const { host, port } = options
  const plain: ManagerServerOptions = { host, port, checks: [started] }
  const start = async (server: ManagerServerOptions): Promise<Manager> => {
    try {
      return await Manager.start({ client, logger, metrics, server, ...electionOf(options, logger) })
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      if (code !== 'EADDRINUSE' && code !== 'EACCES' && code !== 'EADDRNOTAVAIL') throw error
      const reason = code === 'EADDRINUSE' ? 'is in use' : 'cannot be listened on'
      throw new CommandError(`port ${port} ${reason}: name another with --port (0 takes any free one)`, 1, {
        cause: error,
      })
    }
  }
  if (!options.webhooks) return start(plain)
  const validators = loaded.flatMap(({ admission = [] }) => admission)
  const { namespace, service: name } = options
  try {
    return await start({
      ...plain,
      validators,
      service: { namespace, name },
      certificateSecret: { namespace, name: `${name}-webhook-tls` },
      caBundles: [{ kind: 'ValidatingWebhookConfiguration', name }],
    })
  } catch (error) {
    if (!isForbidden(error)) throw error
    const { message } = error as Error
    logger.error('Could not read or write the certificates of the webhooks; nothing is checked until a restart', {
      error,
    })
    return start({ ...plain, checks: [started, { name: 'webhooks', check: () => message }] })
  }
}

/** Returns the election or the shards; their Leases are named after the Service, which no other installation shares. */
function electionOf(
  { namespace, service, leaderElection, shards }: RunOptions,
  logger: Logger,
): Partial<ManagerOptions> {
  const lease = { namespace, name: service }
  if (shards !== undefined) return { shards: { ...lease, count: shards } }
  if (!leaderElection) return {}
  return {
    leaderElection: lease,
    onLeadershipLost: () => {
      logger.error('Lost leadership, exiting: another process works now', { lease: `${namespace}/${service}` })
      process.exit(leadershipLost)
    },
  }
}
