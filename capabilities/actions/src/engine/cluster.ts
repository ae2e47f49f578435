// What functions of patterns read from a cluster: with the rights of whoever asks.
import type { KubeObject, LabelSelector, ObjectKey } from '@fairlead/kube'

/** A kind that a reader knows. */
export interface ReadKind {
  readonly apiVersion: string
  readonly kind: string
  readonly group: string
  readonly plural: string
  readonly namespaced: boolean
}

/** Which objects a list wants. */
export interface ReadScope {
  /** All namespaces when left out. */
  readonly namespace?: string | undefined
  readonly labelSelector?: LabelSelector | string | undefined
  readonly fieldSelector?: string | undefined
}

/** A cluster, or objects at hand. */
export interface ClusterReader {
  /** The kind that kubectl's TYPE names (`pods`, `po`, `Pod`, `deployments.apps`); undefined when there is none. */
  kindOf(type: string): Promise<ReadKind | undefined>
  /** An object; undefined when it is not there. Rejects with StatusError when it may not be read. */
  find(kind: Pick<ReadKind, 'apiVersion' | 'kind'>, key: ObjectKey): Promise<KubeObject | undefined>
  /** Objects in the order of namespace and name. */
  list(kind: Pick<ReadKind, 'apiVersion' | 'kind'>, scope: ReadScope): Promise<readonly KubeObject[]>
}
