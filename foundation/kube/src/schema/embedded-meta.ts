// Validation of an embedded object's metadata: the rules of ObjectMeta, with names as path segments and no required
// fields.
import { fieldErrors } from '../field-error.ts'
import type { FieldError } from '../field-error.ts'
import { dns1123Label, labelValue, pathSegmentName, qualifiedName } from '../names.ts'
import type { JsonObject, JsonValue, ObjectMeta, OwnerReference } from '../object.ts'
import { decodeObjectMeta, ObjectMetaError } from './object-meta.ts'

const totalAnnotationLimit = 256 * 1024

/** Validates metadata below `path`; one error when it cannot be decoded. */
export function validateEmbeddedMeta(value: JsonObject, path: string): FieldError[] {
  try {
    return validateMeta(decodeObjectMeta(value, path).metadata, path)
  } catch (error) {
    if (error instanceof ObjectMetaError) return [fieldErrors.invalid(path, value, error.message)]
    throw error
  }
}

function validateMeta(metadata: ObjectMeta, path: string): FieldError[] {
  const { name = '', generateName = '', namespace = '', labels, annotations, ownerReferences, finalizers } = metadata
  const check = (field: string, value: string, problems: readonly string[]): FieldError[] =>
    problems.map((problem) => fieldErrors.invalid(`${path}.${field}`, value, problem))
  return [
    ...(generateName === '' ? [] : check('generateName', generateName, pathSegmentName(generateName))),
    ...(name === '' ? [] : check('name', name, pathSegmentName(name))),
    ...(namespace === '' ? [] : check('namespace', namespace, dns1123Label(namespace))),
    ...validateLabels(labels ?? {}, `${path}.labels`),
    ...validateAnnotations(annotations ?? {}, `${path}.annotations`),
    ...validateOwners(ownerReferences ?? [], `${path}.ownerReferences`),
    ...(finalizers ?? []).flatMap((finalizer) => check('finalizers', finalizer, qualifiedName(finalizer))),
  ]
}

function validateLabels(labels: Readonly<Record<string, string>>, field: string): FieldError[] {
  return Object.entries(labels).flatMap(([key, value]) => [
    ...qualifiedName(key).map((problem) => fieldErrors.invalid(field, key, problem)),
    ...labelValue(value).map((problem) => fieldErrors.invalid(field, value, problem)),
  ])
}

function validateAnnotations(annotations: Readonly<Record<string, string>>, field: string): FieldError[] {
  const entries = Object.entries(annotations)
  const errors = entries.flatMap(([key]) =>
    qualifiedName(key.toLowerCase()).map((problem) => fieldErrors.invalid(field, key, problem)),
  )
  const size = entries.reduce((sum, [key, value]) => sum + Buffer.byteLength(key) + Buffer.byteLength(value), 0)
  return size > totalAnnotationLimit ? [...errors, fieldErrors.tooLong(field, totalAnnotationLimit)] : errors
}

function validateOwners(owners: readonly OwnerReference[], field: string): FieldError[] {
  const errors = owners.flatMap((owner) => validateOwner(owner, field))
  const [first, second] = owners.filter((owner) => owner.controller === true).map(({ kind, name }) => `${kind}/${name}`)
  if (second === undefined) return errors
  const detail = `Only one reference can have Controller set to true. Found "true" in references for ${first} and ${second}`
  return [...errors, fieldErrors.invalid(field, owners as readonly JsonObject[] as JsonValue, detail)]
}

function validateOwner(owner: OwnerReference, field: string): FieldError[] {
  const errors =
    owner.apiVersion === '' ? [fieldErrors.invalid(`${field}.apiVersion`, '', 'version must not be empty')] : []
  const empty = (['kind', 'name', 'uid'] as const).filter((key) => owner[key] === '')
  return [...errors, ...empty.map((key) => fieldErrors.invalid(`${field}.${key}`, '', 'must not be empty'))]
}
