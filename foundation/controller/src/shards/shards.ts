// Work split over replicas: one Lease per shard, one per replica to say that it lives. A replica works on a shard only
// while it holds its Lease.
import { createHash } from 'node:crypto'
import { Lease } from '@fairlead/client'
import type { Clock } from '@fairlead/kube'
import { LeaderElection } from '../leader-election.ts'
import type { LeaderElectionHost, LeaderElectionOptions } from '../leader-election.ts'
import { planShards, shardOf } from './shard-plan.ts'

/** How work is split. Times in milliseconds, as in {@link LeaderElectionOptions}. */
export interface ShardOptions extends Omit<LeaderElectionOptions, 'identity' | 'labels'> {
  /** Unique per process; made when left out. */
  readonly identity?: string
  /** How many shards; the same in all replicas. Twice the replicas or more spreads well. */
  readonly count: number
}

/** Hears of shards that come and go. */
export interface ShardListener {
  /** The shard is ours: its work begins. */
  gained(shard: number): void
  /** The shard will be given up: no work of it begins any more; resolves when none is under way. */
  leaving(shard: number): Promise<void>
}

/** Label of all leases of a group of replicas, with its name; and what such a lease stands for: `shard` or `member`. */
const groupLabel = 'fairlead.dev/shards'
const roleLabel = 'fairlead.dev/shards-role'
/** Leases of replicas that are gone for so many durations are deleted. */
const buryAfter = 4

interface Held {
  readonly election: LeaderElection
  /** Aborts when the shard is not ours any more. */
  readonly gone: AbortController
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
  readonly #listener: ShardListener
  readonly #member: LeaderElection
  readonly #elections: readonly LeaderElection[]
  readonly #held = new Map<number, Held>()
  readonly #sightings = new Map<string, Sighting>()

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
    this.#listener = listener
    const id = createHash('sha256').update(options.identity).digest('hex').slice(0, 16)
    this.#member = this.#election(`${options.name}-member-${id}`, 'member')
    this.#elections = Array.from({ length: count }, (_, shard) => this.#election(`${options.name}-${shard}`, 'shard'))
  }

  /** Shards that this replica works on now. */
  get owned(): readonly number[] {
    return [...this.#held].flatMap(([shard, { leaving, gone }]) => (leaving || gone.signal.aborted ? [] : [shard]))
  }

  /** The shard of a namespace; 0 for cluster-scoped work. */
  shardOf(namespace: string | undefined): number {
    return shardOf(namespace, this.count)
  }

  /** New work of the shard may begin here. */
  owns(shard: number): boolean {
    const held = this.#held.get(shard)
    return held !== undefined && held.leaving === undefined && !held.gone.signal.aborted
  }

  /** Aborts when the shard is lost; undefined where it is not ours. Work under way must end then. */
  signalOf(shard: number): AbortSignal | undefined {
    return this.#held.get(shard)?.gone.signal
  }

  /** Takes part until `signal` aborts. What is held then stays held until {@link Shards.stop}. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await this.#round(signal)
      } catch (error) {
        if (!signal.aborted) this.#host.log.warn('Could not look after the shards', { error })
      }
      await this.#clock.sleep(this.#retry * (1 + 0.2 * this.#host.random()), signal).catch(() => {})
    }
  }

  /** Gives everything up, so that others need not wait for the leases to run out. Call it when no work is under way. */
  async stop(): Promise<void> {
    await Promise.all([...this.#held.keys()].map((shard) => this.#letGo(shard)))
    await this.#member.release()
  }

  async #round(signal: AbortSignal): Promise<void> {
    await this.#member.attempt(signal)
    const { namespace, name } = this.#options
    const { items } = await this.#host.client.list(Lease, { namespace, labelSelector: `${groupLabel}=${name}`, signal })
    const alive = new Map<string, Lease>()
    for (const lease of items) if (await this.#isAlive(lease)) alive.set(lease.metadata.name!, lease)
    const members = new Set([this.#options.identity])
    for (const lease of alive.values())
      if (lease.metadata.labels?.[roleLabel] === 'member') members.add(lease.spec!.holderIdentity!)
    const holders = this.#elections.map((_, shard) => {
      if (this.#held.has(shard)) return this.#options.identity
      const holder = alive.get(`${name}-${shard}`)?.spec?.holderIdentity
      // A lease of ours that we do not hold is one that we lost: it has to run out for us, too.
      return holder ?? undefined
    })
    const plan = planShards({ self: this.#options.identity, members, holders })
    for (const shard of plan.release) void this.#leave(shard)
    for (const shard of plan.acquire) {
      const lease = items.find((candidate) => candidate.metadata.name === `${name}-${shard}`)
      if (lease !== undefined) this.#elections[shard]!.observe(lease, this.#sightings.get(lease.metadata.name!)!.at)
      if (await this.#elections[shard]!.attempt(signal)) this.#gain(shard)
    }
  }

  /** A lease counts from when its last change was seen here; no clocks are compared. */
  async #isAlive(lease: Lease): Promise<boolean> {
    const { name, namespace, resourceVersion } = lease.metadata
    const now = this.#clock.monotonic()
    const before = this.#sightings.get(name!)
    if (before?.resourceVersion !== resourceVersion) this.#sightings.set(name!, { resourceVersion, at: now })
    const age = now - this.#sightings.get(name!)!.at
    const duration = Math.max((lease.spec?.leaseDurationSeconds ?? 0) * 1000, 1)
    const isMember = lease.metadata.labels?.[roleLabel] === 'member'
    if (isMember && age > buryAfter * Math.max(duration, this.#duration)) {
      await this.#host.client
        .delete(Lease, { namespace: namespace!, name: name! }, { preconditions: { resourceVersion } })
        .catch(() => {})
      this.#sightings.delete(name!)
      return false
    }
    return Boolean(lease.spec?.holderIdentity) && age < duration
  }

  #gain(shard: number): void {
    const election = this.#elections[shard]!
    const stop = new AbortController()
    const held: Held = { election, stop, gone: new AbortController(), leaving: undefined, holding: Promise.resolve() }
    this.#held.set(shard, held)
    held.holding = election.hold(stop.signal).then((outcome) => {
      if (outcome === 'stopped') return
      held.gone.abort(new DOMException(`Shard ${shard} was lost`, 'AbortError'))
      this.#held.delete(shard)
    })
    this.#host.log.info('Took a shard', { shard })
    this.#listener.gained(shard)
  }

  /** No new work, then no work, then no lease. */
  #leave(shard: number): Promise<void> {
    const held = this.#held.get(shard)
    if (held === undefined) return Promise.resolve()
    held.leaving ??= this.#listener.leaving(shard).then(() => this.#letGo(shard))
    return held.leaving
  }

  async #letGo(shard: number): Promise<void> {
    const held = this.#held.get(shard)
    if (held === undefined) return
    held.stop.abort()
    await held.holding
    held.gone.abort(new DOMException(`Shard ${shard} was given up`, 'AbortError'))
    this.#held.delete(shard)
    await held.election.release()
    this.#host.log.info('Gave a shard up', { shard })
  }

  #election(name: string, role: 'shard' | 'member'): LeaderElection {
    const labels = { [groupLabel]: this.#options.name, [roleLabel]: role }
    return new LeaderElection({ ...this.#options, name, labels }, this.#host)
  }
}
