// A Cluster over a client: reads with the rights of the user that the client authenticates.
import type { Client } from '@fairlead/client'
import type { KubeObject, ObjectKey } from '@fairlead/kube'
import type { Cluster, ListScope, ResourceKind } from '../engine/cluster.ts'
import type { KindTable } from './kind-table.ts'

/** Reads through a client; finds kinds by the names of a table. */
export class LiveCluster implements Cluster {
  readonly #client: Client
  readonly #kinds: KindTable

  constructor(client: Client, kinds: KindTable) {
    this.#client = client
    this.#kinds = kinds
  }

  kindOf(type: string): Promise<ResourceKind | undefined> {
    return this.#kinds.kindOf(type)
  }

  find(
    { apiVersion, kind }: Pick<ResourceKind, 'apiVersion' | 'kind'>,
    key: ObjectKey,
  ): Promise<KubeObject | undefined> {
    return this.#client.find({ apiVersion, kind }, key)
  }

  async list(
    { apiVersion, kind }: Pick<ResourceKind, 'apiVersion' | 'kind'>,
    { namespace, labelSelector, fieldSelector }: ListScope,
  ): Promise<readonly KubeObject[]> {
    return (await this.#client.list({ apiVersion, kind }, { namespace, labelSelector, fieldSelector })).items
  }
}
