// Validation of a CRD's schema beyond structure: unsupported keywords, list and map types, the form of validation
// rules.
import { fieldErrors, fieldPath } from '../../field-error.ts'
import type { FieldError } from '../../field-error.ts'
import type { JsonValue } from '../../object.ts'
import { isTypeOrObjectMeta } from '../prune.ts'
import type { ValidationRule } from '../schema-node.ts'
import type { JsonSchemaProps } from './definition.ts'
import { isFieldPath } from './field-path.ts'
import { additionalSchemaOf, isSchemaList, itemsOf } from './visit-schema.ts'

/** The position in a schema. */
interface Place {
  readonly isRoot: boolean
  /** Inside apiVersion, kind or metadata of the object itself or of an embedded one. */
  readonly insideMeta: boolean
  /** The reason why no default is allowed here; undefined when one is allowed. */
  readonly forbidsDefaults: string | undefined
}

/** Validates the whole schema, each node before its children. */
export function validateOpenApiSchema(schema: JsonSchemaProps, path: string): FieldError[] {
  const errors: FieldError[] = []
  visit(schema, path, { isRoot: true, insideMeta: false, forbidsDefaults: undefined }, errors)
  return errors
}

function visit(schema: JsonSchemaProps, path: string, place: Place, errors: FieldError[]): void {
  const below = { ...place, isRoot: false }
  checkKeywords(schema, path, place, errors)
  if (schema.uniqueItems === true) {
    const detail = 'uniqueItems cannot be set to true since the runtime complexity becomes quadratic'
    errors.push(fieldErrors.forbidden(`${path}.uniqueItems`, detail))
  }
  visitProperties(schema, path, place, below, errors)
  if (schema.not !== undefined) visit(schema.not, `${path}.not`, below, errors)
  for (const junctor of ['allOf', 'oneOf', 'anyOf'] as const) {
    for (const [index, part] of (schema[junctor] ?? []).entries())
      visit(part, fieldPath(path, junctor, index), below, errors)
  }
  for (const [key, part] of Object.entries(schema.definitions ?? {}))
    visit(part, fieldPath(path, 'definitions', { key }), below, errors)
  if (isSchemaList(schema.items)) {
    for (const [index, part] of schema.items.entries()) visit(part, fieldPath(path, 'items', index), below, errors)
  } else if (schema.items !== undefined) {
    visit(schema.items, `${path}.items`, below, errors)
  }
  checkTypes(schema, path, errors)
  checkListMap(schema, path, errors)
  checkKeyPresence(schema, path, errors)
  for (const [index, rule] of (schema['x-kubernetes-validations'] ?? []).entries()) {
    checkRule(rule, schema, fieldPath(path, 'x-kubernetes-validations', index), errors)
  }
}

function visitProperties(
  schema: JsonSchemaProps,
  path: string,
  place: Place,
  below: Place,
  errors: FieldError[],
): void {
  const { additionalProperties, properties = {} } = schema
  if (additionalProperties !== undefined) {
    const field = `${path}.additionalProperties`
    if (Object.keys(properties).length > 0 && additionalProperties !== true) {
      errors.push(fieldErrors.forbidden(field, 'additionalProperties and properties are mutual exclusive'))
    }
    const additional = additionalSchemaOf(schema)
    const reason = 'inside additionalProperties applying to object metadata'
    if (additional !== undefined)
      visit(additional, field, place.insideMeta ? { ...below, forbidsDefaults: reason } : below, errors)
  }
  for (const [key, property] of Object.entries(properties)) {
    const isMeta = (place.isRoot || schema['x-kubernetes-embedded-resource'] === true) && isTypeOrObjectMeta(key)
    const forbidsDefaults = isMeta && place.isRoot ? `in top-level ${key}` : below.forbidsDefaults
    const inside = isMeta ? { ...below, insideMeta: true, forbidsDefaults } : below
    visit(property, fieldPath(path, 'properties', { key }), inside, errors)
  }
}

const types = ['array', 'boolean', 'integer', 'number', 'object', 'string']

