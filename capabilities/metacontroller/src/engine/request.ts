// Requests to hooks (R20-R22, Q10, Q22, Q32, Q34).
import type { JsonObject, KubeObject } from '@fairlead/kube'
import { asJson } from '@fairlead/kube'
import type { HookVersion, MapController, MapHook } from '../api.ts'
import type { ResolvedResource } from './resource.ts'
import { kindKey } from './resource.ts'

/** The fields that requests leave out. */
export type Trim = MapHook['trim']

/** Objects of one kind that a request carries. */
export interface ObjectsOfKind {
  readonly kind: ResolvedResource
  readonly objects: readonly KubeObject[]
}

/** The content of a request. */
export interface RequestFacts {
  readonly controller: MapController
  readonly parent: KubeObject
  readonly mapKey: string
  /** Left out of tombstone requests (R17). */
  readonly input?: KubeObject
  /** One entry for every declared kind, empty ones too. */
  readonly outputs: readonly ObjectsOfKind[]
  /** One entry for every rule of relatedResources; undefined without rules. */
  readonly related?: readonly ObjectsOfKind[]
  readonly version: HookVersion
  readonly trim: Trim
}

/** Returns the body of a map or tombstone request. */
export function hookRequest(facts: RequestFacts): JsonObject {
  const { controller, parent, mapKey, input, trim } = facts
  const trimmed = (object: KubeObject): JsonObject => asJson(trim === 'none' ? object : withoutManagedFields(object))
  const keyed = requestKeys(parent, facts.version)
  return {
    ...(trim === 'controller' ? {} : { controller: trimmed(controller as unknown as KubeObject) }),
    parent: trimmed(parent),
    mapKey,
    ...(input === undefined ? {} : { input: trimmed(input) }),
    outputs: objectsByKind(facts.outputs, keyed, trimmed),
    ...(facts.related === undefined ? {} : { related: objectsByKind(facts.related, keyed, trimmed) }),
  }
}

/**
 * Returns the key of an object in requests: v1 leaves out the namespace that is the parent's own; v2 never does (Q10).
 */
export function requestKeys(parent: KubeObject, version: HookVersion): (object: KubeObject) => string {
  const implied = version === 'v1' ? parent.metadata.namespace : undefined
  return ({ metadata: { namespace, name = '' } }) =>
    namespace === undefined || namespace === implied ? name : `${namespace}/${name}`
}

/** `{ "ConfigMap.v1": { "<key>": object } }`. Two rules may select objects of one kind. */
export function objectsByKind(
  kinds: readonly ObjectsOfKind[],
  keyed: (object: KubeObject) => string,
  trimmed: (object: KubeObject) => JsonObject,
): JsonObject {
  const byKind = new Map<string, Map<string, JsonObject>>()
  for (const { kind, objects } of kinds) {
    const map = byKind.get(kindKey(kind)) ?? new Map<string, JsonObject>()
    for (const object of objects) map.set(keyed(object), trimmed(object))
    byKind.set(kindKey(kind), map)
  }
  return Object.fromEntries([...byKind].map(([kind, map]) => [kind, Object.fromEntries(map)]))
}

const trimmedObjects = new WeakMap<KubeObject, KubeObject>()

/**
 * Returns the object without `metadata.managedFields`; cached, because parents and controllers are sent again and
 * again.
 */
export function withoutManagedFields(object: KubeObject): KubeObject {
  if (object.metadata?.managedFields === undefined) return object
  const known = trimmedObjects.get(object)
  if (known !== undefined) return known
  const { managedFields: _left, ...metadata } = object.metadata
  const trimmed = { ...object, metadata }
  trimmedObjects.set(object, trimmed)
  return trimmed
}
