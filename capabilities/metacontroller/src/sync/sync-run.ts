// Runs one CompositeController or DecoratorController: events enqueue parents; syncing one (sync-parent.ts) calls a
// hook and writes. Own writes enqueue their parent, too: hooks count on seeing what they made, unless that is nothing
// new (settled-parents.ts). Start with SyncRun.start.
import type { Manager, ObjectChange, Priority, Result, WorkContext, WorkLoop } from '@fairlead/controller'
import {
  GrantWatch,
  RemoteError,
  ResponseReservation,
  after,
  hasFinalizer,
  removeFinalizer,
} from '@fairlead/controller'
import type { KubeObject } from '@fairlead/kube'
import { controllerOf, isConflict, isTerminating, keyOf } from '@fairlead/kube'
import type { HookEvent } from '../engine/hook-event.ts'
import { formatIdentity, identityOf } from '../engine/identity.ts'
import type { ResourceName } from '../engine/kinds.ts'
import type { ResolvedResource } from '../engine/resource.ts'
import { ResponseError } from '../engine/response.ts'
import { untilResync } from '../engine/resync.ts'
import { childChangeMatters, parentChangeMatters } from '../engine/trigger.ts'
import type { ChildKind } from '../children/child.ts'
import { ownersOf } from '../children/child.ts'
import { contestsOf } from '../children/contests.ts'
import type { OutputWrite } from '../runtime/writer.ts'
import { adoptByAnnotation, mayAdoptOnRequest, syncRequestOf } from '../engine/annotations.ts'
import type { KindProblem } from '../runtime/caches.ts'
import { GroupFailures, messageOf } from '../runtime/group-failures.ts'
import { isNewVersion } from '../runtime/group-index.ts'
import type { FailingGroup, GroupRef } from '../runtime/group-state.ts'
import type { Namespaces } from '../runtime/kind-cache.ts'
import { GroupState, groupId } from '../runtime/group-state.ts'
import { Customize } from './customize.ts'
import { FirstSyncs } from './first-syncs.ts'
import type { Flavour } from './flavour.ts'
import type { ApplyStrategy } from '../children/apply-strategy.ts'
import { fieldManager } from '../children/apply-strategy.ts'
import { AdoptingParents } from './orphans.ts'
import { SettledParents } from './settled-parents.ts'
import { SyncCaches } from './sync-caches.ts'
import type { SyncHooks } from './sync-hooks.ts'
import type { SyncOutcome } from './sync-parent.ts'
import { syncParent } from './sync-parent.ts'
import { customizeRequest } from './sync-request.ts'

/** Attempts to remove a finalizer from a parent that others write at the same time. */
const removalAttempts = 5

/** The state of a run; the controller derives conditions and counts from it. */
export interface SyncRunState {
  readonly parents: number
  readonly failing: readonly FailingGroup[]
  readonly problems: readonly KindProblem[]
}

/** Options of a {@link SyncRun}. */
export interface SyncRunOptions {
  readonly manager: Manager
  readonly controller: KubeObject
  /** Returns the controller as it is now. */
  readonly current: () => KubeObject
  readonly flavour: Flavour
  readonly hooks: SyncHooks
  readonly resyncPeriodSeconds: number | undefined
  /** The namespaces that the controller is limited to; all when undefined. */
  readonly namespaces: Namespaces
  /** Parents synced at a time. */
  readonly workers: number
  /** The way in which children are written. */
  readonly strategy: ApplyStrategy
  readonly resolve: (name: ResourceName) => Promise<ResolvedResource>
  /** Called when {@link SyncRun.state} may have changed; must not throw. */
  readonly onStateChange: () => void
}

/** Runs one controller in one generation of its spec. */
export class SyncRun {
  readonly controller: KubeObject
  readonly loop: WorkLoop<GroupRef>
  readonly #options: SyncRunOptions
  readonly #caches: SyncCaches
  readonly #customize: Customize | undefined
  readonly #state: GroupState
  readonly #grants: GrantWatch
  readonly #failures: GroupFailures
  /** Parents by uid, with the position of their kind. */
  readonly #parents = new Map<string, { readonly kind: number; readonly object: KubeObject }>()
  /** When hooks asked to be called again, in milliseconds of the clock. */
  readonly #resyncs = new Map<string, number>()
  readonly #settled = new SettledParents()
  readonly #firstSyncs: FirstSyncs
  readonly #adopting = new AdoptingParents()
  readonly #calls = new AbortController()
  readonly #signals = new WeakMap<AbortSignal, AbortSignal>()
  #started = false
  #stopped = false

