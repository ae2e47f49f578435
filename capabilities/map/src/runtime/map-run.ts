// One MapController at work: events change the books (books.ts) and ask groups; a group's turn (turn.ts) reads the books, asks a hook and
// writes outputs. Start with MapRun.start.
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Manager, ObjectEvents, Result, WorkContext, WorkLoop } from '@fairlead/controller'
import { after } from '@fairlead/controller'
import { isConflict, isTerminating } from '@fairlead/kube'
import type { KubeObject } from '@fairlead/kube'
import type { MapController } from '../api.ts'
import { fieldManager } from '../engine/configuration.ts'
import { startDelay, untilResync } from '../engine/resync.ts'
import { mapKeyLabel } from '../engine/tag.ts'
import type { MapMetrics } from './metrics.ts'
import { Books, isNews } from './group-index.ts'
import { Caches, clientKind } from './caches.ts'
import type { KindProblem } from './caches.ts'
import { GroupNotes, groupId } from './group-state.ts'
import type { FailingGroup, GroupRef } from './group-state.ts'
import { HookBusyError } from '../engine/hook.ts'
import type { Hooks } from '../engine/hook.ts'
import type { ControllerKinds } from './kinds.ts'
import { NameWatch } from './name-watch.ts'
import { ParentStatus } from './parent-status.ts'
import { takeTurn } from './reconcile-group.ts'
import { WriteError } from './writer.ts'

/** How a run is doing; the controller makes conditions and gauges of it. */
export interface RunState {
  readonly parents: number
  readonly groups: number
  /** Those that this replica works on. */
  readonly failing: readonly FailingGroup[]
  readonly problems: readonly KindProblem[]
  /** Parents whose selector cannot be read, with the message. */
  readonly invalidParents: readonly string[]
  /** Why parents get no status, if they get none. */
  readonly statusProblem: string | undefined
}

/** What a run lives on. */
export interface MapRunOptions {
  readonly manager: Manager
  readonly controller: MapController
  readonly kinds: ControllerKinds
  readonly hooks: Hooks
  readonly metrics: MapMetrics
  /** Called when {@link MapRun.state} may have changed; must not throw. */
  readonly report: () => void
}

/** Calls in flight at a time, for each MapController (Q40). */
const callsInFlight = 32
/** How many groups are asked between two pauses at the start, so that nothing else waits long. */
const chunk = 500

/** The work of one MapController in one generation of its spec. */
export class MapRun implements AsyncDisposable {
  readonly controller: MapController
  readonly name: string
  readonly loop: WorkLoop<GroupRef>
  readonly #options: MapRunOptions
  readonly #caches: Caches
  readonly #books: Books
  readonly #notes: GroupNotes
  readonly #status: ParentStatus
  readonly #names: NameWatch
  #started = false
  #stopped = false

