// The parents, inputs and outputs of one MapController, kept up to date by the events of its caches; says which groups
// an event enqueues. Start with GroupIndex.fill.
import { chunkSize, yieldToEventLoop } from '@fairlead/client'
import type { ObjectChange } from '@fairlead/controller'
import type { Clock, JsonObject, KubeObject } from '@fairlead/kube'
import { formatKey, isTerminating, jsonEqual, keyOf, parseKey } from '@fairlead/kube'
import type { MapController } from '../api.ts'
import { formatIdentity, identityOf } from '../engine/identity.ts'
import { inputFilter } from '../engine/input.ts'
import type { ControllerKinds } from '../engine/kinds.ts'
import { OutputIndex } from '../engine/output-index.ts'
import { isRelated } from '../engine/related.ts'
import type { InputKind } from '../engine/resource.ts'
import type { InputMove, SelectedParent } from '../engine/selection.ts'
import { Selection } from '../engine/selection.ts'
import { inputChangeMatters, parentChangeMatters, seenDigest, wasSeen } from '../engine/trigger.ts'
import type { CacheListener, Caches } from './caches.ts'
import { objectsIn } from './caches.ts'
import type { GroupRef } from './group-state.ts'
import type { ParentCounts } from './parent-status.ts'

/** Callbacks of a {@link GroupIndex}: the consequences of cache events. */
export interface GroupEvents {
  /** A group must be reconciled. */
  onEnqueue(group: GroupRef): void
  /** The cache shows a change of an output of this group. */
  onOutputObserved(group: GroupRef): void
  /** The counts of a parent may have changed. */
  onCountsChanged(parentUid: string): void
  /** A parent was deleted; these were its groups. */
  onParentDeleted(parentUid: string, groups: Iterable<GroupRef>): void
  /** The selector of a parent is invalid. */
  onInvalidSelector(parent: KubeObject, message: string): void
  /** A kind was listed, or cannot be listed any more. */
  onKnownChanged(): void
  /** Parents, or inputs of them, were added, changed or removed. */
  onGroupsChanged(): void
}

/** Milliseconds between two rounds that changes of related objects cause, for each parent. */
const relatedPause = 1000

/** The groups of one MapController. */
export class GroupIndex implements CacheListener, Disposable {
  readonly selection: Selection
  readonly outputs: OutputIndex
  readonly #controller: MapController
  readonly #kinds: ControllerKinds
  readonly #caches: Caches
  readonly #clock: Clock
  readonly #events: GroupEvents
  readonly #relatedRounds = new Map<string, { last: number; timer: Disposable | undefined }>()
  /** The index is complete: events enqueue groups from now on. */
  #isFull = false

  constructor(controller: MapController, kinds: ControllerKinds, caches: Caches, clock: Clock, events: GroupEvents) {
    this.#controller = controller
    this.#kinds = kinds
    this.#caches = caches
    this.#clock = clock
    this.#events = events
    this.outputs = new OutputIndex(controller.metadata.name ?? '', kinds.outputs.length)
    this.selection = new Selection(kinds.inputs.map(inputFilter), (namespace) => caches.namespaceLabels(namespace))
  }

  /** Every object was read once. */
  get isFull(): boolean {
    return this.#isFull
  }

