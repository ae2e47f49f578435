// `fairlead run`: the controllers against a cluster. Start with run().
import { resolve } from 'node:path'
import type { ExtensionServing } from '@fairlead/apiserver'
import type { Client } from '@fairlead/client'
import { Manager, Metrics } from '@fairlead/controller'
import type {
  Capability,
  Logger,
  ManagerOptions,
  ManagerServerOptions,
  ReadinessCheck,
  SignedRoute,
} from '@fairlead/controller'
import { AsyncDisposableStack, isForbidden } from '@fairlead/kube'
import { CommandError } from '@fairlead/offline/command-error'
import { checkSettings } from '../capability-settings.ts'
import { commandLogger } from '../command-logger.ts'
import { clientFromKubeconfig } from '../connect.ts'
import { saveMemory } from '../save-memory.ts'
import { aborted, stopOnSignals } from '../stop-signals.ts'
import { completeDefaults, install, requireDefinitions } from './definitions.ts'
import type { RunOptions } from './options.ts'
import { ResourceHost } from './resource-host.ts'
import { RunningCapability } from './running-capability.ts'

/** Exit code of a process that lost its leadership: another one may lead now, and a supervisor may start it again. */
const leadershipLost = 4

/** Port of the Service that leads to the extension API server, whatever port this process listens on. */
const servicePort = 8443

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
  const parts = { client, logger, metrics }
  const problems: (() => string | undefined)[] = []
  const leading = Promise.withResolvers<void>()
  const running = new Map<Capability, RunningCapability>()
  const signedRoutes = (): readonly SignedRoute[] => [...running.values()].flatMap((one) => one.signedRoutes)
  const server: ManagerServerOptions = {
    host: options.host,
    port: options.port,
    signedRoutes,
    checks: [ready(problems)],
  }
  const leader = resources.use(await startLeader(options, loaded, server, parts, leading.resolve))
  const delegated = loaded.filter(({ served = [] }) => served.length > 0)
  // Their resources are served by one process: they take part in an election beside the shards.
  const elected =
    options.shards === undefined || delegated.length === 0
      ? leader
      : resources.use(
          await Manager.start({ ...parts, ...election(options, logger), onStartedLeading: leading.resolve }),
        )
  // Together: a pod has 45 s in which all of them must have ended.
  resources.defer(async () => {
    await Promise.all([...running.values()].map((one) => one[Symbol.asyncDispose]()))
  })
  for (const capability of loaded) {
    const host = { ...parts, leader: delegated.includes(capability) ? elected : leader }
    const one = await RunningCapability.start(capability, capabilityOptions(options, capability), host)
    running.set(capability, one)
    problems.push(() => one.problem && `${one.name}: ${one.problem}`)
  }
  if (delegated.length > 0 && options.hasService) {
    const served = delegated.map((capability) => running.get(capability)!)
    const host = resources.use(
      ResourceHost.start(served, { client, logger, serving: serving(options), leading: leading.promise }),
    )
    problems.push(() => host.problem && `resources: ${host.problem}`)
  } else if (delegated.length > 0)
    logger.warn('Resources are not served: outside of a pod --service names the Service that leads here', {
      capabilities: delegated.map(({ name }) => name),
    })
  logger.info('Started the controllers', {
    capabilities: loaded.map(({ name }) => name),
    server: client.transport.address,
    namespace: options.namespace,
    port: leader.server!.port,
    identity: leader.identity,
  })
  saveMemory()
  void leading.promise.then(() => completeDefaults(client, loaded, logger))
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

function ready(problems: readonly (() => string | undefined)[]): ReadinessCheck {
  return {
    name: 'capabilities',
    check: () => problems.map((problem) => problem()).find((problem) => problem !== undefined),
  }
}

/**
 * Starts the manager that takes part in the election or in the shards, and that serves health, metrics and webhooks.
 * Behind a Service its certificates are in a Secret, by which webhooks and Prometheus know it. Without the right to
 * that Secret it serves no webhooks.
 */
async function startLeader(
  options: RunOptions,
  loaded: readonly Capability[],
  plain: ManagerServerOptions,
  { client, logger, metrics }: Parts,
  onStartedLeading: () => void,
): Promise<Manager> {
  const start = async (server: ManagerServerOptions): Promise<Manager> => {
    try {
      return await Manager.start({ client, logger, metrics, server, onStartedLeading, ...work(options, logger) })
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      if (code !== 'EADDRINUSE' && code !== 'EACCES' && code !== 'EADDRNOTAVAIL') throw error
      const reason = code === 'EADDRINUSE' ? 'is in use' : 'cannot be listened on'
      throw new CommandError(`port ${options.port} ${reason}: name another with --port (0 takes any free one)`, 1, {
        cause: error,
      })
    }
  }
  if (!options.webhooks && !options.hasService) return start(plain)
  const validators = loaded.flatMap(({ admission = [] }) => admission)
  const { namespace, service: name } = options
  const webhooks: ManagerServerOptions = {
    validators,
    caBundles: [{ kind: 'ValidatingWebhookConfiguration', name }],
  }
  try {
    return await start({
      ...plain,
      service: { namespace, name },
      certificateSecret: { namespace, name: `${name}-webhook-tls` },
      ...(options.webhooks ? webhooks : {}),
    })
  } catch (error) {
    if (!isForbidden(error)) throw error
    if (!options.webhooks) {
      logger.warn('Could not read or write the certificates of health and metrics; clients cannot verify them', {
        error,
      })
      return start(plain)
    }
    const { message } = error as Error
    logger.error('Could not read or write the certificates of the webhooks; nothing is checked until a restart', {
      error,
    })
    return start({ ...plain, checks: [...(plain.checks ?? []), { name: 'webhooks', check: () => message }] })
  }
}

/** Returns the election or the shards; their Leases are named after the Service, which no other installation shares. */
function work(options: RunOptions, logger: Logger): Partial<ManagerOptions> {
  const { namespace, service, leaderElection, shards } = options
  if (shards !== undefined) return { shards: { namespace, name: service, count: shards } }
  return leaderElection ? election(options, logger) : {}
}

function election({ namespace, service: name }: RunOptions, logger: Logger): Partial<ManagerOptions> {
  return {
    leaderElection: { namespace, name },
    onLeadershipLost: () => {
      logger.error('Lost leadership, exiting: another process may lead now', { lease: `${namespace}/${name}` })
      process.exit(leadershipLost)
    },
  }
}

function serving({ namespace, service: name, host, apiPort }: RunOptions): ExtensionServing {
  return {
    service: { namespace, name, port: servicePort },
    ...(host !== undefined && { host }),
    port: apiPort,
    certificateSecret: { namespace, name: `${name}-api-tls` },
  }
}
