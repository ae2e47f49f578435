// `metadata.ownerReferences[]`: the owners of an object.
import type { ObjectMeta, OwnerReference } from './object.ts'

/** An object that can be an owner: one that the server has stored. */
export interface Owner {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: ObjectMeta
}

/**
 * Creates a reference to an owner. `controller` and `blockOwnerDeletion` are true unless given.
 * @throws TypeError when the owner has no name or uid, hence was never stored
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

/** Returns the reference to the controlling owner. */
export function controllerOf(object: { readonly metadata: ObjectMeta }): OwnerReference | undefined {
  return object.metadata.ownerReferences?.find((reference) => reference.controller === true)
}

/** Reports whether the object is controlled by the owner with that uid. */
export function isControlledBy(
  object: { readonly metadata: ObjectMeta },
  owner: { readonly metadata: ObjectMeta },
): boolean {
  const uid = owner.metadata.uid
  return uid !== undefined && controllerOf(object)?.uid === uid
}
