// generator.yaml: which kinds are generated from a model, and how (originals/ack.md §2.6). Strict: an unknown key is an
// error. Keys that only shape Go code (hooks, custom methods) are accepted and left alone.
import { isJsonArray, isJsonObject } from '@fairlead/kube'
import type { JsonObject, JsonValue } from '@fairlead/kube'
import { GeneratorError } from './generator-error.ts'
import type { ReferenceNaming } from './names.ts'
import type { BothSet, Identifier, WaitFor } from '../engine/reference-table.ts'

/** A kind that a reference may name, and the place of the value in it. */
export interface ReferentConfig {
  readonly kind: string
  /** Package name of the service that owns the kind; the generating service when left out. */
  readonly service?: string
  /** `group/version` of the kind, where the seed's form names it. */
  readonly apiVersion?: string
  /** Path of the value as written, such as `Status.ACKResourceMetadata.ARN`. */
  readonly path: string
}

/** Configuration of a reference, in either form: ACK's under the field, or the seed's under the resource. */
export interface ReferenceConfig extends ReferentConfig {
  readonly waitFor: WaitFor
  /** Further kinds, which a reference chooses by its `kind`. */
  readonly kinds: readonly ReferentConfig[]
  /** The only key that `externalIdentifiers` may have. */
  readonly identifier?: Identifier
  readonly bothSet?: BothSet
  readonly refField?: string
  readonly format?: string
}

/** Configuration of one field of a kind. */
export interface FieldConfig {
  readonly references?: ReferenceConfig
  readonly required?: boolean
  readonly immutable: boolean
  readonly readOnly: boolean
  readonly arn: boolean
  readonly secret: boolean
  /** Set for a field that the service fills in when it is left out, and that may then be copied into the spec. */
  readonly lateInitialized: boolean
  /** Field of another operation, as `{operation, path}`. */
  readonly from?: { readonly operation: string; readonly path: string }
  /** Type in Go's spelling, such as `[]*string`. */
  readonly type?: string
  readonly customField?: { readonly listOf?: string; readonly mapOf?: string }
  readonly print?: { readonly name: string; readonly priority?: number }
  /** Description of the field in the CRD, in place of that of the model. */
  readonly description?: string
}

/** Configuration of one kind. */
export interface ResourceConfig {
  readonly fields: ReadonlyMap<string, FieldConfig>
  /** Operation -> API name -> name of the field. */
  readonly inputRenames: ReadonlyMap<string, ReadonlyMap<string, string>>
  readonly outputRenames: ReadonlyMap<string, ReadonlyMap<string, string>>
  readonly ignoreIdempotencyToken: boolean
  readonly shortNames: readonly string[]
  /** Paths that the guards `synced`, `updateable` and `deletable` look at, with the place of each in the file. */
  readonly guards: readonly { readonly at: string; readonly path: string }[]
}

/** Configuration of one operation. */
export interface OperationConfig {
  readonly types: readonly string[]
  readonly resources: readonly string[]
  readonly inputWrapper?: string
  readonly outputWrapper?: string
}

/** The configuration of a service. */
export interface GeneratorConfig {
  readonly resources: ReadonlyMap<string, ResourceConfig>
  readonly operations: ReadonlyMap<string, OperationConfig>
  readonly ignoredResources: readonly string[]
  readonly ignoredOperations: readonly string[]
  readonly ignoredShapes: readonly string[]
  /** `<Shape>.<Field>[.<Field>]`. */
  readonly ignoredPaths: readonly string[]
  readonly emptyShapes: readonly string[]
  /** Names of reference fields, unless the caller says otherwise. */
  readonly refNaming?: ReferenceNaming
  /** Reaction to a reference beside its plain field, unless the reference or the caller says otherwise. */
  readonly bothSet?: BothSet
}

