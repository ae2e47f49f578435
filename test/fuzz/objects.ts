// Objects after a schema: mostly of the right types, with a few fields at each level, and sometimes anything at all in
// a place.
import fc from 'fast-check'
import type { JsonValue, SchemaNode, TypeSchema } from '@fairlead/kube'
import { json, number, ownObject, text } from './values.ts'

const maxDepth = 9
const cache = new WeakMap<SchemaNode, Map<number, fc.Arbitrary<JsonValue>>>()

/** Values of a node; `depth` counts the levels above. */
export function valueOf(reference: SchemaNode, schema: TypeSchema, depth = 0): fc.Arbitrary<JsonValue> {
  const node = reference.$ref === undefined ? reference : (schema.resolve(reference.$ref) ?? reference)
  let byDepth = cache.get(node)
  if (byDepth === undefined) cache.set(node, (byDepth = new Map()))
  let found = byDepth.get(depth)
  if (found === undefined) {
    found = fc.oneof({ weight: 40, arbitrary: rightly(node, schema, depth) }, { weight: 1, arbitrary: json })
    byDepth.set(depth, found)
  }
  return found
}

function rightly(node: SchemaNode, schema: TypeSchema, depth: number): fc.Arbitrary<JsonValue> {
  if (node.enum !== undefined) return fc.constantFrom(...node.enum)
  if (node['x-kubernetes-int-or-string'] === true || node.format === 'int-or-string') return fc.oneof(number, text)
  switch (node.type) {
    case 'string':
      return text
    case 'integer':
    case 'number':
      return number
    case 'boolean':
      return fc.boolean()
    case 'array':
      if (depth >= maxDepth || node.items === undefined) return fc.constant([])
      return fc.array(valueOf(node.items, schema, depth + 1), { maxLength: 3 })
    default:
      return objectOf(node, schema, depth)
  }
}

function objectOf(node: SchemaNode, schema: TypeSchema, depth: number): fc.Arbitrary<JsonValue> {
  const properties = node.properties ?? {}
  const names = Object.keys(properties).filter((name) => name !== 'apiVersion' && name !== 'kind')
  if (depth >= maxDepth) return fc.constant({})
  if (names.length === 0) {
    const more = node.additionalProperties
    if (typeof more !== 'object') return json
    return fc
      .array(fc.tuple(text, valueOf(more, schema, depth + 1)), { maxLength: 3 })
      .map((entries) => ownObject(entries))
  }
  const required = (node.required ?? []).filter((name) => names.includes(name))
  return fc
    .tuple(fc.subarray(names, { maxLength: Math.min(names.length, 4) }), fc.integer({ min: 0, max: 9 }))
    .chain(([chosen, mood]) => {
      const wanted = [...new Set([...(mood === 0 ? [] : required), ...chosen])]
      const values = wanted.map((name) => valueOf(properties[name]!, schema, depth + 1))
      return fc.tuple(...values).map((made) => ownObject(wanted.map((name, i) => [name, made[i] as JsonValue])))
    })
}

const label = fc.tuple(fc.constantFrom('app', 'example.com/key', '__proto__', 'Bad Key', ''), text)

/** Metadata that is mostly accepted, with now and then what a client must not send. */
export const metadata: fc.Arbitrary<JsonValue> = fc
  .record(
    {
      name: fc.oneof({ weight: 9, arbitrary: fc.constantFrom('a', 'b') }, { weight: 1, arbitrary: text }),
      namespace: fc.constantFrom('default', 'default', 'other'),
      generateName: text,
      labels: fc.array(label, { maxLength: 2 }).map((entries) => ownObject(entries)),
      annotations: fc.array(label, { maxLength: 2 }).map((entries) => ownObject(entries)),
      finalizers: fc.array(
        fc.constantFrom('example.com/a', 'example.com/b', 'foregroundDeletion', 'orphan', 'bad', ''),
      ),
      ownerReferences: fc.array(
        fc.record({ apiVersion: text, kind: text, name: text, uid: text, controller: fc.boolean() }),
        { maxLength: 2 },
      ) as fc.Arbitrary<JsonValue>,
      managedFields: fc.array(
        fc.record(
          {
            manager: text,
            operation: fc.constantFrom('Apply', 'Update', 'Other'),
            apiVersion: fc.constantFrom('v1', 'apps/v1', 'x/y/z', ''),
            fieldsType: fc.constantFrom('FieldsV1', 'X'),
            fieldsV1: json,
            time: text,
            subresource: text,
          },
          { requiredKeys: ['manager', 'operation', 'apiVersion', 'fieldsType', 'fieldsV1'] },
        ),
        { maxLength: 2 },
      ) as fc.Arbitrary<JsonValue>,
      resourceVersion: fc.constantFrom('', '0', '1', '1001', 'x', '99999999999999999999'),
      uid: text,
      generation: number,
      creationTimestamp: fc.oneof(text, fc.constant(null)),
      deletionTimestamp: text,
      deletionGracePeriodSeconds: number,
      selfLink: text,
    },
    { requiredKeys: ['name'] },
  )
  .chain((whole) => {
    const names = Object.keys(whole).filter((name) => name !== 'name')
    return fc
      .subarray(names, { maxLength: Math.min(3, names.length) })
      .map((kept) =>
        ownObject([
          ['name', whole.name],
          ...kept.map((name): [string, JsonValue] => [name, (whole as Record<string, JsonValue>)[name] as JsonValue]),
        ]),
      )
  })

/** An object of a kind: its type, metadata, and the rest by its schema. */
export function kubeObject(apiVersion: string, kind: string, schema: TypeSchema | undefined): fc.Arbitrary<JsonValue> {
  const rest = schema === undefined ? json : valueOf(schema.root, schema)
  return fc.tuple(rest, metadata, fc.integer({ min: 0, max: 30 })).map(([body, meta, mood]) => {
    if (typeof body !== 'object' || body === null || Array.isArray(body)) return body
    const { metadata: _metadata, ...others } = body as { [key: string]: JsonValue }
    return ownObject([
      ['apiVersion', mood === 0 ? 'v9' : apiVersion],
      ['kind', mood === 1 ? 'Other' : kind],
      ['metadata', meta],
      ...Object.entries(others),
    ])
  })
}
