// The unaggregated discovery documents: APIVersions, APIGroupList, APIGroup, APIResourceList.
import { createHash } from 'node:crypto'
import { formatApiVersion, parseApiVersion } from '@fairlead/kube'
import type { JsonObject } from '@fairlead/kube'
import { storedApiVersion } from '@fairlead/builtin-kinds'
import type { SubresourceDefinition } from '@fairlead/builtin-kinds'
import type { ApiGroup, ApiGroupVersion, VersionedResource } from './api-groups.ts'

/** Returns the document of `/api`. Like `/api/v1` it has no apiVersion: clients of the first release expect none. */
export function apiVersions(core: ApiGroup, serverAddress: string): JsonObject {
  return {
    kind: 'APIVersions',
    versions: core.versions.map(({ version }) => version),
    serverAddressByClientCIDRs: [{ clientCIDR: '0.0.0.0/0', serverAddress }],
  }
}

/** Returns the document of `/apis`. */
export function apiGroupList(groups: readonly ApiGroup[]): JsonObject {
  return { kind: 'APIGroupList', apiVersion: 'v1', groups: groups.filter(({ name }) => name !== '').map(groupEntry) }
}

/** Returns the document of `/apis/<group>`. */
export function apiGroup(group: ApiGroup): JsonObject {
  return { kind: 'APIGroup', apiVersion: 'v1', ...groupEntry(group) }
}

/** Returns the document of `/api/v1` or `/apis/<group>/<version>`. */
export function apiResourceList(group: string, { version, resources }: ApiGroupVersion): JsonObject {
  return {
    kind: 'APIResourceList',
    ...(group === '' ? {} : { apiVersion: 'v1' }),
    groupVersion: formatApiVersion(group, version),
    resources: resources.flatMap((resource) => [
      resourceEntry(resource),
      ...resource.version.subresources.map((sub) => subresourceEntry(resource, sub)),
    ]),
  }
}

function groupEntry({ name, versions }: ApiGroup): JsonObject {
  const entries = versions.map(({ version }) => ({ groupVersion: formatApiVersion(name, version), version }))
  return { name, versions: entries, preferredVersion: entries[0] ?? null }
}

function resourceEntry({ definition, version }: VersionedResource): JsonObject {
  const { plural, singular, namespaced, kind, shortNames, categories } = definition
  const isStored = version.verbs.includes('watch')
  return {
    name: plural,
    singularName: singular,
    namespaced,
    kind,
    verbs: version.verbs,
    ...(shortNames.length > 0 ? { shortNames } : {}),
    ...(categories.length > 0 ? { categories } : {}),
    ...(isStored ? { storageVersionHash: storageVersionHash(`${storedApiVersion(definition)}/${kind}`) } : {}),
  }
}

function subresourceEntry(
  { definition }: VersionedResource,
  { name, kind, groupVersion, verbs }: SubresourceDefinition,
): JsonObject {
  return {
    name: `${definition.plural}/${name}`,
    singularName: '',
    namespaced: definition.namespaced,
    ...(groupVersion === undefined ? {} : parseApiVersion(groupVersion)),
    kind,
    verbs,
  }
}

/**
 * Returns the hash of the storage version, for storage migration. Kinds of the core group hash with an empty group:
 * `/v1/Pod`.
 */
function storageVersionHash(kind: string): string {
  const text = kind.split('/').length === 2 ? `/${kind}` : kind
  return createHash('sha256').update(text).digest().subarray(0, 8).toString('base64')
}
