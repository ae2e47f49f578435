// Resources among the kinds that a server serves.
import type { ServedKind } from '@fairlead/client'
import { parseApiVersion } from '@fairlead/kube'
import type { ResourceName } from '../engine/kinds.ts'
import type { ResolvedResource } from '../engine/resource.ts'

/** Returns the resource of a name. One that is not served has its plural as its kind, and no objects. */
export function servedResource(
  { apiVersion, resource }: ResourceName,
  served: readonly ServedKind[],
): ResolvedResource {
  const { group } = parseApiVersion(apiVersion)
  const found = served.find((one) => one.apiVersion === apiVersion && one.plural === resource)
  const { kind = resource, namespaced = true } = found ?? {}
  return { apiVersion, group, kind, plural: resource, namespaced }
}
