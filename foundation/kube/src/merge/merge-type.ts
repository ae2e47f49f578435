// Merge types: which maps and lists are atomic, which lists are sets or keyed, and which values are free-form.
// Compiled from SchemaNodes on demand, once per node; the rules are those of structured-merge-diff's OpenAPI converter.
import type { JsonValue } from '../object.ts'
import { isJsonArray } from '../own-property.ts'
import type { SchemaNode, TypeSchema } from '../schema/schema-node.ts'
import { objectMetaSchema } from './object-meta-schema.ts'

/** The type of a scalar; `untyped` is any scalar. */
export type ScalarShape = 'string' | 'numeric' | 'boolean' | 'untyped'

/** The merge rules of a list. A list that is not atomic is a set when it has no `keys`. */
export interface ListShape {
  readonly atomic: boolean
  /** Names of the key fields, sorted. */
  readonly keys: readonly string[]
  readonly element: MergeType
}

/** The merge rules of a map, or of a struct, which is a map with declared fields. */
export interface MapShape {
  readonly atomic: boolean
  /** Without declared fields, everything is allowed: field sets of such maps are not reconciled with schema changes. */
  readonly deduced: boolean
  /** Returns the type of a declared field. */
  field(name: string): MergeType | undefined
  /** Returns the default of a declared field; missing list keys take it. */
  defaultOf(name: string): JsonValue | undefined
  /** The type of all other fields; undefined when none are allowed. */
  readonly element: MergeType | undefined
}

/** A type: one shape, or several for a value that may have any of them. */
export interface MergeType {
  readonly scalar: ScalarShape | undefined
  readonly list: ListShape | undefined
  readonly map: MapShape | undefined
}

/**
 * Returns the shape of the type that a value has. Null, or a value of none of them, gets the first that the type has.
 */
export function shapeOf(type: MergeType, value: JsonValue | undefined): 'map' | 'list' | 'scalar' {
  if (value !== undefined && value !== null) {
    if (isJsonArray(value)) {
      if (type.list !== undefined) return 'list'
    } else if (typeof value === 'object') {
      if (type.map !== undefined) return 'map'
    } else if (type.scalar !== undefined) return 'scalar'
  }
  return type.map !== undefined ? 'map' : type.scalar !== undefined ? 'scalar' : 'list'
}

/** Returns the type of a field of a map; fields unknown to the schema merge as free-form values. */
export function fieldType(map: MapShape, name: string): MergeType {
  return map.field(name) ?? map.element ?? deducedType
}

class DeducedMap implements MapShape {
  readonly atomic: boolean
  readonly deduced = true
  constructor(atomic: boolean) {
    this.atomic = atomic
  }
  field(): undefined {}
  defaultOf(): undefined {}
  get element(): MergeType {
    return this.atomic ? untypedAtomicType : deducedType
  }
}

const untypedAtomicType: MergeType = {
  scalar: 'untyped',
  get list(): ListShape {
    return untypedList
  },
  map: new DeducedMap(true),
}
const untypedList: ListShape = { atomic: true, keys: [], element: untypedAtomicType }

/** The type of values without a schema: maps merge field by field, lists are replaced as a whole. */
export const deducedType: MergeType = { scalar: 'untyped', list: untypedList, map: new DeducedMap(false) }

const types = new WeakMap<TypeSchema, MergeType>()

/**
 * Returns the type of a whole object. Custom resources get the fields of every object: apiVersion, kind and metadata.
 */
export function objectTypeOf(schema: TypeSchema | undefined): MergeType {
  if (schema === undefined) return deducedType
  let type = types.get(schema)
  if (type === undefined) {
    const root = schema.root.$ref === undefined ? schema.root : (schema.resolve(schema.root.$ref) ?? schema.root)
    type = new Compiler(schema).inline(withObjectFields(root), false)
    types.set(schema, type)
  }
  return type
}

/**
 * Reports whether a schema is that of a built-in kind, which refers to ObjectMeta; that of a custom resource does not.
 */
export function isBuiltInSchema(root: SchemaNode): boolean {
  return root.properties?.metadata?.$ref !== undefined
}

const text: SchemaNode = { type: 'string' }

function withObjectFields(node: SchemaNode): SchemaNode {
  if (isBuiltInSchema(node)) return node
  return { ...node, properties: { ...node.properties, apiVersion: text, kind: text, metadata: objectMetaSchema } }
}

/** Compiles the nodes of one schema. `free`: an enclosing node preserves unknown fields; references reset it. */
class Compiler {
  readonly #schema: TypeSchema
  readonly #byNode = [new WeakMap<SchemaNode, MergeType>(), new WeakMap<SchemaNode, MergeType>()] as const

  constructor(schema: TypeSchema) {
    this.#schema = schema
  }

  type(node: SchemaNode, free: boolean): MergeType {
    const cache = this.#byNode[free ? 1 : 0]
    let type = cache.get(node)
    if (type === undefined) {
      type = node.$ref === undefined ? this.inline(node, free) : this.#reference(node, node.$ref)
      cache.set(node, type)
    }
    return type
  }

