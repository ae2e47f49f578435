// Validation of CustomResourceDefinitions. Start with validateCustomResourceDefinition; objects must be decoded and
// defaulted.
import { isConditionTrue } from '../../conditions.ts'
import { fieldErrors, fieldPath } from '../../field-error.ts'
import type { FieldError } from '../../field-error.ts'
import { jsonEqual } from '../../json.ts'
import { dns1035Label, dns1123Subdomain } from '../../names.ts'
import type { JsonValue, KubeObject } from '../../object.ts'
import { structuralSchema } from '../resolve.ts'
import type { SchemaNode, TypeSchema } from '../schema-node.ts'
import { validateApproval } from './approval.ts'
import { validateConversion } from './conversion.ts'
import type { DefaultRuleCheck } from './default-values.ts'
import { validateDefaults } from './default-values.ts'
import type {
  CustomResourceDefinition,
  DefinitionParts,
  DefinitionSpec,
  DefinitionVersion,
  FoldedSpec,
  JsonSchemaProps,
} from './definition.ts'
import { asCustomResourceDefinition, foldSpec } from './definition.ts'
import { deprecationProblems } from './deprecation.ts'
import { formatInternalVersions } from './internal-form.ts'
import { requireNames, validateNames } from './names.ts'
import { validateOpenApiSchema } from './open-api-schema.ts'
import { validateColumns, validateSelectableFields, validateSubresources } from './parts.ts'
import { validateStructural } from './structural.ts'
import { someSchema } from './visit-schema.ts'

/**
 * The CEL part of the validation of definitions, supplied by `@fairlead/kube/cel`; without it rules are not checked.
 */
export interface DefinitionRules {
  /**
   * Compiles every x-kubernetes-validations rule of a schema that is otherwise valid: errors with paths below `path`,
   * cost limits included. `old` is the schema of the version before, whose rules must still compile.
   */
  compile(schema: TypeSchema, path: string, old: TypeSchema | undefined): readonly FieldError[]
  /** Validates a default by the rules of its own schema. */
  readonly checkDefault?: DefaultRuleCheck
}

/**
 * Validates a definition, without the metadata rules of every object. On update (`old` given) scope and kind are
 * immutable once the definition is established, group and plural always. CA bundles of webhooks are not parsed.
 */
export function validateCustomResourceDefinition(
  crd: KubeObject,
  old?: KubeObject,
  rules?: DefinitionRules,
): FieldError[] {
  const definition = asCustomResourceDefinition(crd)
  const before = old && asCustomResourceDefinition(old)
  const { spec, status } = definition
  const folded = foldSpec(spec)
  const errors = before === undefined ? validateName(definition) : []
  errors.push(...validateSpec(spec, folded, before, rules, lacksVersions(crd)))
  if (before !== undefined) errors.push(...validateImmutable(definition, before))
  errors.push(...validateNames(status?.acceptedNames ?? {}, 'status.acceptedNames'))
  errors.push(...validateStoredVersions(status?.storedVersions ?? [], spec.versions))
  errors.push(...validateApproval(spec.group ?? '', definition.metadata, before?.metadata))
  if (spec.preserveUnknownFields === true && before?.spec.preserveUnknownFields !== true) {
    const detail =
      'cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead'
    errors.push(fieldErrors.invalid('spec.preserveUnknownFields', true, detail))
  }
  return errors
}

/** Validates a write to `/status`. */
export function validateCustomResourceDefinitionStatus(crd: KubeObject): FieldError[] {
  return validateNames(asCustomResourceDefinition(crd).status?.acceptedNames ?? {}, 'status.acceptedNames')
}

function validateName({ metadata, spec }: CustomResourceDefinition): FieldError[] {
  const { name = '' } = metadata
  if (name === '' || name === `${spec.names.plural ?? ''}.${spec.group ?? ''}`) return []
  return [fieldErrors.invalid('metadata.name', name, 'must be spec.names.plural+"."+spec.group')]
}

