// `fairlead simulate`: the rules of the simulator against a cluster. Start with simulate().
import { ClientError } from '@fairlead/client'
import type { Client } from '@fairlead/client'
import { Manager } from '@fairlead/controller'
import type { Logger } from '@fairlead/controller'
import { AsyncDisposableStack } from '@fairlead/kube'
import { usageError } from '@fairlead/offline/command-error'
import { Simulator } from '@fairlead/simulator'
import type { Rule } from '@fairlead/simulator'
import { commandLogger } from '../command-logger.ts'
import { clientFromKubeconfig } from '../connect.ts'
import { saveMemory } from '../save-memory.ts'
import { aborted, stopOnSignals } from '../stop-signals.ts'
import { ruleFile } from './rule-file.ts'
import { readRules } from './rules.ts'

/** Applies the rules until a signal stops it. Throws CommandError for every error that the user can fix. */
export async function simulate(files: readonly string[], raw: Readonly<Record<string, unknown>>): Promise<void> {
  const stop = stopOnSignals()
  const rules = readRules(files.map((file) => ruleFile(file, 'simulate')))
  if (rules.length === 0) throw usageError(`simulate ${files.join(' ')}: there is no rule in it`)
  const logger = await commandLogger('info')
  await using resources = new AsyncDisposableStack()
  const client = (await clientFromKubeconfig(raw)).with({ manager: 'fairlead-simulator' })
  resources.defer(() => client.transport[Symbol.asyncDispose]())
  await reportUnservedKinds(client, rules, logger)
  const simulator = new Simulator(rules)
  resources.use(await Manager.start({ client, logger, setup: (manager) => simulator.setup(manager) }))
  logger.info('Started the simulator', { server: client.transport.address, rules: rules.map(({ name }) => name) })
  saveMemory()
  await aborted(stop)
  logger.info('Stopping', { signal: stop.reason as string })
}

/** Warns of kinds that the cluster does not serve; their rules wait for them. Throws when it does not answer. */
async function reportUnservedKinds(client: Client, rules: readonly Rule[], logger: Logger): Promise<void> {
  const kinds = new Map(rules.map(({ apiVersion, kind }) => [`${kind} of ${apiVersion}`, { apiVersion, kind }]))
  for (const [name, kind] of kinds)
    try {
      await client.discovery.describe(kind)
    } catch (error) {
      if (!(error instanceof ClientError) || error.code !== 'UnknownKind') throw error
      logger.warn('The cluster does not serve a kind; its rules wait until it does', { kind: name })
    }
}