function checkKeywords(schema: JsonSchemaProps, path: string, place: Place, errors: FieldError[]): void {
  const { type = '' } = schema
  const forbid = (field: string, isSet: boolean, detail: string = `${field} is not supported`): void => {
    if (isSet) errors.push(fieldErrors.forbidden(`${path}.${field}`, detail))
  }
  if (type !== '' && !types.includes(type)) errors.push(fieldErrors.notSupported(`${path}.type`, type, types))
  const hasDefault = (schema.default ?? null) !== null
  forbid('default', hasDefault && place.forbidsDefaults !== undefined, `must not be set ${place.forbidsDefaults}`)
  forbid('id', (schema.id ?? '') !== '')
  forbid('additionalItems', schema.additionalItems !== undefined)
  forbid('patternProperties', Object.keys(schema.patternProperties ?? {}).length > 0)
  forbid('definitions', Object.keys(schema.definitions ?? {}).length > 0)
  forbid('dependencies', schema.dependencies !== undefined)
  forbid('$ref', schema.$ref !== undefined)
  forbid('type', type === 'null', 'type cannot be set to null, use nullable as an alternative')
  forbid(
    'items',
    isSchemaList(schema.items) && schema.items.length > 0,
    'items must be a schema object and not an array',
  )
  const isEmbedded = schema['x-kubernetes-embedded-resource'] === true
  forbid('x-kubernetes-embedded-resource', place.insideMeta && isEmbedded, 'must not be used inside of resource meta')
}

function checkTypes(schema: JsonSchemaProps, path: string, errors: FieldError[]): void {
  const { type = '', 'x-kubernetes-map-type': mapType, 'x-kubernetes-list-type': listType } = schema
  const requireType = (wanted: string, extension: string): void => {
    const detail = `must be ${wanted} if ${extension} is specified`
    errors.push(
      type === '' ? fieldErrors.required(`${path}.type`, detail) : fieldErrors.invalid(`${path}.type`, type, detail),
    )
  }
  if (schema['x-kubernetes-preserve-unknown-fields'] === false) {
    errors.push(fieldErrors.invalid(`${path}.x-kubernetes-preserve-unknown-fields`, false, 'must be true or undefined'))
  }
  if (mapType !== undefined) {
    if (type !== 'object') requireType('object', 'x-kubernetes-map-type')
    const choices = ['atomic', 'granular']
    if (!choices.includes(mapType))
      errors.push(fieldErrors.notSupported(`${path}.x-kubernetes-map-type`, mapType, choices))
  }
  if (listType === undefined) return
  if (type !== 'array') requireType('array', 'x-kubernetes-list-type')
  else if (listType === 'set') checkSetItems(schema, path, errors)
  const choices = ['atomic', 'set', 'map']
  if (!choices.includes(listType))
    errors.push(fieldErrors.notSupported(`${path}.x-kubernetes-list-type`, listType, choices))
}

/** Items of a set are compared as wholes. Kubernetes shows the item's list type as the bad value in both cases. */
function checkSetItems(schema: JsonSchemaProps, path: string, errors: FieldError[]): void {
  const items = itemsOf(schema)
  if (items === undefined) return
  const listType = items['x-kubernetes-list-type']
  const detail = 'must be atomic as item of a list with x-kubernetes-list-type=set'
  if (items.type === 'array' && listType !== undefined && listType !== 'atomic') {
    errors.push(fieldErrors.invalid(`${path}.items.x-kubernetes-list-type`, listType, detail))
  } else if (items.type === 'object' && items['x-kubernetes-map-type'] !== 'atomic') {
    errors.push(fieldErrors.invalid(`${path}.items.x-kubernetes-map-type`, listType ?? null, detail))
  }
}

function checkListMap(schema: JsonSchemaProps, path: string, errors: FieldError[]): void {
  const { 'x-kubernetes-list-type': listType, 'x-kubernetes-list-map-keys': keys = [] } = schema
  if (keys.length > 0 && listType !== 'map') {
    const detail = 'must be map if x-kubernetes-list-map-keys is non-empty'
    const field = `${path}.x-kubernetes-list-type`
    errors.push(
      listType === undefined ? fieldErrors.required(field, detail) : fieldErrors.invalid(field, listType, detail),
    )
  }
  if (listType !== 'map') return
  const keysField = `${path}.x-kubernetes-list-map-keys`
  if (keys.length === 0)
    errors.push(fieldErrors.required(keysField, 'must not be empty if x-kubernetes-list-type is map'))
  if (schema.items === undefined) {
    errors.push(fieldErrors.required(`${path}.items`, 'must have a schema if x-kubernetes-list-type is map'))
    return
  }
  const items = itemsOf(schema)
  if (items === undefined) {
    const detail = 'must only have a single schema if x-kubernetes-list-type is map'
    errors.push(fieldErrors.invalid(`${path}.items`, schema.items as JsonValue, detail))
  } else if (items.type !== 'object') {
    const detail = "must be object if parent array's x-kubernetes-list-type is map"
    errors.push(fieldErrors.invalid(`${path}.items.type`, items.type ?? '', detail))
  } else {
    checkKeys(keys, items, path, keysField, errors)
  }
}

