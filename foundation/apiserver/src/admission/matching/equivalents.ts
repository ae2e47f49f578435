// The resources and kinds that rules may name for one request: its own, and those of the resource's other versions.
import { formatApiVersion, parseApiVersion } from '@fairlead/kube'
import type { ServedResource } from '../../registry/registry.ts'

/** `{group: 'apps', version: 'v1', resource: 'deployments'}`. */
export interface GroupVersionResource {
  readonly group: string
  readonly version: string
  readonly resource: string
}

/** `{group: 'apps', version: 'v1', kind: 'Deployment'}`. */
export interface GroupVersionKind {
  readonly group: string
  readonly version: string
  readonly kind: string
}

/** Returns the GroupVersionResource. */
export function groupVersionResource({ definition, version }: ServedResource): GroupVersionResource {
  return { group: definition.group, version: version.name, resource: definition.plural }
}

/** Returns the kind of the object in a request: that of its subresource where it has its own (Scale, Eviction …). */
export function groupVersionKind({ definition, version }: ServedResource, subresource: string): GroupVersionKind {
  const own = version.subresources.find(({ name }) => name === subresource)
  if (own?.groupVersion !== undefined) return { ...parseApiVersion(own.groupVersion), kind: own.kind }
  return { group: definition.group, version: version.name, kind: own?.kind ?? definition.kind }
}

/** Returns the resource in its other served versions, in discovery's order. */
export function otherVersions({ definition, version }: ServedResource): readonly ServedResource[] {
  return definition.versions
    .filter((other) => other.served && other.name !== version.name)
    .map((other) => ({ definition, version: other, apiVersion: formatApiVersion(definition.group, other.name) }))
}
