// The data files of structured-merge-diff (shared third-party/kubernetes-merge): field sets, merges, comparison and
// validation by its schemas.
import { readdirSync } from 'node:fs'
import { expect, test } from 'vitest'
import {
  checkValue,
  compareValues,
  encodeFieldSet,
  fieldPaths,
  formatFieldPath,
  mergeValues,
  objectTypeOf,
  parseJson,
  parseYaml,
} from '@fairlead/kube'
import type { JsonObject, JsonValue, MergeType, SchemaNode } from '@fairlead/kube'
import { dataPath, describeData, readData } from '../../../test/support/conformance-data.ts'

const folder = 'third-party/kubernetes-merge/structured-merge-diff/internal/testdata'

function data(file: string): string {
  return readData(folder, file)
}

function yaml(file: string): JsonValue {
  return parseYaml(data(file))
}

/** A type in the library's own schema form. */
interface LibraryType {
  readonly namedType?: string
  readonly scalar?: string
  readonly list?: {
    readonly elementType: LibraryType
    readonly elementRelationship?: string
    readonly keys?: readonly string[]
  }
  readonly map?: {
    readonly fields?: readonly { readonly name: string; readonly type: LibraryType; readonly default?: JsonValue }[]
    readonly elementType?: LibraryType
    readonly elementRelationship?: string
  }
  readonly untyped?: object
}

const scalarTypes: Readonly<Record<string, SchemaNode>> = {
  string: { type: 'string' },
  numeric: { type: 'number' },
  boolean: { type: 'boolean' },
  untyped: { type: 'string', format: 'any' },
}

/** Converts the library's form to OpenAPI. */
function asNode(type: LibraryType): SchemaNode {
  if (type.namedType !== undefined) return { $ref: type.namedType }
  if (type.list !== undefined) {
    const { elementType, elementRelationship, keys } = type.list
    const isAssociative = elementRelationship === 'associative'
    return {
      type: 'array',
      items: asNode(elementType),
      'x-kubernetes-list-type': isAssociative ? (keys === undefined ? 'set' : 'map') : 'atomic',
      ...(keys === undefined ? {} : { 'x-kubernetes-list-map-keys': keys }),
    }
  }
  if (type.map !== undefined) {
    const { fields, elementType, elementRelationship } = type.map
    return {
      type: 'object',
      properties: Object.fromEntries(
        (fields ?? []).map((field) => [field.name, { ...asNode(field.type), default: field.default }]),
      ),
      additionalProperties: elementType === undefined ? false : asNode(elementType),
      ...(elementRelationship === 'atomic' ? { 'x-kubernetes-map-type': 'atomic' } : {}),
    }
  }
  return type.scalar === undefined ? { 'x-kubernetes-preserve-unknown-fields': true } : scalarTypes[type.scalar]!
}

/** Returns a named type of a schema file, without the metadata of Kubernetes objects. */
function typeOf(file: string, name: string): MergeType {
  const { types } = yaml(file) as unknown as { types: readonly (LibraryType & { name: string })[] }
  const nodes = new Map(types.map((type) => [type.name, asNode(type)]))
  const wrapper: SchemaNode = { type: 'object', properties: { it: { $ref: name } } }
  return objectTypeOf({ root: wrapper, resolve: (ref) => nodes.get(ref) }).map!.field('it')!
}

describeData('structured-merge-diff data files', { minimum: 20, read: () => readdirSync(dataPath(folder)) }, () => {
  test.each([
    ['pod.yaml', 'podset.json', 'io.k8s.api.core.v1.Pod'],
    ['node.yaml', 'nodeset.json', 'io.k8s.api.core.v1.Node'],
    ['endpoints.yaml', 'endpointsset.json', 'io.k8s.api.core.v1.Endpoints'],
    [
      'prometheus-crd.yaml',
      'prometheus-crdset.json',
      'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1beta1.CustomResourceDefinition',
    ],
  ])('a new %s adds the fields of %s', (object, fields, type) => {
    const { added } = compareValues({}, yaml(object), typeOf('k8s-schema.yaml', type))
    expect(encodeFieldSet(added)).toEqual(parseJson(data(fields)))
  })

  test.each([
    ['bad-scalar.yaml', 'scalar.yaml', 'scalar.yaml'],
    ['scalar.yaml', 'bad-scalar.yaml', 'bad-scalar.yaml'],
  ])('merges %s with %s to %s', (left, right, expected) => {
    expect(mergeValues(yaml(left), yaml(right), typeOf('schema.yaml', 'schema'))).toEqual(yaml(expected))
  })

  test('merges lists of types by name', () => {
    const merged = mergeValues(yaml('struct.yaml'), yaml('list.yaml'), typeOf('schema.yaml', 'schema')) as JsonObject
    const types = (file: string): readonly JsonValue[] => (yaml(file) as { types: JsonValue[] }).types
    expect(merged.types).toEqual([...types('struct.yaml'), ...types('list.yaml')])
  })

  test('compares like the library', () => {
    const { added, removed, modified } = compareValues(
      yaml('bad-scalar.yaml'),
      yaml('scalar.yaml'),
      typeOf('schema.yaml', 'schema'),
    )
    expect([added.size, removed.size]).toEqual([0, 0])
    const lines = [...fieldPaths(modified)].map(formatFieldPath)
    expect(`- Modified Fields:\n${lines.join('\n')}\n`).toEqual(data('scalar-compare-output.txt'))
  })

  test('accepts the schema of schemas and rejects the invalid one', () => {
    const type = typeOf('schema.yaml', 'schema')
    expect(checkValue(yaml('schema.yaml'), type)).toEqual([])
    expect(checkValue(yaml('bad-schema.yaml'), type)[0]).toEqual(
      `.types: element 0: associative list with keys has an element that omits all key fields ["name"] (and doesn't have default values for any key fields)`,
    )
  })

  test.each(['k8s-schema.yaml', 'k8s-schema-10pct-fieldoverride.yaml', 'k8s-schema-100pct-fieldoverride.yaml'])(
    'merges a Deployment with itself to itself by %s',
    (schema) => {
      const type = typeOf(schema, 'io.k8s.api.apps.v1.Deployment')
      const deployment = yaml('k8s-deployment.yaml')
      expect(mergeValues(deployment, yaml('k8s-deployment.yaml'), type)).toEqual(deployment)
      const { added, removed, modified } = compareValues(deployment, yaml('k8s-deployment.yaml'), type)
      expect([added.size, removed.size, modified.size]).toEqual([0, 0, 0])
    },
  )
})
