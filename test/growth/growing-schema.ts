// Objects of a kind whose lists, maps and strings grow, from the schema of its definition: one place at a time.
import type { JsonObject, JsonValue, KubeObject, MutableJsonObject } from '@fairlead/kube'

/** The part of a structural schema that says how large a value may be. */
export interface GrowingSchema {
  readonly type?: string
  readonly enum?: readonly JsonValue[]
  readonly properties?: Readonly<Record<string, GrowingSchema>>
  readonly required?: readonly string[]
  readonly items?: GrowingSchema
  readonly additionalProperties?: GrowingSchema | boolean
  readonly 'x-kubernetes-preserve-unknown-fields'?: boolean
  readonly 'x-kubernetes-int-or-string'?: boolean
}

/** A place in a kind that can hold any number of values; `*` is an item of a list, `$` a value of a map. */
export type GrowingPath = readonly string[]

/** Returns the numbers from 0, as many as the size. */
export const manyOf = (size: number): readonly number[] => Array.from({ length: size }, (_, index) => index)

function valuesOf(schema: GrowingSchema): GrowingSchema | undefined {
  return typeof schema.additionalProperties === 'object' ? schema.additionalProperties : undefined
}

/** Returns the paths of the lists, maps and strings of a schema. */
export function growingPaths(schema: GrowingSchema, path: GrowingPath = []): readonly GrowingPath[] {
  const isMap = schema.additionalProperties !== undefined || schema['x-kubernetes-preserve-unknown-fields'] === true
  const own = isMap || schema.items !== undefined || (schema.type === 'string' && schema.enum === undefined)
  const values = valuesOf(schema)
  return [
    ...(own ? [path] : []),
    ...(schema.items === undefined ? [] : growingPaths(schema.items, [...path, '*'])),
    ...(values === undefined ? [] : growingPaths(values, [...path, '$'])),
    ...Object.entries(schema.properties ?? {}).flatMap(([name, one]) => growingPaths(one, [...path, name])),
  ]
}

/** Returns a value with what the schema requires, in which the place at `path` has the size. */
export function grownValue(schema: GrowingSchema, path: GrowingPath | undefined, size: number, index = 0): JsonValue {
  const isGrown = path?.length === 0
  const count = isGrown ? size : 1
  const [step, ...rest] = path ?? []
  if (schema.enum !== undefined) return schema.enum[0]!
  if (schema.items !== undefined) {
    const below = step === '*' ? rest : undefined
    return manyOf(count).map((at) => grownValue(schema.items!, at === 0 ? below : undefined, size, at))
  }
  if (schema.type === 'string') return isGrown ? 'x'.repeat(size) : `v${index}`
  if (schema['x-kubernetes-int-or-string'] === true) return 1
  if (schema.type === 'boolean') return true
  if (schema.type === 'integer' || schema.type === 'number') return 1
  const values = valuesOf(schema)
  if (values !== undefined) {
    const below = step === '$' ? rest : undefined
    const value = (at: number): JsonValue => grownValue(values, at === 0 ? below : undefined, size, at)
    return Object.fromEntries(manyOf(count).map((at) => [`k${at}`, value(at)]))
  }
  if (schema.properties === undefined) return Object.fromEntries(manyOf(count).map((at) => [`k${at}`, `v${at}`]))
  const out: MutableJsonObject = {}
  if (isGrown) for (const at of manyOf(count)) out[`k${at}`] = `v${at}`
  for (const [name, one] of Object.entries(schema.properties)) {
    const below = step === name ? rest : undefined
    if (below !== undefined || schema.required?.includes(name) === true) out[name] = grownValue(one, below, size, index)
  }
  return out
}

/** A kind of a CustomResourceDefinition. */
export interface GrowingKind {
  readonly apiVersion: string
  readonly kind: string
  readonly plural: string
  readonly namespaced: boolean
  readonly schema: GrowingSchema
}

/** Returns the kinds of definitions, each in all of its served versions. */
export function growingKinds(definitions: readonly KubeObject[]): readonly GrowingKind[] {
  return definitions.flatMap((definition) => {
    const { group, names, scope, versions } = definition['spec'] as unknown as {
      readonly group: string
      readonly scope: string
      readonly names: { readonly kind: string; readonly plural: string }
      readonly versions: readonly {
        readonly name: string
        readonly served: boolean
        readonly schema: { readonly openAPIV3Schema: GrowingSchema }
      }[]
    }
    const { kind, plural } = names
    return versions
      .filter(({ served }) => served)
      .map(({ name, schema }) => ({
        apiVersion: `${group}/${name}`,
        kind,
        plural,
        namespaced: scope === 'Namespaced',
        schema: schema.openAPIV3Schema,
      }))
  })
}

/** Returns an object of a kind in which the place at `path` below `spec` has the size. */
export function grownObject(
  { apiVersion, kind, namespaced, schema }: GrowingKind,
  path: GrowingPath,
  size: number,
  metadata: JsonObject = { name: 'grown' },
): KubeObject {
  const spec = schema.properties!['spec']!
  return {
    apiVersion,
    kind,
    metadata: { ...(namespaced ? { namespace: 'default' } : {}), ...metadata },
    spec: grownValue(spec, path, size),
  } as KubeObject
}
