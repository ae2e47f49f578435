// The shapes that everything else speaks of: JSON values, objects, keys and kinds. Start with KubeObject.

/** A JSON value. Integers that a double cannot hold exactly are BigInts (design decision 3). Frozen wherever it is shared. */
export type JsonValue = null | boolean | number | bigint | string | readonly JsonValue[] | JsonObject

/** A JSON object. */
export type JsonObject = { readonly [key: string]: JsonValue }

/** A JSON object that its owner still builds; never one that came from a cache, a store or a client. */
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

/** `metadata` of every object. Times are RFC 3339 texts. */
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

/** A Kubernetes object as plain JSON: unknown fields are kept, nothing is a class. */
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

/** Group, version and kind of an object. */
export function kindOf(object: { readonly apiVersion: string; readonly kind: string }): GroupVersionKind {
  return { ...parseApiVersion(object.apiVersion), kind: object.kind }
}

/** Namespace and name of an object. */
export function keyOf(object: { readonly metadata: ObjectMeta }): ObjectKey {
  return { namespace: object.metadata.namespace ?? '', name: object.metadata.name ?? '' }
}

/** `namespace/name`, or `name` for cluster-scoped objects. */
export function formatKey(key: ObjectKey): string {
  return key.namespace === '' ? key.name : `${key.namespace}/${key.name}`
}

/** The inverse of {@link formatKey}. */
export function parseKey(text: string): ObjectKey {
  const slash = text.indexOf('/')
  return slash < 0 ? { namespace: '', name: text } : { namespace: text.slice(0, slash), name: text.slice(slash + 1) }
}

/** An object is on its way out: deletion was asked for and finalizers hold it. */
export function isTerminating(object: { readonly metadata: ObjectMeta }): boolean {
  return object.metadata.deletionTimestamp !== undefined
}

/** An object seen as plain JSON. A KubeObject is JSON by construction; this only changes its static type. */
export function asJson(object: object): JsonObject {
  return object as JsonObject
}

/** JSON seen as an object, where the caller has checked apiVersion, kind and metadata. */
export function asObject(json: JsonObject): KubeObject {
  return json as unknown as KubeObject
}