const keys = {
  config: [
    'resources',
    'operations',
    'ignore',
    'empty_shapes',
    'custom_shapes',
    'prefix_config',
    'include_ack_metadata',
    'set_many_output_notfound_err_return',
    'sdk_names',
    'controller_name',
    'ref_naming',
    'both_set',
  ],
  ignore: ['operations', 'resource_names', 'shape_names', 'field_paths'],
  operation: [
    'operation_type',
    'resource_name',
    'output_wrapper_field_path',
    'input_wrapper_field_path',
    'override_values',
    'custom_implementation',
    'set_output_custom_method_name',
    'custom_check_required_fields_missing_method',
    'resource_names',
  ],
  resource: [
    'fields',
    'references',
    'renames',
    'exceptions',
    'synced',
    'updateable',
    'deletable',
    'reconcile',
    'hooks',
    'update_operation',
    'find_operation',
    'delete_operation',
    'list_operation',
    'update_conditions_custom_method_name',
    'compare',
    'pre_delete_sync',
    'tags',
    'is_adoptable',
    'is_arn_primary_key',
    'ignore_idempotency_token',
    'shortNames',
    'short_names',
    'api_versions',
    'print',
    'unpack_attributes_map',
  ],
  field: [
    'references',
    'is_required',
    'is_immutable',
    'is_read_only',
    'is_primary_key',
    'is_arn',
    'is_owner_account_id',
    'is_attribute',
    'is_secret',
    'is_iam_policy',
    'is_document',
    'from',
    'type',
    'custom_field',
    'set',
    'compare',
    'late_initialize',
    'custom_sync',
    'print',
    'go_tag',
    'description',
  ],
  reference: [
    'resource',
    'service_name',
    'path',
    'skip_resource_state_validations',
    'wait_for',
    'both_set',
    'ref_field',
    'format',
    'identifier',
    'kinds',
  ],
  referent: ['resource', 'service_name', 'path'],
  seedReference: ['value', 'APIVersion', 'Kind', 'wait_for', 'both_set', 'ref_field', 'format', 'identifier', 'kinds'],
  seedReferent: ['value', 'APIVersion', 'Kind'],
} as const

function invalid(at: string, message: string): GeneratorError {
  return new GeneratorError('InvalidConfig', `generator.yaml: ${at}: ${message}`)
}

function mapAt(value: JsonValue | undefined, at: string, known?: readonly string[]): JsonObject {
  if (value === undefined || value === null) return {}
  if (!isJsonObject(value)) throw invalid(at, 'must be a map')
  const unknown = known === undefined ? undefined : Object.keys(value).find((key) => !known.includes(key))
  if (unknown !== undefined) throw invalid(at, `unknown key ${unknown}; known are ${known?.join(', ')}`)
  return value
}

function string(value: JsonValue | undefined, at: string): string | undefined {
  if (value === undefined || value === null) return undefined
  if (typeof value !== 'string' || value === '') throw invalid(at, 'must be a non-empty string')
  return value
}

function required(value: JsonValue | undefined, at: string): string {
  const found = string(value, at)
  if (found === undefined) throw invalid(at, 'is required')
  return found
}

function flag(value: JsonValue | undefined, at: string): boolean | undefined {
  if (value === undefined || value === null) return undefined
  if (typeof value !== 'boolean') throw invalid(at, 'must be true or false')
  return value
}

/** Returns the strings of a list, or the one string in place of a list. */
function strings(value: JsonValue | undefined, at: string): readonly string[] {
  if (value === undefined || value === null) return []
  if (!isJsonArray(value)) return [required(value, at)]
  return value.map((one, index) => required(one, `${at}[${index}]`))
}

function oneOf<T extends string>(value: JsonValue | undefined, at: string, choices: readonly T[]): T | undefined {
  const found = string(value, at)
  if (found !== undefined && !choices.includes(found as T)) throw invalid(at, `must be one of ${choices.join(', ')}`)
  return found as T | undefined
}

function defined<T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as never
}

/**
 * Reads a configuration.
 * @throws GeneratorError `InvalidConfig`
 */
export function readGeneratorConfig(document: JsonValue): GeneratorConfig {
  const config = mapAt(document, 'the file', keys.config)
  const ignore = mapAt(config['ignore'], 'ignore', keys.ignore)
  const resources = Object.entries(mapAt(config['resources'], 'resources'))
  const operations = Object.entries(mapAt(config['operations'], 'operations'))
  return {
    resources: new Map(resources.map(([kind, value]) => [kind, resourceConfig(value, `resources.${kind}`)])),
    operations: new Map(operations.map(([name, value]) => [name, operationConfig(value, `operations.${name}`)])),
    ignoredResources: strings(ignore['resource_names'], 'ignore.resource_names'),
    ignoredOperations: strings(ignore['operations'], 'ignore.operations'),
    ignoredShapes: strings(ignore['shape_names'], 'ignore.shape_names'),
    ignoredPaths: strings(ignore['field_paths'], 'ignore.field_paths'),
    emptyShapes: strings(config['empty_shapes'], 'empty_shapes'),
    ...defined({
      refNaming: oneOf<ReferenceNaming>(config['ref_naming'], 'ref_naming', ['seed', 'ack']),
      bothSet: oneOf<BothSet>(config['both_set'], 'both_set', bothSets),
    }),
  }
}

