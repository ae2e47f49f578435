// The rules of structural schemas (KEP-1979 and the API reference): every value has a declared type; allOf, anyOf,
// oneOf and not restrict values without declaring any.
import { fieldErrors, fieldPath, formatFieldError } from '../../field-error.ts'
import type { FieldError } from '../../field-error.ts'
import { jsonEqual } from '../../json.ts'
import type { JsonValue } from '../../object.ts'
import { regexError } from '../../regex.ts'
import type { JsonSchemaProps } from './definition.ts'
import { additionalSchemaOf, itemsOf } from './visit-schema.ts'

type Level = 'root' | 'item' | 'field'

/** Returns the violations of the rules of structural schemas, sorted by message. */
export function validateStructural(schema: JsonSchemaProps, path: string): FieldError[] {
  const errors: FieldError[] = []
  checkNode(schema, 'root', path, errors)
  errors.push(...missingDeclarations(schema, schema, path))
  const messages = new Map(errors.map((error) => [error, formatFieldError(error)]))
  return errors.sort((a, b) => (messages.get(a)! < messages.get(b)! ? -1 : messages.get(a)! > messages.get(b)! ? 1 : 0))
}

const emptyType: Readonly<Record<Level, string>> = {
  root: 'must not be empty at the root',
  item: 'must not be empty for specified array items',
  field: 'must not be empty for specified object fields',
}

function checkNode(schema: JsonSchemaProps, level: Level, path: string, errors: FieldError[]): void {
  const type = schema.type ?? ''
  const items = itemsOf(schema)
  if (type === 'array' && items === undefined) errors.push(fieldErrors.required(`${path}.items`, 'must be specified'))
  if (items !== undefined) checkNode(items, 'item', `${path}.items`, errors)
  for (const [key, property] of Object.entries(schema.properties ?? {})) {
    checkNode(property, 'field', fieldPath(path, 'properties', { key }), errors)
  }
  if (schema.additionalProperties !== undefined) {
    const field = `${path}.additionalProperties`
    if (level === 'root') errors.push(fieldErrors.forbidden(field, 'must not be used at the root'))
    const additional = additionalSchemaOf(schema)
    if (additional !== undefined) checkNode(additional, 'field', field, errors)
  }
  checkExtensions(schema, path, errors)
  checkJunctors(schema, isIntOrString(schema.anyOf), isIntOrString(schema.allOf?.[0]?.anyOf), path, errors)
  checkType(schema, type, level, path, errors)
  checkMetaProperties(schema, level, path, errors)
}

function checkExtensions(schema: JsonSchemaProps, path: string, errors: FieldError[]): void {
  if (schema['x-kubernetes-int-or-string'] !== true) return
  for (const extension of ['x-kubernetes-preserve-unknown-fields', 'x-kubernetes-embedded-resource'] as const) {
    if (schema[extension] !== true) continue
    errors.push(
      fieldErrors.invalid(`${path}.${extension}`, true, 'must be false if x-kubernetes-int-or-string is true'),
    )
  }
}

function checkType(schema: JsonSchemaProps, type: string, level: Level, path: string, errors: FieldError[]): void {
  const field = `${path}.type`
  if (schema['x-kubernetes-embedded-resource'] === true && type !== 'object') {
    const detail = 'must be object if x-kubernetes-embedded-resource is true'
    errors.push(type === '' ? fieldErrors.required(field, detail) : fieldErrors.invalid(field, type, detail))
  } else if (type === '' && !isTypeOptional(schema)) {
    errors.push(fieldErrors.required(field, emptyType[level]))
  }
  if (schema['x-kubernetes-embedded-resource'] === true && schema.additionalProperties !== undefined) {
    const detail = 'must not be used if x-kubernetes-embedded-resource is set'
    errors.push(fieldErrors.forbidden(`${path}.additionalProperties`, detail))
  }
  if (level === 'root' && type !== '' && type !== 'object') {
    errors.push(fieldErrors.invalid(field, type, 'must be object at the root'))
  }
}