function validateImmutable({ spec }: CustomResourceDefinition, old: CustomResourceDefinition): FieldError[] {
  const errors: FieldError[] = []
  const keep = (value: string | undefined, before: string | undefined, field: string): void => {
    if (value !== before) errors.push(fieldErrors.invalid(field, value ?? '', 'field is immutable'))
  }
  if (isConditionTrue(old.status?.conditions ?? [], 'Established')) {
    keep(spec.scope, old.spec.scope, 'spec.scope')
    keep(spec.names.kind, old.spec.names.kind, 'spec.names.kind')
  }
  keep(spec.group, old.spec.group, 'spec.group')
  keep(spec.names.plural, old.spec.names.plural, 'spec.names.plural')
  return errors
}

function validateStoredVersions(stored: readonly string[], versions: readonly DefinitionVersion[]): FieldError[] {
  const field = 'status.storedVersions'
  if (stored.length === 0) return [fieldErrors.invalid(field, null, 'must have at least one stored version')]
  // A version that is listed twice is found only once.
  const unmatched = new Set(stored)
  const missing = versions
    .filter((version) => !unmatched.delete(version.name) && version.storage === true)
    .map((version) => fieldErrors.invalid(field, stored, `must have the storage version ${version.name}`))
  const orphaned = stored.flatMap((name, index) => {
    if (versions.some((version) => version.name === name) || stored.lastIndexOf(name) !== index) return []
    const detail =
      `missing from spec.versions; ${name} was previously a storage version, and must remain in spec.versions ` +
      `until a storage migration ensures no data remains persisted in ${name} and removes ${name} from status.storedVersions`
    return [fieldErrors.invalid(fieldPath(field, index), name, detail)]
  })
  return [...missing, ...orphaned]
}

function validateSpec(
  spec: DefinitionSpec,
  folded: FoldedSpec,
  old: CustomResourceDefinition | undefined,
  rules: DefinitionRules | undefined,
  isUnversioned: boolean,
): FieldError[] {
  const { common, versions } = folded
  const context: Context = { old: old?.spec, rules, versions: spec.versions }
  const errors = [...validateGroup(spec.group ?? ''), ...validateScope(spec.scope ?? ''), ...requireSchemas(folded)]
  if (
    spec.preserveUnknownFields === true &&
    spec.versions.some((version) => hasDefaults(version.schema?.openAPIV3Schema))
  ) {
    const detail = 'must be false in order to use defaults in the schema'
    errors.push(fieldErrors.invalid('spec.preserveUnknownFields', true, detail))
  }
  for (const [index, version] of versions.entries())
    errors.push(...validateVersion(version, fieldPath('spec.versions', index), common, context))
  errors.push(...validateVersionSet(folded, isUnversioned))
  errors.push(...requireNames(spec.names, 'spec.names'), ...validateNames(spec.names, 'spec.names'))
  const hasStatus = [common, ...versions].some((parts) => parts.subresources?.status !== undefined)
  errors.push(
    ...validateSchema(
      common.schema?.openAPIV3Schema,
      hasStatus,
      'spec.validation.openAPIV3Schema',
      versions[0]?.name ?? '',
      context,
    ),
  )
  errors.push(...validateSubresources(common.subresources, 'spec.subresources'))
  errors.push(...validateColumns(common.additionalPrinterColumns, 'spec.additionalPrinterColumns'))
  errors.push(...validateCommonSelectableFields(common, context))
  const { strategy } = spec.conversion ?? {}
  if (spec.preserveUnknownFields === true && strategy !== undefined && strategy !== 'None') {
    errors.push(
      fieldErrors.invalid('spec.conversion.strategy', strategy, 'must be None if spec.preserveUnknownFields is true'),
    )
  }
  return [...errors, ...validateConversion(spec.conversion, 'spec.conversion')]
}

interface Context {
  readonly old: DefinitionSpec | undefined
  readonly rules: DefinitionRules | undefined
  /** As the client wrote them. */
  readonly versions: readonly DefinitionVersion[]
}

