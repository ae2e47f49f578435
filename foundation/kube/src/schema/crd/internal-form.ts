// `spec.versions` as Kubernetes shows it in errors: its internal types written as JSON, Go's field names in their
// order, every field present.
import { stringifyJson } from '../../json.ts'
import type { JsonValue, MutableJsonObject } from '../../object.ts'
import type { DefinitionColumn, DefinitionSubresources, DefinitionVersion, JsonSchemaProps } from './definition.ts'
import { isSchemaList } from './visit-schema.ts'

/** Formats versions whose shared values were moved to the top level (see foldSpec). */
export function formatInternalVersions(versions: readonly DefinitionVersion[]): string {
  return stringifyJson(versions.map(internalVersion)).replace(/[<>&]/g, (c) => '\\u00' + c.charCodeAt(0).toString(16))
}

function internalVersion(version: DefinitionVersion): JsonValue {
  const columns = version.additionalPrinterColumns
  const schema = version.schema?.openAPIV3Schema
  return {
    Name: version.name,
    Served: version.served === true,
    Storage: version.storage === true,
    Deprecated: version.deprecated === true,
    DeprecationWarning: version.deprecationWarning ?? null,
    Schema:
      version.schema === undefined ? null : { OpenAPIV3Schema: schema === undefined ? null : internalSchema(schema) },
    Subresources: version.subresources === undefined ? null : internalSubresources(version.subresources),
    AdditionalPrinterColumns: columns === undefined ? null : columns.map(internalColumn),
    SelectableFields: version.selectableFields?.map(({ jsonPath = '' }) => ({ JSONPath: jsonPath })) ?? null,
  }
}

function internalSubresources({ status, scale }: DefinitionSubresources): JsonValue {
  return {
    Status: status === undefined ? null : {},
    Scale:
      scale === undefined
        ? null
        : {
            SpecReplicasPath: scale.specReplicasPath ?? '',
            StatusReplicasPath: scale.statusReplicasPath ?? '',
            LabelSelectorPath: scale.labelSelectorPath ?? null,
          },
  }
}

function internalColumn(column: DefinitionColumn): JsonValue {
  return {
    Name: column.name ?? '',
    Type: column.type ?? '',
    Format: column.format ?? '',
    Description: column.description ?? '',
    Priority: column.priority ?? 0,
    JSONPath: column.jsonPath ?? '',
  }
}

type Form =
  | 'text'
  | 'flag'
  | 'value'
  | 'schema'
  | 'schemas'
  | 'map'
  | 'orBool'
  | 'items'
  | 'docs'
  | 'dependencies'
  | 'rules'

/**
 * JSON name and form of each field of JSONSchemaProps, in Go's order; the Go name is the JSON name with a capital
 * unless given.
 */
const fields: readonly (readonly [name: string, form: Form, goName?: string])[] = [
  ['id', 'text', 'ID'],
  ['$schema', 'text', 'Schema'],
  ['$ref', 'value', 'Ref'],
  ['description', 'text'],
  ['type', 'text'],
  ['nullable', 'flag'],
  ['format', 'text'],
  ['title', 'text'],
  ['default', 'value'],
  ['maximum', 'value'],
  ['exclusiveMaximum', 'flag'],
  ['minimum', 'value'],
  ['exclusiveMinimum', 'flag'],
  ['maxLength', 'value'],
  ['minLength', 'value'],
  ['pattern', 'text'],
  ['maxItems', 'value'],
  ['minItems', 'value'],
  ['uniqueItems', 'flag'],
  ['multipleOf', 'value'],
  ['enum', 'value'],
  ['maxProperties', 'value'],
  ['minProperties', 'value'],
  ['required', 'value'],
  ['items', 'items'],
  ['allOf', 'schemas'],
  ['oneOf', 'schemas'],
  ['anyOf', 'schemas'],
  ['not', 'schema'],
  ['properties', 'map'],
  ['additionalProperties', 'orBool'],
  ['patternProperties', 'map'],
  ['dependencies', 'dependencies'],
  ['additionalItems', 'orBool'],
  ['definitions', 'map'],
  ['externalDocs', 'docs'],
  ['example', 'value'],
  ['x-kubernetes-preserve-unknown-fields', 'value', 'XPreserveUnknownFields'],
  ['x-kubernetes-embedded-resource', 'flag', 'XEmbeddedResource'],
  ['x-kubernetes-int-or-string', 'flag', 'XIntOrString'],
  ['x-kubernetes-list-map-keys', 'value', 'XListMapKeys'],
  ['x-kubernetes-list-type', 'value', 'XListType'],
  ['x-kubernetes-map-type', 'value', 'XMapType'],
  ['x-kubernetes-validations', 'rules', 'XValidations'],
]

function internalSchema(schema: JsonSchemaProps): JsonValue {
  const out: MutableJsonObject = {}
  for (const [name, form, goName] of fields) {
    out[goName ?? name.charAt(0).toUpperCase() + name.slice(1)] = internalField(
      (schema as Record<string, unknown>)[name],
      form,
    )
  }
  return out
}

function internalField(value: unknown, form: Form): JsonValue {
  if (form === 'text') return (value as string | undefined) ?? ''
  if (form === 'flag') return value === true
  if (value === undefined || value === null) return null
  switch (form) {
    case 'schema':
      return internalSchema(value as JsonSchemaProps)
    case 'schemas':
      return (value as JsonSchemaProps[]).map(internalSchema)
    case 'map':
      return mapSorted(value as Record<string, JsonSchemaProps>, internalSchema)
    case 'orBool':
      return typeof value === 'boolean'
        ? { Allows: value, Schema: null }
        : { Allows: true, Schema: internalSchema(value as JsonSchemaProps) }
    case 'items': {
      const items = value as JsonSchemaProps['items']
      return isSchemaList(items)
        ? { Schema: null, JSONSchemas: items.map(internalSchema) }
        : { Schema: internalSchema(items!), JSONSchemas: null }
    }
    case 'docs': {
      const { description = '', url = '' } = value as { description?: string; url?: string }
      return { Description: description, URL: url }
    }
    case 'dependencies':
      return mapSorted(value as Record<string, JsonSchemaProps | string[]>, (part) =>
        Array.isArray(part) ? { Schema: null, Property: part } : { Schema: internalSchema(part), Property: null },
      )
    case 'rules':
      return (value as NonNullable<JsonSchemaProps['x-kubernetes-validations']>).map((rule) => ({
        Rule: rule.rule,
        Message: rule.message ?? '',
        MessageExpression: rule.messageExpression ?? '',
        Reason: rule.reason ?? null,
        FieldPath: rule.fieldPath ?? '',
        OptionalOldSelf: rule.optionalOldSelf ?? null,
      }))
    default:
      return value as JsonValue
  }
}

function mapSorted<T>(map: Readonly<Record<string, T>>, convert: (value: T) => JsonValue): JsonValue {
  const keys = Object.keys(map).sort()
  return Object.fromEntries(keys.map((key) => [key, convert(map[key]!)]))
}
