// The configuration of kAppNav: ConfigMap `kappnav-config` in its namespace (originals/kappnav.md §4), with keys of our own for Jobs.
import type { JsonObject } from '@fairlead/kube'
import { isJsonObject, ownValue } from '@fairlead/kube'
import { asData } from '../maps/action-map.ts'
import type { MapObject } from '../catalog.ts'
import { defaultDeadlineSeconds, defaultTtlSeconds } from './job.ts'
import type { JobSettings } from './job.ts'
import { LenientJsonError, parseLenientJson } from '../data/lenient-json.ts'
import type { CatalogSource } from '../../runtime/live-catalog.ts'

/** kAppNav's namespace: where `builtin`, `kappnav-config` and the maps of the default mapping are. */
export const kappnavNamespace = 'kappnav'

/** How Jobs of a target in `namespace` are made. `job-namespace: ${namespace}` puts them beside their targets. */
export function jobSettings(source: CatalogSource, namespace: string): JobSettings {
  const config = dataOf(source.configMap(kappnavNamespace, 'kappnav-config'))
  const wanted = text(config, 'job-namespace') ?? kappnavNamespace
  return {
    namespace: wanted === '${namespace}' ? namespace : wanted,
    serviceAccountName: text(config, 'kappnav-sa-name') ?? 'default',
    ttlSeconds: seconds(config, 'job-ttl-seconds', defaultTtlSeconds),
    deadlineSeconds: seconds(config, 'job-deadline-seconds', defaultDeadlineSeconds),
    resources: resourcesOf(config),
  }
}

/** The word for a status that cannot be told. */
export function unknownWord(source: CatalogSource): string {
  return text(dataOf(source.configMap(kappnavNamespace, 'kappnav-config')), 'status-unknown') ?? 'Unknown'
}

/** Data of a ConfigMap. */
export function dataOf(map: MapObject | undefined): JsonObject {
  return asData(map?.data)
}

function text(config: JsonObject, key: string): string | undefined {
  const value = ownValue(config, key)
  return typeof value === 'string' && value.trim() !== '' ? value.trim() : undefined
}

/** `none` takes the limit away; what is no number is as if it were not there. */
function seconds(config: JsonObject, key: string, otherwise: number): number | undefined {
  const value = text(config, key)
  if (value === 'none') return undefined
  return value !== undefined && /^\d{1,9}$/.test(value) ? Number(value) : otherwise
}

function resourcesOf(config: JsonObject): JsonObject | undefined {
  const value = text(config, 'job-resources')
  if (value === undefined) return undefined
  try {
    const parsed = parseLenientJson(value).value
    return isJsonObject(parsed) ? parsed : undefined
  } catch (error) {
    if (error instanceof LenientJsonError) return undefined
    throw error
  }
}
