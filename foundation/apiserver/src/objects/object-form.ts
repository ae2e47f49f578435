// The stored and the served form of objects: key order as Kubernetes writes it, resourceVersion only in the served
// form.
import { deepFreeze, isJsonObject, setOwn } from '@fairlead/kube'
import type { JsonObject, JsonValue, MutableJsonObject } from '@fairlead/kube'

/** The fields of metadata in the order of Go's type, which built-in kinds have. */
const metadataOrder = [
  'name',
  'generateName',
  'namespace',
  'selfLink',
  'uid',
  'resourceVersion',
  'generation',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
  'labels',
  'annotations',
  'ownerReferences',
  'finalizers',
  'managedFields',
] as const

/**
 * Returns the stored form of a built-in object: kind, apiVersion and metadata first, metadata in Go's order, no
 * resourceVersion.
 */
export function storedForm(object: JsonObject): JsonObject {
  const { kind, apiVersion, metadata, ...rest } = object
  return { kind: kind!, apiVersion: apiVersion!, metadata: orderedMetadata(metadata as JsonObject), ...rest }
}

/** Returns the stored form of a custom resource: all keys in alphabetical order, no resourceVersion. */
export function storedCustomForm(object: JsonObject): JsonObject {
  const { metadata, ...rest } = object
  const { resourceVersion: _version, selfLink: _link, ...kept } = metadata as MutableJsonObject
  return sortedKeys({ ...rest, metadata: kept }) as JsonObject
}

/**
 * Returns a stored object with its resourceVersion in the place that its key order demands; everything but metadata is
 * shared.
 */
export function withResourceVersion(object: JsonObject, resourceVersion: string, isUnstructured: boolean): JsonObject {
  const early = isUnstructured ? fieldsBeforeVersionByName : fieldsBeforeVersion
  const metadata: MutableJsonObject = {}
  let placed = false
  for (const [name, value] of Object.entries(object['metadata'] as JsonObject)) {
    if (!placed && !early.has(name)) {
      metadata['resourceVersion'] = resourceVersion
      placed = true
    }
    metadata[name] = value
  }
  if (!placed) metadata['resourceVersion'] = resourceVersion
  // Kind and apiVersion come first: the items of lists are cut off behind them.
  return isUnstructured
    ? { ...object, metadata }
    : { kind: object['kind']!, apiVersion: object['apiVersion']!, ...object, metadata }
}

const fieldsBeforeVersion: ReadonlySet<string> = new Set(
  metadataOrder.slice(0, metadataOrder.indexOf('resourceVersion')),
)
const fieldsBeforeVersionByName: ReadonlySet<string> = new Set(metadataOrder.filter((name) => name < 'resourceVersion'))

function orderedMetadata(metadata: JsonObject): JsonObject {
  const out: MutableJsonObject = {}
  for (const name of metadataOrder) {
    const value = metadata[name]
    if (value !== undefined && name !== 'resourceVersion' && name !== 'selfLink') out[name] = value
  }
  return out
}

/** Returns the value with sorted keys; the value itself, not a copy, where they are sorted already. */
function sortedKeys(value: JsonValue): JsonValue {
  if (Array.isArray(value)) {
    const items = value as readonly JsonValue[]
    const sorted = items.map(sortedKeys)
    return sorted.every((item, index) => item === items[index]) ? items : sorted
  }
  if (!isJsonObject(value)) return value
  const names = Object.keys(value)
  const isSorted = names.every((name, index) => index === 0 || names[index - 1]! < name)
  if (!isSorted) sortNames(names)
  const out: MutableJsonObject = {}
  let isSame = isSorted
  for (const name of names) {
    const field = name === 'fieldsV1' ? sortedFields(value[name]!) : sortedKeys(value[name]!)
    isSame &&= field === value[name]
    setOwn(out, name, field)
  }
  return isSame ? value : out
}

/** Sorted documents of managedFields: objects share them, and every write of one has them again. */
const sortedDocuments = new WeakMap<JsonObject, JsonValue>()

function sortedFields(fields: JsonValue): JsonValue {
  if (!isJsonObject(fields) || !Object.isFrozen(fields)) return sortedKeys(fields)
  let sorted = sortedDocuments.get(fields)
  if (sorted === undefined) sortedDocuments.set(fields, (sorted = deepFreeze(sortedKeys(fields))))
  return sorted
}

/** Names above which the sort of the language is faster. */
const fewNames = 32

/** Sorts names in place. Objects have few; the sort of the language allocates a kilobyte for each of them. */
function sortNames(names: string[]): void {
  if (names.length > fewNames) {
    names.sort()
    return
  }
  for (let end = 1; end < names.length; end++) {
    const name = names[end]!
    let at = end
    for (; at > 0 && names[at - 1]! > name; at--) names[at] = names[at - 1]!
    names[at] = name
  }
}
