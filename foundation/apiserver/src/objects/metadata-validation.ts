// Validation of metadata on create and on update, with Kubernetes' messages.
import {
  dns1123Label,
  dns1123Subdomain,
  fieldErrors,
  goQuote,
  jsonEqual,
  labelValue,
  parseApiVersion,
  qualifiedName,
  stringifyJson,
} from '@fairlead/kube'
import type { FieldError, JsonObject, JsonValue, ObjectMeta, OwnerReference } from '@fairlead/kube'
import type { ResourceDefinition } from '@fairlead/builtin-kinds'
import { originRules } from './origin-rules.ts'

const maxAnnotationBytes = 256 * 1024
const orphanFinalizer = 'orphan'
const foregroundFinalizer = 'foregroundDeletion'
const standardFinalizers: ReadonlySet<string> = new Set([orphanFinalizer, foregroundFinalizer, 'kubernetes'])

/** Returns the errors in the metadata of a new object. */
export function validateMetadata(definition: ResourceDefinition, metadata: ObjectMeta): FieldError[] {
  const errors: FieldError[] = []
  const { strategy } = definition
  const checkName = (text: string, prefix: boolean): readonly string[] =>
    strategy.validateName?.(text, prefix) ?? defaultNameCheck(text, prefix)
  const { name = '', generateName = '', namespace = '' } = metadata
  if (generateName !== '') {
    errors.push(
      ...checkName(generateName, true).map((text) => fieldErrors.invalid('metadata.generateName', generateName, text)),
    )
  }
  if (name === '') errors.push(fieldErrors.required('metadata.name', 'name or generateName is required'))
  else errors.push(...checkName(name, false).map((text) => fieldErrors.invalid('metadata.name', name, text)))
  if (definition.namespaced) {
    if (namespace === '') errors.push(fieldErrors.required('metadata.namespace'))
    else
      errors.push(...dns1123Label(namespace).map((text) => fieldErrors.invalid('metadata.namespace', namespace, text)))
  } else if (namespace !== '') {
    errors.push(fieldErrors.forbidden('metadata.namespace', 'not allowed on this type'))
  }
  if ((metadata.generation ?? 0) < 0) {
    errors.push(fieldErrors.invalid('metadata.generation', metadata.generation, 'must be greater than or equal to 0'))
  }
  const checks = [validateLabels, validateAnnotations, validateOwnerReferences, validateFinalizers]
  for (const check of checks) for (const error of check(metadata)) errors.push(error)
  if (originRules(definition).requiresKnownFinalizers && strategy.metadataChecks?.knowsFinalizers !== false)
    errors.push(...validateBuiltinFinalizers(metadata))
  return errors
}

/**
 * Returns the errors in the metadata of a changed object: those of all kinds, and those of the kind's own validation,
 * which repeat them (recordings patch/finalizers-of-namespaced-kinds).
 */
export function validateMetadataUpdate(
  { strategy }: ResourceDefinition,
  metadata: ObjectMeta,
  old: ObjectMeta,
  isStatus: boolean,
): FieldError[] {
  const values = [...validateLabels(metadata), ...validateAnnotations(metadata), ...validateOwnerReferences(metadata)]
  const ofObject = [...values, ...validateFinalizers(metadata)]
  const ofChange = [...metadataChanges(metadata, old), ...values]
  const { metadataChecks } = strategy
  const unknown = metadataChecks?.knowsFinalizers === true ? validateBuiltinFinalizers(metadata) : []
  const own = (isStatus ? metadataChecks?.onStatus : metadataChecks?.onUpdate) ?? ['change']
  return [
    ...ofObject,
    ...ofChange,
    ...own.flatMap((check) => [...(check === 'object' ? ofObject : ofChange), ...unknown]),
  ]
}

/** Returns warnings about finalizers of custom resources, which are not errors. */
export function finalizerWarnings(metadata: ObjectMeta, old: ObjectMeta | undefined): string[] {
  const known = new Set(old?.finalizers)
  return (metadata.finalizers ?? [])
    .filter((name) => !known.has(name) && !name.includes('/') && !standardFinalizers.has(name))
    .map(
      (name) =>
        `metadata.finalizers: ${goQuote(name)}: prefer a domain-qualified finalizer name to avoid accidental conflicts with other finalizer writers`,
    )
}

/** Checks a name by the default rule: a DNS subdomain. */
function defaultNameCheck(name: string, prefix: boolean): readonly string[] {
  return dns1123Subdomain(prefix ? maskTrailingDash(name) : name)
}

/** Replaces the trailing dash that a generateName may have: a suffix follows it. */
export function maskTrailingDash(name: string): string {
  return name.length > 1 && name.endsWith('-') ? `${name.slice(0, -2)}a` : name
}

