// Whose turn it is: groups wait here until they are asked (Q40). Parents take turns, however many groups each has; a group waits at most
// once and never runs twice at a time; what comes up while it runs runs it again.
import type { Clock } from '@fairlead/kube'

/** A group by the uid of its parent and its map key. */
export interface GroupRef {
  readonly parent: string
  readonly mapKey: string
}

/** Why a group waits for a time. */
export type WaitReason =
  /** Its first call after a start. */
  | 'start'
  /** Its place in the resync period. */
  | 'resync'
  /** The hook asked for it (`resyncAfterSeconds`). */
  | 'resyncAfter'
  /** The hook is busy (429 with Retry-After); nothing asks it sooner. */
  | 'retryAfter'
  /** The last try failed. */
  | 'backoff'

/** A group that waits for a time; `at` is in milliseconds of the clock. */
export interface Waiting extends GroupRef {
  readonly reason: WaitReason
  readonly at: number
}

/** What a queue is made of. */
export interface GroupQueueOptions {
  readonly clock: Clock
  /** Groups that run at the same time, at most. */
  readonly concurrency: number
  /** Runs a group. It must not throw. */
  readonly run: (group: GroupRef) => Promise<void>
}

interface Item extends GroupRef {
  readonly waits: Map<WaitReason, number>
  state: 'idle' | 'ready' | 'running'
  /** Asked for while it ran. */
  again: boolean
  failures: number
}

/** First in, first out; what was removed meanwhile is no longer ready and is passed over. */
interface Line {
  readonly items: Item[]
  next: number
}

interface Due {
  readonly item: Item
  readonly reason: WaitReason
  readonly at: number
}

/** The queue of one MapController. */
export class GroupQueue implements Disposable {
  readonly #options: GroupQueueOptions
  readonly #items = new Map<string, Map<string, Item>>()
  /** By parent; the first parent has the next turn. */
  readonly #ready = new Map<string, Line>()
  #readyCount = 0
  readonly #due: Due[] = []
  #running = 0
  #waitingFor = Infinity
  #timer: Disposable | undefined
  #stopped = false
  #idle: (() => void)[] = []

  constructor(options: GroupQueueOptions) {
    this.#options = options
  }

  /** Groups that run or are ready to. */
  get busy(): number {
    return this.#readyCount + this.#running
  }

