// Shapes of values for a merge: which lists are maps by key, which are sets, which are one value.
import { isJsonArray, isJsonObject } from '@fairlead/kube'
import type { JsonObject, JsonValue } from '@fairlead/kube'
import { mergeKeys } from './generated/merge-keys.ts'

/** Returns the key of an element; undefined when it has none, which makes the list one value. */
export type ElementKey = (element: JsonValue) => string | undefined

/** The shape of a value. Without one every list is one value. */
export interface Shape {
  /** Shape of the value of a key. */
  readonly field?: (name: string) => Shape | undefined
  readonly list?: ListShape
  /** The value belongs to the local package: upstream's changes do not count. */
  readonly isLocal?: true
}

/** `map`: elements are matched by key. `set`: by value. */
export type ListShape =
  | { readonly type: 'map'; readonly keyOf: ElementKey; readonly element?: Shape }
  | { readonly type: 'set' }

interface Field {
  readonly keys?: readonly string[]
  readonly set?: true
  readonly type?: string
}

interface Table {
  readonly kinds: Readonly<Record<string, string>>
  readonly types: Readonly<Record<string, Readonly<Record<string, Field>>>>
}

let table: Table | undefined

/** Annotation that says where a resource came from, written beside the merge comment. */
export const upstreamIdentifier = 'internal.kpt.dev/upstream-identifier'

/** Returns the shape of a resource; its bookkeeping annotation is the local package's own. */
export function resourceShape(apiVersion: string, kind: string, defined: ReadonlyMap<string, Shape>): Shape {
  const group = apiVersion.includes('/') ? apiVersion.slice(0, apiVersion.indexOf('/')) : ''
  const shape = defined.get(`${group}/${kind}`) ?? builtinShape(apiVersion, kind)
  const metadata = shape?.field?.('metadata')
  const annotations: Shape = { field: (name) => (name === upstreamIdentifier ? { isLocal: true } : undefined) }
  return {
    field: (name) =>
      name === 'metadata'
        ? { field: (key) => (key === 'annotations' ? annotations : metadata?.field?.(key)) }
        : shape?.field?.(name),
  }
}

/** Returns the shape of a built-in kind; of another version of the kind where this one is unknown. */
function builtinShape(apiVersion: string, kind: string): Shape | undefined {
  table ??= JSON.parse(mergeKeys) as Table
  const { kinds } = table
  const exact = `${apiVersion}/${kind}`
  const group = apiVersion.includes('/') ? apiVersion.slice(0, apiVersion.indexOf('/') + 1) : ''
  const related = Object.keys(kinds).find(
    (key) => key.startsWith(group) && key.endsWith(`/${kind}`) && key.split('/').length === exact.split('/').length,
  )
  const type = Object.hasOwn(kinds, exact) ? kinds[exact] : related === undefined ? undefined : kinds[related]
  return type === undefined ? undefined : typeShape(type, table)
}

function typeShape(type: string, { types }: Table): Shape {
  const fields = types[type]!
  return {
    field: (name) => {
      const field = Object.hasOwn(fields, name) ? fields[name] : undefined
      if (field === undefined) return undefined
      const value = field.type === undefined ? undefined : typeShape(field.type, table!)
      if (field.keys !== undefined) return { list: { type: 'map', keyOf: byKeys(field.keys), element: value } }
      return field.set ? { list: { type: 'set' } } : (value ?? {})
    },
  }
}

/** Values of missing keys: a port without a protocol is a TCP port. */
const defaults: Readonly<Record<string, string>> = { protocol: 'TCP' }

/** Matches elements by the values of some keys. The first must be there; others may be missing or have a default. */
export function byKeys(keys: readonly string[]): ElementKey {
  return (element) => {
    if (!isJsonObject(element)) return undefined
    const values = keys.map((key) => element[key] ?? defaults[key])
    if (values[0] === undefined || values.some((value) => typeof value === 'object')) return undefined
    return keys.map((key, index) => `${key}=${values[index] === undefined ? '' : String(values[index])}`).join(',')
  }
}

/** Returns the shapes of the kinds that CustomResourceDefinitions define, by `group/Kind`. */
export function definedShapes(definitions: Iterable<JsonValue>): Map<string, Shape> {
  const shapes = new Map<string, Shape>()
  for (const definition of definitions) {
    const spec = objectAt(definition, 'spec')
    const kind = objectAt(spec, 'names')?.['kind']
    const versions = spec?.['versions']
    if (spec === undefined || typeof kind !== 'string' || !isJsonArray(versions)) continue
    const stored = versions.find((version) => isJsonObject(version) && version['storage'] === true) ?? versions[0]
    const schema = objectAt(objectAt(stored, 'schema'), 'openAPIV3Schema')
    if (schema !== undefined) shapes.set(`${String(spec['group'])}/${kind}`, schemaShape(schema))
  }
  return shapes
}

function schemaShape(schema: JsonObject): Shape {
  const items = objectAt(schema, 'items')
  const keys = schema['x-kubernetes-list-map-keys']
  const type = schema['x-kubernetes-list-type']
  const element = items === undefined ? undefined : schemaShape(items)
  if (type === 'map' && isJsonArray(keys)) return { list: { type: 'map', keyOf: byKeys(keys.map(String)), element } }
  if (type === 'set') return { list: { type: 'set' } }
  const mergeKey = schema['x-kubernetes-patch-merge-key']
  if (items !== undefined && typeof mergeKey === 'string')
    return { list: { type: 'map', keyOf: byKeys([mergeKey]), element } }
  const properties = objectAt(schema, 'properties')
  const additional = objectAt(schema, 'additionalProperties')
  return {
    field: (name) => {
      const property = objectAt(properties, name) ?? additional
      return property === undefined ? undefined : schemaShape(property)
    },
  }
}

function objectAt(value: JsonValue | undefined, key: string): JsonObject | undefined {
  const child = isJsonObject(value) && Object.hasOwn(value, key) ? value[key] : undefined
  return isJsonObject(child) ? child : undefined
}