function operationConfig(value: JsonValue, at: string): OperationConfig {
  const config = mapAt(value, at, keys.operation)
  return {
    types: strings(config['operation_type'], `${at}.operation_type`),
    resources: strings(config['resource_name'], `${at}.resource_name`),
    ...defined({
      inputWrapper: string(config['input_wrapper_field_path'], `${at}.input_wrapper_field_path`),
      outputWrapper: string(config['output_wrapper_field_path'], `${at}.output_wrapper_field_path`),
    }),
  }
}

function resourceConfig(value: JsonValue, at: string): ResourceConfig {
  const config = mapAt(value, at, keys.resource)
  const fields = new Map(
    Object.entries(mapAt(config['fields'], `${at}.fields`)).map(([path, one]) => [
      path,
      fieldConfig(one, `${at}.fields.${path}`),
    ]),
  )
  for (const [path, one] of Object.entries(mapAt(config['references'], `${at}.references`))) {
    const found = [...fields].find(([name]) => name.toLowerCase() === path.toLowerCase())
    const place = `${at}.references.${path}`
    if (found?.[1].references !== undefined) throw invalid(place, `${found[0]} has a reference under fields, too`)
    fields.set(found?.[0] ?? path, { ...(found?.[1] ?? fieldConfig({}, place)), references: seedReference(one, place) })
  }
  const renames = mapAt(config['renames'], `${at}.renames`, ['operations'])
  const renamed = (key: string): ReadonlyMap<string, ReadonlyMap<string, string>> =>
    new Map(
      Object.entries(mapAt(renames['operations'], `${at}.renames.operations`)).map(([operation, one]) => {
        const place = `${at}.renames.operations.${operation}`
        const names = mapAt(mapAt(one, place, ['input_fields', 'output_fields'])[key], `${place}.${key}`)
        return [
          operation,
          new Map(Object.entries(names).map(([from, to]) => [from, required(to, `${place}.${key}.${from}`)])),
        ]
      }),
    )
  return {
    fields,
    inputRenames: renamed('input_fields'),
    outputRenames: renamed('output_fields'),
    ignoreIdempotencyToken: flag(config['ignore_idempotency_token'], `${at}.ignore_idempotency_token`) ?? false,
    shortNames: strings(config['shortNames'] ?? config['short_names'], `${at}.shortNames`),
    guards: ['synced', 'updateable', 'deletable'].flatMap((key) => guardPaths(config[key], `${at}.${key}`)),
  }
}

function guardPaths(value: JsonValue | undefined, at: string): ResourceConfig['guards'] {
  const guard = mapAt(value, at, ['when', 'requeue_after_seconds'])
  if (guard['when'] === undefined) return []
  if (!isJsonArray(guard['when'])) throw invalid(`${at}.when`, 'must be a list')
  return guard['when'].map((one, index) => {
    const place = `${at}.when[${index}]`
    const when = mapAt(one, place, ['path', 'in'])
    const { path } = when
    if (typeof path !== 'string' || path === '') throw invalid(place, 'empty path')
    if (!isJsonArray(when['in']) || when['in'].length === 0) throw invalid(`${place}.in`, 'must not be empty')
    return { at: place, path }
  })
}

