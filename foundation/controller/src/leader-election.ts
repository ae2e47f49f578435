// Leader election by a Lease, with client-go's rules: hold it for 15 s, renew every 2 s, step down when 10 s pass
// without success.
import { Lease } from '@fairlead/client'
import type { Client } from '@fairlead/client'
import { StatusError, formatMicroTime, isAlreadyExists, isConflict, isNotFound } from '@fairlead/kube'
import type { Clock } from '@fairlead/kube'
import { Deadline } from './deadline.ts'
import type { Logger } from './logger.ts'

/** The Lease, the identity and the durations of an election. Times in milliseconds. */
export interface LeaderElectionOptions {
  readonly namespace: string
  readonly name: string
  /** Unique per process (`<host>_<uuid>`). */
  readonly identity: string
  /** Labels of the Lease when it is created. */
  readonly labels?: Readonly<Record<string, string>>
  /** Other candidates wait this long after the last observed renewal; 15,000 when left out. */
  readonly leaseDuration?: number
  /**
   * The leader steps down when it could not renew for this long; 10,000 when left out. Must be shorter than the lease.
   */
  readonly renewDeadline?: number
  /** Between attempts; 2,000 when left out. */
  readonly retryPeriod?: number
}

/** Dependencies of an election. */
export interface LeaderElectionHost {
  readonly client: Client
  readonly clock: Clock
  readonly random: () => number
  readonly log: Logger
}

/**
 * A candidate of an election. Clocks are never compared: a lease expires relative to the time when its last change was
 * observed here.
 */
export class LeaderElection {
  readonly #options: Required<Omit<LeaderElectionOptions, 'labels'>> & Pick<LeaderElectionOptions, 'labels'>
  readonly #host: LeaderElectionHost
  #seen: Lease | undefined
  #seenAt = -Infinity
  #leads = false
  #hasLed = false
  /** The message of the last attempt, if the server refused it. */
  #problem: string | undefined
  /** Start of the last successful attempt: other candidates count from then or later. */
  #renewedAt = -Infinity

