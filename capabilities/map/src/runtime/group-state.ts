// What a run remembers of single groups between their turns. A group that is served and at rest costs nothing here.
import type { Clock, KubeObject } from '@fairlead/kube'

/** A group by the uid of its parent and its map key. */
export interface GroupRef {
  readonly parent: string
  readonly mapKey: string
}

/** One text per group. */
export function groupId({ parent, mapKey }: GroupRef): string {
  return `${parent}/${mapKey}`
}

/** A group whose last turn failed, or that its hook told to wait. */
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

/** A write whose event the cache has not shown yet. */
interface Unseen {
  readonly before: KubeObject | undefined
  readonly after: KubeObject | undefined
  /** When it was made, in milliseconds of the clock. */
  readonly at: number
}

/** Milliseconds between two looks at a cache that lags behind our own writes. */
const lagPause = 20
/** Milliseconds after which a write that never showed up is given up: the watch will tell, or a relist. */
const lagPatience = 10_000

/** The notes of one run. */
export class GroupNotes {
  readonly #clock: Clock
  /** What the cache holds of an output. */
  readonly #cached: (output: KubeObject) => KubeObject | undefined
  readonly #failing = new Map<string, FailingGroup>()
  /** Groups that wait until everything is known. */
  readonly #held = new Map<string, GroupRef>()
  /** Groups whose hook named a time before which nothing asks it. */
  readonly #patience = new Map<string, number>()
  /** Groups whose first call after the start is still to come. */
  readonly #firstRound = new Set<string>()
  readonly #unseen = new Map<string, Unseen[]>()

  constructor(clock: Clock, cached: (output: KubeObject) => KubeObject | undefined) {
    this.#clock = clock
    this.#cached = cached
  }

  /** Groups that fail or were told to wait. */
  get failing(): readonly FailingGroup[] {
    return [...this.#failing.values()]
  }

  /** Groups whose first call after the start is still to come. */
  get firstRound(): number {
    return this.#firstRound.size
  }

  /** A group seems unchanged since before the start: its first call has time. */
  isForLater(group: GroupRef): void {
    this.#firstRound.add(groupId(group))
  }

  /** Milliseconds that a group must still wait before its turn: its hook asked for it, or the cache lags behind its own writes. */
  waitFor(group: GroupRef): number {
    const id = groupId(group)
    const now = this.#clock.now()
    const patience = (this.#patience.get(id) ?? 0) - now
    if (patience > 0) return patience
    this.#patience.delete(id)
    this.shown(group)
    return this.#unseen.has(id) ? lagPause : 0
  }

  /** The cache shows more of a group's outputs than before: its own writes may be among it. */
  shown(group: GroupRef): void {
    const id = groupId(group)
    const writes = this.#unseen.get(id)
    if (writes === undefined) return
    const tooOld = this.#clock.now() - lagPatience
    const unseen = writes.filter((write) => write.at > tooOld && !this.#isSeen(write))
    if (unseen.length > 0) this.#unseen.set(id, unseen)
    else this.#unseen.delete(id)
  }

  /** The turn of a group begins. */
  begins(group: GroupRef): void {
    this.#firstRound.delete(groupId(group))
  }

  /** A group wrote an output: `after` as it stands now, undefined when it is gone. */
  wrote(group: GroupRef, before: KubeObject | undefined, after: KubeObject | undefined): void {
    const id = groupId(group)
    const writes = this.#unseen.get(id)
    const write = { before, after, at: this.#clock.now() }
    if (this.#isSeen(write)) return
    if (writes === undefined) this.#unseen.set(id, [write])
    else writes.push(write)
  }

  /** A group waits until everything is known, or does not any more. */
  holds(group: GroupRef, isHeld: boolean): void {
    if (isHeld) this.#held.set(groupId(group), group)
    else this.#held.delete(groupId(group))
  }

  /** The groups that wait until everything is known; they wait no longer. */
  takeHeld(): GroupRef[] {
    const groups = [...this.#held.values()]
    this.#held.clear()
    return groups
  }

  /** A group failed, or its hook asked for patience. */
  fails(group: FailingGroup): void {
    this.#failing.set(groupId(group), group)
    if (group.retryAt !== undefined) this.#patience.set(groupId(group), group.retryAt)
  }

  /** A group succeeded. Returns whether it failed before. */
  recovers(group: GroupRef): boolean {
    return this.#failing.delete(groupId(group))
  }

  /** A group is gone. */
  forget(group: GroupRef): void {
    const id = groupId(group)
    for (const notes of [this.#failing, this.#held, this.#patience, this.#unseen]) notes.delete(id)
    this.#firstRound.delete(id)
  }

  /** The cache shows the write, or something newer. */
  #isSeen({ before, after }: Unseen): boolean {
    const output = after ?? before
    const cached = output === undefined ? undefined : this.#cached(output)
    if (after === undefined) return cached === undefined || cached.metadata.uid !== before?.metadata.uid
    // Gone again already, or made anew by someone: both came after our write.
    if (cached === undefined) return before !== undefined
    return (
      cached.metadata.uid !== after.metadata.uid ||
      Number(cached.metadata.resourceVersion) >= Number(after.metadata.resourceVersion)
    )
  }
}
