// The schema type shared by built-in types (OpenAPI v3 with $ref) and CRDs (structural, no $ref).
import type { JsonValue } from '../object.ts'

/** A node of an OpenAPI v3 schema as Kubernetes uses it. */
export interface SchemaNode {
  readonly $ref?: string
  readonly type?: string
  readonly format?: string
  readonly title?: string
  readonly description?: string
  readonly default?: JsonValue
  readonly nullable?: boolean
  readonly enum?: readonly JsonValue[]
  readonly properties?: Readonly<Record<string, SchemaNode>>
  readonly additionalProperties?: SchemaNode | boolean
  readonly items?: SchemaNode
  readonly required?: readonly string[]
  readonly minimum?: number
  readonly maximum?: number
  readonly exclusiveMinimum?: boolean
  readonly exclusiveMaximum?: boolean
  readonly multipleOf?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly pattern?: string
  readonly minItems?: number
  readonly maxItems?: number
  readonly uniqueItems?: boolean
  readonly minProperties?: number
  readonly maxProperties?: number
  readonly allOf?: readonly SchemaNode[]
  readonly anyOf?: readonly SchemaNode[]
  readonly oneOf?: readonly SchemaNode[]
  readonly not?: SchemaNode
  readonly example?: JsonValue
  readonly externalDocs?: JsonValue
  readonly 'x-kubernetes-list-type'?: 'atomic' | 'set' | 'map'
  readonly 'x-kubernetes-list-map-keys'?: readonly string[]
  readonly 'x-kubernetes-map-type'?: 'granular' | 'atomic'
  readonly 'x-kubernetes-preserve-unknown-fields'?: boolean
  readonly 'x-kubernetes-int-or-string'?: boolean
  readonly 'x-kubernetes-embedded-resource'?: boolean
  readonly 'x-kubernetes-validations'?: readonly ValidationRule[]
  readonly 'x-kubernetes-patch-strategy'?: string
  readonly 'x-kubernetes-patch-merge-key'?: string
  readonly 'x-kubernetes-group-version-kind'?: JsonValue
  readonly 'x-kubernetes-unions'?: JsonValue
}

/** `x-kubernetes-validations[]`: one CEL rule. */
export interface ValidationRule {
  readonly rule: string
  readonly message?: string
  readonly messageExpression?: string
  readonly reason?: string
  readonly fieldPath?: string
  readonly optionalOldSelf?: boolean
}

/** A schema and the resolver of its `$ref`s. CRD schemas have no references. */
export interface TypeSchema {
  readonly root: SchemaNode
  /** Returns the schema that a bare `$ref` name refers to; undefined when there is none. */
  resolve(ref: string): SchemaNode | undefined
}
