// KindActionMappings in the data of maps (`kam-defs`), for operators that install before the CRD (originals/kappnav.md
// §2.9).
import { dns1123Subdomain, isJsonObject, ownValue } from '@fairlead/kube'
import type { KubeObject } from '@fairlead/kube'
import { apiVersion } from '../api.ts'
import { MapData, asData } from './data/map-data.ts'
import type { MapObject } from './data/map-data.ts'
import type { Problem } from './data/problem.ts'

/** Data key of an embedded mapping. */
export const kamDefsKey = 'kam-defs'
/** Label of mappings that were created from maps. */
export const autoCreatedLabel = 'kappnav.kam.auto-created'

/**
 * Returns the embedded mapping of a map, in the map's namespace; undefined when there is none, a problem when it is
 * invalid.
 */
export function embeddedMapping(
  map: MapObject,
): { readonly mapping: KubeObject } | { readonly problem: Problem } | undefined {
  const problem = (message: string): { readonly problem: Problem } => ({
    problem: { code: 'InvalidMap', field: `data.${kamDefsKey}`, message },
  })
  const data = new MapData(map)
  const value = data.read(kamDefsKey)
  const [unreadable] = data.problems.filter(({ code }) => code !== 'LenientJson')
  if (value === undefined) return unreadable && { problem: unreadable }
  if (!isJsonObject(value)) return problem('must be an object: one complete KindActionMapping')
  const metadata = asData(ownValue(value, 'metadata'))
  const name = ownValue(metadata, 'name')
  const [invalid] = typeof name === 'string' ? dns1123Subdomain(name) : ['it is missing']
  if (invalid !== undefined) return problem(`metadata.name: ${invalid}`)
  const namespace = ownValue(metadata, 'namespace')
  if (namespace !== undefined && namespace !== map.metadata.namespace) {
    return problem(
      `metadata.namespace must be omitted or ${map.metadata.namespace ?? ''}: a mapping is created in the namespace of its map`,
    )
  }
  const spec = ownValue(value, 'spec')
  if (!isJsonObject(spec)) return problem('spec is missing')
  const created = {
    name: name as string,
    namespace: map.metadata.namespace ?? 'default',
    labels: { [autoCreatedLabel]: 'true' },
  }
  return { mapping: { apiVersion, kind: 'KindActionMapping', metadata: created, spec } }
}
