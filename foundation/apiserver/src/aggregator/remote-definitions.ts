// Converts the discovery of an extension API server to resource definitions, so that discovery, garbage collection and
// the deletion of namespaces include its resources. Pure.
import { badRequest, isJsonObject } from '@fairlead/kube'
import type { JsonValue } from '@fairlead/kube'
import type { ResourceDefinition, SubresourceDefinition } from '@fairlead/builtin-kinds'
import type { RemoteApiService } from './remote-api-service.ts'

interface ApiResource {
  readonly name: string
  readonly singularName?: string
  readonly namespaced?: boolean
  readonly kind: string
  readonly group?: string
  readonly version?: string
  readonly verbs?: readonly string[]
  readonly shortNames?: readonly string[]
  readonly categories?: readonly string[]
}

/** Converts an APIResourceList. Throws StatusError 400 for anything else. */
export function remoteDefinitions(api: RemoteApiService, list: JsonValue): readonly ResourceDefinition[] {
  const resources = isJsonObject(list) && list['kind'] === 'APIResourceList' ? list['resources'] : undefined
  if (!Array.isArray(resources) || !resources.every(isApiResource)) throw badRequest('expected an APIResourceList')
  const all = resources as unknown as readonly ApiResource[]
  return all
    .filter(({ name }) => !name.includes('/'))
    .map((resource) =>
      definitionOf(
        api,
        resource,
        all.filter(({ name }) => name.startsWith(`${resource.name}/`)),
      ),
    )
}

function definitionOf(
  { group, version }: RemoteApiService,
  { name, singularName, namespaced = false, kind, verbs = [], shortNames = [], categories = [] }: ApiResource,
  subresources: readonly ApiResource[],
): ResourceDefinition {
  return {
    origin: 'remote',
    group,
    plural: name,
    singular: singularName ?? '',
    kind,
    listKind: `${kind}List`,
    namespaced,
    shortNames,
    categories,
    storageVersion: version,
    strategy: {},
    versions: [
      {
        name: version,
        served: true,
        verbs,
        subresources: subresources.map((resource) => subresourceOf(resource, name)),
        schema: undefined,
        printer: { columns: [], cells: () => [] },
        selectableFields: {},
      },
    ],
  }
}

function subresourceOf({ name, kind, group, version, verbs = [] }: ApiResource, parent: string): SubresourceDefinition {
  const own = version === undefined || version === '' ? {} : { groupVersion: group ? `${group}/${version}` : version }
  return { name: name.slice(parent.length + 1), kind, verbs, ...own }
}

function isApiResource(value: JsonValue): boolean {
  if (!isJsonObject(value)) return false
  const { name, kind, verbs = [] } = value
  const isList = Array.isArray(verbs) && verbs.every((verb) => typeof verb === 'string')
  return typeof name === 'string' && name !== '' && typeof kind === 'string' && isList
}
