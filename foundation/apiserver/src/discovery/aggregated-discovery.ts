// Aggregated discovery (apidiscovery.k8s.io/v2): all groups and resources in one document, one for /api and one for
// /apis.
import { parseApiVersion } from '@fairlead/kube'
import type { JsonObject } from '@fairlead/kube'
import type { SubresourceDefinition } from '@fairlead/builtin-kinds'
import type { ApiGroup, VersionedResource } from './api-groups.ts'

/** Returns the document of some groups; the core group has no name in it. */
export function apiGroupDiscoveryList(groups: readonly ApiGroup[]): JsonObject {
  return {
    kind: 'APIGroupDiscoveryList',
    apiVersion: 'apidiscovery.k8s.io/v2',
    metadata: {},
    items: groups.map(groupEntry),
  }
}

function groupEntry({ name, versions }: ApiGroup): JsonObject {
  return {
    metadata: name === '' ? {} : { name },
    versions: versions.map(({ version, resources }) => ({
      version,
      resources: resources.map((resource) => resourceEntry(name, version, resource)),
      freshness: 'Current',
    })),
  }
}

function resourceEntry(group: string, version: string, { definition, version: served }: VersionedResource): JsonObject {
  const { plural, singular, kind, namespaced, shortNames, categories } = definition
  // The real server sets group and version of responseKind only for custom resources.
  const isBuiltin = definition.origin === 'builtin'
  const own = isBuiltin ? { group: '', version: '' } : { group, version }
  return {
    resource: plural,
    responseKind: { ...own, kind },
    scope: namespaced ? 'Namespaced' : 'Cluster',
    singularResource: singular,
    verbs: served.verbs,
    ...(shortNames.length > 0 ? { shortNames } : {}),
    ...(categories.length > 0 ? { categories } : {}),
    ...(served.subresources.length > 0
      ? { subresources: served.subresources.map((subresource) => subresourceEntry(own, subresource)) }
      : {}),
  }
}

function subresourceEntry(
  own: { group: string; version: string },
  { name, kind, groupVersion, verbs }: SubresourceDefinition,
): JsonObject {
  return {
    subresource: name,
    responseKind: { ...(groupVersion === undefined ? own : parseApiVersion(groupVersion)), kind },
    verbs,
  }
}
