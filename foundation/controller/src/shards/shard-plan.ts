// Distribution of shards: a pure decision of each replica about its own next step. Leases make it safe; this makes it
// fair.

/** The state that one replica observes. */
export interface ShardsSeen {
  /** The replica's own identity. */
  readonly self: string
  /** Live replicas, including itself. */
  readonly replicas: ReadonlySet<string>
  /** The holder of each shard; undefined when it is free or the holder's lease expired. */
  readonly holders: readonly (string | undefined)[]
}

/** The next step of a replica. */
export interface ShardPlan {
  readonly acquire: readonly number[]
  readonly release: readonly number[]
}

/**
 * Plans the next step: a replica acquires free shards up to its share, and releases one while it has more than its
 * share or another replica has less than the least share. Shares are N/M, rounded up and down, so in the end every
 * shard has a holder and no two replicas differ by more than one.
 */
export function planShards({ self, replicas, holders }: ShardsSeen): ShardPlan {
  const most = Math.ceil(holders.length / replicas.size)
  const least = Math.floor(holders.length / replicas.size)
  const counts = new Map([...replicas].map((replica) => [replica, 0]))
  for (const holder of holders) if (holder !== undefined) counts.set(holder, (counts.get(holder) ?? 0) + 1)
  const own = holders.flatMap((holder, shard) => (holder === self ? [shard] : []))
  const free = holders.flatMap((holder, shard) => (holder === undefined ? [shard] : []))
  const someoneLacks = [...counts].some(
    ([replica, count]) => replica !== self && replicas.has(replica) && count < least,
  )
  if (own.length > most) return { acquire: [], release: own.slice(most) }
  // Free shards suffice for the replicas that need some.
  if (someoneLacks && own.length > least && free.length === 0) return { acquire: [], release: own.slice(-1) }
  return { acquire: free.slice(0, most - own.length), release: [] }
}

/** Returns the shard of a namespace; cluster-scoped work ('' or undefined) belongs to shard 0 (design decision 11). */
export function shardOf(namespace: string | undefined, count: number): number {
  if (!namespace) return 0
  // FNV-1a: every replica, and every version, must compute the same shard.
  let hash = 0x811c9dc5
  for (const byte of Buffer.from(namespace)) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0
  return hash % count
}
