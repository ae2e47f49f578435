// kubeconform: checks resources against the schemas of their kinds, Kubernetes' own and those of the package's
// CustomResourceDefinitions.
import type { JsonValue } from '@fairlead/kube'
import type { FunctionResult } from '../engine/function-runner.ts'
import type { FunctionInput, FunctionOutcome } from '../engine/render/resource-function.ts'
import type { Resource } from '../engine/render/resource.ts'
import { isLocalConfig } from '../engine/render/resource.ts'
import { jsonOf } from '../engine/yaml/json-value.ts'
import { configData } from './config.ts'
import { validationSchemas } from './generated/validation-schemas.ts'
import { fileOf } from './results.ts'
import type { ValueSchema } from './schema-check.ts'
import { schemaIssues } from './schema-check.ts'
import { functionFailure } from './sdk-failure.ts'

interface SchemaTable {
  readonly kinds: Readonly<Record<string, string>>
  readonly types: Readonly<Record<string, ValueSchema>>
}

interface VersionOfDefinition {
  readonly name?: string
  readonly schema?: { readonly openAPIV3Schema?: ValueSchema }
}

interface Definition {
  readonly spec?: {
    readonly group?: string
    readonly names?: { readonly kind?: string }
    readonly versions?: readonly VersionOfDefinition[]
  }
}

let table: SchemaTable | undefined

/**
 * Checks resources. Config: `strict`, `ignore_missing_schemas` (true unless it is `false`), `skip_kinds`
 * (comma-separated kinds). Other places of
 * schemas (`schema_location`) are refused: functions have no network.
 */
export function kubeconform({ items, config }: FunctionInput): FunctionOutcome {
  table ??= JSON.parse(validationSchemas) as SchemaTable
  const data = configData(config)
  const location = data.get('schema_location') ?? ''
  if (location !== '' && location !== 'default') {
    const message = `schema_location ${location} cannot be used: functions have no network`
    return { results: [{ message, severity: 'error' }], failure: functionFailure }
  }
  const strict = data.get('strict') === 'true'
  const isMissingIgnored = data.get('ignore_missing_schemas') !== 'false'
  const skipped = new Set((data.get('skip_kinds') ?? '').split(',').map((kind) => kind.trim()))
  const defined = definedKinds(items)
  const results: FunctionResult[] = []
  for (const resource of items) {
    if (isSkipped(resource, skipped)) continue
    const type = `${resource.apiVersion}/${resource.kind}`
    const schema = defined.get(type) ?? table.types[table.kinds[type] ?? '']
    if (schema === undefined) {
      if (!isMissingIgnored) results.push(resultOf(resource, `could not find schema for ${resource.kind}`))
      continue
    }
    const own = defined.has(type) ? withMetadata(schema) : schema
    for (const { path, message } of schemaIssues(valueOf(resource), own, { strict, resolve: resolveType }))
      results.push(resultOf(resource, message, path))
  }
  return results.length === 0 ? { results } : { results, failure: functionFailure }
}

function resolveType(name: string): ValueSchema | undefined {
  return table?.types[name]
}

function isSkipped(resource: Resource, kinds: ReadonlySet<string>): boolean {
  return kinds.has(resource.kind) || resource.group === 'kpt.dev' || isLocalConfig(resource)
}

function valueOf(resource: Resource): JsonValue {
  return jsonOf(resource.fields, resource.document)
}

/** Returns the schemas of the definitions in the package by apiVersion and kind. */
function definedKinds(items: readonly Resource[]): ReadonlyMap<string, ValueSchema> {
  const schemas = new Map<string, ValueSchema>()
  for (const item of items) {
    if (item.group !== 'apiextensions.k8s.io' || item.kind !== 'CustomResourceDefinition') continue
    const { spec } = valueOf(item) as Definition
    for (const { name, schema } of spec?.versions ?? [])
      if (schema?.openAPIV3Schema !== undefined)
        schemas.set(`${spec?.group}/${name}/${spec?.names?.kind}`, schema.openAPIV3Schema)
  }
  return schemas
}

/** Adds the fields that every object has, which schemas of definitions leave out. */
function withMetadata(schema: ValueSchema): ValueSchema {
  if (schema.properties === undefined) return schema
  const { metadata: _metadata, ...own } = schema.properties
  return {
    ...schema,
    properties: {
      ...own,
      apiVersion: { type: 'string' },
      kind: { type: 'string' },
      metadata: { $ref: 'meta.v1.ObjectMeta' },
    },
  }
}

function resultOf(resource: Resource, message: string, path?: string): FunctionResult {
  const { apiVersion, kind, name, namespace } = resource
  return {
    message,
    severity: 'error',
    resourceRef: { apiVersion, kind, name, ...(namespace !== '' && { namespace }) },
    ...(path !== undefined && { field: { path } }),
    file: fileOf(resource),
  }
}
