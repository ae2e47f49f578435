// Children of a parent: composite children and the attachments of decorated objects.
import type { KubeObject } from '@fairlead/kube'
import type { ResolvedResource } from '../engine/resource.ts'

/** The update of a child that differs. The rolling methods are not in this version. */
export type ChildMethod = 'OnDelete' | 'Recreate' | 'InPlace'

/** A child kind and its update method. */
export interface ChildKind extends ResolvedResource {
  readonly method: ChildMethod
}

/** A child, as it is or as the hook wants it. */
export interface Child {
  readonly kind: ChildKind
  readonly object: KubeObject
}

/** Returns the key of a child among the children of its parent. */
export function childKey({ kind, object }: Child): string {
  const { namespace = '', name = '' } = object.metadata
  return `${kind.kind}.${kind.group}/${namespace}/${name}`
}
