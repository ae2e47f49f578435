// Runs one MapController: events update the index (group-index.ts) and enqueue groups; reconciling a group
// (reconcile-group.ts) reads the index, calls a hook and writes outputs. Start with MapRun.start.
import { chunkSize, yieldToEventLoop } from '@fairlead/client'
import type { Manager, ObjectEvents, Result, WorkContext, WorkLoop } from '@fairlead/controller'
import { GrantWatch, after } from '@fairlead/controller'
import type { KubeObject } from '@fairlead/kube'
import { isTerminating } from '@fairlead/kube'
import type { MapController } from '../api.ts'
import { fieldManager, outputManager } from '../engine/configuration.ts'
import type { Decision } from '../engine/decide-group.ts'
import type { Hooks } from '../engine/hook.ts'
import { formatIdentity, identityOf } from '../engine/identity.ts'
import type { ControllerKinds } from '../engine/kinds.ts'
import { startDelay, untilResync } from '../engine/resync.ts'
import { mapKeyLabel } from '../engine/tag.ts'
import { outputChangeMatters } from '../engine/trigger.ts'
import type { KindProblem } from './caches.ts'
import { Caches } from './caches.ts'
import { clientKind } from './client-kind.ts'
import { GroupFailures, messageOf } from './group-failures.ts'
import { GroupIndex, isNewVersion } from './group-index.ts'
import type { FailingGroup, GroupRef } from './group-state.ts'
import { GroupState, groupId } from './group-state.ts'
import { handOver } from './hand-over.ts'
import { LiveCluster } from './live-cluster.ts'
import { NameWatch } from './name-watch.ts'
import type { OutputMetrics } from './output-metrics.ts'
import type { ParentCounts } from './parent-status.ts'
import { ParentStatus } from './parent-status.ts'
import { reconcileGroup } from './reconcile-group.ts'
import type { OutputWrite } from './writer.ts'
import { GroupWriter, WriteError } from './writer.ts'

/** The state of a run; the controller derives conditions and gauges from it. */
export interface RunState {
  readonly parents: number
  readonly groups: number
  /** The failing groups that this replica owns. */
  readonly failing: readonly FailingGroup[]
  /** Outputs that differ from what the hook wants and are left as they are. */
  readonly drifted: number
  readonly problems: readonly KindProblem[]
  /** Parents whose selector is invalid, with the message. */
  readonly invalidParents: readonly string[]
  /** The reason why parents get no status, if they get none. */
  readonly statusProblem: string | undefined
}

/** Options of a {@link MapRun}. */
export interface MapRunOptions {
  readonly manager: Manager
  readonly controller: MapController & KubeObject
  /** Returns the MapController as it is now: hooks are sent its current metadata and status. */
  readonly current: () => MapController
  /** Names of deleted MapControllers whose outputs this one takes over. */
  readonly replaced: ReadonlySet<string>
  readonly kinds: ControllerKinds
  readonly hooks: Hooks
  readonly metrics: OutputMetrics
  /** Returns the other runs: parents of several controllers report the inputs of all of them. */
  readonly others: () => readonly MapRun[]
  /** Called when {@link MapRun.state} may have changed; must not throw. */
  readonly onStateChange: () => void
}

/** Calls in flight at a time, for each MapController (Q40). */
const concurrentCalls = 32
/** Share of the calls in flight for one parent: a parent whose hook is slow leaves the rest to the others. */
const shareOfParent = 0.75

/** Runs one MapController in one generation of its spec. */
export class MapRun implements AsyncDisposable {
  readonly controller: MapController & KubeObject
  readonly name: string
  readonly loop: WorkLoop<GroupRef>
  readonly #options: MapRunOptions
  readonly #caches: Caches
  readonly #index: GroupIndex
  readonly #groups: GroupState
  readonly #status: ParentStatus
  readonly #names: NameWatch
  readonly #grants: GrantWatch
  readonly #failures: GroupFailures
  /** Aborts the calls in flight when the run stops: nothing would use their responses. */
  readonly #calls = new AbortController()
  #started = false
  #stopped = false

