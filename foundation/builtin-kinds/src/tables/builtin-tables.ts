// The generated tables of built-in kinds, parsed on first use: the resources and the schema of every kind.
import type { SchemaNode, TypeSchema } from '@fairlead/kube'
import * as resourceTables from '../generated/resources.ts'
import { schemas as schemaTable } from '../generated/schemas.ts'
import type { SubresourceDefinition } from '../definition/resource-definition.ts'

/** A resource in discovery. */
export interface ResourceRow {
  readonly plural: string
  readonly singular: string
  readonly kind: string
  readonly namespaced: boolean
  readonly verbs: readonly string[]
  readonly shortNames?: readonly string[]
  readonly categories?: readonly string[]
  readonly subresources?: readonly SubresourceDefinition[]
}

/** Returns the resources by groupVersion, in discovery's order. */
export function resourceRows(): Readonly<Record<string, readonly ResourceRow[]>> {
  return JSON.parse(resourceTables.resources) as Record<string, ResourceRow[]>
}

let kindTable: Readonly<Record<string, Readonly<Record<string, string>>>> | undefined
let nodes: Readonly<Record<string, SchemaNode>> | undefined

/**
 * Returns the name of a built-in kind's schema (`io.k8s.api.apps.v1.Deployment`), also of lists and of kinds that only
 * subresources have.
 */
export function schemaName(apiVersion: string, kind: string): string | undefined {
  kindTable ??= JSON.parse(resourceTables.kinds) as Record<string, Record<string, string>>
  const kinds = kindTable[apiVersion]
  return kinds !== undefined && Object.hasOwn(kinds, kind) ? kinds[kind] : undefined
}

/** Returns a built-in schema by the name in `$ref`s. */
export function namedSchema(name: string): SchemaNode | undefined {
  return Object.hasOwn(allSchemas(), name) ? allSchemas()[name] : undefined
}

/** Returns every built-in schema by name. */
export function allSchemas(): Readonly<Record<string, SchemaNode>> {
  nodes ??= JSON.parse(schemaTable) as Record<string, SchemaNode>
  return nodes
}

/** Returns the schema of a built-in kind; undefined when there is no such kind. */
export function builtinSchema(apiVersion: string, kind: string): TypeSchema | undefined {
  const name = schemaName(apiVersion, kind)
  const root = name === undefined ? undefined : namedSchema(name)
  return root === undefined ? undefined : { root, resolve: namedSchema }
}
