// The work queue: every item at most once, never two workers on one item, delays, backoff per item, groups round-robin.
import { backoffDelay } from '@fairlead/client'
import type { Clock } from '@fairlead/kube'
import { Deadlines } from './deadlines.ts'
import type { RetryPolicy } from './retry-policy.ts'
import { RoundRobin } from './round-robin.ts'

/** Observes a queue, for metrics. Times in milliseconds. */
export interface QueueObserver {
  added(): void
  depth(items: number): void
  /** Called when a worker takes an item, with its time in the queue. */
  started(waited: number): void
  /** Called when a worker is done with an item, with the time it took. */
  finished(worked: number): void
  retried(): void
}

/** Options of a queue. */
export interface WorkQueueOptions<T> {
  /** Items of the same id are the same work. */
  readonly id: (item: T) => string
  /**
   * Groups are served round-robin, so that a group with much work does not delay the others. One group when left out.
   */
  readonly group?: (item: T) => string
  /** Items of one group in work at a time; no limit when left out. */
  readonly maxPerGroup?: number
  readonly clock: Clock
  /** Random numbers in [0, 1), for jitter. */
  readonly random: () => number
  readonly observer?: QueueObserver
}

/** Changes take precedence over start-up and resync work. */
export type Priority = 'normal' | 'low'

interface Entry<T> {
  item: T
  /** The queue of the item; undefined when it is in none (it is delayed, or in work and not added again). */
  waiting: Priority | undefined
  working: boolean
  /** When it was queued, and when work on it began. Monotonic milliseconds. */
  since: number
  began: number
}

/** A queue of work. Workers loop: `take`, `begin`, work, `done`. */
export class WorkQueue<T> {
  readonly #options: WorkQueueOptions<T>
  readonly #entries = new Map<string, Entry<T>>()
  readonly #queues: Record<Priority, RoundRobin> = { normal: new RoundRobin(), low: new RoundRobin() }
  readonly #delayed = new Deadlines()
  readonly #delayedItems = new Map<string, T>()
  readonly #failures = new Map<string, number>()
  /** Number of items in work by group; kept where groups have a limit. */
  readonly #workingByGroup = new Map<string, number>()
  readonly #takers: ((item: T | undefined) => void)[] = []
  #timer: Disposable | undefined
  #timerAt = Infinity
  #waiting = 0
  #working = 0
  #closed = false
  #drained: (() => void)[] = []

  /** Creates an empty queue. */
  constructor(options: WorkQueueOptions<T>) {
    this.#options = options
  }

  /** Number of items that wait for a worker, without delayed ones. */
  get length(): number {
    return this.#waiting
  }

  /** Number of items in work. */
  get working(): number {
    return this.#working
  }

  /** Returns the durations of the items in work: the sum and the longest. Milliseconds. */
  unfinished(): { readonly total: number; readonly longest: number } {
    const now = this.#options.clock.monotonic()
    let [total, longest] = [0, 0]
    for (const entry of this.#entries.values()) {
      if (!entry.working) continue
      total += now - entry.began
      longest = Math.max(longest, now - entry.began)
    }
    return { total, longest }
  }

  /** Number of delayed items. */
  get delayed(): number {
    return this.#delayed.size
  }

