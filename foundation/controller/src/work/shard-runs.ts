// Runs items only while this replica owns their shard.

/** The shards that this replica owns. */
export interface ShardGate {
  shardOf(namespace: string | undefined): number
  owns(shard: number): boolean
  /** Returns a signal that aborts when the shard is lost; undefined when it is not owned. */
  signalOf(shard: number): AbortSignal | undefined
}

/** Runs in progress, by shard. */
export class ShardRuns {
  readonly #gate: ShardGate
  readonly #running = new Map<number, Set<Promise<void>>>()

  constructor(gate: ShardGate) {
    this.#gate = gate
  }

  /**
   * Runs `work` with a signal that aborts when the shard is lost. Returns false without running when it is not owned.
   */
  async run(shard: number, work: (lost: AbortSignal) => Promise<void>): Promise<boolean> {
    const lost = this.#gate.signalOf(shard)
    if (lost === undefined || !this.#gate.owns(shard)) return false
    const run = work(lost)
    let running = this.#running.get(shard)
    if (running === undefined) this.#running.set(shard, (running = new Set()))
    running.add(run)
    try {
      await run
    } finally {
      running.delete(run)
    }
    return true
  }

  /** Resolves when no run of the shard is in progress. */
  async finished(shard: number): Promise<void> {
    for (const run of this.#running.get(shard) ?? []) await run
  }
}
