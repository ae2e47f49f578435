// One MapController at work: its caches, its books, its queue. Events change the books and ask groups; a group's turn (turn.ts) reads the
// books and writes outputs. Start with MapRun.start.
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Manager, ObjectChange, ObjectEvents, Result, WorkContext, WorkLoop } from '@fairlead/controller'
import { after } from '@fairlead/controller'
import { isConflict, isTerminating, jsonEqual, parseKey } from '@fairlead/kube'
import type { JsonObject, KubeObject } from '@fairlead/kube'
import type { MapController } from '../api.ts'
import { fieldManager } from '../engine/configuration.ts'
import { formatIdentity, identityOf } from '../engine/identity.ts'
import { inputFilter } from '../engine/input.ts'
import { OutputBook } from '../engine/output-book.ts'
import { startDelay, untilResync } from '../engine/resync.ts'
import type { InputMove, SelectedParent } from '../engine/selection.ts'
import { Selection } from '../engine/selection.ts'
import { mapKeyLabel } from '../engine/tag.ts'
import { inputChangeMatters, parentChangeMatters, seenDigest, wasSeen } from '../engine/trigger.ts'
import type { MapMetrics } from '../metrics.ts'
import { Caches, clientKind, objectsIn } from './caches.ts'
import type { KindProblem } from './caches.ts'
import type { Hooks } from './hooks.ts'
import { HookBusyError } from './hooks.ts'
import type { ControllerKinds } from './kinds.ts'
import { NameWatch } from './name-watch.ts'
import { ParentStatus } from './parent-status.ts'
import type { ParentFacts } from './parent-status.ts'
import { relatedConcerns } from './related.ts'
import { takeTurn } from './turn.ts'
import type { TurnWorld } from './turn.ts'
import { WriteError } from './writer.ts'

/** A group by the uid of its parent and its map key. */
export interface GroupRef {
  readonly parent: string
  readonly mapKey: string
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

/** How a run is doing; the controller makes conditions and gauges of it. */
export interface RunState {
  readonly parents: number
  readonly groups: number
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
/** How many objects are read between two pauses, so that nothing else waits long. */
const chunk = 500
/** Milliseconds between two rounds that changes of related objects cause, for each parent. */
const relatedPause = 1000

/** The work of one MapController in one generation of its spec. */
export class MapRun implements AsyncDisposable {
  readonly controller: MapController
  readonly kinds: ControllerKinds
  readonly name: string
  readonly book: OutputBook
  readonly selection: Selection
  readonly caches: Caches
  readonly loop: WorkLoop<GroupRef>
  readonly #options: MapRunOptions
  readonly #status: ParentStatus
  readonly #names: NameWatch
  readonly #failing = new Map<string, FailingGroup>()
  /** Groups that wait until everything is known. */
  readonly #held = new Map<string, GroupRef>()
  /** Groups whose hook named a time before which nothing asks it; milliseconds of the clock. */
  readonly #patience = new Map<string, number>()
  /** Groups whose first call after the start is still to come. */
  readonly #firstRound = new Set<string>()
  readonly #relatedRounds = new Map<string, { last: number; timer: Disposable | undefined }>()
  /** The books are full: events count from now on. */
  #begun = false
  #started = false
  #stopped = false

  constructor(options: MapRunOptions) {
    const { manager, controller, kinds } = options
    this.#options = options
    this.controller = controller
    this.kinds = kinds
    this.name = controller.metadata.name ?? ''
    this.caches = new Caches(manager.informers, kinds, controller.spec)
    this.book = new OutputBook(this.name, kinds.outputs.length)
    this.selection = new Selection(kinds.inputs.map(inputFilter), (namespace) => this.caches.namespaceLabels(namespace))
    this.loop = manager.loop<GroupRef>({
      name: `map-${this.name}`,
      id: groupId,
      group: ({ parent }) => parent,
      concurrency: callsInFlight,
      manager: fieldManager(this.name),
      run: (group, context) => this.#run(group, context),
      failed: (group, error) => this.#failed(group, error),
      logFields: ({ parent, mapKey }) => ({ parent: this.selection.parents.get(parent)?.identity, mapKey }),
    })
    this.#names = new NameWatch(manager.informers, (group) => this.loop.add(group))
    this.#status = new ParentStatus({
      client: this.loop.client,
      clock: manager.clock,
      kinds,
      log: manager.log,
      stateOf: (uid) => this.#statusOf(uid),
      changed: options.report,
    })
  }

