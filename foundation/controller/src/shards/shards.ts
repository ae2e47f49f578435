// Shards the work over replicas: one Lease per shard, and one per replica as its heartbeat. A replica works on a shard
// only while it holds its Lease.
import { createHash } from 'node:crypto'
import { Lease } from '@fairlead/client'
import type { Clock } from '@fairlead/kube'
import { Deadline } from '../deadline.ts'
import { LeaderElection, refusal } from '../leader-election.ts'
import type { LeaderElectionHost, LeaderElectionOptions } from '../leader-election.ts'
import { planShards, shardOf } from './shard-plan.ts'

/** Options of shards. Times in milliseconds, as in {@link LeaderElectionOptions}. */
export interface ShardOptions extends Omit<LeaderElectionOptions, 'identity' | 'labels'> {
  /** Unique per process; generated when left out. */
  readonly identity?: string
  /** Number of shards; the same in all replicas. At least twice the number of replicas balances well. */
  readonly count: number
}

/** Notified of shards that are acquired and released. */
export interface ShardListener {
  /** Called when a shard was acquired: its work starts. */
  gained(shard: number): void
  /** Called before a shard is released: no work of it starts any more; resolves when none is in progress. */
  leaving(shard: number): Promise<void>
}

/** Labels of all leases of a group of replicas: the name of the group, and the type of lease (shard or replica). */
const groupLabel = 'fairlead.dev/shards'
const roleLabel = 'fairlead.dev/shards-role'
/** Leases of replicas that were not renewed for so many durations are deleted. */
const buryAfter = 4

interface Held {
  readonly election: LeaderElection
  /** Aborts when the shard is lost. */
  readonly lost: AbortController
  readonly stop: AbortController
  holding: Promise<void>
  leaving: Promise<void> | undefined
}

interface Sighting {
  readonly resourceVersion: string | undefined
  readonly at: number
}

/** The shards of one replica. */
export class Shards {
  readonly count: number
  readonly #options: LeaderElectionOptions
  readonly #host: LeaderElectionHost
  readonly #clock: Clock
  readonly #duration: number
  readonly #retry: number
  readonly #deadline: number
  readonly #listener: ShardListener
  readonly #member: LeaderElection
  readonly #elections: readonly LeaderElection[]
  readonly #held = new Map<number, Held>()
  readonly #sightings = new Map<string, Sighting>()
  /** The message of the last round, if the server refused a request of it. */
  #problem: string | undefined

  constructor(
    options: ShardOptions & { readonly identity: string },
    host: LeaderElectionHost,
    listener: ShardListener,
  ) {
    const { count, ...election } = options
    if (!Number.isInteger(count) || count < 1) throw new RangeError('The number of shards must be 1 or more')
    this.count = count
    this.#options = election
    this.#host = host
    this.#clock = host.clock
    this.#duration = options.leaseDuration ?? 15_000
    this.#retry = options.retryPeriod ?? 2_000
    this.#deadline = options.renewDeadline ?? 10_000
    this.#listener = listener
    const id = createHash('sha256').update(options.identity).digest('hex').slice(0, 16)
    this.#member = this.#election(`${options.name}-member-${id}`, 'member')
    this.#elections = Array.from({ length: count }, (_, shard) => this.#election(`${options.name}-${shard}`, 'shard'))
  }

