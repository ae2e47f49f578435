// The strategy of custom resources: defaults, pruning and validation by the schema of their version.
import { yieldIfLong } from '@fairlead/client'
import type {
  DefaultOptions,
  CustomResourceDefinition,
  DefinitionVersion,
  FieldError,
  JsonObject,
  KubeObject,
  TypeSchema,
} from '@fairlead/kube'
import {
  applySchemaDefaults,
  asJson,
  asObject,
  fieldErrors,
  forbidden,
  formatFieldError,
  parseApiVersion,
  prune,
  structuralSchema,
  validateEmbedded,
  validateListTypes,
  validateListTypesOnUpdate,
  validateValue,
} from '@fairlead/kube'
import type { Draft, Strategy, Validation, WriteContext } from '@fairlead/builtin-kinds'
import { celRules } from './cel-rules.ts'
import type { ScalePaths } from './scale-paths.ts'
import { validateScaleSpec, validateScaleStatus } from './scale-paths.ts'
import type { CompiledRules, RuleEngine } from './validation-rules.ts'
import { runRules } from './validation-rules.ts'

/** The rules of one version. */
interface VersionRules {
  readonly apiVersion: string
  readonly schema: TypeSchema
  /** Schema of `status` alone; undefined when none is declared. */
  readonly statusSchema: TypeSchema | undefined
  readonly scale: ScalePaths | undefined
  /** Compiled when first needed. */
  readonly rules: CompiledRules | undefined
}

/** Returns the schema of a version; one that preserves unknown fields when the CRD has none. */
export function schemaOfVersion(version: DefinitionVersion): TypeSchema {
  const root = version.schema?.openAPIV3Schema ?? { type: 'object', 'x-kubernetes-preserve-unknown-fields': true }
  return structuralSchema(root as TypeSchema['root'])
}

/** Returns true when a version has the status subresource. Versions rarely differ; one that has it decides for all. */
export function hasStatusSubresource({ spec }: CustomResourceDefinition): boolean {
  return spec.versions.some((version) => version.subresources?.status !== undefined)
}

/** Returns the strategy of the resource that a CRD defines; `engine` runs its x-kubernetes-validations. */
export function customResourceStrategy(crd: CustomResourceDefinition, engine: RuleEngine = celRules): Strategy {
  const { spec, metadata } = crd
  const group = spec.group ?? ''
  const plural = spec.names.plural ?? ''
  const versions = new Map(spec.versions.map((version) => [version.name, versionRules(version, group, engine)]))
  const versionOf = (apiVersion: string): VersionRules | undefined => versions.get(parseApiVersion(apiVersion).version)
  return {
    applyDefaults: (object, options) => applyVersion(object, versionOf(asObject(object).apiVersion), options),
    prune(object) {
      const version = versionOf(object.apiVersion)
      return version === undefined ? object : asObject(prune(asJson(object), version.schema).value as JsonObject)
    },
    prepareForCreate(object) {
      if (metadata.deletionTimestamp === undefined) return
      const detail = 'create not allowed while custom resource definition is terminating'
      throw forbidden({ group, plural }, asObject(object).metadata.name ?? '', detail)
    },
    validate: (object, context) => withVersion(object, context, versionOf, spec.names.kind, validateNew),
    validateUpdate: (object, old, context) =>
      withVersion(object, context, versionOf, spec.names.kind, (value, version) =>
        validateChanged(value, asJson(old), version, warnOf(context)),
      ),
    validateStatusUpdate: (object, old, context) =>
      withVersion(object, context, versionOf, spec.names.kind, (value, version) =>
        validateStatus(value, asJson(old), version, warnOf(context)),
      ),
    allowUnconditionalUpdate: false,
    hasStatus: hasStatusSubresource(crd),
    tracksGeneration: true,
  }
}