  /** Fills the books and begins. Resolves when every group has been asked or has its time. */
  async start(): Promise<void> {
    this.caches.listen({
      parent: (change) => this.#parentChanged(change),
      input: (kind, change) => this.#inputChanged(kind, change),
      output: (kind, change) => this.#outputChanged(kind, change),
      related: (rule, change) => this.#relatedChanged(rule, change),
      namespace: (change) => this.#namespaceChanged(change),
      known: () => this.#knownChanged(),
    })
    for (const kind of this.kinds.outputs) {
      this.loop.watch(clientKind(kind), (object) => this.#groupOf(object), {
        labelSelector: mapKeyLabel,
        when: (change) => this.#begun && isNews(change),
      })
    }
    await this.#settled()
    if (this.#stopped) return
    await this.#fillBooks()
    this.#begun = true
    await this.#firstTurns()
    this.#started = true
    this.#options.report()
  }

  /** How it is doing. */
  state(): RunState {
    const invalidParents: string[] = []
    let groups = 0
    for (const parent of this.selection.parents.values()) {
      groups += parent.inputs.size + this.book.countDetached(parent.uid, parent.inputs)
      if (!parent.selector.valid) invalidParents.push(`${parent.identity}: ${parent.selector.message}`)
    }
    return {
      parents: this.selection.parents.size,
      groups,
      failing: [...this.#failing.values()],
      problems: this.caches.problems(),
      invalidParents,
      statusProblem: this.#status.problem,
    }
  }

  /** Its caches were read, and every group has been asked or has its time. */
  get isStarted(): boolean {
    return this.#started
  }

  /** Groups whose first call after the start is still to come. */
  get firstRound(): number {
    return this.#firstRound.size
  }

  /** Stops: nothing is asked any more; calls under way end or are called off after `grace` milliseconds. Outputs stay. */
  async stop(grace?: number): Promise<void> {
    if (this.#stopped) return
    this.#stopped = true
    this.caches[Symbol.dispose]()
    for (const { timer } of this.#relatedRounds.values()) timer?.[Symbol.dispose]()
    await this.loop.stop(grace)
    this.#names[Symbol.dispose]()
    await this.#status.stop()
    await this.#options.hooks[Symbol.asyncDispose]()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop()
  }

  get #world(): TurnWorld {
    const { name, controller, kinds, caches, book } = this
    return {
      name,
      controller,
      kinds,
      caches,
      book,
      metrics: this.#options.metrics,
      eventsOf: (parent) => this.#eventsOf(parent),
    }
  }

  #eventsOf(parent: KubeObject): ObjectEvents {
    return this.#options.manager.recorder('metacontroller').about(parent)
  }

  // --- turns ---

  async #run(group: GroupRef, context: WorkContext): Promise<Result> {
    const id = groupId(group)
    this.#firstRound.delete(id)
    const wait = (this.#patience.get(id) ?? 0) - context.clock.now()
    if (wait > 0) return after(wait)
    this.#patience.delete(id)
    const parent = this.selection.parents.get(group.parent)
    if (parent === undefined) return this.#forget(group)
    try {
      const outcome = await takeTurn(this.#options.hooks, this.#world, parent, group.mapKey, context)
      if (outcome.held) this.#held.set(id, group)
      else this.#held.delete(id)
      this.#options.metrics.drift(this.name, id, outcome.drift)
      this.#recovered(group)
      if (outcome.over) return this.#forget(group)
      return this.#next(group, outcome.resyncAfterSeconds, context.clock.now())
    } catch (error) {
      if (!(error instanceof HookBusyError)) throw error
      const retryAt = context.clock.now() + error.retryAfter
      this.#patience.set(id, retryAt)
      this.#failing.set(id, {
        ...group,
        input: this.#inputName(group),
        message: error.message,
        retry: 'after',
        retryAt,
        error,
      })
      this.#options.report()
      return after(error.retryAfter)
    }
  }

