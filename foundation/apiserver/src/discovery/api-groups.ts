// The served groups with their versions and resources, in the order of discovery and OpenAPI.
import { builtinGroups } from '@fairlead/builtin-kinds'
import { compareVersions } from '@fairlead/kube'
import type { RegistryReader } from '../registry/registry.ts'
import type { ResourceDefinition, VersionDefinition } from '@fairlead/builtin-kinds'

/** A resource in one version. */
export interface VersionedResource {
  readonly definition: ResourceDefinition
  readonly version: VersionDefinition
}

/** A version of a group. */
export interface ApiGroupVersion {
  readonly version: string
  readonly resources: readonly VersionedResource[]
}

/** A group; its first version is the preferred one. */
export interface ApiGroup {
  readonly name: string
  readonly versions: readonly ApiGroupVersion[]
}

/** Returns the served groups: the built-in ones in their own order, then all others by name. The core group is ''. */
export function apiGroups(registry: Pick<RegistryReader, 'definitions'>): readonly ApiGroup[] {
  const groups = new Map<string, ResourceDefinition[]>()
  for (const definition of registry.definitions) {
    const definitions = groups.get(definition.group)
    if (definitions === undefined) groups.set(definition.group, [definition])
    else definitions.push(definition)
  }
  return [...groups]
    .map(([name, definitions]) => ({ name, versions: versionsOf(name, definitions) }))
    .filter(({ versions }) => versions.length > 0)
    .toSorted((a, b) => rankOf(a.name) - rankOf(b.name) || (a.name < b.name ? -1 : 1))
}

function rankOf(group: string): number {
  const index = builtinGroups.indexOf(group)
  return index < 0 ? builtinGroups.length : index
}

function versionsOf(group: string, definitions: readonly ResourceDefinition[]): readonly ApiGroupVersion[] {
  const isBuiltin = builtinGroups.includes(group)
  const ordered = isBuiltin ? definitions : definitions.toSorted((a, b) => (a.plural < b.plural ? -1 : 1))
  const versions = new Map<string, VersionedResource[]>()
  for (const definition of ordered) {
    for (const version of definition.versions) {
      if (!version.served) continue
      const resources = versions.get(version.name)
      if (resources === undefined) versions.set(version.name, [{ definition, version }])
      else resources.push({ definition, version })
    }
  }
  const list = [...versions].map(([version, resources]) => ({ version, resources }))
  return isBuiltin ? list : list.toSorted((a, b) => compareVersions(a.version, b.version))
}