  /** Reads the caches in chunks; changes meanwhile arrive as events. */
  async fill(): Promise<void> {
    let read = 0
    const pause = async (): Promise<void> => {
      if (++read % chunkSize === 0) await yieldToEventLoop()
    }
    for (const [kind, informer] of this.#caches.outputs.entries()) {
      for (const key of informer.lastKnown.keys()) {
        this.outputs.set(kind, key, informer.lastKnown.get(key))
        await pause()
      }
    }
    for (const object of this.#caches.parents.lastKnown.values()) this.selection.setParent(object, () => [])
    for (const [kind, informer] of this.#caches.inputs.entries()) {
      for (const key of informer.lastKnown.keys()) {
        const input = informer.lastKnown.get(key)
        if (input !== undefined) this.selection.setInput(kind, identityOf(input), input)
        await pause()
      }
    }
    // Parents that were added or changed while the index was filled.
    for (const object of this.#caches.parents.lastKnown.values()) {
      if (this.selection.parents.get(object.metadata.uid ?? '')?.object !== object) this.#select(object)
    }
    this.#isFull = true
    for (const { object, selector } of this.selection.parents.values()) {
      if (!selector.valid) this.#events.onInvalidSelector(object, selector.message)
    }
  }

  /** Returns the map keys of a parent's groups: those of its inputs, of its outputs and of orphans that name it. */
  groupsOf(parent: SelectedParent): Set<string> {
    return new Set([...parent.inputs.keys(), ...this.outputs.groupsOf(parent).keys()])
  }

  /**
   * Returns the group that an object of an output kind belongs to: its own, or for an orphan the one that may adopt it.
   */
  groupOf(object: KubeObject): GroupRef[] {
    const role = this.outputs.roleOf(object)
    if (role.role === 'foreign') return []
    const { parents } = this.selection
    const parent = role.role === 'output' ? parents.get(role.parentUid) : this.selection.byIdentity(role.parent)
    return parent?.identity !== role.parent ? [] : [{ parent: parent.uid, mapKey: role.mapKey }]
  }

  /** Returns the input of a group as `Kind.group/namespace/name`; the map key when the input is not known. */
  inputName({ parent, mapKey }: GroupRef): string {
    const selected = this.selection.parents.get(parent)
    const ref = selected?.inputs.get(mapKey)
    const resource = ref === undefined ? undefined : this.#kinds.inputs[ref.kind]
    if (ref !== undefined && resource !== undefined)
      return formatIdentity({ group: resource.group, kind: resource.kind, ...parseKey(ref.key) })
    const known = selected === undefined ? undefined : this.outputs.inputOf(selected, mapKey)
    return known === undefined ? mapKey : formatIdentity(known)
  }

  /**
   * Returns the namespace that decides on the shard of a group: the parent's, or the input's where the parent has none
   * (design decision 11).
   */
  namespaceOf({ parent, mapKey }: GroupRef): string | undefined {
    const selected = this.selection.parents.get(parent)
    if (selected === undefined) return undefined
    const { namespace } = selected.object.metadata
    if (namespace) return namespace
    const ref = selected.inputs.get(mapKey)
    if (ref !== undefined) return parseKey(ref.key).namespace
    return this.outputs.inputOf(selected, mapKey)?.namespace
  }

  /** Returns whether some output of the group was written when the hook was sent exactly what it would be sent now. */
  isUnchanged(parent: SelectedParent, mapKey: string): boolean {
    const ref = parent.inputs.get(mapKey)
    const resource = ref === undefined ? undefined : this.#kinds.inputs[ref.kind]
    const input = ref === undefined ? undefined : this.#caches.inputs[ref.kind]?.lastKnown.get(ref.key)
    if (ref?.role !== 'input' || resource === undefined || input === undefined) return false
    const seen = seenDigest(this.#controller, parent.object, input, resource.spec)
    return wasSeen(this.outputs.outputsOf(parent, mapKey), seen)
  }

  /** Returns the counts of a parent; undefined when it is deleted or too little is known. */
  parentCounts(uid: string): ParentCounts | undefined {
    const parent = this.selection.parents.get(uid)
    if (parent === undefined || !this.#isFull || !this.#caches.outputsKnown) return undefined
    const counts = this.#kinds.inputs.map(() => 0)
    for (const { kind, role } of parent.inputs.values()) if (role === 'input') counts[kind] = (counts[kind] ?? 0) + 1
    const isKnown = (kind: number): boolean => parent.selector.valid && this.#caches.inputs[kind]?.state === 'Synced'
    return {
      parent: parent.object,
      inputTotals: counts.map((count, kind) => (isKnown(kind) ? count : undefined)),
      outputs: this.outputs.countsOf(parent),
    }
  }

  /** Returns the keys of a parent's inputs of a kind. */
  inputKeys(uid: string, { group, kind }: Pick<InputKind, 'group' | 'kind'>): string[] {
    const position = this.#kinds.inputs.findIndex((one) => one.group === group && one.kind === kind)
    const inputs = this.selection.parents.get(uid)?.inputs.values() ?? []
    return [...inputs].flatMap((ref) => (ref.kind === position && ref.role === 'input' ? [ref.key] : []))
  }

  onParent({ object, previous, type }: ObjectChange): void {
    const uid = object.metadata.uid ?? ''
    if (type === 'removed' || (previous !== undefined && previous.metadata.uid !== uid)) {
      this.#removeParent((previous ?? object).metadata.uid ?? '')
    }
    if (type === 'removed' || !this.#isFull) return this.#events.onGroupsChanged()
    const isNew = previous === undefined || !this.selection.parents.has(uid)
    if (!isNew && !parentChangeMatters(previous, object)) {
      this.selection.refreshParent(object)
      // Another client may have removed counts.
      return this.#events.onCountsChanged(uid)
    }
    if (!isNew && sameSelection(previous, object)) this.selection.refreshParent(object)
    else this.#setParent(object)
    this.#events.onCountsChanged(uid)
    if (!isTerminating(object)) this.#enqueueAll(uid)
    this.#events.onGroupsChanged()
  }

  onInput(kind: number, { object, previous, type }: ObjectChange): void {
    const moves = this.selection.setInput(kind, identityOf(object), type === 'removed' ? undefined : object)
    const resource = this.#kinds.inputs[kind]
    const matters = type !== 'changed' || resource === undefined || inputChangeMatters(previous, object, resource.spec)
    for (const move of moves) this.#onMove(move, matters)
  }

  onOutput(kind: number, { object, type }: ObjectChange): void {
    const { before, after, counted } = this.outputs.set(
      kind,
      formatKey(keyOf(object)),
      type === 'removed' ? undefined : object,
    )
    for (const uid of counted) this.#events.onCountsChanged(uid)
    for (const role of [before, after]) {
      if (role?.role !== 'output') continue
      this.#events.onOutputObserved({ parent: role.parentUid, mapKey: role.mapKey })
    }
  }

  onRelated(rule: number, change: ObjectChange): void {
    const kind = this.#kinds.related[rule]
    if (!this.#isFull || kind === undefined || !isNewVersion(change)) return
    const labelsOf = (namespace: string): Readonly<Record<string, string>> | undefined =>
      this.#caches.namespaceLabels(namespace)
    const objects = [change.object, change.previous].filter((object) => object !== undefined)
    for (const parent of this.selection.parents.values()) {
      if (objects.some((object) => isRelated(kind, parent.object, object, labelsOf))) this.#relatedRound(parent.uid)
    }
  }

  onNamespace({ object, previous, type }: ObjectChange): void {
    if (
      type === 'changed' &&
      jsonEqual((object.metadata.labels ?? {}) as JsonObject, (previous.metadata.labels ?? {}) as JsonObject)
    )
      return
    for (const [kind, resource] of this.#kinds.inputs.entries()) {
      if (resource.spec.namespaceSelector === undefined || !resource.namespaced) continue
      for (const input of this.#caches.inputs[kind]?.lastKnown.list({ namespace: object.metadata.name ?? '' }) ?? []) {
        for (const move of this.selection.setInput(kind, identityOf(input), input)) this.#onMove(move, false)
      }
    }
    if (!this.#isFull || !this.#kinds.related.some(({ spec }) => spec.namespaceSelector !== undefined)) return
    for (const uid of this.selection.parents.keys()) this.#relatedRound(uid)
  }

  onKnownChanged(): void {
    this.#events.onKnownChanged()
  }

  [Symbol.dispose](): void {
    for (const { timer } of this.#relatedRounds.values()) timer?.[Symbol.dispose]()
    this.#relatedRounds.clear()
  }

  #select(object: KubeObject): ReturnType<Selection['setParent']> {
    return this.selection.setParent(object, (kind, namespace) => {
      const [informer, resource] = [this.#caches.inputs[kind], this.#kinds.inputs[kind]]
      return informer === undefined || resource === undefined ? [] : objectsIn(informer, resource, namespace)
    })
  }

  #setParent(object: KubeObject): void {
    const { parent, left } = this.#select(object)
    if (!parent.selector.valid) this.#events.onInvalidSelector(object, parent.selector.message)
    for (const mapKey of left) this.#events.onEnqueue({ parent: parent.uid, mapKey })
  }

  #removeParent(uid: string): void {
    this.#relatedRounds.get(uid)?.timer?.[Symbol.dispose]()
    this.#relatedRounds.delete(uid)
    const parent = this.selection.removeParent(uid)
    const groups = parent === undefined ? [] : [...this.groupsOf(parent)]
    this.#events.onParentDeleted(
      uid,
      groups.map((mapKey) => ({ parent: uid, mapKey })),
    )
  }

  #onMove({ parent, mapKey, before, after }: InputMove, matters: boolean): void {
    const isMove = before?.role !== after?.role
    if (isMove) {
      this.#events.onCountsChanged(parent.uid)
      this.#events.onGroupsChanged()
    }
    if (this.#isFull && (matters || isMove)) this.#events.onEnqueue({ parent: parent.uid, mapKey })
  }

  /** Enqueues all groups of a parent, at most once a second. */
  #relatedRound(uid: string): void {
    const round = this.#relatedRounds.get(uid) ?? { last: -Infinity, timer: undefined }
    this.#relatedRounds.set(uid, round)
    if (round.timer !== undefined) return
    const enqueue = (): void => {
      round.timer = undefined
      round.last = this.#clock.now()
      this.#enqueueAll(uid)
    }
    const wait = round.last + relatedPause - this.#clock.now()
    if (wait <= 0) enqueue()
    else round.timer = this.#clock.timer(wait, enqueue)
  }

  #enqueueAll(uid: string): void {
    const parent = this.selection.parents.get(uid)
    if (parent !== undefined)
      for (const mapKey of this.groupsOf(parent)) this.#events.onEnqueue({ parent: uid, mapKey })
  }
}

/** Returns whether a change brings another version: watches may deliver a version again. */
export function isNewVersion(change: ObjectChange): boolean {
  return (
    change.type !== 'changed' || change.object.metadata.resourceVersion !== change.previous.metadata.resourceVersion
  )
}

/** Returns whether the change of a parent leaves its inputs as they are. */
function sameSelection(old: KubeObject, parent: KubeObject): boolean {
  const selectorOf = (object: KubeObject): JsonObject | null =>
    (object.spec as { selector?: JsonObject } | undefined)?.selector ?? null
  return jsonEqual(selectorOf(old), selectorOf(parent))
}