function versionRules(version: DefinitionVersion, group: string, engine: RuleEngine): VersionRules {
  const schema = schemaOfVersion(version)
  const status = schema.root.properties?.['status']
  let rules: { readonly compiled: CompiledRules | undefined } | undefined
  return {
    apiVersion: `${group}/${version.name}`,
    schema,
    statusSchema: status && structuralSchema(status),
    scale: version.subresources?.scale,
    get rules() {
      rules ??= { compiled: engine.rulesOf(schema) }
      return rules.compiled
    },
  }
}

/**
 * Prunes an object and applies the defaults of its version. Idempotent; on reads it applies later changes of the CRD.
 */
function applyVersion(object: Draft, version: VersionRules | undefined, options: DefaultOptions = {}): void {
  if (version === undefined) return
  const pruned = prune(object, version.schema).value
  const defaulted = applySchemaDefaults(pruned, version.schema, options) as JsonObject
  if (defaulted === object) return
  for (const key of Object.keys(object)) if (!Object.hasOwn(defaulted, key)) delete object[key]
  for (const [key, value] of Object.entries(defaulted)) if (key !== 'metadata') object[key] = value
}

type Check = (object: JsonObject, version: VersionRules) => Validation

/** Checks kind and apiVersion first: an object of another type is not validated further. */
function withVersion(
  object: KubeObject,
  context: WriteContext,
  versionOf: (apiVersion: string) => VersionRules | undefined,
  kind: string | undefined,
  check: Check,
): Validation {
  const version = versionOf(context.apiVersion)
  const errors: FieldError[] = []
  if (object.kind !== kind) errors.push(fieldErrors.invalid('kind', object.kind, `must be ${kind}`))
  if (object.apiVersion !== context.apiVersion) {
    errors.push(fieldErrors.invalid('apiVersion', object.apiVersion, `must be ${context.apiVersion}`))
  }
  return errors.length > 0 || version === undefined ? errors : check(asJson(object), version)
}

async function validateNew(object: JsonObject, version: VersionRules): Promise<readonly FieldError[]> {
  const { schema, scale } = version
  const errors = await cooperatively([
    () => validateValue(object, schema),
    () => (scale === undefined ? [] : [...validateScaleSpec(object, scale), ...validateScaleStatus(object, scale)]),
    () => validateEmbedded(object, schema),
    () => validateListTypes(object, schema),
  ])
  return [...errors, ...(await runRules(version.rules, errors, object, undefined))]
}

/** Returns the errors of all checks, and yields to other requests between two of them. */
async function cooperatively(checks: readonly (() => readonly FieldError[])[]): Promise<readonly FieldError[]> {
  const errors: FieldError[] = []
  for (const check of checks) {
    for (const error of check()) errors.push(error)
    await yieldIfLong()
  }
  return errors
}

type Tolerate = (error: FieldError) => void

/** Returns the handler of errors that an update leaves unchanged: they become warnings. */
function warnOf(context: WriteContext): Tolerate {
  return (error) => context.warn?.(formatFieldError(error))
}

async function validateChanged(
  object: JsonObject,
  old: JsonObject,
  version: VersionRules,
  tolerate: Tolerate,
): Promise<readonly FieldError[]> {
  const { schema, scale } = version
  const errors = await cooperatively([
    () => validateValue(object, schema, { old }),
    () => (scale === undefined ? [] : [...validateScaleSpec(object, scale), ...validateScaleStatus(object, scale)]),
    () => validateEmbedded(object, schema),
    () => validateListTypesOnUpdate(object, old, schema),
  ])
  return [...errors, ...(await runRules(version.rules, errors, object, old, tolerate))]
}

async function validateStatus(
  object: JsonObject,
  old: JsonObject,
  version: VersionRules,
  tolerate: Tolerate,
): Promise<readonly FieldError[]> {
  const { schema, statusSchema, scale } = version
  const { status } = object
  const errors = await cooperatively([
    () =>
      status === undefined || statusSchema === undefined
        ? []
        : validateValue(status, statusSchema, { old: old['status'], path: 'status' }),
    () => (scale === undefined ? [] : validateScaleStatus(object, scale)),
    () => validateListTypesOnUpdate(object, old, schema),
  ])
  return [...errors, ...(await runRules(version.rules, errors, object, old, tolerate))]
}
