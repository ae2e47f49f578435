// A Cluster reduced to one namespace, for the patterns of maps whose authors may write that namespace alone.
import type { KubeObject, ObjectKey } from '@fairlead/kube'
import type { Cluster, ListScope, ResourceKind } from './cluster.ts'
import { PatternError } from './patterns/pattern.ts'

/** Reads the objects of one namespace; refuses all others, and cluster-scoped ones. */
export class NamespaceCluster implements Cluster {
  readonly #cluster: Cluster
  readonly #namespace: string

  constructor(cluster: Cluster, namespace: string) {
    this.#cluster = cluster
    this.#namespace = namespace
  }

  kindOf(type: string): Promise<ResourceKind | undefined> {
    return this.#cluster.kindOf(type)
  }

  async find(kind: Pick<ResourceKind, 'apiVersion' | 'kind'>, key: ObjectKey): Promise<KubeObject | undefined> {
    this.#check(kind, key.namespace)
    return this.#cluster.find(kind, key)
  }

  async list(kind: Pick<ResourceKind, 'apiVersion' | 'kind'>, scope: ListScope): Promise<readonly KubeObject[]> {
    this.#check(kind, scope.namespace)
    return this.#cluster.list(kind, scope)
  }

  #check({ kind }: Pick<ResourceKind, 'kind'>, namespace: string | undefined): void {
    if (namespace !== undefined && namespace !== '' && namespace === this.#namespace) return
    throw new PatternError(
      'FunctionFailed',
      `a map of namespace ${this.#namespace} reads only objects of that namespace, not ${kind} objects ${namespace === undefined || namespace === '' ? 'of the whole cluster' : `of ${namespace}`}; an administrator can add the namespace to trusted-namespaces of kappnav/kappnav-config`,
    )
  }
}