function fieldConfig(value: JsonValue, at: string): FieldConfig {
  const config = mapAt(value, at, keys.field)
  const from = config['from'] === undefined ? undefined : mapAt(config['from'], `${at}.from`, ['operation', 'path'])
  const custom =
    config['custom_field'] === undefined
      ? undefined
      : mapAt(config['custom_field'], `${at}.custom_field`, ['list_of', 'map_of'])
  const print =
    config['print'] === undefined ? undefined : mapAt(config['print'], `${at}.print`, ['name', 'priority', 'index'])
  const is = (key: string): boolean => flag(config[key], `${at}.${key}`) ?? false
  return {
    immutable: is('is_immutable'),
    readOnly: is('is_read_only'),
    arn: is('is_arn'),
    secret: is('is_secret'),
    lateInitialized: isLateInitialized(config['late_initialize'], `${at}.late_initialize`),
    ...defined({
      references:
        config['references'] === undefined ? undefined : ackReference(config['references'], `${at}.references`),
      required: flag(config['is_required'], `${at}.is_required`),
      from: from && {
        operation: required(from['operation'], `${at}.from.operation`),
        path: required(from['path'], `${at}.from.path`),
      },
      type: string(config['type'], `${at}.type`),
      description: string(config['description'], `${at}.description`),
      customField:
        custom &&
        defined({
          listOf: string(custom['list_of'], `${at}.custom_field.list_of`),
          mapOf: string(custom['map_of'], `${at}.custom_field.map_of`),
        }),
      print: print && {
        name: string(print['name'], `${at}.print.name`) ?? at.slice(at.lastIndexOf('.') + 1).toUpperCase(),
        ...(typeof print['priority'] === 'number' ? { priority: print['priority'] } : {}),
      },
    }),
  }
}

/** Reads `late_initialize`. Its pauses have no effect: a value that the service has is there with the first read. */
function isLateInitialized(value: JsonValue | undefined, at: string): boolean {
  if (value === undefined) return false
  mapAt(value, at, ['min_backoff_seconds', 'max_backoff_seconds', 'skip_incomplete_check'])
  return true
}

const bothSets: readonly BothSet[] = ['prefer_external', 'reject']
const waits: readonly WaitFor[] = ['Synced', 'Value', 'Exists']

function shared(
  config: JsonObject,
  at: string,
): Pick<ReferenceConfig, 'waitFor' | 'bothSet' | 'refField' | 'format' | 'identifier'> {
  const skipped = flag(config['skip_resource_state_validations'], `${at}.skip_resource_state_validations`) ?? false
  return {
    waitFor: oneOf(config['wait_for'], `${at}.wait_for`, waits) ?? (skipped ? 'Value' : 'Synced'),
    ...defined({
      bothSet: oneOf<BothSet>(config['both_set'], `${at}.both_set`, bothSets),
      refField: string(config['ref_field'], `${at}.ref_field`),
      format: formatOf(config['format'], `${at}.format`),
      identifier: oneOf<Identifier>(config['identifier'], `${at}.identifier`, ['arn', 'name', 'id']),
    }),
  }
}

function formatOf(value: JsonValue | undefined, at: string): string | undefined {
  const format = string(value, at)
  if (format !== undefined && !format.includes('{value}')) throw invalid(at, 'must contain {value}')
  return format
}

function ackReference(value: JsonValue, at: string): ReferenceConfig {
  const config = mapAt(value, at, keys.reference)
  const others = list(config['kinds'], `${at}.kinds`, (one, place) =>
    ackReferent(mapAt(one, place, keys.referent), place),
  )
  return { ...ackReferent(config, at), kinds: others, ...shared(config, at) }
}

function ackReferent(config: JsonObject, at: string): ReferentConfig {
  const service = string(config['service_name'], `${at}.service_name`)
  return {
    kind: required(config['resource'], `${at}.resource`),
    path: required(config['path'], `${at}.path`),
    ...(service === undefined ? {} : { service }),
  }
}

function seedReference(value: JsonValue, at: string): ReferenceConfig {
  const config = mapAt(value, at, keys.seedReference)
  const others = list(config['kinds'], `${at}.kinds`, (one, place) =>
    seedReferent(mapAt(one, place, keys.seedReferent), place),
  )
  return { ...seedReferent(config, at), kinds: others, ...shared(config, at) }
}

function seedReferent(config: JsonObject, at: string): ReferentConfig {
  return {
    kind: required(config['Kind'], `${at}.Kind`),
    path: required(config['value'], `${at}.value`),
    apiVersion: required(config['APIVersion'], `${at}.APIVersion`),
  }
}

function list<T>(value: JsonValue | undefined, at: string, each: (one: JsonValue, at: string) => T): readonly T[] {
  if (value === undefined || value === null) return []
  if (!isJsonArray(value)) throw invalid(at, 'must be a list')
  return value.map((one, index) => each(one, `${at}[${index}]`))
}