  constructor(options: SyncRunOptions) {
    const { manager, controller, flavour, hooks, current, resolve } = options
    this.#options = options
    this.controller = controller
    const name = controller.metadata.name ?? ''
    this.#caches = new SyncCaches(manager.informers, flavour, options.namespaces)
    this.loop = manager.loop<GroupRef>({
      name: `${flavour.controllerType}-${name}`,
      id: groupId,
      group: ({ parent }) => this.#parents.get(parent)?.object.metadata.namespace ?? '',
      namespaceOf: ({ parent }) => this.#parents.get(parent)?.object.metadata.namespace,
      concurrency: options.workers,
      manager: fieldManager,
      run: (group, context) => this.#run(group, context),
      dropped: ({ parent }) => this.#firstSyncs.delete(parent),
      failed: (group, error) => this.#failures.failed(group, error),
      logFields: (group) => ({ parent: this.#nameOf(group) }),
    })
    this.#state = new GroupState(manager.clock, (object) => this.#caches.cached(object))
    this.#firstSyncs = new FirstSyncs((object) => this.#caches.cached(object))
    this.#grants = new GrantWatch(manager.informers, manager.clock, () => this.#failures.retryGranted())
    this.#failures = new GroupFailures({
      manager,
      loop: this.loop,
      groups: this.#state,
      caches: {
        problems: () => this.#caches.problems(),
        retryForbidden: () => {
          this.#caches.retryForbidden()
          this.#customize?.retryForbidden()
        },
      },
      grants: this.#grants,
      parentOf: ({ parent }) => this.#parents.get(parent)?.object,
      nameOf: (group) => this.#nameOf(group),
      warn: (parent, _group, error) => this.#warn(parent, error),
      onStateChange: options.onStateChange,
    })
    this.#customize =
      hooks.customize === undefined
        ? undefined
        : new Customize({
            pool: manager.informers,
            namespaces: options.namespaces,
            hook: hooks.customize.caller,
            version: hooks.customize.version,
            request: (parent) => customizeRequest(current(), parent),
            asked: () => syncRequestOf(current()),
            resolve,
            onChange: (uid) => this.#add(uid),
          })
  }