function checkKeys(
  keys: readonly string[],
  items: JsonSchemaProps,
  path: string,
  keysField: string,
  errors: FieldError[],
): void {
  const seen = new Set<string>()
  for (const key of keys) {
    const property = items.properties?.[key]
    if (property === undefined) {
      errors.push(fieldErrors.invalid(keysField, keys, 'entries must all be names of item properties'))
    } else if (property.type === 'array' || property.type === 'object') {
      const field = fieldPath(path, 'items', 'properties', { key }, 'type')
      errors.push(
        fieldErrors.invalid(field, 'object', "must be a scalar type if parent array's x-kubernetes-list-type is map"),
      )
    }
    if (seen.has(key)) errors.push(fieldErrors.invalid(keysField, keys, 'must not contain duplicate entries'))
    seen.add(key)
  }
}

/** Checks that items of sets and maps are specified, and the keys of maps. */
function checkKeyPresence(schema: JsonSchemaProps, path: string, errors: FieldError[]): void {
  const { 'x-kubernetes-list-type': listType, 'x-kubernetes-list-map-keys': keys = [] } = schema
  const items = itemsOf(schema)
  if (items === undefined || (listType !== 'set' && listType !== 'map')) return
  if (items.nullable === true) {
    errors.push(
      fieldErrors.forbidden(`${path}.items.nullable`, `cannot be nullable when x-kubernetes-list-type is ${listType}`),
    )
  }
  if (listType !== 'map') return
  for (const key of keys) {
    const property = items.properties?.[key]
    if (property === undefined) continue
    const field = fieldPath(path, 'items', 'properties', { key })
    if (!(items.required ?? []).includes(key) && (property.default ?? null) === null) {
      const detail =
        'this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property'
      errors.push(fieldErrors.required(`${field}.default`, detail))
    }
    if (property.nullable === true) {
      const detail = 'this property is in x-kubernetes-list-map-keys, so it cannot be nullable'
      errors.push(fieldErrors.forbidden(`${field}.nullable`, detail))
    }
  }
}

const reasons = ['FieldValueDuplicate', 'FieldValueForbidden', 'FieldValueInvalid', 'FieldValueRequired']

/** Validates the fields of a rule; its expression is compiled elsewhere. */
function checkRule(rule: ValidationRule, schema: JsonSchemaProps, path: string, errors: FieldError[]): void {
  const { message = '', messageExpression = '', fieldPath: target = '', reason } = rule
  const text = rule.rule.trim()
  if (text === '') errors.push(fieldErrors.required(`${path}.rule`, 'rule is not specified'))
  else if (message !== '' && message.trim() === '')
    errors.push(fieldErrors.invalid(`${path}.message`, message, 'must be non-empty if specified'))
  else if (hasLineBreak(message.trim()))
    errors.push(fieldErrors.invalid(`${path}.message`, message, 'must not contain line breaks'))
  else if (hasLineBreak(text) && message.trim() === '') {
    errors.push(fieldErrors.required(`${path}.message`, 'message must be specified if rule contains line breaks'))
  }
  if (messageExpression !== '' && messageExpression.trim() === '') {
    errors.push(fieldErrors.required(`${path}.messageExpression`, 'messageExpression must be non-empty if specified'))
  }
  if (reason !== undefined && !reasons.includes(reason))
    errors.push(fieldErrors.notSupported(`${path}.reason`, reason, reasons))
  if (target === '') return
  const field = `${path}.fieldPath`
  if (target.trim() === '') errors.push(fieldErrors.invalid(field, target, 'must be non-empty if specified'))
  if (hasLineBreak(target)) errors.push(fieldErrors.invalid(field, target, 'must not contain line breaks'))
  if (!isFieldPath(target, schema)) errors.push(fieldErrors.invalid(field, target, 'must be a valid path'))
}

function hasLineBreak(text: string): boolean {
  return /[\n\r]/.test(text)
}
