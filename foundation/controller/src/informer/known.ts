// Results of reads from caches. Each is a union that the compiler makes every caller tell apart: what is unknown is
// neither found nor missing (design decision 7).
import type { KubeObject } from '@fairlead/kube'
import type { KindUnavailable } from './kind-unavailable.ts'
import type { ObjectCache } from './object-cache.ts'

/** The kind is not cached, not synced, or not readable: its objects may exist, or not. */
export interface Unknown {
  readonly known: false
  readonly reason: KindUnavailable
}

/** The objects of a kind: all of them, or unknown. */
export type Known<T extends KubeObject = KubeObject> =
  | { readonly known: true; readonly objects: ObjectCache<T> }
  | Unknown
