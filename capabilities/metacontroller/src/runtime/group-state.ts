// The state of single groups between two reconciles. A group that is in sync takes no memory here.
import type { Clock, KubeObject } from '@fairlead/kube'
import type { OutputWrite } from './writer.ts'

/** A group by the uid of its parent and its map key. */
export interface GroupRef {
  readonly parent: string
  readonly mapKey: string
}

/** Returns the key of a group in queues and maps. */
export function groupId({ parent, mapKey }: GroupRef): string {
  return `${parent}/${mapKey}`
}

/** A group whose last reconcile failed, or whose hook asked to wait. */
export interface FailingGroup extends GroupRef {
  /** The input, as `Kind.group/namespace/name`. */
  readonly input: string
  readonly message: string
  /** `after`: the hook named the time; `backoff`: the retry policy does. */
  readonly retry: 'backoff' | 'after'
  /** When it is tried again, in milliseconds of the clock; for `after` only. */
  readonly retryAt: number | undefined
  readonly error: unknown
}

/** A write whose event has not reached the cache yet. */
interface PendingWrite extends Pick<OutputWrite, 'before' | 'after'> {
  /** Time of the write, in milliseconds of the clock. */
  readonly at: number
}

/** Milliseconds between two checks of a cache that lags behind our own writes. */
const lagPause = 20
/**
 * Milliseconds after which a write that never reached the cache is given up: the watch reports it later, or a relist
 * does.
 */
const lagLimit = 10_000

/** The state of all groups of one run. */
export class GroupState {
  readonly #clock: Clock
  /** Returns an output as the cache has it. */
  readonly #cached: (output: KubeObject) => KubeObject | undefined
  readonly #failing = new Map<string, FailingGroup>()
  /** Groups that wait until everything is known. */
  readonly #held = new Map<string, GroupRef>()
  #releases = 0
  /** Groups whose hook named a time before which it is not called. */
  readonly #notBefore = new Map<string, number>()
  /** Groups whose first call after the start is still to come. */
  readonly #firstRound = new Set<string>()
  readonly #pending = new Map<string, PendingWrite[]>()

  constructor(clock: Clock, cached: (output: KubeObject) => KubeObject | undefined) {
    this.#clock = clock
    this.#cached = cached
  }

  /** Groups that fail, or whose hook asked to wait. */
  get failing(): readonly FailingGroup[] {
    return [...this.#failing.values()]
  }

  /** Number of groups whose first call after the start is still to come. */
  get firstRound(): number {
    return this.#firstRound.size
  }

  /** Records that a group seems unchanged since before the start: its first call is delayed. */
  defer(group: GroupRef): void {
    this.#firstRound.add(groupId(group))
  }

  /**
   * Returns the milliseconds that a group must still wait: its hook asked for it, or the cache lags behind its own
   * writes.
   */
  waitFor(group: GroupRef): number {
    const id = groupId(group)
    const now = this.#clock.now()
    const wait = (this.#notBefore.get(id) ?? 0) - now
    if (wait > 0) return wait
    this.#notBefore.delete(id)
    this.observed(group)
    return this.#pending.has(id) ? lagPause : 0
  }

  /** Records that the cache has newer outputs of a group: its own writes may be among them. */
  observed(group: GroupRef): void {
    const id = groupId(group)
    const writes = this.#pending.get(id)
    if (writes === undefined) return
    const tooOld = this.#clock.now() - lagLimit
    const pending = writes.filter((write) => write.at > tooOld && !this.#isObserved(write))
    if (pending.length > 0) this.#pending.set(id, pending)
    else this.#pending.delete(id)
  }

  /** Records that the reconcile of a group begins. */
  begin(group: GroupRef): void {
    this.#firstRound.delete(groupId(group))
  }

  /** Records that a group wrote an output. */
  wrote(group: GroupRef, { before, after }: OutputWrite): void {
    const id = groupId(group)
    const writes = this.#pending.get(id)
    const write = { before, after, at: this.#clock.now() }
    if (this.#isObserved(write)) return
    if (writes === undefined) this.#pending.set(id, [write])
    else writes.push(write)
  }

  /** Number of times that the groups that wait were released; read it before deciding whether a group waits. */
  get releases(): number {
    return this.#releases
  }

  /**
   * Records whether a group waits until everything is known. Returns false when the groups that wait were released
   * after `releases` was read: the decision to wait is outdated then, and the group must be enqueued again.
   */
  setHeld(group: GroupRef, isHeld: boolean, releases: number): boolean {
    const isOutdated = isHeld && releases !== this.#releases
    if (isHeld && !isOutdated) this.#held.set(groupId(group), group)
    else this.#held.delete(groupId(group))
    return !isOutdated
  }

  /** Returns the groups that wait until everything is known; they wait no longer. */
  releaseHeld(): GroupRef[] {
    this.#releases++
    const groups = [...this.#held.values()]
    this.#held.clear()
    return groups
  }

  /** Records that a group failed, or that its hook asked to wait. */
  fail(group: FailingGroup): void {
    this.#failing.set(groupId(group), group)
    if (group.retryAt !== undefined) this.#notBefore.set(groupId(group), group.retryAt)
  }

  /** Records that a group succeeded. Returns whether it failed before. */
  succeed(group: GroupRef): boolean {
    return this.#failing.delete(groupId(group))
  }

  /** Forgets a group that is over. */
  forget(group: GroupRef): void {
    const id = groupId(group)
    for (const state of [this.#failing, this.#held, this.#notBefore, this.#pending]) state.delete(id)
    this.#firstRound.delete(id)
  }

  /** The cache has the write, or something newer. */
  #isObserved({ before, after }: PendingWrite): boolean {
    const output = after ?? before
    const cached = output === undefined ? undefined : this.#cached(output)
    if (after === undefined) return cached === undefined || cached.metadata.uid !== before?.metadata.uid
    // Deleted again already, or created anew by another client: both followed our write.
    if (cached === undefined) return before !== undefined
    return (
      cached.metadata.uid !== after.metadata.uid ||
      Number(cached.metadata.resourceVersion) >= Number(after.metadata.resourceVersion)
    )
  }
}
