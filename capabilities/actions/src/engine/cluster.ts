// The port of pattern functions to a cluster. LiveCluster and FileCluster implement it.
import type { KubeObject, LabelSelector, ObjectKey } from '@fairlead/kube'

/** A kind that the cluster serves. */
export interface ResourceKind {
  readonly apiVersion: string
  readonly kind: string
  readonly group: string
  readonly plural: string
  readonly namespaced: boolean
}

/** Selects the objects of a list. */
export interface ListScope {
  /** All namespaces when left out. */
  readonly namespace?: string | undefined
  readonly labelSelector?: LabelSelector | string | undefined
  readonly fieldSelector?: string | undefined
}

/** Reads a cluster, or a list of objects. */
export interface Cluster {
  /** Returns the kind that kubectl's TYPE names (`pods`, `po`, `Pod`, `deployments.apps`), or undefined. */
  kindOf(type: string): Promise<ResourceKind | undefined>
  /** Returns an object, or undefined when it does not exist. Rejects with StatusError when it may not be read. */
  find(kind: Pick<ResourceKind, 'apiVersion' | 'kind'>, key: ObjectKey): Promise<KubeObject | undefined>
  /** Returns objects ordered by namespace and name. */
  list(kind: Pick<ResourceKind, 'apiVersion' | 'kind'>, scope: ListScope): Promise<readonly KubeObject[]>
}