  /** Reads the caches and starts. */
  async start(): Promise<void> {
    const { flavour, manager } = this.#options
    const { signal } = manager
    await this.#caches.settled(signal)
    if (this.#stopped || signal.aborted) return
    this.#started = true
    this.#caches.subscribe({
      onParent: (kind, change) => this.#onParent(kind, change),
      onChild: (kind, change) => this.#onChild(flavour.children[kind]!, change),
      onKnownChanged: () => this.#onKnownChanged(),
    })
    this.#onKnownChanged()
  }

  /** Its caches were read, and every parent has been enqueued. */
  get isStarted(): boolean {
    return this.#started
  }

  /** The state of the run. */
  state(): SyncRunState {
    if (!this.#failures.isRightMissing) this.#grants.release()
    const parents = [...this.#parents.values()].filter(({ object }) => this.#isConcerned(object)).length
    return { parents, failing: this.#state.failing, problems: this.#caches.problems() }
  }

  /** Enqueues every parent: a sync of all was requested. */
  syncAll(): void {
    for (const uid of this.#parents.keys()) this.#add(uid)
  }

  /** Stops calling hooks and aborts calls in flight. Children stay. */
  async stop(): Promise<void> {
    if (this.#stopped) return
    this.#stopped = true
    this.#calls.abort(new DOMException('The controller was stopped', 'AbortError'))
    this.#grants[Symbol.dispose]()
    this.#caches[Symbol.dispose]()
    await this.loop.stop()
    this.#customize?.[Symbol.dispose]()
  }

  /**
   * Removes the finalizer from all parents, or from those given: the controller is deleted, or limited to other
   * namespaces, and will finalize nothing there any more. Call it after {@link SyncRun.stop}, or a sync puts it on
   * again.
   */
  async removeFinalizers(isLeft: (parent: KubeObject) => boolean = () => true): Promise<void> {
    const { finalizer } = this.#options.flavour
    const parents = [...this.#parents.values()].filter(
      ({ object }) => hasFinalizer(object, finalizer) && isLeft(object),
    )
    for (const { object } of parents) {
      try {
        await this.#removeFinalizer(object)
      } catch (error) {
        const name = formatIdentity(identityOf(object))
        this.#options.manager.log.warn('Could not remove a finalizer', { object: name, finalizer, error })
      }
    }
  }

  /** The cached parent may be older than the last write. */
  async #removeFinalizer(parent: KubeObject): Promise<void> {
    const { client } = this.loop
    for (let attempt = 1; ; attempt++) {
      const live = await client.find(parent, keyOf(parent))
      if (live === undefined || live.metadata.uid !== parent.metadata.uid) return
      try {
        await removeFinalizer(client, live, this.#options.flavour.finalizer)
        return
      } catch (error) {
        if (!isConflict(error) || attempt === removalAttempts) throw error
      }
    }
  }

  async #run(group: GroupRef, context: WorkContext): Promise<Result> {
    const wait = this.#state.waitFor(group)
    if (wait > 0) return after(wait)
    const parent = this.#parents.get(group.parent)
    if (parent === undefined) return this.#forget(group)
    if (!this.#caches.areKnown) {
      this.#state.setHeld(group, true, this.#state.releases)
      return undefined
    }
    const { flavour, hooks, current } = this.#options
    const { releases } = this.#state
    this.#firstSyncs.delete(group.parent)
    using reservation = new ResponseReservation()
    const observer = this.#firstSyncs.observer(group.parent, () => this.loop.add(group))
    try {
      const outcome = await syncParent(parent.object, flavour.parents[parent.kind]!, {
        flavour,
        caches: this.#caches,
        hooks,
        customize: this.#customize,
        controller: current(),
        client: observer === undefined ? context.client : context.client.with({ observer }),
        signal: this.#signalOf(context.signal),
        strategy: this.#options.strategy,
        settled: this.#settledOf(group),
        onWrite: (write) => {
          this.#state.wrote(group, write)
          this.#contested(parent.object, write, context.clock.now())
        },
        reservation,
      })
      if (!this.#state.setHeld(group, outcome.isHeld, releases) || outcome.again === true) this.loop.add(group)
      if (this.#state.succeed(group)) this.#options.onStateChange()
      this.#record(parent.object, outcome.events ?? [])
      return this.#next(group, outcome, context.clock.now())
    } catch (error) {
      return this.#postponed(group, error, context.clock.now())
    }
  }

  /** Returns a signal that aborts with that of a sync, or when the run stops. All syncs of a shard have one signal. */
  #signalOf(signal: AbortSignal): AbortSignal {
    let both = this.#signals.get(signal)
    if (both === undefined) this.#signals.set(signal, (both = AbortSignal.any([signal, this.#calls.signal])))
    return both
  }

  /** Returns undefined where the next call may be one that the hook or a resync period wants. */
  #settledOf({ parent }: GroupRef): SettledParents | undefined {
    if (this.#options.resyncPeriodSeconds === undefined && !this.#resyncs.has(parent)) return this.#settled
    this.#settled.forget(parent)
    return undefined
  }

  /** Returns when a sync is tried again that failed for no fault of its own; throws all other errors. */
  #postponed(group: GroupRef, error: unknown, now: number): Result {
    this.#settled.forget(group.parent)
    if (this.#stopped && this.#calls.signal.reason === error) return undefined
    return this.#failures.postponed(
      group,
      error instanceof ResponseError ? new RemoteError(error.code, error.message, { cause: error }) : error,
      now,
    )
  }

  /** Warns when another controller undoes what this one writes. */
  #contested(parent: KubeObject, write: OutputWrite, now: number): void {
    const { flavour, manager } = this.#options
    const { apiVersion, kind } = (write.after ?? write.before)!
    if (!flavour.children.some((one) => one.kind === kind && one.apiVersion === apiVersion)) return
    const own = `${flavour.controllerType} ${this.controller.metadata.name ?? ''}`
    const contest = contestsOf(manager).wrote(own, write, now)
    if (contest === undefined) return
    const child = formatIdentity(identityOf(contest.child))
    const note = `${own} and ${contest.other} undo each other's writes of ${child}: both have ${parent.kind} as parents and ${kind} as children. Give them different child kinds, or labelSelectors that match different parents`
    for (const object of [parent, this.controller])
      manager.recorder('metacontroller').about(object).warning('ConflictingControllers', note, { action: 'Sync' })
  }

  /** Records the events that a hook asks for. */
  #record(parent: KubeObject, events: readonly HookEvent[]): void {
    const { manager } = this.#options
    if (!manager.owns(parent.metadata.namespace)) return
    for (const { type, reason, message } of events)
      manager.recorder('metacontroller').record(parent, { type, reason, note: message, action: 'Sync' })
  }

  #next(group: GroupRef, { resyncAfterSeconds }: SyncOutcome, now: number): Result {
    // A requested resync stays due, even when an event comes first whose response does not ask for one.
    const due = this.#resyncs.get(group.parent)
    const kept = due !== undefined && due > now ? due : Infinity
    const asked = resyncAfterSeconds === undefined ? Infinity : now + resyncAfterSeconds * 1000
    const next = Math.min(kept, asked)
    if (next === Infinity) this.#resyncs.delete(group.parent)
    else this.#resyncs.set(group.parent, next)
    const { resyncPeriodSeconds } = this.#options
    const period =
      resyncPeriodSeconds === undefined ? Infinity : untilResync(group.parent, now, Math.max(1, resyncPeriodSeconds))
    const wait = Math.min(next - now, period)
    return wait === Infinity ? undefined : after(Math.max(1, wait))
  }

  #warn(parent: KubeObject, error: unknown): void {
    const { manager } = this.#options
    if (!manager.owns(parent.metadata.namespace)) return
    const events = manager.recorder('metacontroller').about(parent)
    events.warning('SyncError', `Sync error: ${messageOf(error)}`, { action: 'Sync' })
  }

  #onParent(kind: number, change: ObjectChange): void {
    const { object, previous, type } = change
    const { uid = '' } = object.metadata
    if (previous !== undefined && previous.metadata.uid !== uid) this.#removeParent(previous.metadata.uid ?? '')
    if (type === 'removed') return this.#removeParent(uid)
    this.#parents.set(uid, { kind, object })
    const { flavour } = this.#options
    if (flavour.adopts) this.#adopting.set(uid, object.metadata.namespace, flavour.adoptionSelector(object))
    const group = { parent: uid, mapKey: '' }
    this.#state.observed(group)
    const isChange = type === 'changed' && previous.metadata.uid === uid
    if (isChange && object.metadata.resourceVersion === previous.metadata.resourceVersion) return
    const ignores = flavour.parents[kind]?.ignoreStatusChanges === true
    if (isChange && ignores && !isTerminating(object) && !parentChangeMatters(previous, object)) return
    const isConcerned = this.#isConcerned(object)
    if (isConcerned !== (isChange && this.#isConcerned(previous))) this.#options.onStateChange()
    if (type === 'added' && isConcerned && this.#options.manager.owns(object.metadata.namespace))
      this.#firstSyncs.add(uid)
    if (isConcerned) this.loop.add(group, type === 'added' ? 'low' : this.#firstSyncs.priorityOf(uid, change))
  }

  #onChild(kind: ChildKind, change: ObjectChange): void {
    if (!isNewVersion(change)) return
    if (change.type === 'changed' && !childChangeMatters(change.previous, change.object, kind.changes)) return
    const { flavour, strategy } = this.#options
    if (change.type === 'removed') strategy.forget(change.object.metadata.uid ?? '')
    const owners = new Set<string>()
    for (const object of [change.object, change.previous]) {
      for (const uid of object === undefined ? [] : ownersOf(kind, object)) if (this.#parents.has(uid)) owners.add(uid)
    }
    for (const uid of owners) this.#add(uid, this.#firstSyncs.priorityOf(uid, change))
    const { object } = change
    if (change.type === 'removed' || controllerOf(object) !== undefined) return
    const name = this.controller.metadata.name ?? ''
    const isAsked = object.metadata.annotations?.[adoptByAnnotation] !== undefined
    if (!isAsked && (!flavour.adopts || kind.ownership === 'Owner')) return
    if (flavour.adopts && kind.ownership !== 'Owner') for (const uid of this.#adopting.of(object)) this.#add(uid)
    if (!isAsked) return
    const asked = object.metadata.annotations?.[adoptByAnnotation]?.slice(name.length + 1) ?? ''
    for (const parent of this.#caches.parentsNamed(asked, object.metadata.namespace ?? ''))
      if (mayAdoptOnRequest(name, parent, object)) this.#add(parent.metadata.uid ?? '')
  }

  #onKnownChanged(): void {
    if (this.#failures.isRightMissing) this.#grants.watch()
    this.#options.onStateChange()
    if (this.#caches.areKnown) for (const group of this.#state.releaseHeld()) this.loop.add(group)
  }

  #add(uid: string, priority: Priority = 'normal'): void {
    const group = { parent: uid, mapKey: '' }
    this.#state.observed(group)
    const parent = this.#parents.get(uid)
    if (parent !== undefined && this.#isConcerned(parent.object)) this.loop.add(group, priority)
  }

  #removeParent(uid: string): void {
    this.#parents.delete(uid)
    this.#adopting.delete(uid)
    this.#firstSyncs.delete(uid)
    this.#customize?.forget(uid)
    this.#forget({ parent: uid, mapKey: '' })
    this.#options.onStateChange()
  }

  #forget(group: GroupRef): undefined {
    this.#state.forget(group)
    this.#resyncs.delete(group.parent)
    this.#settled.forget(group.parent)
    this.loop.forget(group)
    return undefined
  }

  /** Returns whether the controller has to do with an object: it selects it, or has to finalize it. */
  #isConcerned(object: KubeObject): boolean {
    const { flavour } = this.#options
    return flavour.selects(object) || hasFinalizer(object, flavour.finalizer)
  }

  #nameOf({ parent }: GroupRef): string {
    const found = this.#parents.get(parent)
    return found === undefined ? parent : formatIdentity(identityOf(found.object))
  }
}