  /** The shards that this replica works on. */
  get owned(): readonly number[] {
    return [...this.#held].flatMap(([shard, { leaving, lost }]) => (leaving || lost.signal.aborted ? [] : [shard]))
  }

  /** Reports whether another replica may work on a shard that this one has not noticed to be lost, as after a pause. */
  get mayBeReplaced(): boolean {
    for (const { election } of this.#held.values()) if (election.mayBeReplaced) return true
    return false
  }

  /** The reason why this replica can hold no shard, as {@link LeaderElection.problem}. */
  get problem(): string | undefined {
    return this.#member.problem ?? this.#problem
  }

  /** Returns the shard of a namespace; 0 for cluster-scoped work. */
  shardOf(namespace: string | undefined): number {
    return shardOf(namespace, this.count)
  }

  /** Reports whether new work of the shard may start here. */
  owns(shard: number): boolean {
    const held = this.#held.get(shard)
    return held !== undefined && held.leaving === undefined && !held.lost.signal.aborted
  }

  /** Returns a signal that aborts when the shard is lost; undefined when this replica does not hold it. */
  signalOf(shard: number): AbortSignal | undefined {
    return this.#held.get(shard)?.lost.signal
  }

  /** Acquires and renews leases until `signal` aborts. Leases that are held then are kept until {@link Shards.stop}. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      // A response that was lost must not end the rounds: the Lease of the replica is renewed at the start of each, and
      // a deadline plus a retry are shorter than that Lease.
      using round = new Deadline(this.#clock, this.#deadline, signal, 'The shards could not be renewed in time')
      try {
        await this.#round(round.signal)
        this.#problem = undefined
      } catch (error) {
        if (!signal.aborted) this.#failed(error)
      }
      await this.#clock.sleep(this.#retry * (1 + 0.2 * this.#host.random()), signal).catch(() => {})
    }
  }

  /**
   * Releases all leases, so that other replicas need not wait until they expire. Call it when no work is in progress.
   */
  async stop(): Promise<void> {
    await Promise.all([...this.#held].map(([shard, held]) => this.#letGo(shard, held)))
    await this.#member.release()
  }

  async #round(signal: AbortSignal): Promise<void> {
    await this.#member.attempt(signal)
    const { namespace, name } = this.#options
    const { items } = await this.#host.client.list(Lease, { namespace, labelSelector: `${groupLabel}=${name}`, signal })
    const alive = new Map<string, Lease>()
    for (const lease of items) if (await this.#isAlive(lease, signal)) alive.set(lease.metadata.name!, lease)
    const replicas = new Set([this.#options.identity])
    for (const lease of alive.values())
      if (lease.metadata.labels?.[roleLabel] === 'member') replicas.add(lease.spec!.holderIdentity!)
    const holders = this.#elections.map((_, shard) => {
      if (this.#held.has(shard)) return this.#options.identity
      const holder = alive.get(`${name}-${shard}`)?.spec?.holderIdentity
      // A Lease that was lost here and still names this replica, as after a pause of the process, is free for it alone:
      // other replicas wait until it expires.
      return holder === this.#options.identity ? undefined : (holder ?? undefined)
    })
    const plan = planShards({ self: this.#options.identity, replicas, holders })
    for (const shard of plan.release) void this.#leave(shard)
    for (const shard of plan.acquire) {
      const lease = items.find((candidate) => candidate.metadata.name === `${name}-${shard}`)
      if (lease !== undefined) this.#elections[shard]!.observe(lease, this.#sightings.get(lease.metadata.name!)!.at)
      if (await this.#elections[shard]!.attempt(signal)) this.#gain(shard)
    }
  }

  /** Logs a failure of a round; one that a user has to end is logged once. */
  #failed(error: unknown): void {
    const problem = refusal(error)
    const isKnown = problem !== undefined && problem === this.#problem
    this.#problem = problem
    if (!isKnown) this.#host.log.warn('Could not renew the shards', { error })
  }

  /** A lease expires relative to the time when its last change was observed here; no clocks are compared. */
  async #isAlive(lease: Lease, signal: AbortSignal): Promise<boolean> {
    const { name, namespace, resourceVersion } = lease.metadata
    const now = this.#clock.monotonic()
    const before = this.#sightings.get(name!)
    if (before?.resourceVersion !== resourceVersion) this.#sightings.set(name!, { resourceVersion, at: now })
    const age = now - this.#sightings.get(name!)!.at
    const duration = Math.max((lease.spec?.leaseDurationSeconds ?? 0) * 1000, 1)
    const isMember = lease.metadata.labels?.[roleLabel] === 'member'
    if (isMember && age > buryAfter * Math.max(duration, this.#duration)) {
      await this.#host.client
        .delete(Lease, { namespace: namespace!, name: name! }, { preconditions: { resourceVersion }, signal })
        .catch(() => {})
      this.#sightings.delete(name!)
      return false
    }
    return Boolean(lease.spec?.holderIdentity) && age < duration
  }

  #gain(shard: number): void {
    const election = this.#elections[shard]!
    const stop = new AbortController()
    const held: Held = { election, stop, lost: new AbortController(), leaving: undefined, holding: Promise.resolve() }
    this.#held.set(shard, held)
    held.holding = election.hold(stop.signal).then((outcome) => {
      if (outcome === 'stopped') return
      held.lost.abort(new DOMException(`Shard ${shard} was lost`, 'AbortError'))
      this.#held.delete(shard)
      this.#host.log.warn('Lost a shard', { shard })
    })
    this.#host.log.info('Took a shard', { shard })
    this.#listener.gained(shard)
  }

  /** Releases a shard: stops new work, waits for work in progress, releases the lease. */
  #leave(shard: number): Promise<void> {
    const held = this.#held.get(shard)
    if (held === undefined) return Promise.resolve()
    // It may be lost meanwhile, and acquired again: that is kept.
    held.leaving ??= this.#listener.leaving(shard).then(() => this.#letGo(shard, held))
    return held.leaving
  }

  async #letGo(shard: number, held: Held): Promise<void> {
    if (this.#held.get(shard) !== held) return
    held.stop.abort()
    await held.holding
    held.lost.abort(new DOMException(`Shard ${shard} was released`, 'AbortError'))
    this.#held.delete(shard)
    await held.election.release()
    this.#host.log.info('Gave a shard up', { shard })
  }

  #election(name: string, role: 'shard' | 'member'): LeaderElection {
    const labels = { [groupLabel]: this.#options.name, [roleLabel]: role }
    return new LeaderElection({ ...this.#options, name, labels }, this.#host)
  }
}