  #reference(node: SchemaNode, name: string): MergeType {
    const target = this.#schema.resolve(name)
    if (target === undefined) return deducedType
    if (isOpaque(target)) return untypedAtomicType
    const type = this.type(target, false)
    const relation = node['x-kubernetes-map-type']
    if (relation === undefined || type.map === undefined) return type
    return { scalar: type.scalar, list: type.list, map: new StructMap(this, target, false, relation === 'atomic') }
  }

  inline(node: SchemaNode, inherited: boolean): MergeType {
    const free = inherited || node['x-kubernetes-preserve-unknown-fields'] === true
    const whole = node['x-kubernetes-embedded-resource'] === true ? withObjectFields(node) : node
    switch (whole.type) {
      case 'object':
        return { scalar: undefined, list: undefined, map: new StructMap(this, whole, free) }
      case 'array':
        return { scalar: undefined, list: new SchemaList(this, whole, free), map: undefined }
      case 'integer':
      case 'number':
        return { scalar: 'numeric', list: undefined, map: undefined }
      case 'boolean':
        return { scalar: 'boolean', list: undefined, map: undefined }
      case 'string': {
        const plain = whole.format === undefined || whole.format === '' || whole.format === 'byte'
        // times and int-or-string are strings with a format here, so a format means "any scalar"
        return { scalar: plain ? 'string' : 'untyped', list: undefined, map: undefined }
      }
      default:
        return { scalar: 'untyped', list: new SchemaList(this, whole, free), map: new StructMap(this, whole, free) }
    }
  }
}

/** Reports whether a type of Kubernetes has no fields that are known (RawExtension): it is one value. */
function isOpaque({ type, properties, additionalProperties }: SchemaNode): boolean {
  return type === 'object' && properties === undefined && additionalProperties === undefined
}

class StructMap implements MapShape {
  readonly atomic: boolean
  readonly deduced: boolean
  readonly #compiler: Compiler
  readonly #node: SchemaNode
  readonly #free: boolean
  readonly #fields = new Map<string, MergeType>()

  constructor(
    compiler: Compiler,
    node: SchemaNode,
    free: boolean,
    atomic = node['x-kubernetes-map-type'] === 'atomic',
  ) {
    this.#compiler = compiler
    this.#node = node
    this.#free = free
    this.atomic = atomic
    // applies to the node alone: its element may be a map of the same type
    const { additionalProperties, properties } = node
    this.deduced =
      properties === undefined && typeof additionalProperties !== 'object' && additionalProperties !== false
  }

  field(name: string): MergeType | undefined {
    const known = this.#fields.get(name)
    if (known !== undefined) return known
    const { properties } = this.#node
    if (properties === undefined || !Object.hasOwn(properties, name)) return undefined
    const type = this.#compiler.type(properties[name]!, this.#free)
    this.#fields.set(name, type)
    return type
  }

  defaultOf(name: string): JsonValue | undefined {
    const { properties } = this.#node
    return properties !== undefined && Object.hasOwn(properties, name) ? properties[name]!.default : undefined
  }

  get element(): MergeType | undefined {
    const { additionalProperties, properties } = this.#node
    if (typeof additionalProperties === 'object') return this.#compiler.type(additionalProperties, this.#free)
    if (additionalProperties !== undefined) return additionalProperties ? deducedType : undefined
    // an object without properties is free-form by OpenAPI's rules
    return this.#free || properties === undefined || Object.keys(properties).length === 0 ? deducedType : undefined
  }
}

class SchemaList implements ListShape {
  readonly atomic: boolean
  readonly keys: readonly string[]
  readonly #compiler: Compiler
  readonly #node: SchemaNode
  readonly #free: boolean

  constructor(compiler: Compiler, node: SchemaNode, free: boolean) {
    this.#compiler = compiler
    this.#node = node
    this.#free = free
    const type = node['x-kubernetes-list-type'] ?? legacyListType(node)
    this.atomic = type === 'atomic'
    this.keys = type === 'map' ? listKeys(node) : []
  }

  get element(): MergeType {
    return this.#node.items === undefined ? untypedAtomicType : this.#compiler.type(this.#node.items, this.#free)
  }
}

/** Returns the list type of a node that has only the older patch strategy. */
function legacyListType(node: SchemaNode): 'atomic' | 'set' | 'map' {
  const strategy = node['x-kubernetes-patch-strategy']
  if (strategy !== 'merge' && strategy !== 'merge,retainKeys') return 'atomic'
  return node['x-kubernetes-patch-merge-key'] === undefined ? 'set' : 'map'
}

function listKeys(node: SchemaNode): readonly string[] {
  const mergeKey = node['x-kubernetes-patch-merge-key']
  const keys = node['x-kubernetes-list-map-keys'] ?? (mergeKey === undefined ? [] : [mergeKey])
  return keys.toSorted()
}