  constructor(options: MapRunOptions) {
    const { manager, controller, kinds, report } = options
    this.#options = options
    this.controller = controller
    this.name = controller.metadata.name ?? ''
    this.#caches = new Caches(manager.informers, kinds, controller.spec)
    this.loop = manager.loop<GroupRef>({
      name: `map-${this.name}`,
      id: groupId,
      group: ({ parent }) => parent,
      namespaceOf: (group) => this.#books.namespaceOf(group),
      shardGained: (shard) => void this.#shardGained(shard),
      concurrency: callsInFlight,
      manager: fieldManager(this.name),
      run: (group, context) => this.#run(group, context),
      failed: (group, error) => this.#failed(group, error),
      logFields: (group) => ({
        parent: this.#books.selection.parents.get(group.parent)?.identity,
        mapKey: group.mapKey,
      }),
    })
    this.#notes = new GroupNotes(manager.clock, (output) => this.#caches.output(output))
    this.#names = new NameWatch(manager.informers, (group) => this.loop.add(group))
    this.#books = new Books(controller, kinds, this.#caches, manager.clock, {
      ask: (group) => this.loop.add(group),
      shown: (group) => this.#notes.shown(group),
      counted: (uid) => this.#status.dirty(uid),
      parentGone: (uid, groups) => this.#parentGone(uid, groups),
      invalid: (parent, message) => {
        if (manager.owns(parent.metadata.namespace))
          this.#warn(parent, `${message}; nothing is mapped and nothing is deleted until it is corrected`)
      },
      known: () => this.#knownChanged(),
      parentsChanged: report,
    })
    this.#status = new ParentStatus({
      client: this.loop.client,
      clock: manager.clock,
      kinds,
      log: manager.log,
      stateOf: (uid) => this.#books.factsOf(uid),
      isOurs: ({ metadata }) => manager.owns(metadata.namespace),
      changed: report,
    })
  }

  /** Fills the books and begins. Resolves when every group has been asked or has its time. */
  async start(): Promise<void> {
    this.#caches.listen(this.#books)
    for (const kind of this.#options.kinds.outputs) {
      this.loop.watch(clientKind(kind), (object) => this.#books.groupOf(object), {
        labelSelector: mapKeyLabel,
        when: (change) => this.#books.isFull && isNews(change),
      })
    }
    const { manager } = this.#options
    const { signal } = manager
    await this.#caches.settled(signal)
    if (this.#stopped || signal.aborted) return
    await this.#books.fill()
    await this.#firstTurns((namespace) => manager.owns(namespace))
    this.#started = true
    this.#options.report()
  }

  /** How it is doing. */
  state(): RunState {
    const invalidParents: string[] = []
    let groups = 0
    const { selection, outputs } = this.#books
    for (const parent of selection.parents.values()) {
      groups += parent.inputs.size + outputs.countDetached(parent.uid, parent.inputs)
      if (!parent.selector.valid) invalidParents.push(`${parent.identity}: ${parent.selector.message}`)
    }
    return {
      parents: selection.parents.size,
      groups,
      failing: this.#notes.failing.filter((group) => this.#options.manager.owns(this.#books.namespaceOf(group))),
      problems: this.#caches.problems(),
      invalidParents,
      statusProblem: this.#status.problem,
    }
  }

  /** The groups that fail in a shard. */
  failingIn(shard: number): readonly FailingGroup[] {
    const { shards } = this.#options.manager
    return this.#notes.failing.filter((group) => shards?.shardOf(this.#books.namespaceOf(group)) === shard)
  }

  /** Its caches were read, and every group has been asked or has its time. */
  get isStarted(): boolean {
    return this.#started
  }

  /** Groups whose first call after the start is still to come. */
  get firstRound(): number {
    return this.#notes.firstRound
  }

  /** Stops: nothing is asked any more; calls under way end or are called off after `grace` milliseconds. Outputs stay. */
  async stop(grace?: number): Promise<void> {
    if (this.#stopped) return
    this.#stopped = true
    this.#caches[Symbol.dispose]()
    this.#books[Symbol.dispose]()
    await this.loop.stop(grace)
    this.#names[Symbol.dispose]()
    await this.#status.stop()
    await this.#options.hooks[Symbol.asyncDispose]()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop()
  }

  async #run(group: GroupRef, context: WorkContext): Promise<Result> {
    this.#notes.begins(group)
    const wait = this.#notes.waitFor(group)
    if (wait > 0) return after(wait)
    const parent = this.#books.selection.parents.get(group.parent)
    if (parent === undefined) return this.#forget(group)
    const { hooks, kinds, metrics } = this.#options
    const world = {
      name: this.name,
      controller: this.controller,
      kinds,
      caches: this.#caches,
      book: this.#books.outputs,
      eventsOf: (object: KubeObject) => this.#eventsOf(object),
      wrote: (op: string, before: KubeObject | undefined, now: KubeObject | undefined) => {
        metrics.wrote(this.name, op)
        this.#notes.wrote(group, before, now)
      },
    }
    try {
      const outcome = await takeTurn(hooks, world, parent, group.mapKey, context)
      this.#notes.holds(group, outcome.held)
      this.#names.release(groupId(group))
      metrics.drift(this.name, groupId(group), outcome.drift)
      if (this.#notes.recovers(group)) this.#options.report()
      return outcome.over ? this.#forget(group) : this.#next(group, outcome.resyncAfterSeconds, context.clock.now())
    } catch (error) {
      if (!(error instanceof HookBusyError)) throw error
      const { message, retryAfter } = error
      const retryAt = context.clock.now() + retryAfter
      this.#notes.fails({ ...group, input: this.#books.inputName(group), message, retry: 'after', retryAt, error })
      this.#options.report()
      return after(retryAfter)
    }
  }

  #next(group: GroupRef, resyncAfterSeconds: number | undefined, now: number): Result {
    const period = this.controller.spec.resyncPeriodSeconds
    const asked = resyncAfterSeconds === undefined ? Infinity : resyncAfterSeconds * 1000
    const wait = Math.min(asked, period === undefined ? Infinity : untilResync(group.mapKey, now, period))
    return wait === Infinity ? undefined : after(wait)
  }

  #failed(group: GroupRef, error: unknown): void {
    const parent = this.#books.selection.parents.get(group.parent)
    // A cache that lags and a lost race are nobody's business: the next turn settles them.
    if (parent === undefined || isConflict(error) || (error instanceof WriteError && error.code === 'CacheBehind'))
      return
    const input = this.#books.inputName(group)
    const message = error instanceof Error ? error.message : String(error)
    this.#notes.fails({ ...group, input, message, retry: 'backoff', retryAt: undefined, error })
    if (error instanceof WriteError) this.#names.watch(groupId(group), group, error.strangers)
    this.#warn(parent.object, `${input}: ${message}`)
    this.#options.report()
  }

  #forget(group: GroupRef): void {
    this.#notes.forget(group)
    this.#names.release(groupId(group))
    this.#options.metrics.drift(this.name, groupId(group), 0)
    this.loop.forget(group)
  }

  #parentGone(uid: string, groups: Iterable<GroupRef>): void {
    this.#status.forget(uid)
    for (const group of groups) this.#forget(group)
  }

  #knownChanged(): void {
    this.#options.report()
    if (!this.#books.isFull || !this.#caches.outputsKnown) return
    for (const uid of this.#books.selection.parents.keys()) this.#status.dirty(uid)
    for (const group of this.#notes.takeHeld()) this.loop.add(group)
  }

  /** What another replica has left behind counts for nothing: groups of the shard begin as after a start. */
  async #shardGained(shard: number): Promise<void> {
    const { manager, report } = this.#options
    for (const group of this.failingIn(shard)) this.#notes.forget(group)
    if (!this.#books.isFull) return
    await this.#firstTurns((namespace) => manager.shards?.shardOf(namespace) === shard)
    report()
  }

  /**
   * Of the groups whose namespace is wanted, those without output, changed and detached ones are asked at once; the rest once, spread over the period
   * (specs/map.md §1).
   */
  async #firstTurns(isWanted: (namespace: string | undefined) => boolean): Promise<void> {
    let asked = 0
    for (const parent of this.#books.selection.parents.values()) {
      if (isWanted(parent.object.metadata.namespace)) {
        this.#status.forget(parent.uid)
        this.#status.dirty(parent.uid)
      }
      if (isTerminating(parent.object)) continue
      for (const mapKey of this.#books.groupsOf(parent)) {
        const group = { parent: parent.uid, mapKey }
        if (!isWanted(this.#books.namespaceOf(group))) continue
        if (this.#books.isUnchanged(parent, mapKey)) {
          this.#notes.isForLater(group)
          this.loop.queue.addAfter(group, startDelay(mapKey, this.controller.spec.resyncPeriodSeconds))
        } else {
          this.loop.add(group, 'low')
        }
        if (++asked % chunk === 0) await nextTurn()
        if (this.#stopped) return
      }
    }
  }

  #warn(parent: KubeObject, note: string): void {
    this.#eventsOf(parent).warning('SyncError', note, { action: 'Sync' })
  }

  #eventsOf(object: KubeObject): ObjectEvents {
    return this.#options.manager.recorder('metacontroller').about(object)
  }
}
