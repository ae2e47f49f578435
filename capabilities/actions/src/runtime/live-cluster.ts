// A ClusterReader over a client: whoever the client speaks for, its rights are the limit.
import type { Client } from '@fairlead/client'
import type { ClusterReader } from '../engine/cluster.ts'
import type { KindTable } from './kind-table.ts'

/** Reads as `client` does; kinds by the names of `kinds`. */
export function clientReader(client: Client, kinds: KindTable): ClusterReader {
  return {
    kindOf: (type) => kinds.kindOf(type),
    find: (kind, key) => client.find({ apiVersion: kind.apiVersion, kind: kind.kind }, key),
    list: async (kind, { namespace, labelSelector, fieldSelector }) =>
      (await client.list({ apiVersion: kind.apiVersion, kind: kind.kind }, { namespace, labelSelector, fieldSelector }))
        .items,
  }
}