function metadataChanges(metadata: ObjectMeta, old: ObjectMeta): FieldError[] {
  const errors: FieldError[] = []
  if (old.deletionTimestamp !== undefined) {
    const before = new Set(old.finalizers)
    const added = (metadata.finalizers ?? []).filter((name) => !before.has(name)).toSorted()
    if (added.length > 0) {
      const list = added.map(goQuote).join(', ')
      const detail = `no new finalizers can be added if the object is being deleted, found new finalizers []string{${list}}`
      errors.push(fieldErrors.forbidden('metadata.finalizers', detail))
    }
  }
  const immutable = [
    'name',
    'namespace',
    'uid',
    'creationTimestamp',
    'deletionTimestamp',
    'deletionGracePeriodSeconds',
  ] as const
  for (const field of immutable) {
    if (!jsonEqual(metadata[field] ?? null, old[field] ?? null)) {
      errors.push(fieldErrors.invalid(`metadata.${field}`, metadata[field] ?? null, 'field is immutable'))
    }
  }
  return errors
}

function validateLabels({ labels = {} }: ObjectMeta): FieldError[] {
  return Object.entries(labels).flatMap(([key, value]) => [
    ...qualifiedName(key).map((text) => fieldErrors.invalid('metadata.labels', key, text)),
    ...labelValue(value).map((text) => fieldErrors.invalid('metadata.labels', value, text)),
  ])
}

function validateAnnotations({ annotations = {} }: ObjectMeta): FieldError[] {
  const errors = Object.keys(annotations).flatMap((key) =>
    qualifiedName(key.toLowerCase()).map((text) => fieldErrors.invalid('metadata.annotations', key, text)),
  )
  let size = 0
  for (const [key, value] of Object.entries(annotations)) size += Buffer.byteLength(key) + Buffer.byteLength(value)
  if (size > maxAnnotationBytes) errors.push(fieldErrors.tooLong('metadata.annotations', maxAnnotationBytes))
  return errors
}

function validateOwnerReferences({ ownerReferences = [] }: ObjectMeta): FieldError[] {
  const path = 'metadata.ownerReferences'
  const errors: FieldError[] = []
  let controller = ''
  for (const owner of ownerReferences) {
    const { group, version } =
      owner.apiVersion.split('/').length > 2 ? { group: '', version: '' } : parseApiVersion(owner.apiVersion)
    if (version === '')
      errors.push(fieldErrors.invalid(`${path}.apiVersion`, owner.apiVersion, 'version must not be empty'))
    if (owner.kind === '') errors.push(fieldErrors.invalid(`${path}.kind`, owner.kind, 'must not be empty'))
    if (owner.name === '') errors.push(fieldErrors.invalid(`${path}.name`, owner.name, 'must not be empty'))
    if (owner.uid === '') errors.push(fieldErrors.invalid(`${path}.uid`, owner.uid, 'must not be empty'))
    if (group === '' && version === 'v1' && owner.kind === 'Event') {
      errors.push(
        structError(path, inOrder(owner), `${group}/${version}, Kind=${owner.kind} is disallowed from being an owner`),
      )
    }
    if (owner.controller !== true) continue
    const name = `${owner.kind}/${owner.name}`
    if (controller !== '') {
      const detail = `Only one reference can have Controller set to true. Found "true" in references for ${controller} and ${name}`
      errors.push(structError(path, ownerReferences.map(inOrder), detail))
    } else {
      controller = name
    }
  }
  return errors
}

/** Returns an error about a value of a Go struct, whose fields are shown in their own order. */
function structError(field: string, value: JsonValue, detail: string): FieldError {
  return { ...fieldErrors.invalid(field, value, detail), shown: stringifyJson(value) }
}

/** Returns an owner reference with its fields in the order of Go's type, as messages show it. */
function inOrder(owner: OwnerReference): JsonObject {
  const { apiVersion, kind, name, uid, controller, blockOwnerDeletion } = owner
  return {
    apiVersion,
    kind,
    name,
    uid,
    ...(controller === undefined ? {} : { controller }),
    ...(blockOwnerDeletion === undefined ? {} : { blockOwnerDeletion }),
  }
}

function validateFinalizers({ finalizers = [] }: ObjectMeta): FieldError[] {
  const errors = finalizers.flatMap((name) =>
    qualifiedName(name).map((text) => fieldErrors.invalid('metadata.finalizers', name, text)),
  )
  if (finalizers.includes(orphanFinalizer) && finalizers.includes(foregroundFinalizer)) {
    const detail = `finalizer ${orphanFinalizer} and ${foregroundFinalizer} cannot be both set`
    errors.push(fieldErrors.invalid('metadata.finalizers', finalizers, detail))
  }
  return errors
}

function validateBuiltinFinalizers({ finalizers = [] }: ObjectMeta): FieldError[] {
  return finalizers.flatMap((name, index) =>
    name.includes('/') || standardFinalizers.has(name)
      ? []
      : [
          fieldErrors.invalid(
            `metadata.finalizers[${index}]`,
            name,
            'name is neither a standard finalizer name nor is it fully qualified',
          ),
        ],
  )
}
