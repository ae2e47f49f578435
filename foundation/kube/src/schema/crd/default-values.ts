// Validation of defaults against their own schema: pruned, well-formed as embedded objects, valid.
import { fieldErrors, fieldPath, formatFieldErrors } from '../../field-error.ts'
import type { FieldError } from '../../field-error.ts'
import { jsonEqual } from '../../json.ts'
import type { JsonValue } from '../../object.ts'
import { coerceEmbeddedMetadata, EmbeddedObjectError, validateEmbedded } from '../embedded.ts'
import { isTypeOrObjectMeta, prune } from '../prune.ts'
import { structuralSchema } from '../resolve.ts'
import type { SchemaNode, TypeSchema } from '../schema-node.ts'
import { validateValue } from '../validate.ts'
import type { JsonSchemaProps } from './definition.ts'
import { itemsOf } from './visit-schema.ts'

/** Checks a default by the CEL validation rules of its own schema; supplied by @fairlead/kube/cel. */
export type DefaultRuleCheck = (value: JsonValue, schema: TypeSchema, path: string) => readonly FieldError[]

/** Validates all defaults in a structural schema. Defaults under additionalProperties are skipped, as in Kubernetes. */
export function validateDefaults(schema: JsonSchemaProps, path: string, checkRules?: DefaultRuleCheck): FieldError[] {
  const errors: FieldError[] = []
  const root: EnclosingObject = {
    schema: { ...schema, 'x-kubernetes-embedded-resource': true },
    wrap: (value) => value,
  }
  // The whole object is treated as embedded: its default must be a complete object.
  visit(root.schema, path, { root, isMeta: false, isObject: true, checkRules }, errors)
  return errors
}

/** The object that contains a default inside apiVersion, kind or metadata. */
interface EnclosingObject {
  readonly schema: JsonSchemaProps
  /** Sets a value at the path of the default in an otherwise minimal object. */
  wrap(value: JsonValue): JsonValue
}

interface Place {
  readonly root: EnclosingObject
  readonly isMeta: boolean
  /** The schema is that of a whole object. */
  readonly isObject: boolean
  readonly checkRules: DefaultRuleCheck | undefined
}

function visit(schema: JsonSchemaProps, path: string, outer: Place, errors: FieldError[]): void {
  const isObject = outer.isObject || schema['x-kubernetes-embedded-resource'] === true
  const place: Place = isObject
    ? { ...outer, isObject, isMeta: false, root: { schema, wrap: (value) => value } }
    : outer
  const value = schema.default
  if (value !== undefined && value !== null) errors.push(...checkDefault(value, schema, `${path}.default`, place))
  const items = itemsOf(schema)
  if (items !== undefined)
    visit(
      items,
      `${path}.items`,
      inside(place, (item) => [item]),
      errors,
    )
  for (const [key, property] of Object.entries(schema.properties ?? {})) {
    const below = inside(place, (field) => ({ [key]: field }))
    const isMeta = place.isMeta || (isObject && isTypeOrObjectMeta(key))
    visit(property, fieldPath(path, 'properties', { key }), { ...below, isMeta }, errors)
  }
}

function inside(place: Place, around: (value: JsonValue) => JsonValue): Place {
  const { root } = place
  return { ...place, isObject: false, root: { schema: root.schema, wrap: (value) => root.wrap(around(value)) } }
}

function checkDefault(value: JsonValue, schema: JsonSchemaProps, path: string, place: Place): readonly FieldError[] {
  const types = structuralSchema(schema as SchemaNode)
  const isIntOrString = schema['x-kubernetes-int-or-string'] === true
  const errors: FieldError[] = []
  if (place.isMeta) {
    const problem = metadataProblem(place.root.wrap(value), place.root.schema)
    if (problem !== undefined) return [fieldErrors.invalid(path, value, `must result in valid metadata: ${problem}`)]
  } else {
    const isEmbedded = schema['x-kubernetes-embedded-resource'] === true
    if (!jsonEqual(prune(value, types, { resourceRoot: isEmbedded }).value, value)) {
      errors.push(fieldErrors.invalid(path, value, 'must not have unknown fields'))
    }
    const malformed = embeddedErrors(value, types, path)
    if (malformed.length > 0) return [...errors, ...malformed]
  }
  // The real server does not check the type of such a default.
  const invalid = isIntOrString && typeof value !== 'object' ? [] : validateValue(value, types, { path })
  return [...errors, ...(invalid.length > 0 ? invalid : (place.checkRules?.(value, types, path) ?? []))]
}

function embeddedErrors(value: JsonValue, schema: TypeSchema, path: string): readonly FieldError[] {
  try {
    coerceEmbeddedMetadata(value, schema)
  } catch (error) {
    if (!(error instanceof EmbeddedObjectError)) throw error
    return [{ ...error.fieldError, field: path === '' ? error.fieldError.field : `${path}.${error.fieldError.field}` }]
  }
  return validateEmbedded(value, schema, path)
}

function metadataProblem(fragment: JsonValue, schema: JsonSchemaProps): string | undefined {
  const object = { apiVersion: 'validation/v1', kind: 'Validation', ...(fragment as Record<string, JsonValue>) }
  const root = structuralSchema({ ...schema, 'x-kubernetes-embedded-resource': true } as SchemaNode)
  const errors = embeddedErrors(object, root, '')
  return errors.length === 0 ? undefined : formatFieldErrors(errors)
}
