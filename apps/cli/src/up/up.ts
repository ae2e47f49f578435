// `fairlead up`: the API server, every controller, and optionally an example, in one process. Start with up().
import { join } from 'node:path'
import { ApiServer, AuditFile, memory, sqlite, StoreError } from '@fairlead/apiserver'
import type { PodLogs, Storage } from '@fairlead/apiserver'
import { systemClock } from '@fairlead/client'
import type { Client } from '@fairlead/client'
import { installDefinitions, Manager, Metrics } from '@fairlead/controller'
import type { Capability, Logger } from '@fairlead/controller'
import { AsyncDisposableStack } from '@fairlead/kube'
import { CommandError, usageError } from '@fairlead/offline/command-error'
import type { Simulator } from '@fairlead/simulator'
import { checkSettings, setup } from '../capability-settings.ts'
import { commandLogger } from '../command-logger.ts'
import { saveMemory } from '../save-memory.ts'
import { aborted, stopOnSignals } from '../stop-signals.ts'
import { configuredAddress } from './configured-address.ts'
import { openDataFolder, refuseFolderInUse, writeKubeconfig } from '../data/data-folder.ts'
import type { DataFolder } from '../data/data-folder.ts'
import { readExample } from './example.ts'
import type { Example } from './example.ts'
import { installDefaults } from './defaults.ts'
import { makeRunner } from './runner.ts'
import { accountName, installIdentities, systemNamespace } from './identities.ts'
import { sendReady } from './detached.ts'
import { loadExample, otherExamples } from './load-example.ts'
import type { UpOptions } from './options.ts'
import { choosePort } from './port.ts'
import { startProcess } from './process.ts'
import { writeProcessFile } from '../data/process-file.ts'
import { runCommand } from './run-command.ts'
import { exportLine, readyText, startingText, stopLine } from './text.ts'
import type { Ready } from './text.ts'

/**
 * Runs until a signal stops it, or until the command ends. Throws CommandError for every error that the user can fix.
 */
export async function up(options: UpOptions): Promise<void> {
  const example = options.example === undefined ? undefined : readExample(options.example)
  const stop = stopOnSignals()
  await using resources = new AsyncDisposableStack()
  const kubeconfig = await start(options, example, resources, stop)
  saveMemory()
  if (options.command.length === 0) await aborted(stop)
  else process.exitCode = await runCommand(options.command, kubeconfig, stop)
  if (stop.aborted) process.stderr.write('Stopping.\n')
}

/** Starts everything; resolves with the path of the kubeconfig. */
async function start(
  options: UpOptions,
  example: Example | undefined,
  resources: AsyncDisposableStack,
  signal: AbortSignal,
): Promise<string> {
  if (process.stderr.isTTY) process.stderr.write(startingText(options))
  const data = resources.use(openDataFolder(options.data))
  if (options.inMemory) refuseFolderInUse(data)
  // Checked before anything is started.
  const port = await choosePort(options.port)
  const [logger, loaded] = await Promise.all([
    commandLogger('warn'),
    Promise.all(options.capabilities.map((entry) => entry.load())),
  ])
  checkSettings(options.settings, loaded)
  const runner = await makeRunner(options, data)
  const metrics = await Metrics.create()
  // Used before the server, so that it is closed after it.
  const audit = resources.use(await openAuditLog(options, logger))
  const server = resources.use(await startServer(options, data, loaded, logger, metrics, runner?.logs, audit))
  const admin = server.client({ manager: 'fairlead-up' })
  await install(admin, loaded)

  const processes = await Promise.all(
    (example?.processes ?? []).map(async (spec) => ({
      spec,
      running: resources.use(await startProcess(example as Example, spec)),
    })),
  )
  const resolve = new Map([
    ...processes.map(({ spec, running }): [string, string] => [spec.resolve, running.address]),
    ...options.resolve,
  ])
  for (const capability of loaded) {
    const manager = resources.use(await startManager(server, capability, logger, metrics))
    const instance = await setup(capability, manager, {
      resolve,
      signal,
      isEmbedded: true,
      settings: options.settings.get(capability.name) ?? new Map(),
      ...(!options.inMemory && { dataFolder: join(data.path, capability.name) }),
    })
    resources.defer(() => instance.stop())
    for (const route of instance.routes ?? []) server.serve(route)
    for (const resource of instance.storages ?? []) await server.addStorage(resource)
  }
  // Read before the port is open: a mistake in them ends the command.
  const simulator = await makeSimulator([
    ...(example?.simulate === undefined ? [] : [example.simulate]),
    ...options.simulate,
  ])

  const listening = await server.listen({ port })
  await writeKubeconfig(data, listening.kubeconfig)
  if (runner !== undefined) resources.use(await runner.start(server, listening, logger))
  const startedAt = new Date(systemClock.now()).toISOString()
  resources.use(writeProcessFile(data.path, { pid: process.pid, url: listening.url, startedAt }))
  if (options.command.length === 0) process.stdout.write(`${exportLine(data.kubeconfig)}\n`)
  if (example !== undefined) await loadExample(admin, example)
  // After the example, whose definitions make the kinds of its rules.
  if (simulator !== undefined) resources.use(await startSimulator(simulator, server, logger))
  const ready: Ready = {
    url: listening.url,
    data: options.inMemory ? undefined : data.path,
    capabilities: options.capabilities.map((entry) => entry.name),
    processes: processes.map(({ running }) => running),
    example,
    milliseconds: performance.now(),
    warnings: (await otherExamples(admin, example)).map(
      (name) =>
        `the objects of the example ${name} are here, too, but not its simulator and hooks; another --data keeps examples apart`,
    ),
    columns: process.stdout.columns,
    stop: options.detach ? stopLine(options) : 'Ctrl-C stops it.',
  }
  if (options.command.length > 0)
    process.stderr.write(`Fairlead is ready at ${ready.url}; running ${options.command.join(' ')}\n`)
  else process.stdout.write(readyText(ready))
  sendReady(`${exportLine(data.kubeconfig)}\n${readyText(ready)}`)
  return data.kubeconfig
}

