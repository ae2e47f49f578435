// The parameters of structured merge for a resource: the schema behind an apiVersion, and the fields that writers of a
// subresource do not manage.
import { parseApiVersion, resetFieldsOf } from '@fairlead/kube'
import type { TypeSchema } from '@fairlead/kube'
import type { ServedResource } from '../registry/registry.ts'

/** Returns the schema of the resource's kind in any of its versions. */
export function schemaOf({ definition }: ServedResource): (apiVersion: string) => TypeSchema | undefined {
  return (apiVersion) => {
    const { group, version } = parseApiVersion(apiVersion)
    if (group !== definition.group) return undefined
    return definition.versions.find((candidate) => candidate.name === version)?.schema
  }
}

/** Reports whether an apiVersion is one of the resource's, served or not. */
export function hasVersion({ definition }: ServedResource, apiVersion: string): boolean {
  const { group, version } = parseApiVersion(apiVersion)
  return group === definition.group && definition.versions.some(({ name }) => name === version)
}

/** Returns the paths that writes through a subresource reset, and hence do not manage. */
export function resetFields({ definition }: ServedResource, subresource: string): readonly (readonly string[])[] {
  const { strategy } = definition
  if (strategy.resetFields !== undefined && Object.hasOwn(strategy.resetFields, subresource))
    return strategy.resetFields[subresource]!
  return resetFieldsOf(subresource, strategy.hasStatus ?? false)
}
