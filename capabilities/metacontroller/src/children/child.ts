// Children of a parent: composite children and the attachments of decorated objects.
import type { KubeObject } from '@fairlead/kube'
import { controllerOf, ownerReferenceTo } from '@fairlead/kube'
import type { IgnoredChanges, ResolvedResource } from '../engine/resource.ts'

/** The update of a child that differs. The rolling methods do the same to one child after the other. */
export type ChildMethod = 'OnDelete' | 'Recreate' | 'InPlace' | 'RollingRecreate' | 'RollingInPlace'

/** A condition that an updated child must have before the next one is updated. */
export interface StatusCheck {
  readonly type: string
  readonly status?: string
  readonly reason?: string
}

/** A child kind and its update method. */
export interface ChildKind extends ResolvedResource {
  readonly method: ChildMethod
  /** For the rolling methods. */
  readonly statusChecks?: readonly StatusCheck[]
  readonly changes?: IgnoredChanges
  /** The parent controls its children (the default), or is one of their owners. */
  readonly ownership?: 'Controller' | 'Owner'
  /** Children that are wanted no longer are deleted (the default), or released. */
  readonly deletionPolicy?: 'Delete' | 'Orphan'
}

/** A child, as it is or as the hook wants it. */
export interface Child {
  readonly kind: ChildKind
  readonly object: KubeObject
}

/** Returns whether children of a kind are updated one after the other. */
export function isRolling({ method }: Pick<ChildKind, 'method'>): boolean {
  return method === 'RollingRecreate' || method === 'RollingInPlace'
}

/** Returns the key of a child among the children of its parent. */
export function childKey({ kind, object }: Child): string {
  const { namespace = '', name = '' } = object.metadata
  return `${kind.kind}.${kind.group}/${namespace}/${name}`
}

/** Returns the uids of the objects whose child an object of this kind may be. */
export function ownersOf({ ownership }: Pick<ChildKind, 'ownership'>, object: KubeObject): readonly string[] {
  if (ownership === 'Owner') return (object.metadata.ownerReferences ?? []).map(({ uid }) => uid)
  const owner = controllerOf(object)
  return owner === undefined ? [] : [owner.uid]
}

/** Returns desired children; those of a kind that their parent does not control get it as an owner. */
export function withOwners(parent: KubeObject, desired: readonly Child[]): readonly Child[] {
  return desired.map((child) => {
    const { ownerReferences = [] } = child.object.metadata
    const isOwned = ownerReferences.some(({ uid }) => uid === parent.metadata.uid)
    if (child.kind.ownership !== 'Owner' || isOwned) return child
    const owner = ownerReferenceTo(parent, { controller: false, blockOwnerDeletion: false })
    const metadata = { ...child.object.metadata, ownerReferences: [...ownerReferences, owner] }
    return { kind: child.kind, object: { ...child.object, metadata } }
  })
}
