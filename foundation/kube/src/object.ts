// The basic types: JSON values, objects, keys and kinds. Start with KubeObject.

/** A JSON value. Integers beyond 2^53 are BigInts (design decision 3). Shared values are frozen. */
export type JsonValue = null | boolean | number | bigint | string | readonly JsonValue[] | JsonObject

/** A JSON object. */
export type JsonObject = { readonly [key: string]: JsonValue }

/** A JSON object under construction; never one from a cache, a store or a client. */
export type MutableJsonObject = { [key: string]: JsonValue }

/** `metadata.ownerReferences[]`. */
export type OwnerReference = {
  readonly apiVersion: string
  readonly kind: string
  readonly name: string
  readonly uid: string
  readonly controller?: boolean
  readonly blockOwnerDeletion?: boolean
}

/** `metadata.managedFields[]`. */
export type ManagedFieldsEntry = {
  readonly manager?: string
  readonly operation?: 'Apply' | 'Update'
  readonly apiVersion?: string
  readonly time?: string
  readonly fieldsType?: string
  readonly fieldsV1?: JsonObject
  readonly subresource?: string
}

/** `metadata` of every object. Times are RFC 3339 strings. */
export type ObjectMeta = {
  readonly name?: string
  readonly generateName?: string
  readonly namespace?: string
  readonly uid?: string
  readonly resourceVersion?: string
  readonly generation?: number
  readonly creationTimestamp?: string | null
  readonly deletionTimestamp?: string
  readonly deletionGracePeriodSeconds?: number
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
  readonly ownerReferences?: readonly OwnerReference[]
  readonly finalizers?: readonly string[]
  readonly managedFields?: readonly ManagedFieldsEntry[]
}

/** A Kubernetes object as plain JSON: unknown fields are kept, there are no class instances. */
export interface KubeObject {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: ObjectMeta
  readonly [field: string]: unknown
}

/** Namespace and name; `namespace` is '' for cluster-scoped objects. */
export interface ObjectKey {
  readonly namespace: string
  readonly name: string
}

/** Group (core: ''), version and kind. */
export interface GroupVersionKind {
  readonly group: string
  readonly version: string
  readonly kind: string
}

/** Splits `apps/v1` into group and version; the core group is ''. */
export function parseApiVersion(apiVersion: string): { group: string; version: string } {
  const slash = apiVersion.indexOf('/')
  return slash < 0
    ? { group: '', version: apiVersion }
    : { group: apiVersion.slice(0, slash), version: apiVersion.slice(slash + 1) }
}

/** Joins group and version to an apiVersion; the core group is ''. */
export function formatApiVersion(group: string, version: string): string {
  return group === '' ? version : `${group}/${version}`
}

/** Returns group, version and kind of an object. */
export function kindOf(object: { readonly apiVersion: string; readonly kind: string }): GroupVersionKind {
  return { ...parseApiVersion(object.apiVersion), kind: object.kind }
}

/** Returns namespace and name of an object, each empty when it has none. */
export function keyOf(object: { readonly metadata?: ObjectMeta }): ObjectKey {
  return { namespace: object.metadata?.namespace ?? '', name: object.metadata?.name ?? '' }
}

/** Formats a key: `namespace/name`, or `name` for cluster-scoped objects. */
export function formatKey(key: ObjectKey): string {
  return key.namespace === '' ? key.name : `${key.namespace}/${key.name}`
}

/** Parses a key, as the inverse of {@link formatKey}. */
export function parseKey(text: string): ObjectKey {
  const slash = text.indexOf('/')
  return slash < 0 ? { namespace: '', name: text } : { namespace: text.slice(0, slash), name: text.slice(slash + 1) }
}

/** Reports whether an object is being deleted: it has a deletionTimestamp and finalizers hold it. */
export function isTerminating(object: { readonly metadata: ObjectMeta }): boolean {
  return object.metadata.deletionTimestamp !== undefined
}

/** Casts an object to plain JSON. A KubeObject is JSON by construction; only the static type changes. */
export function asJson(object: object): JsonObject {
  return object as JsonObject
}

/** Casts JSON to an object; the caller has checked apiVersion, kind and metadata. */
export function asObject(json: JsonObject): KubeObject {
  return json as unknown as KubeObject
}