  constructor(options: MapRunOptions) {
    const { manager, controller, kinds, onStateChange } = options
    this.#options = options
    this.controller = controller
    this.name = controller.metadata.name ?? ''
    this.#caches = new Caches(manager.informers, kinds, controller.spec)
    const { maxConcurrentCalls: concurrency = concurrentCalls } = controller.spec
    this.loop = manager.loop<GroupRef>({
      name: `map-${this.name}`,
      id: groupId,
      group: ({ parent }) => parent,
      namespaceOf: (group) => this.#index.namespaceOf(group),
      shardGained: (shard) => void this.#shardGained(shard),
      concurrency,
      maxPerGroup: Math.ceil(concurrency * shareOfParent),
      manager: fieldManager(this.name),
      run: (group, context) => this.#run(group, context),
      failed: (group, error) => this.#failures.failed(group, error),
      logFields: (group) => ({
        parent: this.#index.selection.parents.get(group.parent)?.identity,
        mapKey: group.mapKey,
      }),
    })
    this.#groups = new GroupState(manager.clock, (output) => this.#caches.output(output))
    this.#names = new NameWatch(manager.informers, (group) => this.loop.add(group))
    this.#grants = new GrantWatch(manager.informers, manager.clock, () => this.#failures.retryGranted())
    this.#index = new GroupIndex(controller, kinds, this.#caches, manager.clock, {
      onEnqueue: (group) => this.loop.add(group),
      onOutputObserved: (group) => this.#groups.observed(group),
      onCountsChanged: (uid) => this.#status.markDirty(uid),
      onParentDeleted: (uid, groups) => this.#onParentDeleted(uid, groups),
      onInvalidSelector: (parent, message) => {
        if (manager.owns(parent.metadata.namespace))
          this.#warn(parent, `${message}; nothing is mapped and nothing is deleted until it is corrected`)
      },
      onKnownChanged: () => this.#onKnownChanged(),
      onGroupsChanged: onStateChange,
    })
    this.#failures = new GroupFailures({
      manager,
      loop: this.loop,
      groups: this.#groups,
      caches: this.#caches,
      grants: this.#grants,
      parentOf: ({ parent }) => this.#index.selection.parents.get(parent)?.object,
      nameOf: (group) => this.#index.inputName(group),
      warn: (parent, group, error) => {
        if (error instanceof WriteError) this.#names.watch(groupId(group), group, error.existing)
        this.#warn(parent, `${this.#index.inputName(group)}: ${messageOf(error)}`)
      },
      onStateChange,
    })
    this.#status = new ParentStatus({
      client: this.loop.client,
      clock: manager.clock,
      kinds,
      log: manager.log,
      countsOf: (uid) => this.#parentCounts(uid),
      isOurs: ({ metadata }) => manager.owns(metadata.namespace),
      onProblemChanged: onStateChange,
    })
  }

  /** Fills the index and starts. Resolves when every group has been enqueued or scheduled. */
  async start(): Promise<void> {
    this.#caches.subscribe(this.#index)
    const { namespaces } = this.controller.spec
    for (const kind of this.#options.kinds.outputs) {
      for (const namespace of kind.namespaced && namespaces !== undefined ? namespaces : [undefined])
        this.loop.watch(clientKind(kind), (object) => this.#index.groupOf(object), {
          ...(namespace === undefined ? {} : { namespace }),
          labelSelector: mapKeyLabel,
          when: (change) =>
            this.#index.isFull &&
            isNewVersion(change) &&
            (change.type !== 'changed' || outputChangeMatters(change.previous, change.object, kind.changes)),
        })
    }
    const { manager } = this.#options
    const { signal } = manager
    await this.#caches.settled(signal)
    if (this.#stopped || signal.aborted) return
    const { replaced } = this.#options
    if (replaced.size > 0 && manager.owns())
      await handOver(this.#caches.outputs, { client: this.loop.client, controllerName: this.name, replaced })
    await this.#index.fill()
    await this.#enqueueFirst((namespace) => manager.owns(namespace))
    this.#started = true
    this.#options.onStateChange()
  }

  /** The state of the run. */
  state(): RunState {
    if (!this.#failures.isRightMissing) this.#grants.release()
    const invalidParents: string[] = []
    let groups = 0
    const { selection, outputs } = this.#index
    for (const parent of selection.parents.values()) {
      groups += parent.inputs.size + outputs.countDetached(parent, parent.inputs)
      if (!parent.selector.valid) invalidParents.push(`${parent.identity}: ${parent.selector.message}`)
    }
    return {
      parents: selection.parents.size,
      groups,
      failing: this.#groups.failing.filter((group) => this.#options.manager.owns(this.#index.namespaceOf(group))),
      drifted: this.#options.metrics.drifted(this.name),
      problems: this.#caches.problems(),
      invalidParents,
      statusProblem: this.statusProblem,
    }
  }

  /** Returns the groups that fail in a shard. */
  failingIn(shard: number): readonly FailingGroup[] {
    const { shards } = this.#options.manager
    return this.#groups.failing.filter((group) => shards?.shardOf(this.#index.namespaceOf(group)) === shard)
  }

  /** Its caches were read, and every group has been enqueued or scheduled. */
  get isStarted(): boolean {
    return this.#started
  }

  /** Number of groups whose first call after the start is still to come. */
  get firstRound(): number {
    return this.#groups.firstRound
  }

  /** Enqueues every group: a sync of all was requested. */
  syncAll(): void {
    for (const parent of this.#index.selection.parents.values())
      for (const mapKey of this.#index.groupsOf(parent)) this.loop.add({ parent: parent.uid, mapKey })
  }

  /** Stops calling hooks and aborts calls in flight; writes are aborted after `grace` milliseconds. Outputs stay. */
  async stop(grace?: number): Promise<void> {
    if (this.#stopped) return
    this.#stopped = true
    this.#calls.abort(new DOMException('The MapController was stopped', 'AbortError'))
    this.#grants[Symbol.dispose]()
    this.#caches[Symbol.dispose]()
    this.#index[Symbol.dispose]()
    await this.loop.stop(grace)
    this.#names[Symbol.dispose]()
    await this.#status.stop()
    await this.#options.hooks[Symbol.asyncDispose]()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop()
  }

  /** Writes the status of all parents anew where it differs: another run was started or stopped. */
  refreshStatus(): void {
    for (const uid of this.#index.selection.parents.keys()) this.#status.markDirty(uid)
  }

  /** The reason why the status of parents cannot be written; undefined when it can. */
  get statusProblem(): string | undefined {
    return this.#status.problem
  }

  /** Takes note of the generation of the parents' definition: status that another schema refused is tried again. */
  schemaIs(generation: number | undefined): void {
    if (this.#status.schemaIs(generation)) this.refreshStatus()
  }

  /** Returns the counts of a parent; an input that several controllers map counts once. */
  #parentCounts(uid: string): ParentCounts | undefined {
    const counts = this.#index.parentCounts(uid)
    const others = this.#options.others().filter((run) => run !== this && run.#index.selection.parents.has(uid))
    if (counts === undefined || others.length === 0) return counts
    const inputTotals = counts.inputTotals.map((total, position) => {
      const kind = this.#options.kinds.inputs[position]
      if (total === undefined || kind === undefined) return undefined
      const keys = [this, ...others].flatMap((run) => run.#index.inputKeys(uid, kind))
      return new Set(keys).size
    })
    return { ...counts, inputTotals }
  }

  async #run(group: GroupRef, context: WorkContext): Promise<Result> {
    this.#groups.begin(group)
    const wait = this.#groups.waitFor(group)
    if (wait > 0) return after(wait)
    const parent = this.#index.selection.parents.get(group.parent)
    if (parent === undefined) return this.#forget(group)
    const { hooks, kinds, current } = this.#options
    const writer = new GroupWriter({
      client: context.client.with({ manager: outputManager(this.name, parent.object) }),
      controllerName: this.name,
      parent: parent.object,
      mapKey: group.mapKey,
      onWrite: (write) => this.#onWrite(group, write),
    })
    const cluster = new LiveCluster({
      controller: current(),
      kinds,
      caches: this.#caches,
      outputs: this.#index.outputs,
    })
    const call = { clock: context.clock, signal: AbortSignal.any([context.signal, this.#calls.signal]) }
    const { releases } = this.#groups
    try {
      const decision = await reconcileGroup(cluster, writer, hooks, { parent, mapKey: group.mapKey }, call)
      this.#onDecision(group, parent.object, decision, releases)
      if (decision.isOver) return this.#forget(group)
      return this.#next(group, decision.resyncAfterSeconds, context.clock.now())
    } catch (error) {
      if (this.#stopped && this.#calls.signal.reason === error) return undefined
      return this.#failures.postponed(group, error, context.clock.now())
    }
  }

  #onWrite(group: GroupRef, write: OutputWrite): void {
    this.#options.metrics.wrote(this.name, write.op)
    this.#groups.wrote(group, write)
    const parent = this.#index.selection.parents.get(group.parent)
    if (write.op !== 'adopt' || write.after === undefined || parent === undefined) return
    const note = `Adopted ${formatIdentity(identityOf(write.after))}, which it had made before and which had no owner`
    this.#eventsOf(parent.object).normal('Adopted', note, { action: 'Sync', related: write.after })
  }

  #onDecision(group: GroupRef, parent: KubeObject, decision: Decision, releases: number): void {
    const { warning, isHeld, drift, events } = decision
    for (const { type, reason, message } of events)
      this.#options.manager.recorder('metacontroller').record(parent, { type, reason, note: message, action: 'Sync' })
    if (warning !== undefined)
      this.#eventsOf(parent).warning(warning.reason, warning.message, { action: 'Sync', related: warning.related })
    if (!this.#groups.setHeld(group, isHeld, releases)) this.loop.add(group)
    this.#names.release(groupId(group))
    const hasDrifted = this.#options.metrics.drift(this.name, groupId(group), drift)
    if (this.#groups.succeed(group) || hasDrifted) this.#options.onStateChange()
  }

  #next(group: GroupRef, resyncAfterSeconds: number | undefined, now: number): Result {
    const period = this.controller.spec.resyncPeriodSeconds
    const requested = resyncAfterSeconds === undefined ? Infinity : resyncAfterSeconds * 1000
    const wait = Math.min(requested, period === undefined ? Infinity : untilResync(group.mapKey, now, period))
    return wait === Infinity ? undefined : after(wait)
  }

  #forget(group: GroupRef): void {
    this.#groups.forget(group)
    this.#names.release(groupId(group))
    this.#options.metrics.drift(this.name, groupId(group), 0)
    this.loop.forget(group)
  }

  #onParentDeleted(uid: string, groups: Iterable<GroupRef>): void {
    this.#status.forget(uid)
    for (const group of groups) this.#forget(group)
  }

  #onKnownChanged(): void {
    if (this.#failures.isRightMissing) this.#grants.watch()
    this.#options.onStateChange()
    if (!this.#index.isFull || !this.#caches.outputsKnown) return
    for (const uid of this.#index.selection.parents.keys()) this.#status.markDirty(uid)
    for (const group of this.#groups.releaseHeld()) this.loop.add(group)
    this.#failures.retryUnavailable()
  }

  /** Groups of a shard that another replica had begin as after a start; their state is forgotten. */
  async #shardGained(shard: number): Promise<void> {
    const { manager, onStateChange } = this.#options
    for (const group of this.failingIn(shard)) this.#groups.forget(group)
    if (!this.#index.isFull) return
    await this.#enqueueFirst((namespace) => manager.shards?.shardOf(namespace) === shard)
    onStateChange()
  }

  /**
   * Of the groups in the namespaces wanted, reconciles those without outputs, changed and detached ones at once and
   * each of the others once within the period (specs/map.md §1).
   */
  async #enqueueFirst(isWanted: (namespace: string | undefined) => boolean): Promise<void> {
    let enqueued = 0
    for (const parent of this.#index.selection.parents.values()) {
      if (isWanted(parent.object.metadata.namespace)) {
        this.#status.forget(parent.uid)
        this.#status.markDirty(parent.uid)
      }
      if (isTerminating(parent.object)) continue
      for (const mapKey of this.#index.groupsOf(parent)) {
        const group = { parent: parent.uid, mapKey }
        if (!isWanted(this.#index.namespaceOf(group))) continue
        if (this.#index.isUnchanged(parent, mapKey)) {
          this.#groups.defer(group)
          this.loop.queue.addAfter(group, startDelay(mapKey, this.controller.spec.resyncPeriodSeconds))
        } else {
          this.loop.add(group, 'low')
        }
        if (++enqueued % chunkSize === 0) await yieldToEventLoop()
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
