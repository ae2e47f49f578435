// Reports of failing groups between replicas: one entry of `status.shards` per shard, written by the replica that owns
// it.
import type { Client } from '@fairlead/client'
import type { Shards } from '@fairlead/controller'
import type { KubeObject } from '@fairlead/kube'
import type { MapController, ShardReport } from '../api.ts'
import type { FailingGroup } from './group-state.ts'

/** Returns the entry of a shard; undefined when no group fails there. */
export function shardReport(shard: number, failing: readonly FailingGroup[]): ShardReport | undefined {
  const [first] = failing
  if (first === undefined) return undefined
  return { shard, failingGroups: failing.length, message: `${first.input}: ${first.message}` }
}

/** Returns the reports of other replicas. Entries of our own shards, and of shards that no longer exist, are stale. */
export function reportsOfOthers({ status }: MapController, shards: Shards | undefined): readonly ShardReport[] {
  if (shards === undefined) return []
  return (status?.shards ?? []).filter(({ shard }) => shard < shards.count && !shards.owns(shard))
}

/** Writes the entries of our shards that changed. Shard 0 needs none: its replica writes the status itself. */
export async function writeShardReports(
  client: Client,
  object: MapController & KubeObject,
  shards: Shards,
  failingIn: (shard: number) => readonly FailingGroup[],
): Promise<void> {
  const { apiVersion, kind, metadata } = object
  const written = new Map(object.status?.shards?.map((report) => [report.shard, report]))
  for (const shard of shards.owned) {
    const report = shard === 0 ? undefined : shardReport(shard, failingIn(shard))
    const before = written.get(shard)
    if (report?.failingGroups === before?.failingGroups && report?.message === before?.message) continue
    const status = report === undefined ? {} : { shards: [report] }
    await client.applyRaw(
      { apiVersion, kind, metadata: { name: metadata.name, uid: metadata.uid }, status },
      { subresource: 'status', manager: `fairlead-map-shard-${shard}`, force: true },
    )
  }
}
