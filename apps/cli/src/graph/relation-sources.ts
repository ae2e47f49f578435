// The sources of all capabilities, and the kinds whose controllers set conditions.
import { isJsonObject, parseApiVersion } from '@fairlead/kube'
import type { JsonValue, KubeObject } from '@fairlead/kube'
import type { RelationSource } from '@fairlead/controller'
import { capabilities } from '../capabilities.ts'

/** Sources of relations, and what they say of kinds. */
export interface RelationSources {
  readonly sources: readonly RelationSource[]
  /** Returns whether a kind is one of a capability, and its definition has conditions. */
  readonly reports: (object: KubeObject) => boolean
}

/** Loads all of them. */
export async function relationSources(): Promise<RelationSources> {
  const loaded = await Promise.all(capabilities.map((entry) => entry.load()))
  const sources = await Promise.all(loaded.flatMap((capability) => capability.relations?.() ?? []))
  const reporting = new Set(loaded.flatMap(({ crds }) => crds.flatMap((definition) => reportingKind(definition) ?? [])))
  return {
    sources,
    reports: ({ apiVersion, kind }) => reporting.has(`${parseApiVersion(apiVersion).group}/${kind}`),
  }
}

/** Returns `group/Kind` of a definition whose newest version has `status.conditions`. */
function reportingKind(definition: KubeObject): string | undefined {
  const spec = definition['spec'] as unknown as {
    readonly group: string
    readonly names: { readonly kind: string }
    readonly versions: readonly { readonly schema?: { readonly openAPIV3Schema?: JsonValue } }[]
  }
  const has = spec.versions.some(({ schema }) => {
    const status = property(schema?.openAPIV3Schema, 'status')
    return property(status, 'conditions') !== undefined
  })
  return has ? `${spec.group}/${spec.names.kind}` : undefined
}

function property(schema: JsonValue | undefined, name: string): JsonValue | undefined {
  const properties = isJsonObject(schema) ? schema['properties'] : undefined
  return isJsonObject(properties) ? properties[name] : undefined
}
