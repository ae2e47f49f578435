// From a delegated resource to what the registry serves: like a custom resource, with the verbs that its storage has and subresources of its own.
import type { DelegatedResource, DelegatedStorage } from '@fairlead/controller'
import { resourceDefinitionFrom } from '../custom/index.ts'
import type { ResourceDefinition, SubresourceDefinition, VersionDefinition } from '../registry/resource.ts'

const subresourceVerbs = ['get', 'patch', 'update']

/** The definition of a delegated resource. */
export function delegatedDefinition(resource: DelegatedResource): ResourceDefinition {
  const { definition, storage, subresources = [], selectableFields = {}, maxObjectBytes } = resource
  const base = resourceDefinitionFrom(definition)
  const verbs = verbsOf(storage)
  const own = subresources.map((name): SubresourceDefinition => ({ name, kind: base.kind, verbs: subresourceVerbs }))
  return {
    ...base,
    versions: base.versions.map((version): VersionDefinition => ({
      ...version,
      verbs,
      subresources: [...version.subresources, ...own],
      selectableFields: { ...version.selectableFields, ...selectableFields },
    })),
    strategy: {
      ...base.strategy,
      objectSubresources: new Set(['status', ...subresources]),
      statusSubresources: new Set(['status']),
      ...(maxObjectBytes === undefined ? {} : { maxObjectBytes }),
    },
  }
}

/** In discovery's order. */
function verbsOf(storage: DelegatedStorage): readonly string[] {
  const updates = storage.update !== undefined
  return [
    ...(storage.delete === undefined ? [] : ['delete', 'deletecollection']),
    'get',
    'list',
    ...(updates ? ['patch'] : []),
    ...(storage.create === undefined ? [] : ['create']),
    ...(updates ? ['update'] : []),
    'watch',
  ]
}
