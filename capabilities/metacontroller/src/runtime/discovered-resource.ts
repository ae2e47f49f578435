// Resources resolved by discovery.
import type { Discovery } from '@fairlead/client'
import { formatApiVersion, parseApiVersion } from '@fairlead/kube'
import type { ResourceName } from '../engine/kinds.ts'
import type { ResolvedResource } from '../engine/resource.ts'

/** Looks up the kind of a resource. Throws ClientError `UnknownKind` for one that the server does not serve. */
export async function discoveredResource(
  discovery: Discovery,
  { apiVersion, resource }: ResourceName,
): Promise<ResolvedResource> {
  const { kind, namespaced } = await discovery.kindOf(apiVersion, resource)
  const { group, version } = parseApiVersion(apiVersion)
  return {
    apiVersion: formatApiVersion(group, version),
    group,
    kind,
    plural: resource,
    namespaced: namespaced === true,
  }
}