function validateGroup(group: string): FieldError[] {
  if (group === '') return [fieldErrors.required('spec.group')]
  const problems = dns1123Subdomain(group)
  if (problems.length > 0) return [fieldErrors.invalid('spec.group', group, problems.join(','))]
  return group.includes('.')
    ? []
    : [fieldErrors.invalid('spec.group', group, 'should be a domain with at least one dot')]
}

function validateScope(scope: string): FieldError[] {
  const scopes = ['Cluster', 'Namespaced']
  if (scope === '') return [fieldErrors.required('spec.scope')]
  return scopes.includes(scope) ? [] : [fieldErrors.notSupported('spec.scope', scope, scopes)]
}

function requireSchemas({ common, versions }: FoldedSpec): FieldError[] {
  if (common.schema?.openAPIV3Schema !== undefined) return []
  return versions.flatMap((version, index) =>
    version.schema?.openAPIV3Schema === undefined
      ? [fieldErrors.required(fieldPath('spec.versions', index, 'schema', 'openAPIV3Schema'))]
      : [],
  )
}

function validateVersion(
  version: DefinitionVersion,
  path: string,
  common: DefinitionParts,
  context: Context,
): FieldError[] {
  const errors: FieldError[] = []
  const problems = dns1035Label(version.name)
  if (problems.length > 0) errors.push(fieldErrors.invalid(`${path}.name`, version.name, problems.join(',')))
  for (const problem of deprecationProblems(version)) {
    errors.push(fieldErrors.invalid(`${path}.deprecationWarning`, version.deprecationWarning, problem))
  }
  const hasStatus = (version.subresources ?? common.subresources)?.status !== undefined
  const schema = version.schema?.openAPIV3Schema
  errors.push(...validateSchema(schema, hasStatus, `${path}.schema.openAPIV3Schema`, version.name, context))
  errors.push(...validateSubresources(version.subresources, `${path}.subresources`))
  errors.push(...validateColumns(version.additionalPrinterColumns, `${path}.additionalPrinterColumns`))
  if ((version.selectableFields ?? []).length > 0) {
    const field = `${path}.selectableFields`
    const own = schema === undefined
    errors.push(
      ...(own
        ? [fieldErrors.invalid(field, '', 'may only be set when `version.schema.openAPIV3Schema` is not included')]
        : validateSelectableFields(
            version.selectableFields,
            schema,
            field,
            hadTooMany(version.name, version, context),
          )),
    )
  }
  return errors
}

function validateCommonSelectableFields(common: DefinitionParts, context: Context): FieldError[] {
  const { selectableFields = [], schema } = common
  if (selectableFields.length === 0) return []
  if (schema === undefined)
    return [fieldErrors.invalid('spec.selectableFields', '', 'may only be set when validations.schema is included')]
  const name = context.versions[0]?.name ?? ''
  return validateSelectableFields(
    selectableFields,
    schema.openAPIV3Schema ?? {},
    'spec.selectableFields',
    hadTooMany(name, common, context),
  )
}

function hadTooMany(version: string, parts: DefinitionParts, context: Context): boolean {
  const old = context.old?.versions.find((candidate) => candidate.name === version)
  return jsonEqual(old?.selectableFields ?? [], parts.selectableFields ?? [])
}

/** Reports whether a definition has no list of versions, which messages show as null. */
function lacksVersions(crd: KubeObject): boolean {
  const { spec } = crd as { readonly spec?: { readonly versions?: unknown } | null }
  return (spec?.versions ?? null) === null
}