  /** Asks for a group now; after its `Retry-After` when one runs. */
  add(group: GroupRef): void {
    const item = this.#item(group)
    if ((item.waits.get('retryAfter') ?? 0) > this.#options.clock.now()) return
    this.#makeReady(item)
  }

  /** Asks for a group in `ms` milliseconds. A second wish with the same reason replaces the first. */
  after(group: GroupRef, ms: number, reason: WaitReason): void {
    if (this.#stopped) return
    const item = this.#item(group)
    const at = this.#options.clock.now() + Math.max(0, ms)
    item.waits.set(reason, at)
    pushDue(this.#due, { item, reason, at })
    this.#setTimer()
  }

  /** How often the group has failed in a row, counting this one; the caller turns it into a delay. */
  failed(group: GroupRef): number {
    return ++this.#item(group).failures
  }

  /** The group succeeded: its failures are forgotten. */
  succeeded(group: GroupRef): void {
    const item = this.#find(group)
    if (item === undefined) return
    item.failures = 0
    item.waits.delete('backoff')
  }

  /** Brings forward what waits for a retry, for the groups given. */
  retryNow(groups: Iterable<GroupRef>): void {
    for (const group of groups) {
      const item = this.#find(group)
      if (item?.waits.has('backoff')) this.add(group)
    }
  }

  /** Forgets a group, unless it runs at this moment. */
  remove(group: GroupRef): void {
    const item = this.#find(group)
    if (item === undefined) return
    item.waits.clear()
    item.again = false
    if (item.state === 'ready') {
      item.state = 'idle'
      this.#readyCount--
    }
    this.#dropIfIdle(item)
    this.#tellIfIdle()
  }

  /** Forgets all groups of a parent. */
  removeParent(parent: string): void {
    for (const item of [...(this.#items.get(parent)?.values() ?? [])]) this.remove(item)
  }

  /** Everything that waits for a time, soonest first. */
  waiting(): Waiting[] {
    const waiting: Waiting[] = []
    for (const items of this.#items.values()) {
      for (const { parent, mapKey, waits } of items.values())
        for (const [reason, at] of waits) waiting.push({ parent, mapKey, reason, at })
    }
    return waiting.sort((a, b) => a.at - b.at)
  }

  /** Resolves when nothing runs and nothing is ready. */
  async whenIdle(): Promise<void> {
    if (this.busy > 0) await new Promise<void>((resolve) => this.#idle.push(resolve))
  }

  /** Starts nothing any more. What runs ends by itself. */
  [Symbol.dispose](): void {
    this.#stopped = true
    this.#timer?.[Symbol.dispose]()
    this.#ready.clear()
    this.#readyCount = 0
    this.#due.length = 0
    this.#tellIfIdle()
  }

  #makeReady(item: Item): void {
    if (this.#stopped || item.state === 'ready') return
    if (item.state === 'running') {
      item.again = true
      return
    }
    item.state = 'ready'
    this.#readyCount++
    const line = this.#ready.get(item.parent)
    if (line === undefined) this.#ready.set(item.parent, { items: [item], next: 0 })
    else line.items.push(item)
    this.#dispatch()
  }

  #dispatch(): void {
    while (this.#running < this.#options.concurrency) {
      const item = this.#take()
      if (item === undefined) return
      void this.#run(item)
    }
  }

  /** The next item of the parent whose turn it is; the parent then goes to the end of the line. */
  #take(): Item | undefined {
    for (const [parent, line] of this.#ready) {
      this.#ready.delete(parent)
      const item = nextReady(line)
      if (item === undefined) continue
      if (line.next < line.items.length) this.#ready.set(parent, line)
      this.#readyCount--
      return item
    }
    return undefined
  }

  async #run(item: Item): Promise<void> {
    item.state = 'running'
    item.again = false
    for (const reason of item.waits.keys()) if (reason !== 'resync') item.waits.delete(reason)
    this.#running++
    await this.#options.run(item)
    this.#running--
    item.state = 'idle'
    if (item.again) this.add(item)
    this.#dropIfIdle(item)
    this.#dispatch()
    this.#tellIfIdle()
  }

  #setTimer(): void {
    this.#skipOutdated()
    const next = this.#due[0]?.at ?? Infinity
    if (next === this.#waitingFor) return
    this.#timer?.[Symbol.dispose]()
    this.#waitingFor = next
    this.#timer =
      next === Infinity ? undefined : this.#options.clock.timer(next - this.#options.clock.now(), () => this.#fire())
  }

  #fire(): void {
    this.#waitingFor = Infinity
    const now = this.#options.clock.now()
    for (this.#skipOutdated(); this.#due[0] !== undefined && this.#due[0].at <= now; this.#skipOutdated()) {
      const { item, reason } = shiftDue(this.#due) as Due
      item.waits.delete(reason)
      this.add(item)
    }
    this.#setTimer()
  }

  #skipOutdated(): void {
    for (let due = this.#due[0]; due !== undefined && due.item.waits.get(due.reason) !== due.at; due = this.#due[0])
      shiftDue(this.#due)
  }

  #item(group: GroupRef): Item {
    const found = this.#find(group)
    if (found !== undefined) return found
    const item: Item = {
      parent: group.parent,
      mapKey: group.mapKey,
      waits: new Map(),
      state: 'idle',
      again: false,
      failures: 0,
    }
    const siblings = this.#items.get(group.parent)
    if (siblings === undefined) this.#items.set(group.parent, new Map([[group.mapKey, item]]))
    else siblings.set(group.mapKey, item)
    return item
  }

  #find({ parent, mapKey }: GroupRef): Item | undefined {
    return this.#items.get(parent)?.get(mapKey)
  }

  #dropIfIdle(item: Item): void {
    if (item.state !== 'idle' || item.waits.size > 0 || item.failures > 0) return
    const siblings = this.#items.get(item.parent)
    siblings?.delete(item.mapKey)
    if (siblings?.size === 0) this.#items.delete(item.parent)
  }

  #tellIfIdle(): void {
    if (this.busy > 0) return
    const waiters = this.#idle
    this.#idle = []
    for (const resolve of waiters) resolve()
  }
}

function nextReady(line: Line): Item | undefined {
  while (line.next < line.items.length) {
    const item = line.items[line.next++]
    if (item?.state === 'ready') return item
  }
  return undefined
}

/** Binary heap by time. */
function pushDue(heap: Due[], due: Due): void {
  heap.push(due)
  for (let index = heap.length - 1; index > 0;) {
    const up = (index - 1) >> 1
    if (heap[up]!.at <= due.at) return
    heap[index] = heap[up]!
    heap[up] = due
    index = up
  }
}

function shiftDue(heap: Due[]): Due | undefined {
  const first = heap[0]
  const last = heap.pop()
  if (last === undefined || heap.length === 0) return first
  heap[0] = last
  for (let index = 0; ;) {
    const left = 2 * index + 1
    if (left >= heap.length) return first
    const smaller = left + 1 < heap.length && heap[left + 1]!.at < heap[left]!.at ? left + 1 : left
    if (heap[smaller]!.at >= last.at) return first
    heap[index] = heap[smaller]!
    heap[smaller] = last
    index = smaller
  }
}