/** Applies the objects that controllers need before they start, and again after a restore. */
async function install(admin: Client, loaded: readonly Capability[]): Promise<void> {
  await Promise.all([
    installIdentities(admin, loaded),
    installDefinitions(
      admin,
      loaded.flatMap((capability) => capability.crds),
    ),
  ])
  await installDefaults(admin, loaded)
}

/** Opens the file of `--audit-log`; undefined without the option. */
async function openAuditLog({ auditLog }: UpOptions, logger: Logger): Promise<AuditFile | undefined> {
  if (auditLog === undefined) return undefined
  try {
    return await AuditFile.open(auditLog, (error) =>
      logger.error('Could not write the audit log; audit events are no longer written', { error }),
    )
  } catch (error) {
    throw usageError(`--audit-log ${auditLog} cannot be written: ${(error as Error).message}`)
  }
}

async function startServer(
  options: UpOptions,
  data: DataFolder,
  loaded: readonly Capability[],
  logger: Logger,
  metrics: Metrics,
  podLogs: PodLogs | undefined,
  audit: AuditFile | undefined,
): Promise<ApiServer> {
  const { maxStoredBytes } = options
  const storage: Storage = options.inMemory ? memory({ maxStoredBytes }) : sqlite(data.store, { maxStoredBytes })
  try {
    const server: ApiServer = await ApiServer.start({
      storage,
      authorization: 'RBAC',
      ...(podLogs && { podLogs }),
      ...(audit && { audit }),
      metrics: () => metrics.text(),
      validators: loaded.flatMap((capability) => capability.admission ?? []),
      resolve: async (host, port) => configuredAddress(options.resolve, host, port),
      onError: (error) => logger.error('Could not finish work of the API server', { error }),
      onRestored: () => install(server.client({ manager: 'fairlead-up' }), loaded),
    })
    return server
  } catch (error) {
    if (error instanceof StoreError) throw new CommandError(error.message, 1, { cause: error })
    throw error
  }
}

/** Returns a client with the rights of the capability's service account, as in a cluster. */
async function startManager(
  server: ApiServer,
  capability: Capability,
  logger: Logger,
  metrics: Metrics,
): Promise<Manager> {
  const account = `system:serviceaccount:${systemNamespace}:${accountName(capability)}`
  const groups = ['system:serviceaccounts', `system:serviceaccounts:${systemNamespace}`, 'system:authenticated']
  const client = server.client({ as: { name: account, groups }, manager: accountName(capability) })
  return Manager.start({ client, metrics, logger: logger.child({ capability: capability.name }) })
}

/** Returns a simulator with the rules of files; undefined without files. Throws CommandError for a mistake in them. */
async function makeSimulator(files: readonly string[]): Promise<Simulator | undefined> {
  if (files.length === 0) return undefined
  const [{ Simulator: Made }, { readRules }] = await Promise.all([
    import('@fairlead/simulator'),
    import('../simulate/rules.ts'),
  ])
  return new Made(readRules(files))
}

function startSimulator(simulator: Simulator, server: ApiServer, logger: Logger): Promise<Manager> {
  return Manager.start({
    client: server.client({ manager: 'fairlead-simulator' }),
    logger: logger.child({ capability: 'simulator' }),
    setup: (manager) => simulator.setup(manager),
  })
}
