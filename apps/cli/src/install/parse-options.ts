// Parses the flags of `fairlead install` and `fairlead uninstall`.
import { usageError } from '@fairlead/offline/command-error'
import { capabilities } from '../capabilities.ts'
import { parseOnly, parseSettings } from '../capability-options.ts'
import { checkSettings } from '../capability-settings.ts'
import { version } from '../version.ts'
import { defaultNamespace, isDelegated } from './install-options.ts'
import type { InstallOptions } from './install-options.ts'

/** Parses the flags, and loads the capabilities that they name. Throws a usage error that names the flag. */
export async function parseInstallOptions(raw: Readonly<Record<string, unknown>>): Promise<InstallOptions> {
  const entries = raw['only'] === undefined ? capabilities : parseOnly(String(raw['only']))
  const settings = (raw['set'] ?? []) as readonly string[]
  const named = parseSettings(settings)
  const replicas = parseCount('--replicas', String(raw['replicas'] ?? 1))
  const shards = raw['shards'] === undefined ? undefined : parseCount('--shards', String(raw['shards']))
  const loaded = await Promise.all(entries.map((entry) => entry.load()))
  checkSettings(named, loaded)
  const single = loaded.filter(isDelegated).map((capability) => capability.name)
  if (replicas > 1 && single.length > 0)
    throw usageError(
      `--replicas ${replicas}: ${single.join(', ')} serves its own API from one pod. Install it apart from the others: --only ${single.join(',')} --name fairlead-${single[0]}, and --only ${
        entries
          .map((entry) => entry.name)
          .filter((entry) => !single.includes(entry))
          .join(',') || '…'
      } --replicas ${replicas}`,
    )
  return {
    name: parseName('--name', String(raw['name'] ?? 'fairlead'), 40),
    namespace: parseName('--namespace', String(raw['namespace'] ?? defaultNamespace), 63),
    version: version(),
    capabilities: loaded,
    image: parseImage(raw['image'] === undefined ? `fairlead:${version()}` : String(raw['image'])),
    replicas,
    ...(shards !== undefined && { shards }),
    ...(raw['dataClaim'] !== undefined && { dataClaim: parseName('--data-claim', String(raw['dataClaim']), 63) }),
    settings,
    webhooks: raw['webhooks'] !== false,
    networkPolicy: raw['networkPolicy'] !== false,
    serviceMonitor: raw['serviceMonitor'] === true,
    defaults: raw['defaults'] !== false,
  }
}

function parseCount(flag: string, text: string): number {
  const count = Number(text)
  if (!/^\d+$/.test(text) || count < 1 || count > 1000)
    throw usageError(`${flag} ${text}: write a number from 1 to 1000`)
  return count
}

/** Names become labels and parts of host names (RFC 1123). */
function parseName(flag: string, text: string, limit: number): string {
  if (!/^[a-z]([-a-z0-9]*[a-z0-9])?$/.test(text) || text.length > limit)
    throw usageError(
      `${flag} ${text}: write at most ${limit} lower-case letters, digits and hyphens, beginning with a letter`,
    )
  return text
}

function parseImage(text: string): string {
  if (text === '' || /\s/.test(text)) throw usageError(`--image ${JSON.stringify(text)}: write NAME:TAG or NAME@DIGEST`)
  return text
}