  #next(group: GroupRef, resyncAfterSeconds: number | undefined, now: number): Result {
    const period = this.controller.spec.resyncPeriodSeconds
    const waits = [
      resyncAfterSeconds === undefined ? Infinity : resyncAfterSeconds * 1000,
      period === undefined ? Infinity : untilResync(group.mapKey, now, period),
    ]
    const wait = Math.min(...waits)
    return wait === Infinity ? undefined : after(wait)
  }

  #failed(group: GroupRef, error: unknown): void {
    const parent = this.selection.parents.get(group.parent)
    // A cache that lags and a lost race are nobody's business: the next turn settles them.
    if (parent === undefined || isConflict(error) || (error instanceof WriteError && error.code === 'CacheBehind'))
      return
    const input = this.#inputName(group)
    const message = error instanceof Error ? error.message : String(error)
    this.#failing.set(groupId(group), { ...group, input, message, retry: 'backoff', retryAt: undefined, error })
    if (error instanceof WriteError) this.#names.watch(groupId(group), group, error.strangers)
    this.#eventsOf(parent.object).warning('SyncError', `${input}: ${message}`, { action: 'Sync' })
    this.#options.report()
  }

  #recovered(group: GroupRef): void {
    const id = groupId(group)
    this.#names.release(id)
    if (this.#failing.delete(id)) this.#options.report()
  }

  #forget(group: GroupRef): void {
    const id = groupId(group)
    this.#failing.delete(id)
    this.#held.delete(id)
    this.#patience.delete(id)
    this.#names.release(id)
    this.#options.metrics.drift(this.name, id, 0)
    this.loop.forget(group)
  }

  #inputName({ parent, mapKey }: GroupRef): string {
    const selected = this.selection.parents.get(parent)
    const input = selected?.inputs.get(mapKey)
    const resource = input === undefined ? undefined : this.kinds.inputs[input.kind]
    if (input !== undefined && resource !== undefined)
      return formatIdentity({ group: resource.group, kind: resource.kind, ...parseKey(input.key) })
    const known = selected === undefined ? undefined : this.book.groupsOf(parent, selected.identity).get(mapKey)
    return known === undefined ? mapKey : formatIdentity(known)
  }

  // --- events ---

  #parentChanged(change: ObjectChange): void {
    const { object, previous, type } = change
    if (type === 'removed' || (previous !== undefined && previous.metadata.uid !== object.metadata.uid))
      this.#removeParent((previous ?? object).metadata.uid ?? '')
    if (type === 'removed') return this.#options.report()
    if (!this.#begun) return
    const known = this.selection.parents.get(object.metadata.uid ?? '')
    const isNew = known === undefined || previous === undefined
    if (!isNew && !parentChangeMatters(previous, object)) return this.selection.refreshParent(object)
    if (!isNew && sameSelection(previous, object)) this.selection.refreshParent(object)
    else this.#setParent(object)
    this.#status.dirty(object.metadata.uid ?? '')
    const parent = this.selection.parents.get(object.metadata.uid ?? '')
    if (parent !== undefined && !isTerminating(object)) this.#askAll(parent)
    this.#options.report()
  }

  #setParent(object: KubeObject): void {
    const { parent, left } = this.selection.setParent(object, (kind, namespace) => {
      const [informer, resource] = [this.caches.inputs[kind], this.kinds.inputs[kind]]
      return informer === undefined || resource === undefined ? [] : objectsIn(informer, resource, namespace)
    })
    if (!parent.selector.valid)
      this.#eventsOf(object).warning(
        'SyncError',
        `${parent.selector.message}; nothing is mapped and nothing is deleted until it is corrected`,
        { action: 'Sync' },
      )
    for (const mapKey of left) this.loop.add({ parent: parent.uid, mapKey })
  }

  #removeParent(uid: string): void {
    const parent = this.selection.removeParent(uid)
    this.#status.forget(uid)
    this.#relatedRounds.get(uid)?.timer?.[Symbol.dispose]()
    this.#relatedRounds.delete(uid)
    if (parent === undefined) return
    for (const mapKey of this.#groupsOf(parent)) this.#forget({ parent: uid, mapKey })
  }

  #inputChanged(kind: number, change: ObjectChange): void {
    const { object, previous, type } = change
    const moves = this.selection.setInput(kind, identityOf(object), type === 'removed' ? undefined : object)
    const resource = this.kinds.inputs[kind]
    const matters =
      type !== 'changed' || resource === undefined || inputChangeMatters(previous ?? object, object, resource.spec)
    for (const move of moves) this.#inputMoved(move, matters)
  }

  #inputMoved({ parent, mapKey, before, after: now }: InputMove, matters: boolean): void {
    if (before?.role !== now?.role) this.#status.dirty(parent.uid)
    if (!this.#begun || (!matters && before?.role === now?.role)) return
    this.loop.add({ parent: parent.uid, mapKey })
  }

  #outputChanged(kind: number, { object, type }: ObjectChange): void {
    const { namespace, name = '' } = object.metadata
    const roles = this.book.set(
      kind,
      namespace === undefined ? name : `${namespace}/${name}`,
      type === 'removed' ? undefined : object,
    )
    for (const role of [roles.before, roles.after]) if (role?.role === 'output') this.#status.dirty(role.parentUid)
  }

  /** The group whose business an object of an output kind is: its own, or for an orphan the one that may adopt it. */
  #groupOf(object: KubeObject): GroupRef[] {
    const role = this.book.roleOf(object)
    if (role.role === 'stranger') return []
    const parent =
      role.role === 'output' ? this.selection.parents.get(role.parentUid) : this.selection.byIdentity(role.parent)
    return parent === undefined ? [] : [{ parent: parent.uid, mapKey: role.mapKey }]
  }

  #namespaceChanged({ object, previous, type }: ObjectChange): void {
    if (
      type === 'changed' &&
      previous !== undefined &&
      jsonEqual((object.metadata.labels ?? {}) as JsonObject, (previous.metadata.labels ?? {}) as JsonObject)
    )
      return
    for (const [kind, resource] of this.kinds.inputs.entries()) {
      if (resource.spec.namespaceSelector === undefined || !resource.namespaced) continue
      for (const input of this.caches.inputs[kind]?.list({ namespace: object.metadata.name ?? '' }) ?? []) {
        for (const move of this.selection.setInput(kind, identityOf(input), input)) this.#inputMoved(move, false)
      }
    }
    if (!this.#begun || !this.kinds.related.some(({ spec }) => spec.namespaceSelector !== undefined)) return
    for (const parent of this.selection.parents.values()) this.#relatedRound(parent)
  }

  #relatedChanged(rule: number, change: ObjectChange): void {
    const kind = this.kinds.related[rule]
    if (!this.#begun || kind === undefined || !isNews(change)) return
    for (const parent of this.selection.parents.values()) {
      const concerned = [change.object, change.previous].some(
        (object) =>
          object !== undefined &&
          relatedConcerns(kind, parent.object, object, (name) => this.caches.namespaceLabels(name)),
      )
      if (concerned) this.#relatedRound(parent)
    }
  }

  /** Asks all groups of a parent, at most once in a second. */
  #relatedRound(parent: SelectedParent): void {
    const { clock } = this.#options.manager
    const round = this.#relatedRounds.get(parent.uid) ?? { last: -Infinity, timer: undefined }
    this.#relatedRounds.set(parent.uid, round)
    if (round.timer !== undefined) return
    const ask = (): void => {
      round.timer = undefined
      round.last = clock.now()
      const current = this.selection.parents.get(parent.uid)
      if (current !== undefined) this.#askAll(current)
    }
    const wait = round.last + relatedPause - clock.now()
    if (wait <= 0) ask()
    else round.timer = clock.timer(wait, ask)
  }

  #knownChanged(): void {
    this.#options.report()
    if (!this.#begun || !this.caches.outputsKnown) return
    const groups = [...this.#held.values()]
    this.#held.clear()
    for (const group of groups) this.loop.add(group)
  }

  // --- start ---

  /** Resolves when no kind is still being listed for the first time. */
  async #settled(): Promise<void> {
    const { parents, inputs, outputs, related, namespaces } = this.caches
    const informers = [parents, ...outputs, ...inputs, ...related, ...(namespaces === undefined ? [] : [namespaces])]
    await Promise.all(
      informers.map((informer) => informer.settled(this.#options.manager.signal).catch(() => undefined)),
    )
    if (this.#options.manager.signal.aborted) this.#stopped = true
  }

  /** Reads the caches piece by piece; what changes meanwhile comes by its event. */
  async #fillBooks(): Promise<void> {
    let read = 0
    const pause = async (): Promise<void> => {
      if (++read % chunk === 0) await nextTurn()
    }
    for (const [kind, informer] of this.caches.outputs.entries()) {
      for (const key of informer.objects.keys()) {
        this.book.set(kind, key, informer.get(key))
        await pause()
      }
    }
    for (const object of this.caches.parents.objects.values()) this.selection.setParent(object, () => [])
    for (const [kind, informer] of this.caches.inputs.entries()) {
      for (const key of informer.objects.keys()) {
        const input = informer.get(key)
        if (input !== undefined) this.selection.setInput(kind, identityOf(input), input)
        await pause()
      }
    }
    // Parents that came while the books were filled.
    for (const object of this.caches.parents.objects.values())
      if (!this.selection.parents.has(object.metadata.uid ?? '')) this.#setParent(object)
    for (const parent of this.selection.parents.values()) {
      if (!parent.selector.valid)
        this.#eventsOf(parent.object).warning(
          'SyncError',
          `${parent.selector.message}; nothing is mapped and nothing is deleted until it is corrected`,
          { action: 'Sync' },
        )
    }
  }

  /** Groups without output, changed and detached ones are asked at once; the rest once, spread over the period (specs/map.md §1). */
  async #firstTurns(): Promise<void> {
    let read = 0
    for (const parent of this.selection.parents.values()) {
      this.#status.dirty(parent.uid)
      if (isTerminating(parent.object)) continue
      for (const mapKey of this.#groupsOf(parent)) {
        const group = { parent: parent.uid, mapKey }
        if (this.#isUnchanged(parent, mapKey)) {
          this.#firstRound.add(groupId(group))
          this.loop.queue.addAfter(group, startDelay(mapKey, this.controller.spec.resyncPeriodSeconds))
        } else {
          this.loop.add(group, 'low')
        }
        if (++read % chunk === 0) await nextTurn()
        if (this.#stopped) return
      }
    }
  }

  #isUnchanged(parent: SelectedParent, mapKey: string): boolean {
    const ref = parent.inputs.get(mapKey)
    const resource = ref === undefined ? undefined : this.kinds.inputs[ref.kind]
    const input = ref === undefined ? undefined : this.caches.inputs[ref.kind]?.get(ref.key)
    if (ref?.role !== 'input' || resource === undefined || input === undefined) return false
    return wasSeen(
      this.book.outputsOf(parent.uid, mapKey),
      seenDigest(this.controller, parent.object, input, resource.spec),
    )
  }

  #askAll(parent: SelectedParent): void {
    for (const mapKey of this.#groupsOf(parent)) this.loop.add({ parent: parent.uid, mapKey })
  }

  #groupsOf(parent: SelectedParent): Set<string> {
    return new Set([...parent.inputs.keys(), ...this.book.groupsOf(parent.uid, parent.identity).keys()])
  }

  #statusOf(uid: string): ParentFacts | undefined {
    const parent = this.selection.parents.get(uid)
    if (parent === undefined || !this.#begun || !this.caches.outputsKnown) return undefined
    const counts = this.kinds.inputs.map(() => 0)
    for (const { kind, role } of parent.inputs.values()) if (role === 'input') counts[kind] = (counts[kind] ?? 0) + 1
    const isKnown = (kind: number): boolean => parent.selector.valid && this.caches.inputs[kind]?.state === 'Synced'
    return {
      parent: parent.object,
      inputTotals: counts.map((count, kind) => (isKnown(kind) ? count : undefined)),
      outputs: this.book.tallyOf(uid),
    }
  }
}

/** One text per group. */
export function groupId({ parent, mapKey }: GroupRef): string {
  return `${parent}/${mapKey}`
}

function isNews(change: ObjectChange): boolean {
  return (
    change.type !== 'changed' || change.object.metadata.resourceVersion !== change.previous.metadata.resourceVersion
  )
}

/** The change of a parent moves no input in or out. */
function sameSelection(old: KubeObject, parent: KubeObject): boolean {
  const selectorOf = (object: KubeObject): JsonObject | null =>
    (object.spec as { selector?: JsonObject } | undefined)?.selector ?? null
  return jsonEqual(selectorOf(old), selectorOf(parent))
}