function validateVersionSet({ versions }: FoldedSpec, isAbsent: boolean): FieldError[] {
  const errors: FieldError[] = []
  // Kubernetes shows its internal form of the versions, in the order of Go's fields.
  const complain = (detail: string): void => {
    const shown = isAbsent ? 'null' : formatInternalVersions(versions)
    errors.push(fieldErrors.invalid('spec.versions', undefined, `${shown}: ${detail}`))
  }
  const names = versions.map((version) => version.name)
  if (new Set(names).size !== names.length) complain('must contain unique version names')
  if (versions.filter((version) => version.storage === true).length !== 1) {
    complain('must have exactly one version marked as storage version')
  }
  const first = names[0] ?? ''
  const problems = first === '' ? [] : dns1035Label(first)
  if (problems.length > 0) errors.push(fieldErrors.invalid('spec.version', first, problems.join(',')))
  return errors
}

/** The keywords allowed beside `properties` at the root when `status` is a subresource. */
const rootFieldsWithStatus: ReadonlySet<string> = new Set(
  (
    'description type format title maximum exclusiveMaximum minimum exclusiveMinimum maxLength minLength ' +
    'pattern maxItems minItems uniqueItems multipleOf required items properties externalDocs example ' +
    'x-kubernetes-preserve-unknown-fields x-kubernetes-validations'
  ).split(' '),
)

function validateSchema(
  schema: JsonSchemaProps | undefined,
  hasStatus: boolean,
  path: string,
  version: string,
  context: Context,
): readonly FieldError[] {
  if (schema === undefined) return []
  const errors = hasStatus ? validateRootWithStatus(schema, path) : []
  if (schema.nullable === true)
    errors.push(fieldErrors.forbidden(`${path}.nullable`, 'nullable cannot be true at the root'))
  // Schemas that cannot be structural at all are reported by the checks of keywords.
  const structural = isConvertible(schema) ? validateStructural(schema, path) : []
  errors.push(...structural)
  const defaults =
    isConvertible(schema) && structural.length === 0 ? validateDefaults(schema, path, context.rules?.checkDefault) : []
  errors.push(...defaults, ...validateOpenApiSchema(schema, path))
  if (errors.length > 0) return errors
  const old = context.old?.versions.find((candidate) => candidate.name === version)?.schema?.openAPIV3Schema
  return context.rules?.compile(asTypeSchema(schema), path, old && asTypeSchema(old)) ?? []
}

function asTypeSchema(schema: JsonSchemaProps): TypeSchema {
  return structuralSchema(schema as SchemaNode)
}

function validateRootWithStatus(schema: JsonSchemaProps, path: string): FieldError[] {
  if (schema.type !== undefined && schema.type !== '' && schema.type !== 'object') {
    const detail = 'only "object" is allowed as the type at the root of the schema if the status subresource is enabled'
    return [fieldErrors.invalid(`${path}.type`, schema.type, detail)]
  }
  const stranger = Object.keys(schema).find((field) => !rootFieldsWithStatus.has(field))
  if (stranger === undefined) return []
  const detail = `only ${rootFieldList} fields are allowed at the root of the schema if the status subresource is enabled`
  return [fieldErrors.invalid(path, schema as JsonValue, detail)]
}

const rootFieldList =
  '[Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum MaxLength MinLength Pattern MaxItems MinItems ' +
  'UniqueItems MultipleOf Required Items Properties ExternalDocs Example XPreserveUnknownFields XValidations]'

/** The keywords that no structural schema can have. */
function isConvertible(schema: JsonSchemaProps): boolean {
  return !someSchema(schema, (part) => {
    const {
      id = '',
      $schema = '',
      $ref = '',
      patternProperties = {},
      dependencies = {},
      additionalItems,
      definitions = {},
      items,
    } = part
    const strings = [id, $schema, $ref].some((text) => text !== '')
    const maps = [patternProperties, dependencies, definitions].some((map) => Object.keys(map).length > 0)
    const unkept = part['x-kubernetes-preserve-unknown-fields'] === false
    return strings || maps || additionalItems !== undefined || unkept || (Array.isArray(items) && items.length > 0)
  })
}

function hasDefaults(schema: JsonSchemaProps | undefined): boolean {
  return someSchema(schema, (part) => part.default !== undefined && part.default !== null)
}
