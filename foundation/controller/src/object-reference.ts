// References to objects, as relations use them.
import type { KubeObject } from '@fairlead/kube'

/** Identifies an object in the graph of relations; the object need not exist. */
export interface ObjectReference {
  readonly apiVersion: string
  readonly kind: string
  /** Undefined for cluster-scoped objects. */
  readonly namespace?: string
  readonly name: string
  /** Undefined when the reference is by name only. */
  readonly uid?: string
}

/** Returns the reference to an object. */
export function objectReference({ apiVersion, kind, metadata }: KubeObject): ObjectReference {
  const { namespace, name = '', uid } = metadata
  return {
    apiVersion,
    kind,
    ...(namespace ? { namespace } : {}),
    name,
    ...(uid === undefined ? {} : { uid }),
  }
}
