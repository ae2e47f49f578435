// What is known of parents, inputs and outputs, kept up to date by the caches' events; says which groups an event asks. Start with Books.fill.
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { ObjectChange } from '@fairlead/controller'
import { isTerminating, jsonEqual, parseKey } from '@fairlead/kube'
import type { Clock, JsonObject, KubeObject } from '@fairlead/kube'
import type { MapController } from '../api.ts'
import { formatIdentity, identityOf } from '../engine/identity.ts'
import { inputFilter } from '../engine/input.ts'
import { OutputBook } from '../engine/output-index.ts'
import type { InputMove, SelectedParent } from '../engine/selection.ts'
import { Selection } from '../engine/selection.ts'
import { inputChangeMatters, parentChangeMatters, seenDigest, wasSeen } from '../engine/trigger.ts'
import type { CacheListener, Caches } from './caches.ts'
import { objectsIn } from './caches.ts'
import type { GroupRef } from './group-state.ts'
import type { ControllerKinds } from './kinds.ts'
import type { ParentFacts } from './parent-status.ts'
import { relatedConcerns } from '../engine/related.ts'

/** Who is told what events mean. */
export interface BookReader {
  /** A group must be asked. */
  ask(group: GroupRef): void
  /** The cache shows a change of an output of this group. */
  shown(group: GroupRef): void
  /** The counts of a parent may have moved. */
  counted(parentUid: string): void
  /** A parent is gone, and these were its groups. */
  parentGone(parentUid: string, groups: Iterable<GroupRef>): void
  /** The selector of a parent cannot be read. */
  invalid(parent: KubeObject, message: string): void
  /** What is known of some kind is another thing now. */
  known(): void
  /** Parents came, changed or went. */
  parentsChanged(): void
}

/** How many objects are read between two pauses, so that nothing else waits long. */
const chunk = 500
/** Milliseconds between two rounds that changes of related objects cause, for each parent. */
const relatedPause = 1000

/** The books of one MapController. */
export class Books implements CacheListener, Disposable {
  readonly selection: Selection
  readonly outputs: OutputBook
  readonly #controller: MapController
  readonly #kinds: ControllerKinds
  readonly #caches: Caches
  readonly #clock: Clock
  readonly #reader: BookReader
  readonly #relatedRounds = new Map<string, { last: number; timer: Disposable | undefined }>()
  /** The books are full: events ask groups from now on. */
  #isFull = false

  constructor(controller: MapController, kinds: ControllerKinds, caches: Caches, clock: Clock, reader: BookReader) {
    this.#controller = controller
    this.#kinds = kinds
    this.#caches = caches
    this.#clock = clock
    this.#reader = reader
    this.outputs = new OutputBook(controller.metadata.name ?? '', kinds.outputs.length)
    this.selection = new Selection(kinds.inputs.map(inputFilter), (namespace) => caches.namespaceLabels(namespace))
  }

  /** Every object was read once. */
  get isFull(): boolean {
    return this.#isFull
  }