function isTypeOptional(schema: JsonSchemaProps): boolean {
  return schema['x-kubernetes-int-or-string'] === true || schema['x-kubernetes-preserve-unknown-fields'] === true
}

/** Checks that apiVersion and kind are strings and that metadata at the root restricts only name and generateName. */
function checkMetaProperties(schema: JsonSchemaProps, level: Level, path: string, errors: FieldError[]): void {
  const isObject = level === 'root' || schema['x-kubernetes-embedded-resource'] === true
  const { kind, apiVersion, metadata } = schema.properties ?? {}
  for (const [key, property] of [['kind', kind] as const, ['apiVersion', apiVersion] as const]) {
    if (!isObject || property === undefined || property.type === 'string') continue
    errors.push(
      fieldErrors.invalid(fieldPath(path, 'properties', { key }, 'type'), property.type ?? '', 'must be string'),
    )
  }
  if (metadata !== undefined) {
    const field = fieldPath(path, 'properties', { key: 'metadata' })
    if (isObject && metadata.type !== 'object')
      errors.push(fieldErrors.invalid(`${field}.type`, metadata.type ?? '', 'must be object'))
    if (level === 'root' && !isRestrictionOfNames(metadata)) {
      const detail = 'must not specify anything other than name and generateName, but metadata is implicitly specified'
      errors.push(fieldErrors.forbidden(field, detail))
    }
  }
  const isKeptWhole = schema['x-kubernetes-preserve-unknown-fields'] === true
  if (
    schema['x-kubernetes-embedded-resource'] === true &&
    !isKeptWhole &&
    Object.keys(schema.properties ?? {}).length === 0
  ) {
    const detail =
      'must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields'
    errors.push(fieldErrors.required(`${path}.properties`, detail))
  }
}

function isRestrictionOfNames(metadata: JsonSchemaProps): boolean {
  // Documentation and defaults are checked elsewhere.
  const { type: _type, default: _default, externalDocs: _docs, example: _example, properties = {}, ...rest } = metadata
  return (
    Object.keys(rest).length === 0 && Object.keys(properties).every((key) => key === 'name' || key === 'generateName')
  )
}

const intOrString: JsonValue = [{ type: 'integer' }, { type: 'string' }]

/** Reports the one form of alternatives that may have types: `anyOf: [{type: integer}, {type: string}]`. */
function isIntOrString(anyOf: readonly JsonSchemaProps[] | undefined): boolean {
  return anyOf !== undefined && jsonEqual(anyOf, intOrString)
}

function checkJunctors(
  schema: JsonSchemaProps,
  skipAnyOf: boolean,
  skipFirstAllOf: boolean,
  path: string,
  errors: FieldError[],
): void {
  if (!skipAnyOf)
    for (const [index, part] of (schema.anyOf ?? []).entries())
      checkNested(part, false, fieldPath(path, 'anyOf', index), errors)
  for (const [index, part] of (schema.allOf ?? []).entries()) {
    checkNested(part, skipFirstAllOf && index === 0, fieldPath(path, 'allOf', index), errors)
  }
  for (const [index, part] of (schema.oneOf ?? []).entries())
    checkNested(part, false, fieldPath(path, 'oneOf', index), errors)
  if (schema.not !== undefined) checkNested(schema.not, false, `${path}.not`, errors)
  const problem = schema.pattern === undefined || schema.pattern === '' ? undefined : regexError(schema.pattern)
  if (problem !== undefined) {
    errors.push(
      fieldErrors.invalid(
        `${path}.pattern`,
        schema.pattern,
        `must be a valid regular expression, but isn't: ${problem}`,
      ),
    )
  }
}

