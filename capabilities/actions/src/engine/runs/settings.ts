// Settings from ConfigMap `kappnav-config` in kAppNav's namespace (originals/kappnav.md §4), with additional keys for
// Jobs.
import { isJsonObject, ownValue } from '@fairlead/kube'
import type { JsonObject } from '@fairlead/kube'
import type { IsTrusted } from '../mapping/mapping-index.ts'
import { LenientJsonError, parseLenientJson } from '../data/lenient-json.ts'
import { defaultDeadlineSeconds, defaultTtlSeconds } from './job.ts'
import type { JobSettings } from './job.ts'

/** kAppNav's namespace, with `builtin`, `kappnav-config` and the maps of the default mapping. */
export const kappnavNamespace = 'kappnav'

/** Name of the ConfigMap with kAppNav's configuration. */
export const configName = 'kappnav-config'

/**
 * Returns the settings of Jobs for targets in `namespace`; `config` is the data of the configuration.
 * `job-namespace: ${namespace}` creates Jobs in the namespace of their targets.
 */
export function jobSettings(config: JsonObject, namespace: string): JobSettings {
  const wanted = stringAt(config, 'job-namespace') ?? kappnavNamespace
  return {
    namespace: wanted === '${namespace}' ? namespace : wanted,
    serviceAccountName: stringAt(config, 'kappnav-sa-name') ?? 'default',
    ttlSeconds: seconds(config, 'job-ttl-seconds', defaultTtlSeconds),
    deadlineSeconds: seconds(config, 'job-deadline-seconds', defaultDeadlineSeconds),
    resources: resourcesOf(config),
    backoffLimit: seconds(config, 'job-backoff-limit', 0) ?? 0,
  }
}

/**
 * Returns the settings of Jobs of actions that a map of an untrusted namespace defines: in that namespace, with its
 * default account, so that their authors gain no right by a user who runs them.
 */
export function untrustedJobSettings(config: JsonObject, namespace: string): JobSettings {
  return { ...jobSettings(config, namespace), namespace, serviceAccountName: 'default' }
}

/** Returns the settings of Jobs that the server creates for its callers, as the account that a trusted map names. */
export function delegatedJobSettings(config: JsonObject, namespace: string, runAs: string): JobSettings {
  return { ...jobSettings(config, namespace), serviceAccountName: runAs }
}

/**
 * Returns the namespaces whose mappings and maps count for all resources: kAppNav's own, and those that
 * `trusted-namespaces` lists, separated by commas; `*` is all. `config` is the data of the configuration, which only
 * writers of kAppNav's namespace can change.
 */
export function trustedNamespaces(config: JsonObject): ReadonlySet<string> {
  const listed = (stringAt(config, 'trusted-namespaces') ?? '').split(',').map((name) => name.trim())
  return new Set([kappnavNamespace, ...listed.filter((name) => name !== '')])
}

/** Returns the predicate of the namespaces that a configuration trusts. */
export function trustIn(config: JsonObject): IsTrusted {
  const trusted = trustedNamespaces(config)
  return trusted.has('*') ? () => true : (namespace) => trusted.has(namespace)
}

/** Returns the value of an unknown status; `config` is the data of the configuration. */
export function unknownWord(config: JsonObject): string {
  return stringAt(config, 'status-unknown') ?? 'Unknown'
}

function stringAt(config: JsonObject, key: string): string | undefined {
  const value = ownValue(config, key)
  return typeof value === 'string' && value.trim() !== '' ? value.trim() : undefined
}

/** Returns a number of seconds: `none` removes the limit, an invalid value is ignored. */
function seconds(config: JsonObject, key: string, otherwise: number): number | undefined {
  const value = stringAt(config, key)
  if (value === 'none') return undefined
  return value !== undefined && /^\d{1,9}$/.test(value) ? Number(value) : otherwise
}

function resourcesOf(config: JsonObject): JsonObject | undefined {
  const value = stringAt(config, 'job-resources')
  if (value === undefined) return undefined
  try {
    const parsed = parseLenientJson(value).value
    return isJsonObject(parsed) ? parsed : undefined
  } catch (error) {
    if (error instanceof LenientJsonError) return undefined
    throw error
  }
}