  /** Reads the caches piece by piece; what changes meanwhile comes by its event. */
  async fill(): Promise<void> {
    let read = 0
    const pause = async (): Promise<void> => {
      if (++read % chunk === 0) await nextTurn()
    }
    for (const [kind, informer] of this.#caches.outputs.entries()) {
      for (const key of informer.objects.keys()) {
        this.outputs.set(kind, key, informer.get(key))
        await pause()
      }
    }
    for (const object of this.#caches.parents.objects.values()) this.selection.setParent(object, () => [])
    for (const [kind, informer] of this.#caches.inputs.entries()) {
      for (const key of informer.objects.keys()) {
        const input = informer.get(key)
        if (input !== undefined) this.selection.setInput(kind, identityOf(input), input)
        await pause()
      }
    }
    // Parents that came or changed while the books were filled.
    for (const object of this.#caches.parents.objects.values()) {
      if (this.selection.parents.get(object.metadata.uid ?? '')?.object !== object) this.#select(object)
    }
    this.#isFull = true
    for (const { object, selector } of this.selection.parents.values()) {
      if (!selector.valid) this.#reader.invalid(object, selector.message)
    }
  }

  /** The groups of a parent: its inputs, and what outputs and orphans stand for. */
  groupsOf(parent: SelectedParent): Set<string> {
    return new Set([...parent.inputs.keys(), ...this.outputs.groupsOf(parent.uid, parent.identity).keys()])
  }

  /** The group whose business an object of an output kind is: its own, or for an orphan the one that may adopt it. */
  groupOf(object: KubeObject): GroupRef[] {
    const role = this.outputs.roleOf(object)
    if (role.role === 'stranger') return []
    const { parents } = this.selection
    const parent = role.role === 'output' ? parents.get(role.parentUid) : this.selection.byIdentity(role.parent)
    return parent === undefined ? [] : [{ parent: parent.uid, mapKey: role.mapKey }]
  }

  /** The input of a group as `Kind.group/namespace/name`; the map key where nothing tells it. */
  inputName({ parent, mapKey }: GroupRef): string {
    const selected = this.selection.parents.get(parent)
    const ref = selected?.inputs.get(mapKey)
    const resource = ref === undefined ? undefined : this.#kinds.inputs[ref.kind]
    if (ref !== undefined && resource !== undefined)
      return formatIdentity({ group: resource.group, kind: resource.kind, ...parseKey(ref.key) })
    const known = selected === undefined ? undefined : this.outputs.inputOf(parent, selected.identity, mapKey)
    return known === undefined ? mapKey : formatIdentity(known)
  }

  /** The namespace that decides whose shard a group belongs to: the parent's, or the input's where the parent has none (design decision 11). */
  namespaceOf({ parent, mapKey }: GroupRef): string | undefined {
    const selected = this.selection.parents.get(parent)
    if (selected === undefined) return undefined
    const { namespace } = selected.object.metadata
    if (namespace) return namespace
    const ref = selected.inputs.get(mapKey)
    if (ref !== undefined) return parseKey(ref.key).namespace
    return this.outputs.inputOf(parent, selected.identity, mapKey)?.namespace
  }

  /** Some output of the group was written when the hook saw exactly what it would see now. */
  isUnchanged(parent: SelectedParent, mapKey: string): boolean {
    const ref = parent.inputs.get(mapKey)
    const resource = ref === undefined ? undefined : this.#kinds.inputs[ref.kind]
    const input = ref === undefined ? undefined : this.#caches.inputs[ref.kind]?.get(ref.key)
    if (ref?.role !== 'input' || resource === undefined || input === undefined) return false
    const seen = seenDigest(this.#controller, parent.object, input, resource.spec)
    return wasSeen(this.outputs.outputsOf(parent.uid, mapKey), seen)
  }

  /** What the status of a parent says; undefined when it is gone or too little is known. */
  factsOf(uid: string): ParentFacts | undefined {
    const parent = this.selection.parents.get(uid)
    if (parent === undefined || !this.#isFull || !this.#caches.outputsKnown) return undefined
    const counts = this.#kinds.inputs.map(() => 0)
    for (const { kind, role } of parent.inputs.values()) if (role === 'input') counts[kind] = (counts[kind] ?? 0) + 1
    const isKnown = (kind: number): boolean => parent.selector.valid && this.#caches.inputs[kind]?.state === 'Synced'
    return {
      parent: parent.object,
      inputTotals: counts.map((count, kind) => (isKnown(kind) ? count : undefined)),
      outputs: this.outputs.tallyOf(uid),
    }
  }

  parent({ object, previous, type }: ObjectChange): void {
    const uid = object.metadata.uid ?? ''
    if (type === 'removed' || (previous !== undefined && previous.metadata.uid !== uid)) {
      this.#removeParent((previous ?? object).metadata.uid ?? '')
    }
    if (type === 'removed' || !this.#isFull) return this.#reader.parentsChanged()
    const isNew = previous === undefined || !this.selection.parents.has(uid)
    if (!isNew && !parentChangeMatters(previous, object)) return this.selection.refreshParent(object)
    if (!isNew && sameSelection(previous, object)) this.selection.refreshParent(object)
    else this.#setParent(object)
    this.#reader.counted(uid)
    if (!isTerminating(object)) this.#askAll(uid)
    this.#reader.parentsChanged()
  }

  input(kind: number, { object, previous, type }: ObjectChange): void {
    const moves = this.selection.setInput(kind, identityOf(object), type === 'removed' ? undefined : object)
    const resource = this.#kinds.inputs[kind]
    const matters = type !== 'changed' || resource === undefined || inputChangeMatters(previous, object, resource.spec)
    for (const move of moves) this.#moved(move, matters)
  }

  output(kind: number, { object, type }: ObjectChange): void {
    const { namespace, name = '' } = object.metadata
    const key = namespace === undefined ? name : `${namespace}/${name}`
    const { before, after } = this.outputs.set(kind, key, type === 'removed' ? undefined : object)
    for (const role of [before, after]) {
      if (role?.role !== 'output') continue
      this.#reader.counted(role.parentUid)
      this.#reader.shown({ parent: role.parentUid, mapKey: role.mapKey })
    }
  }

  related(rule: number, change: ObjectChange): void {
    const kind = this.#kinds.related[rule]
    if (!this.#isFull || kind === undefined || !isNews(change)) return
    const labelsOf = (namespace: string): Readonly<Record<string, string>> | undefined =>
      this.#caches.namespaceLabels(namespace)
    const objects = [change.object, change.previous].filter((object) => object !== undefined)
    for (const parent of this.selection.parents.values()) {
      if (objects.some((object) => relatedConcerns(kind, parent.object, object, labelsOf)))
        this.#relatedRound(parent.uid)
    }
  }

  namespace({ object, previous, type }: ObjectChange): void {
    if (
      type === 'changed' &&
      jsonEqual((object.metadata.labels ?? {}) as JsonObject, (previous.metadata.labels ?? {}) as JsonObject)
    )
      return
    for (const [kind, resource] of this.#kinds.inputs.entries()) {
      if (resource.spec.namespaceSelector === undefined || !resource.namespaced) continue
      for (const input of this.#caches.inputs[kind]?.list({ namespace: object.metadata.name ?? '' }) ?? []) {
        for (const move of this.selection.setInput(kind, identityOf(input), input)) this.#moved(move, false)
      }
    }
    if (!this.#isFull || !this.#kinds.related.some(({ spec }) => spec.namespaceSelector !== undefined)) return
    for (const uid of this.selection.parents.keys()) this.#relatedRound(uid)
  }

  known(): void {
    this.#reader.known()
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
    if (!parent.selector.valid) this.#reader.invalid(object, parent.selector.message)
    for (const mapKey of left) this.#reader.ask({ parent: parent.uid, mapKey })
  }

  #removeParent(uid: string): void {
    this.#relatedRounds.get(uid)?.timer?.[Symbol.dispose]()
    this.#relatedRounds.delete(uid)
    const parent = this.selection.removeParent(uid)
    const groups = parent === undefined ? [] : [...this.groupsOf(parent)]
    this.#reader.parentGone(
      uid,
      groups.map((mapKey) => ({ parent: uid, mapKey })),
    )
  }

  #moved({ parent, mapKey, before, after }: InputMove, matters: boolean): void {
    const isMove = before?.role !== after?.role
    if (isMove) this.#reader.counted(parent.uid)
    if (this.#isFull && (matters || isMove)) this.#reader.ask({ parent: parent.uid, mapKey })
  }

  /** Asks all groups of a parent, at most once in a second. */
  #relatedRound(uid: string): void {
    const round = this.#relatedRounds.get(uid) ?? { last: -Infinity, timer: undefined }
    this.#relatedRounds.set(uid, round)
    if (round.timer !== undefined) return
    const ask = (): void => {
      round.timer = undefined
      round.last = this.#clock.now()
      this.#askAll(uid)
    }
    const wait = round.last + relatedPause - this.#clock.now()
    if (wait <= 0) ask()
    else round.timer = this.#clock.timer(wait, ask)
  }

  #askAll(uid: string): void {
    const parent = this.selection.parents.get(uid)
    if (parent !== undefined) for (const mapKey of this.groupsOf(parent)) this.#reader.ask({ parent: uid, mapKey })
  }
}

/** The change is one: watches may deliver a version again. */
export function isNews(change: ObjectChange): boolean {
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
