// `metadata.ownerReferences[]`: who an object belongs to.
import type { ObjectMeta, OwnerReference } from './object.ts'

/** What an owner must be: an object that the server has seen. */
export interface Owner {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: ObjectMeta
}

/**
 * A reference to an owner. `controller` and `blockOwnerDeletion` are true unless given.
 * @throws TypeError when the owner has no name or uid: it was never stored
 */
export function ownerReferenceTo(
  owner: Owner,
  options: { readonly controller?: boolean; readonly blockOwnerDeletion?: boolean } = {},
): OwnerReference {
  const { name, uid } = owner.metadata
  if (!name || !uid) {
    throw new TypeError(
      `cannot refer to ${owner.kind} ${name ?? ''} as an owner: it has no ${name ? 'uid' : 'name'}; read it from the server first`,
    )
  }
  const { controller = true, blockOwnerDeletion = true } = options
  return { apiVersion: owner.apiVersion, kind: owner.kind, name, uid, controller, blockOwnerDeletion }
}

/** The reference to the owner that controls the object. */
export function controllerOf(object: { readonly metadata: ObjectMeta }): OwnerReference | undefined {
  return object.metadata.ownerReferences?.find((reference) => reference.controller === true)
}

/** The object is controlled by the owner of that uid. */
export function isControlledBy(
  object: { readonly metadata: ObjectMeta },
  owner: { readonly metadata: ObjectMeta },
): boolean {
  const uid = owner.metadata.uid
  return uid !== undefined && controllerOf(object)?.uid === uid
}
