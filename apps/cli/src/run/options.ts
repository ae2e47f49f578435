// Parses the flags of `fairlead run`.
import { inClusterConnection, isInCluster } from '@fairlead/client'
import { usageError } from '@fairlead/offline/command-error'
import { capabilities } from '../capabilities.ts'
import type { CapabilityEntry } from '../capabilities.ts'
import { parseOnly, parsePort, parseResolve, parseSettings } from '../capability-options.ts'
import type { CapabilitySettings } from '../capability-options.ts'

export interface RunOptions {
  readonly kubeconfig: string | undefined
  readonly context: string | undefined
  readonly capabilities: readonly CapabilityEntry[]
  /** Namespace of Leases and Secrets. */
  readonly namespace: string
  readonly leaderElection: boolean
  /** Number of shards; undefined: none. */
  readonly shards: number | undefined
  readonly port: number
  readonly apiPort: number
  /** Undefined: all addresses. */
  readonly host: string | undefined
  readonly webhooks: boolean
  /** Name of the Service, of the Leases and of the prefix of Secrets. */
  readonly service: string
  /** The Service leads to this process: the default name is trusted in a pod only. */
  readonly hasService: boolean
  /** Undefined: nothing outlives the process. */
  readonly data: string | undefined
  readonly installDefinitions: boolean
  readonly settings: CapabilitySettings
  readonly resolve: ReadonlyMap<string, string>
}

/** Namespace of Fairlead where nothing else is named. */
const defaultNamespace = 'fairlead-system'

const defaultService = 'fairlead'

const maxShards = 1024

/** Parses the options. Throws a usage error that names the flag. */
export async function parseRunOptions(raw: Readonly<Record<string, unknown>>): Promise<RunOptions> {
  const given = (name: string): string | undefined => (raw[name] === undefined ? undefined : String(raw[name]))
  const isPod = isInCluster()
  const shards = given('shards') === undefined ? undefined : parseShards(given('shards')!)
  return {
    kubeconfig: given('kubeconfig'),
    context: given('context'),
    capabilities: given('only') === undefined ? capabilities : parseOnly(given('only')!),
    namespace: given('namespace') ?? (isPod ? await podNamespace() : defaultNamespace),
    leaderElection: given('leaderElect') !== 'false',
    shards,
    port: parsePort(given('port')!),
    apiPort: parsePort(given('apiPort')!, '--api-port'),
    host: given('host') ?? (isPod ? undefined : '127.0.0.1'),
    webhooks: given('webhooks') === undefined ? isPod || given('service') !== undefined : given('webhooks') === 'true',
    service: given('service') ?? defaultService,
    hasService: isPod || given('service') !== undefined,
    data: given('data'),
    installDefinitions: raw['installCrds'] === true,
    settings: parseSettings(raw['set'] as readonly string[]),
    resolve: await parseResolve(raw['resolve'] as readonly string[]),
  }
}

function parseShards(text: string): number {
  const count = Number(text)
  if (!/^\d+$/.test(text) || count < 1 || count > maxShards)
    throw usageError(`--shards ${text}: write a number from 1 to ${maxShards}, or leave it out for leader election`)
  return count
}

async function podNamespace(): Promise<string> {
  try {
    return (await inClusterConnection()).namespace ?? defaultNamespace
  } catch {
    // No service account is mounted: the kubeconfig says where the cluster is.
    return defaultNamespace
  }
}