/** Checks that a schema under allOf, anyOf, oneOf or not declares nothing. */
function checkNested(schema: JsonSchemaProps, skipAnyOf: boolean, path: string, errors: FieldError[]): void {
  checkJunctors(schema, skipAnyOf, false, path, errors)
  const items = itemsOf(schema)
  if (items !== undefined) checkNested(items, false, `${path}.items`, errors)
  for (const [key, property] of Object.entries(schema.properties ?? {})) {
    checkNested(property, false, fieldPath(path, 'properties', { key }), errors)
  }
  const forbid = (field: string, isSet: boolean, state: string): void => {
    if (isSet) errors.push(fieldErrors.forbidden(`${path}.${field}`, `must be ${state} to be structural`))
  }
  forbid('type', (schema.type ?? '') !== '', 'empty')
  forbid(
    'additionalProperties',
    schema.additionalProperties !== undefined && schema.additionalProperties !== false,
    'undefined',
  )
  forbid('default', (schema.default ?? null) !== null, 'undefined')
  forbid('title', (schema.title ?? '') !== '', 'empty')
  forbid('description', (schema.description ?? '') !== '', 'empty')
  forbid('nullable', schema.nullable === true, 'false')
  forbid('x-kubernetes-preserve-unknown-fields', schema['x-kubernetes-preserve-unknown-fields'] === true, 'false')
  forbid('x-kubernetes-embedded-resource', schema['x-kubernetes-embedded-resource'] === true, 'false')
  forbid('x-kubernetes-int-or-string', schema['x-kubernetes-int-or-string'] === true, 'false')
  forbid('x-kubernetes-list-map-keys', (schema['x-kubernetes-list-map-keys'] ?? []).length > 0, 'empty')
  forbid('x-kubernetes-list-type', schema['x-kubernetes-list-type'] !== undefined, 'undefined')
  forbid('x-kubernetes-map-type', schema['x-kubernetes-map-type'] !== undefined, 'undefined')
  forbid('x-kubernetes-validations', (schema['x-kubernetes-validations'] ?? []).length > 0, 'empty')
  if (schema.properties !== undefined && Object.hasOwn(schema.properties, 'metadata')) {
    errors.push(
      fieldErrors.forbidden(
        fieldPath(path, 'properties', { key: 'metadata' }),
        'must not be specified in a nested context',
      ),
    )
  }
}

/**
 * Checks that the schema declares the fields that the alternatives at the root restrict. Kubernetes checks only the
 * alternatives of the root; nested ones may restrict any field.
 */
function missingDeclarations(alternatives: JsonSchemaProps, declared: JsonSchemaProps, path: string): FieldError[] {
  const errors: FieldError[] = []
  walkAlternatives(alternatives, declared, path, path, errors)
  return errors
}

function walkAlternatives(
  schema: JsonSchemaProps,
  declared: JsonSchemaProps,
  path: string,
  at: string,
  errors: FieldError[],
): void {
  const { not, allOf = [], anyOf = [], oneOf = [] } = schema
  if (not !== undefined) requireDeclared(not, declared, path, `${at}.not`, errors)
  for (const [name, parts] of Object.entries({ allOf, anyOf, oneOf })) {
    for (const [index, part] of parts.entries())
      requireDeclared(part, declared, path, fieldPath(at, name, index), errors)
  }
}

/** `path` is where the declaration should be, `at` where the restriction is. */
function requireDeclared(
  schema: JsonSchemaProps,
  declared: JsonSchemaProps | undefined,
  path: string,
  at: string,
  errors: FieldError[],
): void {
  if (declared === undefined) {
    errors.push(fieldErrors.required(path, `because it is defined in ${at}`))
    return
  }
  walkAlternatives(schema, declared, path, at, errors)
  const items = itemsOf(schema)
  if (items !== undefined) requireDeclared(items, itemsOf(declared), `${path}.items`, `${at}.items`, errors)
  for (const [key, property] of Object.entries(schema.properties ?? {})) {
    const own =
      declared.properties !== undefined && Object.hasOwn(declared.properties, key)
        ? declared.properties[key]
        : undefined
    const step = ['properties', { key }] as const
    requireDeclared(property, own, fieldPath(path, ...step), fieldPath(at, ...step), errors)
  }
}
