// Checks objects against the schemas of CustomResourceDefinitions as an API server would, and fills in their defaults.
import {
  EmbeddedObjectError,
  ObjectMetaError,
  applySchemaDefaults,
  asCustomResourceDefinition,
  asJson,
  coerceEmbeddedMetadata,
  decodeObjectMeta,
  fieldErrors,
  formatApiVersion,
  formatFieldError,
  isJsonArray,
  isJsonObject,
  parseApiVersion,
  prune,
  structuralSchema,
  validateEmbedded,
  validateListTypes,
  validateValue,
} from '@fairlead/kube'
import type { FieldError, JsonObject, JsonValue, KubeObject, TypeSchema } from '@fairlead/kube'
import { hasRules, validateRules } from '@fairlead/kube/cel'
import { ManifestError } from './manifest-error.ts'
import type { Manifest } from './manifests.ts'

/** The schemas of custom resources: those of a capability's own CRDs and of CRDs among the manifests. */
export class CrdSchemas {
  /** Group and kind -> versions -> schema. */
  readonly #kinds = new Map<string, ReadonlyMap<string, TypeSchema>>()

  /** Objects of other kinds are ignored; a later definition of a kind replaces an earlier one. */
  constructor(objects: Iterable<KubeObject>) {
    for (const object of objects) {
      if (!isDefinition(object)) continue
      const { group = '', names, versions } = asCustomResourceDefinition(object).spec
      const served = versions.filter((version) => version.served !== false)
      this.#kinds.set(
        `${group}/${names.kind}`,
        new Map(served.map(({ name, schema }) => [name, schemaOf(schema?.openAPIV3Schema as JsonValue | undefined)])),
      )
    }
  }

  /** Returns the object with the defaults of its schema; the object itself when its kind has none. */
  withDefaults<T extends KubeObject>(object: T): T {
    const schema = this.#schemaOf(object)
    return schema === undefined ? object : (applySchemaDefaults(asJson(object), schema) as unknown as T)
  }

  /**
   * Returns the errors for which an API server would refuse to create the object under strict field validation: unknown
   * fields, wrong types, enums, patterns, required fields, list types, CEL rules. Empty for kinds without a definition.
   */
  check(object: KubeObject): readonly FieldError[] {
    const { group, version } = parseApiVersion(object.apiVersion)
    const versions = this.#kinds.get(`${group}/${object.kind}`)
    if (versions === undefined) return []
    const schema = versions.get(version)
    if (schema === undefined) {
      const known = [...versions.keys()].map((name) => formatApiVersion(group, name))
      return [fieldErrors.notSupported('apiVersion', object.apiVersion, known)]
    }
    const { value, unknown } = decode(asJson(object), schema)
    if (value === undefined) return unknown
    return [...unknown, ...violations(applySchemaDefaults(value, schema) as JsonObject, schema)]
  }

  #schemaOf({ apiVersion, kind }: KubeObject): TypeSchema | undefined {
    const { group, version } = parseApiVersion(apiVersion)
    return this.#kinds.get(`${group}/${kind}`)?.get(version)
  }
}

/**
 * Returns the manifests with the defaults of their schemas.
 * @throws ManifestError of the first invalid manifest; the message lists the errors of all of them, one a line
 */
export function validManifests(manifests: readonly Manifest[], schemas: CrdSchemas): readonly Manifest[] {
  const [first, ...more] = manifests.flatMap(({ file, line, object }) =>
    schemas.check(object).map((error) => {
      const { kind, metadata } = object
      const name = metadata.name ?? metadata.generateName ?? ''
      return { file, line, problem: `${kind} ${name}: ${formatFieldError(error)}` }
    }),
  )
  if (first !== undefined) {
    const lines = more.map(({ file, line, problem }) => `${file}:${line}: ${problem}`)
    throw new ManifestError(first.file, first.line, [first.problem, ...lines].join('\n'))
  }
  return manifests.map((manifest) => ({ ...manifest, object: schemas.withDefaults(manifest.object) }))
}

/** Reports whether an object is a CustomResourceDefinition that can be read: it has names and a list of versions. */
export function isDefinition({ apiVersion, kind, spec }: KubeObject): boolean {
  if (kind !== 'CustomResourceDefinition' || parseApiVersion(apiVersion).group !== 'apiextensions.k8s.io') return false
  const { names, versions } = (spec ?? {}) as { readonly names?: JsonValue; readonly versions?: JsonValue }
  return isJsonObject(names) && isJsonArray(versions ?? null) && (versions as readonly JsonValue[]).every(isJsonObject)
}

function schemaOf(root: JsonValue | undefined): TypeSchema {
  const known = isJsonObject(root) ? root : { type: 'object', 'x-kubernetes-preserve-unknown-fields': true }
  return structuralSchema(known as TypeSchema['root'])
}

/** The object as an API server decodes it, and its unknown fields; no value when metadata cannot be decoded. */
function decode(
  object: JsonObject,
  schema: TypeSchema,
): { readonly value: JsonObject | undefined; readonly unknown: readonly FieldError[] } {
  try {
    const { metadata, unknown } = decodeObjectMeta(object['metadata'] ?? null)
    const { value, pruned } = prune({ ...object, metadata }, schema)
    const coerced = coerceEmbeddedMetadata(value, schema)
    const paths = [...unknown, ...pruned, ...coerced.unknown]
    return {
      value: coerced.value as JsonObject,
      unknown: paths.map((path) => fieldErrors.forbidden(path, 'unknown field')),
    }
  } catch (error) {
    if (!(error instanceof ObjectMetaError) && !(error instanceof EmbeddedObjectError)) throw error
    return { value: undefined, unknown: [fieldErrors.invalid('metadata', undefined, error.message)] }
  }
}

/** Types for which rules cannot run: the value does not have the shape they rely on. */
const blocking: ReadonlySet<string> = new Set([
  'FieldValueNotSupported',
  'FieldValueRequired',
  'FieldValueTooLong',
  'FieldValueTooMany',
  'FieldValueTypeInvalid',
])

function violations(object: JsonObject, schema: TypeSchema): readonly FieldError[] {
  const errors = [
    ...validateValue(object, schema),
    ...validateEmbedded(object, schema),
    ...validateListTypes(object, schema),
  ]
  if (!hasRules(schema) || errors.some(({ type }) => blocking.has(type))) return errors
  return [...errors, ...validateRules(object, schema)]
}
