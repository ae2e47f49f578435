// What structured merge has to know of a resource: the schema behind an apiVersion, and which fields an endpoint's
// clients do not own.
import { parseApiVersion, resetFieldsOf } from '@fairlead/kube'
import type { TypeSchema } from '@fairlead/kube'
import type { ServedResource } from '../registry/registry.ts'

/** The schema of the resource's kind in any of its versions. */
export function schemaOf({ definition }: ServedResource): (apiVersion: string) => TypeSchema | undefined {
  return (apiVersion) => {
    const { group, version } = parseApiVersion(apiVersion)
    if (group !== definition.group) return undefined
    return definition.versions.find((candidate) => candidate.name === version)?.schema
  }
}

/** Paths that writes through an endpoint reset, hence do not own. */
export function resetFields({ definition }: ServedResource, subresource: string): readonly (readonly string[])[] {
  const { strategy } = definition
  if (strategy.resetFields !== undefined && Object.hasOwn(strategy.resetFields, subresource))
    return strategy.resetFields[subresource]!
  return resetFieldsOf(subresource, strategy.hasStatus ?? false)
}
