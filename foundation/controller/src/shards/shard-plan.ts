// Who should hold which shard: a pure decision of each replica about its own next step. Leases make it safe whatever is
// decided; this makes it fair.

/** What one replica sees. */
export interface ShardsSeen {
  /** Itself. */
  readonly self: string
  /** Replicas that are alive; itself among them. */
  readonly members: ReadonlySet<string>
  /** The holder of each shard; undefined where nobody holds it, or the holder's lease ran out. */
  readonly holders: readonly (string | undefined)[]
}

/** What the replica does next. */
export interface ShardPlan {
  readonly acquire: readonly number[]
  readonly release: readonly number[]
}

/**
 * A replica takes free shards up to its share, and gives one up while it has more than its share or another has less
 * than the least share. Shares are N/M, rounded up and down, so all shards have a holder and no two replicas differ by
 * more than one in the end.
 */
export function planShards({ self, members, holders }: ShardsSeen): ShardPlan {
  const most = Math.ceil(holders.length / members.size)
  const least = Math.floor(holders.length / members.size)
  const counts = new Map([...members].map((member) => [member, 0]))
  for (const holder of holders) if (holder !== undefined) counts.set(holder, (counts.get(holder) ?? 0) + 1)
  const own = holders.flatMap((holder, shard) => (holder === self ? [shard] : []))
  const free = holders.flatMap((holder, shard) => (holder === undefined ? [shard] : []))
  const someoneLacks = [...counts].some(([member, count]) => member !== self && members.has(member) && count < least)
  if (own.length > most) return { acquire: [], release: own.slice(most) }
  // What is free already will do for those who lack.
  if (someoneLacks && own.length > least && free.length === 0) return { acquire: [], release: own.slice(-1) }
  return { acquire: free.slice(0, most - own.length), release: [] }
}

/** The shard of a namespace; cluster-scoped work ('' or undefined) belongs to shard 0 (design decision 11). */
export function shardOf(namespace: string | undefined, count: number): number {
  if (!namespace) return 0
  // FNV-1a: every replica, and every version, must come to the same answer.
  let hash = 0x811c9dc5
  for (const byte of Buffer.from(namespace)) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0
  return hash % count
}
