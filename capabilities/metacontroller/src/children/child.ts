// Children of a parent: composite children and the attachments of decorated objects.
import type { KubeObject } from '@fairlead/kube'
import type { ResolvedResource } from '../engine/resource.ts'

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
