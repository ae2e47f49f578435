// Parses the flags of `fairlead up`.
import { capabilities } from '../capabilities.ts'
import type { CapabilityEntry } from '../capabilities.ts'
import { parseOnly, parsePort, parseResolve, parseSettings } from '../capability-options.ts'
import type { CapabilitySettings } from '../capability-options.ts'
import { usageError } from '@fairlead/offline/command-error'
import { ruleFile } from '../simulate/rule-file.ts'

export interface UpOptions {
  /** Folder of store and kubeconfig; undefined: a temporary folder for the kubeconfig. */
  readonly data: string | undefined
  /** Store no objects: the folder holds only the kubeconfig. */
  readonly inMemory: boolean
  /** Undefined: 6443 or the next free one. */
  readonly port: number | undefined
  readonly capabilities: readonly CapabilityEntry[]
  readonly simulate: readonly string[]
  readonly resolve: ReadonlyMap<string, string>
  readonly settings: CapabilitySettings
  readonly example: string | undefined
  readonly tour: boolean
  /** The runner of Jobs. */
  readonly runJobs: 'off' | 'process' | 'podman' | 'docker'
  /** The file of the audit log. */
  readonly auditLog: string | undefined
  /** Bytes of JSON that live objects may take; undefined: the default of the API server. */
  readonly maxStoredBytes: number | undefined
  /** Runs in the background. */
  readonly detach: boolean
  /** The command to run, word by word; empty: none, until a signal arrives. */
  readonly command: readonly string[]
}

/** The example that `npm start` shows. */
export const tourExample = 'snapshot-schedule'

/** Parses the options and the command from the command line. Throws a usage error that names the flag. */
export async function parseUpOptions(
  raw: Readonly<Record<string, unknown>>,
  command: readonly string[],
): Promise<UpOptions> {
  const tour = raw['tour'] === true
  const detach = raw['detach'] === true
  if (detach && command.length > 0)
    throw usageError('--detach runs no command: leave it out, or run the command yourself and then `fairlead down`')
  if (tour && raw['example'] !== undefined)
    throw usageError(`--tour loads the example ${tourExample}: leave --tour or --example out`)
  // A command gets a server of its own: nothing of it is left, and it is in the way of no other.
  const isOwn = command.length > 0 && raw['data'] === undefined
  const inMemory = raw['inMemory'] === true || isOwn
  return {
    data: raw['data'] !== undefined ? String(raw['data']) : inMemory && !detach ? undefined : defaultData,
    inMemory,
    port: raw['port'] === undefined ? (isOwn ? 0 : undefined) : parsePort(String(raw['port'])),
    capabilities: raw['only'] === undefined ? capabilities : parseOnly(String(raw['only'])),
    simulate: (raw['simulate'] as readonly string[]).map((path) => ruleFile(path, '--simulate')),
    resolve: await parseResolve(raw['resolve'] as readonly string[]),
    settings: parseSettings(raw['set'] as readonly string[]),
    example: raw['example'] === undefined ? (tour ? tourExample : undefined) : String(raw['example']),
    tour,
    runJobs: parseRunJobs(raw['runJobs'] === undefined ? 'off' : String(raw['runJobs'])),
    auditLog: raw['auditLog'] === undefined ? undefined : String(raw['auditLog']),
    maxStoredBytes: raw['maxStoredBytes'] === undefined ? undefined : await parseBytes(String(raw['maxStoredBytes'])),
    detach,
    command,
  }
}

async function parseBytes(text: string): Promise<number> {
  const { isQuantity, parseQuantity } = await import('@fairlead/kube')
  const bytes = isQuantity(text) ? Number(parseQuantity(text).nanos / 1_000_000_000n) : 0
  if (bytes < 1) throw usageError(`--max-stored-bytes ${text}: write a number of bytes, such as 512Mi or 2Gi`)
  return bytes
}

/** The default data folder. */
export const defaultData = '.fairlead'

function parseRunJobs(text: string): UpOptions['runJobs'] {
  if (text === 'off' || text === 'process' || text === 'podman' || text === 'docker') return text
  throw usageError(`--run-jobs ${text}: write process, podman, docker or off`)
}
