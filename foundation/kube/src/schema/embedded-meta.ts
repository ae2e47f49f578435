// Checks of an embedded object's metadata: the rules of every object's metadata, with names as path segments and nothing required.
import { fieldErrors } from '../field-error.ts'
import type { FieldError } from '../field-error.ts'
import { dns1123Label, labelValue, pathSegmentName, qualifiedName } from '../names.ts'
import type { JsonObject, JsonValue } from '../object.ts'
import { isJsonArray, isJsonObject } from '../own-property.ts'

const totalAnnotationLimit = 256 * 1024

/** Errors of decoded metadata below `path`. */
export function validateEmbeddedMeta(metadata: JsonObject, path: string): FieldError[] {
  const errors: FieldError[] = []
  const { name, generateName, namespace } = metadata
  if (typeof generateName === 'string' && generateName !== '') {
    for (const problem of pathSegmentName(generateName))
      errors.push(fieldErrors.invalid(`${path}.generateName`, generateName, problem))
  }
  if (typeof name === 'string' && name !== '') {
    for (const problem of pathSegmentName(name)) errors.push(fieldErrors.invalid(`${path}.name`, name, problem))
  }
  if (typeof namespace === 'string' && namespace !== '') {
    for (const problem of dns1123Label(namespace))
      errors.push(fieldErrors.invalid(`${path}.namespace`, namespace, problem))
  }
  errors.push(...validateLabels(metadata['labels'], `${path}.labels`))
  errors.push(...validateAnnotations(metadata['annotations'], `${path}.annotations`))
  errors.push(...validateOwners(metadata['ownerReferences'], `${path}.ownerReferences`))
  for (const finalizer of isJsonArray(metadata['finalizers']) ? metadata['finalizers'] : []) {
    for (const problem of qualifiedName(String(finalizer)))
      errors.push(fieldErrors.invalid(`${path}.finalizers`, finalizer, problem))
  }
  return errors
}

function validateLabels(labels: JsonValue | undefined, field: string): FieldError[] {
  if (!isJsonObject(labels)) return []
  return Object.entries(labels).flatMap(([key, value]) => [
    ...qualifiedName(key).map((problem) => fieldErrors.invalid(field, key, problem)),
    ...labelValue(String(value)).map((problem) => fieldErrors.invalid(field, value, problem)),
  ])
}

function validateAnnotations(annotations: JsonValue | undefined, field: string): FieldError[] {
  if (!isJsonObject(annotations)) return []
  const entries = Object.entries(annotations)
  const errors = entries.flatMap(([key]) =>
    qualifiedName(key.toLowerCase()).map((problem) => fieldErrors.invalid(field, key, problem)),
  )
  const size = entries.reduce((sum, [key, value]) => sum + Buffer.byteLength(key) + Buffer.byteLength(String(value)), 0)
  return size > totalAnnotationLimit ? [...errors, fieldErrors.tooLong(field, totalAnnotationLimit)] : errors
}

function validateOwners(owners: JsonValue | undefined, field: string): FieldError[] {
  if (!isJsonArray(owners)) return []
  const objects = owners.filter(isJsonObject)
  const errors = objects.flatMap((owner) => validateOwner(owner, field))
  const controllers = objects.filter((owner) => owner['controller'] === true)
  if (controllers.length > 1) {
    const names = controllers.map((owner) => `${String(owner['kind'])}/${String(owner['name'])}`)
    const detail = `Only one reference can have Controller set to true. Found "true" in references for ${names[0]} and ${names[1]}`
    errors.push(fieldErrors.invalid(field, owners, detail))
  }
  return errors
}

function validateOwner(owner: JsonObject, field: string): FieldError[] {
  const errors: FieldError[] = []
  if (owner['apiVersion'] === '')
    errors.push(fieldErrors.invalid(`${field}.apiVersion`, '', 'version must not be empty'))
  for (const key of ['kind', 'name', 'uid'] as const) {
    if (owner[key] === '') errors.push(fieldErrors.invalid(`${field}.${key}`, '', 'must not be empty'))
  }
  return errors
}