  /**
   * Adds an item. One that is queued already is not queued twice; one that is in work is queued again when it is done;
   * a delay ends.
   */
  add(item: T, priority: Priority = 'normal'): void {
    if (this.#closed) return
    const id = this.#options.id(item)
    this.#undelay(id)
    this.#enqueue(id, item, priority)
  }

  /** Adds an item after `ms` milliseconds. The earliest of several deadlines counts. */
  addAfter(item: T, ms: number): void {
    if (ms <= 0) return this.add(item)
    if (this.#closed) return
    const id = this.#options.id(item)
    if (this.#entries.get(id)?.waiting !== undefined) return
    this.#delayed.set(id, this.#options.clock.monotonic() + ms)
    this.#delayedItems.set(id, item)
    this.#arm()
  }

  /**
   * Counts a failure of the item and adds it again after the delay of the policy. Returns that delay in milliseconds.
   */
  retry(item: T, policy: RetryPolicy): number {
    const id = this.#options.id(item)
    const failures = (this.#failures.get(id) ?? 0) + 1
    this.#failures.set(id, failures)
    const wait = Math.max(backoffDelay(failures, { ...policy, random: this.#options.random }), policy.atLeast ?? 0)
    this.#options.observer?.retried()
    this.addAfter(item, wait)
    return wait
  }

  /** Returns the failures of an item since it was last forgotten. */
  failures(item: T): number {
    return this.#failures.get(this.#options.id(item)) ?? 0
  }

  /** Resets the failures of an item: its next delay is the shortest again. */
  forget(item: T): void {
    this.#failures.delete(this.#options.id(item))
  }

  /** Ends the delay of an item, if it has one. */
  hurry(item: T): void {
    const id = this.#options.id(item)
    if (this.#delayed.has(id)) this.add(item)
  }

  /**
   * Takes the next item; waits until there is one. Returns undefined once the queue is closed. Call
   * {@link WorkQueue.done} for each.
   */
  take(): Promise<T | undefined> {
    const item = this.#closed ? undefined : this.#next()
    if (item !== undefined || this.#closed) return Promise.resolve(item)
    return new Promise((resolve) => this.#takers.push(resolve))
  }

  /**
   * States that work on a taken item begins now: what was added since it was taken is part of this work, not of another
   * one. The worker has not read anything before.
   */
  begin(item: T): void {
    const entry = this.#taken(item)
    if (entry.waiting === undefined) return
    entry.waiting = undefined
    this.#waiting--
    this.#options.observer?.depth(this.#waiting)
  }

  /** Marks an item as done that a worker took. */
  done(item: T): void {
    const id = this.#options.id(item)
    const entry = this.#taken(item)
    const now = this.#options.clock.monotonic()
    entry.working = false
    this.#working--
    const wasFull = this.#countWorking(entry.item, -1)
    this.#options.observer?.finished(now - entry.began)
    if (entry.waiting === undefined) this.#entries.delete(id)
    else this.#line(id, entry)
    if (wasFull) this.#serveTaker()
    if (this.#working === 0) for (const resolve of this.#drained.splice(0)) resolve()
  }

  /** Closes the queue; items that wait are dropped. */
  close(): void {
    this.#closed = true
    this.#timer?.[Symbol.dispose]()
    this.#delayed.clear()
    this.#delayedItems.clear()
    for (const resolve of this.#takers.splice(0)) resolve(undefined)
  }

  /** Closes the queue, and resolves when no item is in work. */
  async drain(): Promise<void> {
    this.close()
    if (this.#working > 0) await new Promise<void>((resolve) => this.#drained.push(resolve))
  }

  #taken(item: T): Entry<T> {
    const id = this.#options.id(item)
    const entry = this.#entries.get(id)
    if (!entry?.working) throw new Error(`Item ${id} was not taken`)
    return entry
  }

  #enqueue(id: string, item: T, priority: Priority): void {
    const entry = this.#entries.get(id) ?? { item, waiting: undefined, working: false, since: 0, began: 0 }
    if (entry.waiting === undefined) {
      this.#entries.set(id, entry)
      entry.item = item
      entry.waiting = priority
      this.#waiting++
      this.#options.observer?.added()
      if (!entry.working) this.#line(id, entry)
    } else if (entry.waiting === 'low' && priority === 'normal') {
      entry.waiting = 'normal'
      if (!entry.working) this.#line(id, entry)
    }
    this.#options.observer?.depth(this.#waiting)
  }

  #line(id: string, entry: Entry<T>): void {
    entry.since = this.#options.clock.monotonic()
    this.#queues[entry.waiting!].push(this.#groupOf(entry.item), id)
    this.#serveTaker()
  }

  #serveTaker(): void {
    if (this.#takers.length === 0) return
    const item = this.#next()
    if (item !== undefined) this.#takers.shift()?.(item)
  }

  #groupOf(item: T): string {
    return this.#options.group?.(item) ?? ''
  }

  /** Counts the items in work of an item's group. Returns whether the group was at its limit before. */
  #countWorking(item: T, by: 1 | -1): boolean {
    const { maxPerGroup } = this.#options
    if (maxPerGroup === undefined) return false
    const group = this.#groupOf(item)
    const before = this.#workingByGroup.get(group) ?? 0
    if (before + by === 0) this.#workingByGroup.delete(group)
    else this.#workingByGroup.set(group, before + by)
    return before >= maxPerGroup
  }

  #isServed(group: string): boolean {
    const { maxPerGroup = Infinity } = this.#options
    return (this.#workingByGroup.get(group) ?? 0) < maxPerGroup
  }

  #next(): T | undefined {
    return this.#nextOf('normal') ?? this.#nextOf('low')
  }

  #nextOf(priority: Priority): T | undefined {
    const isServed = (group: string): boolean => this.#isServed(group)
    const queue = this.#queues[priority]
    for (let id = queue.shift(isServed); id !== undefined; id = queue.shift(isServed)) {
      const entry = this.#entries.get(id)
      // An item that was moved to the normal queue leaves its entry in the low one.
      if (entry === undefined || entry.working || entry.waiting !== priority) continue
      const now = this.#options.clock.monotonic()
      entry.waiting = undefined
      entry.working = true
      this.#waiting--
      this.#working++
      this.#countWorking(entry.item, 1)
      this.#options.observer?.started(now - entry.since)
      this.#options.observer?.depth(this.#waiting)
      entry.began = now
      return entry.item
    }
    return undefined
  }

  #undelay(id: string): void {
    this.#delayed.delete(id)
    this.#delayedItems.delete(id)
  }

  #arm(): void {
    const next = this.#delayed.next() ?? Infinity
    if (next >= this.#timerAt) return
    this.#timer?.[Symbol.dispose]()
    this.#timerAt = next
    this.#timer = this.#options.clock.timer(next - this.#options.clock.monotonic(), () => this.#release())
  }

  #release(): void {
    this.#timerAt = Infinity
    const now = this.#options.clock.monotonic()
    for (let id = this.#delayed.take(now); id !== undefined; id = this.#delayed.take(now)) {
      const item = this.#delayedItems.get(id)!
      this.#delayedItems.delete(id)
      this.#enqueue(id, item, 'normal')
    }
    this.#arm()
  }
}
