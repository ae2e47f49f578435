// Reading metadata.managedFields: which fields of an object a manager applied, and whether applying a configuration
// would change anything. Works on the live object alone, without a schema; where that is not enough, the result is "may
// change" and the server decides.
import { asJson, jsonEqual } from '@fairlead/kube'
import type { JsonObject, JsonValue, KubeObject, ManagedFieldsEntry, MutableJsonObject } from '@fairlead/kube'

/**
 * The `Apply` entry of a manager; undefined when it has applied nothing. `subresource` undefined means the object
 * itself.
 */
export function appliedEntry(live: KubeObject, manager: string, subresource?: string): ManagedFieldsEntry | undefined {
  return live.metadata.managedFields?.find(
    (entry) =>
      entry.manager === manager && entry.operation === 'Apply' && (entry.subresource ?? '') === (subresource ?? ''),
  )
}

/**
 * True when `configuration`, applied by `manager`, is certain to leave `live` as it is: the manager owns exactly these
 * fields and they hold exactly these values. False when it would change something or when that is unknown here (values
 * that the server normalizes).
 */
export function isApplied(live: KubeObject, configuration: KubeObject, manager: string, subresource?: string): boolean {
  const entry = appliedEntry(live, manager, subresource)
  if (entry?.fieldsV1 === undefined || entry.apiVersion !== configuration.apiVersion) return false
  return sameObject(entry.fieldsV1, identityStripped(asJson(configuration)), asJson(live))
}

/**
 * The fields of `live` that `manager` applied, with their present values: what it must send again to keep them all.
 * Undefined when it owns none. The result has apiVersion, kind, name and namespace, so it can be changed and applied.
 */
export function appliedFields(live: KubeObject, manager: string, subresource?: string): JsonObject | undefined {
  const fields = appliedEntry(live, manager, subresource)?.fieldsV1
  if (fields === undefined) return undefined
  const own = extract(fields, asJson(live)) as JsonObject
  const { name, namespace } = live.metadata
  const metadata = {
    ...(own.metadata as JsonObject | undefined),
    name: name ?? '',
    ...(namespace === undefined ? {} : { namespace }),
  }
  return { ...own, apiVersion: live.apiVersion, kind: live.kind, metadata }
}

/** Returns the configuration without the fields that identify the object: they are never part of a field set. */
function identityStripped(configuration: JsonObject): JsonObject {
  const { apiVersion: _version, kind: _kind, metadata, ...rest } = configuration
  const { name: _name, namespace: _namespace, uid: _uid, resourceVersion: _rv, ...own } = (metadata ?? {}) as JsonObject
  return Object.keys(own).length === 0 ? rest : { ...rest, metadata: own }
}

function sameObject(fields: JsonObject, wanted: JsonObject, live: JsonObject): boolean {
  let owned = 0
  for (const path in fields) {
    if (path === '.') continue
    if (!path.startsWith('f:')) return false
    const name = path.slice(2)
    if (!Object.hasOwn(wanted, name) || !Object.hasOwn(live, name)) return false
    if (!sameValue(fields[path] as JsonObject, wanted[name]!, live[name]!)) return false
    owned++
  }
  return owned === Object.keys(wanted).length
}

function sameValue(fields: JsonObject, wanted: JsonValue, live: JsonValue): boolean {
  if (isLeaf(fields)) return jsonEqual(wanted, live)
  if (isObject(wanted) && isObject(live)) return sameObject(fields, wanted, live)
  return Array.isArray(wanted) && Array.isArray(live) && sameList(fields, wanted as JsonValue[], live as JsonValue[])
}

function sameList(fields: JsonObject, wanted: readonly JsonValue[], live: readonly JsonValue[]): boolean {
  let owned = 0
  let last = -1
  for (const item of wanted) {
    // Order matters to the server too: items that changed places are a change.
    const place = live.findIndex((other, index) => index > last && sameListItem(fields, item, other))
    if (place < 0) return false
    last = place
    owned++
  }
  return owned === Object.keys(fields).filter((path) => path !== '.').length
}

function sameListItem(fields: JsonObject, wanted: JsonValue, live: JsonValue): boolean {
  if (!isObject(wanted) || !isObject(live))
    return jsonEqual(wanted, live) && Object.hasOwn(fields, 'v:' + JSON.stringify(wanted))
  for (const path in fields) {
    if (!path.startsWith('k:')) continue
    const key = JSON.parse(path.slice(2)) as JsonObject
    if (hasKey(wanted, key) && hasKey(live, key)) return sameValue(fields[path] as JsonObject, wanted, live)
  }
  return false
}

function hasKey(item: JsonObject, key: JsonObject): boolean {
  for (const name in key) if (item[name] !== key[name]) return false
  return true
}

function extract(fields: JsonObject, live: JsonValue): JsonValue {
  if (isLeaf(fields)) return live
  if (Array.isArray(live)) return extractItems(fields, live as JsonValue[])
  if (!isObject(live)) return live
  const own: MutableJsonObject = {}
  for (const path in fields) {
    const name = path.slice(2)
    if (path.startsWith('f:') && Object.hasOwn(live, name))
      Object.defineProperty(own, name, ownProperty(extract(fields[path] as JsonObject, live[name]!)))
  }
  return own
}

function extractItems(fields: JsonObject, live: readonly JsonValue[]): JsonValue[] {
  const own: JsonValue[] = []
  for (const item of live) {
    if (!isObject(item)) {
      if (Object.hasOwn(fields, 'v:' + JSON.stringify(item))) own.push(item)
      continue
    }
    const path = Object.keys(fields).find(
      (name) => name.startsWith('k:') && hasKey(item, JSON.parse(name.slice(2)) as JsonObject),
    )
    if (path !== undefined) own.push(extract(fields[path] as JsonObject, item))
  }
  return own
}

function ownProperty(value: JsonValue): PropertyDescriptor {
  return { value, enumerable: true, configurable: true, writable: true }
}

/** `{}` (and `{".": {}}` alone): the manager owns the value as a whole. */
function isLeaf(fields: JsonObject): boolean {
  for (const path in fields) if (path !== '.') return false
  return true
}

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