  /** Acquires no lease before `acquire`. */
  constructor(options: LeaderElectionOptions, host: LeaderElectionHost) {
    this.#options = { leaseDuration: 15_000, renewDeadline: 10_000, retryPeriod: 2_000, ...options }
    if (this.#options.renewDeadline >= this.#options.leaseDuration)
      throw new RangeError('renewDeadline must be shorter than leaseDuration')
    this.#host = host
  }

  /** Reports whether this process leads. */
  get leads(): boolean {
    return this.#leads
  }

  /**
   * Reports whether another process may lead in place of this one, which has led: its lease was lost, released or not
   * renewed in time. True as soon as the time has passed, although {@link LeaderElection.hold} has not resolved yet.
   */
  get mayBeReplaced(): boolean {
    return (
      this.#hasLed && !(this.#leads && this.#host.clock.monotonic() - this.#renewedAt < this.#options.renewDeadline)
    )
  }

  /**
   * The reason why this process cannot lead: the server refuses to read or write the Lease, so that a user has to act.
   * Undefined when it does not; attempts go on meanwhile.
   */
  get problem(): string | undefined {
    return this.#problem
  }

  /** The identity of the leader, as far as it is known. */
  get holder(): string | undefined {
    return this.#seen?.spec?.holderIdentity || undefined
  }

  /** Resolves when this process leads. Rejects with the signal's reason when it aborts. */
  async acquire(signal: AbortSignal): Promise<void> {
    const { clock, random } = this.#host
    while (!(await this.attempt(signal))) await clock.sleep(this.#options.retryPeriod * (1 + 1.2 * random()), signal)
    this.#host.log.info('Became leader', { lease: this.#leaseName(), identity: this.#options.identity })
  }

  /**
   * Acquires or renews the Lease if possible; returns true when this process leads. Gives up when the lease would have
   * expired meanwhile.
   */
  async attempt(signal: AbortSignal): Promise<boolean> {
    const begun = this.#host.clock.monotonic()
    if (!(await this.#tryWithin(this.#options.renewDeadline, signal))) return false
    this.#leads = this.#host.clock.monotonic() - begun < this.#options.renewDeadline
    this.#hasLed ||= this.#leads
    return this.#leads
  }

  /** Records a Lease that another component has read; its last change was observed at `at` (monotonic milliseconds). */
  observe(lease: Lease, at: number): void {
    if (lease.metadata.resourceVersion === this.#seen?.metadata.resourceVersion) return
    this.#seen = lease
    this.#seenAt = at
  }

  /**
   * Renews until that fails for too long (resolves with `lost`) or `signal` aborts (resolves with `stopped`; call
   * {@link LeaderElection.release}).
   */
  async hold(signal: AbortSignal): Promise<'lost' | 'stopped'> {
    const { clock, log } = this.#host
    while (!signal.aborted) {
      await clock.sleep(this.#options.retryPeriod, signal).catch(() => {})
      if (signal.aborted) break
      const left = this.#renewedAt + this.#options.renewDeadline - clock.monotonic()
      const renewed = await this.#tryWithin(left, signal)
      const age = clock.monotonic() - this.#renewedAt
      // A slow response counts from its request.
      if (age >= this.#options.renewDeadline || (!renewed && this.holder !== this.#options.identity)) {
        if (signal.aborted) break
        this.#leads = false
        log.error('Lost the lease', { lease: this.#leaseName(), holder: this.holder })
        return 'lost'
      }
    }
    return 'stopped'
  }

  /** Releases the lease, so that other candidates need not wait until it expires. */
  async release(): Promise<void> {
    if (!this.#leads || this.#seen === undefined) return
    this.#leads = false
    try {
      await this.#giveUp(this.#seen)
    } catch (error) {
      this.#host.log.warn('Could not release the lease', { error })
    }
  }

  /** A renewal that was aborted may have reached the server: then the Lease is read again. */
  async #giveUp(lease: Lease): Promise<void> {
    const { client } = this.#host
    const spec = { ...lease.spec, holderIdentity: '', leaseDurationSeconds: 1, renewTime: this.#time() }
    try {
      await client.update<Lease>({ ...lease, spec })
    } catch (error) {
      if (!isConflict(error)) throw error
      const { namespace, name, identity } = this.#options
      const live = await client.find(Lease, { namespace, name })
      if (live?.spec?.holderIdentity === identity) await this.#giveUp(live)
    }
  }

  async #tryWithin(ms: number, signal: AbortSignal): Promise<boolean> {
    using attempt = new Deadline(this.#host.clock, ms, signal, 'The lease could not be renewed in time')
    try {
      return await this.#tryOnce(attempt.signal)
    } catch (error) {
      if (attempt.signal.aborted) return false
      throw error
    }
  }

  /** Acquires or renews the lease if possible. Returns false when another candidate holds it or the attempt failed. */
  async #tryOnce(signal: AbortSignal): Promise<boolean> {
    const begun = this.#host.clock.monotonic()
    try {
      if (this.#leads && this.#seen !== undefined && (await this.#renewSeen(this.#seen, signal))) {
        this.#renewedAt = begun
        this.#problem = undefined
        return true
      }
      const live = await this.#host.client.find(
        Lease,
        { namespace: this.#options.namespace, name: this.#options.name },
        { signal },
      )
      if (live !== undefined && live.metadata.resourceVersion !== this.#seen?.metadata.resourceVersion) this.#see(live)
      if (live !== undefined && this.#heldByAnother(live)) {
        this.#problem = undefined
        return false
      }
      const wanted = this.#wanted(live)
      this.#see(
        await (live === undefined
          ? this.#host.client.create(wanted, { signal })
          : this.#host.client.update(wanted, { signal })),
      )
      this.#renewedAt = begun
      this.#problem = undefined
      return true
    } catch (error) {
      signal.throwIfAborted()
      if (!isConflict(error) && !isAlreadyExists(error)) this.#failed(error)
      return false
    }
  }

  /** Logs a failure. One that a user has to end is logged once: it would come every two seconds. */
  #failed(error: unknown): void {
    const problem = refusal(error)
    const isKnown = problem !== undefined && problem === this.#problem
    this.#problem = problem
    if (!isKnown) this.#host.log.warn('Could not acquire or renew the lease', { lease: this.#leaseName(), error })
  }

  /**
   * Renews the Lease as it was seen last, in one request as client-go does: its resourceVersion says that no other
   * client has written it. Returns false when one has, or has deleted it.
   */
  async #renewSeen(seen: Lease, signal: AbortSignal): Promise<boolean> {
    try {
      this.#see(await this.#host.client.update(this.#wanted(seen), { signal }))
      return true
    } catch (error) {
      if (isConflict(error) || isNotFound(error)) return false
      throw error
    }
  }

  #heldByAnother(live: Lease): boolean {
    const holder = live.spec?.holderIdentity
    if (!holder || holder === this.#options.identity) return false
    const duration = (live.spec?.leaseDurationSeconds ?? 0) * 1000
    return this.#host.clock.monotonic() < this.#seenAt + duration
  }

  #wanted(live: Lease | undefined): Lease {
    const { namespace, name, identity, leaseDuration, labels } = this.#options
    const mine = live?.spec?.holderIdentity === identity
    const spec = {
      ...live?.spec,
      holderIdentity: identity,
      leaseDurationSeconds: Math.ceil(leaseDuration / 1000),
      acquireTime: mine ? live.spec?.acquireTime : this.#time(),
      renewTime: this.#time(),
      leaseTransitions: (live?.spec?.leaseTransitions ?? 0) + (live === undefined || mine ? 0 : 1),
    }
    return live === undefined
      ? {
          apiVersion: Lease.apiVersion,
          kind: Lease.kind,
          metadata: { namespace, name, ...(labels && { labels }) },
          spec,
        }
      : { ...live, spec }
  }

  #see(lease: Lease): void {
    this.#seen = lease
    this.#seenAt = this.#host.clock.monotonic()
  }

  #time(): string {
    return formatMicroTime(this.#host.clock.now())
  }

  #leaseName(): string {
    return `${this.#options.namespace}/${this.#options.name}`
  }
}

/** Returns the message of an error that a user has to end: the server refuses a request. Undefined for all others. */
export function refusal(error: unknown): string | undefined {
  return error instanceof StatusError && error.code < 500 && error.code !== 429 && error.code !== 408
    ? error.message
    : undefined
}
