// Garbage collection by owner references: background, foreground (`foregroundDeletion`, `blockOwnerDeletion`) and
// orphan. The rules are those of the real garbage collector (recordings crud/delete-*, crud/gc-*); deletes carry uid
// and resourceVersion, so that stale events never delete a new object.
import { yieldIfLong } from '@fairlead/client'
import type { Client, Kind } from '@fairlead/client'
import type { ObjectChange, WorkContext, WorkLoop } from '@fairlead/controller'
import type { KubeObject, OwnerReference } from '@fairlead/kube'
import { controllerManager } from '../controller-context.ts'
import type { ControllerContext } from '../controller-context.ts'
import type { AllResourcesInformer } from '../all-resources-informer.ts'
import { blocks, foregroundFinalizer, orphanFinalizer, OwnerGraph, ownersOf, waitsWith } from './owner-graph.ts'
import type { GraphNode } from './owner-graph.ts'
import { OwnerLookup } from './owner-lookup.ts'
import type { OwnerState } from './owner-lookup.ts'
import { deleteObject, patchOwners, propagationOf, removeFinalizer, removeOwners, withLatest } from './owner-writes.ts'

/** Maximum size of the sets of uids of deleted objects. */
const maxRemembered = 10_000

/** Owners of one object that are looked up at the same time: it may name thousands. */
const ownersAtOnce = 20

/** Sets up the controller. */
export function setUpGarbageCollection(context: ControllerContext): void {
  const allResources = context.allResources()
  const collector = new GarbageCollector(context, allResources)
  const loop = context.manager.loop<string>({
    name: 'garbage-collector-controller',
    id: (uid) => uid,
    concurrency: 32,
    manager: controllerManager,
    run: (uid, work) => collector.run(uid, work),
    logFields: (uid) => ({ uid }),
  })
  context.onStop(collector.subscribe(loop))
}

/**
 * The collector. Its items are uids: of dependents whose owners may be absent, and of owners that wait for their
 * dependents.
 */
class GarbageCollector {
  readonly #context: ControllerContext
  readonly #allResources: AllResourcesInformer
  readonly #graph = new OwnerGraph()
  readonly #owners: OwnerLookup
  /** Uids to enqueue once all informers are synced. */
  readonly #postponed = new Set<string>()
  /** Owners that were deleted with orphan propagation; their dependents must not be collected as ownerless. */
  readonly #orphaned = new Set<string>()
  readonly #reported = new Set<string>()

  constructor(context: ControllerContext, allResources: AllResourcesInformer) {
    this.#context = context
    this.#allResources = allResources
    this.#owners = new OwnerLookup(this.#graph, context.resources, allResources)
  }

  subscribe(loop: WorkLoop<string>): Disposable {
    const enqueue = (uid: string): void => loop.queue.addAfter(uid, this.#context.delay)
    return this.#allResources.subscribe({
      changed: (kind, change) => {
        if (change.type === 'removed') this.#removed(change.object, enqueue)
        else this.#put(kind, change, enqueue)
      },
      lost: ({ group, kind }) => {
        for (const [uid, node] of this.#graph.nodes()) {
          if (node.kind.group === group && node.kind.kind === kind) this.#graph.remove(uid)
        }
      },
      synced: () => {
        for (const uid of this.#postponed) enqueue(uid)
        this.#postponed.clear()
      },
    })
  }

  #removed(object: KubeObject, enqueue: (uid: string) => void): void {
    const uid = object.metadata.uid!
    this.#graph.remove(uid)
    for (const dependent of this.#graph.dependentsOf(uid)) enqueue(dependent)
    this.#enqueueWaitingOwners(object, enqueue)
  }

  #put(kind: Kind, { object, previous }: ObjectChange, enqueue: (uid: string) => void): void {
    const uid = object.metadata.uid!
    const replaced = previous !== undefined && previous.metadata.uid !== uid
    if (replaced) this.#removed(previous, enqueue)
    const before = replaced ? undefined : previous
    this.#graph.put(kind, object)
    const began = (finalizer: string): boolean =>
      waitsWith(object, finalizer) && (before === undefined || !waitsWith(before, finalizer))
    if (began(foregroundFinalizer)) {
      enqueue(uid)
      for (const dependent of this.#graph.dependentsOf(uid)) enqueue(dependent)
    } else if (began(orphanFinalizer)) enqueue(uid)
    if (before !== undefined && ownersOf(before) === ownersOf(object)) return
    if (before !== undefined) this.#enqueueWaitingOwners(before, enqueue)
    if (ownersOf(object).length === 0) return
    if (ownersOf(object).some((owner) => this.#isWaiting(owner.uid))) enqueue(uid)
    else if (this.#hasUncertainOwner(object)) {
      if (this.#allResources.isSynced) enqueue(uid)
      else this.#postponed.add(uid)
    }
  }

  #enqueueWaitingOwners(dependent: KubeObject, enqueue: (uid: string) => void): void {
    for (const owner of ownersOf(dependent)) if (this.#isWaiting(owner.uid)) enqueue(owner.uid)
  }

  #isWaiting(uid: string): boolean {
    const owner = this.#graph.node(uid)
    return owner !== undefined && waitsWith(owner.object, foregroundFinalizer)
  }

  /** Returns true when an owner is not in the graph, or does not match the reference. */
  #hasUncertainOwner(object: KubeObject): boolean {
    return ownersOf(object).some(
      (owner) => this.#graph.node(owner.uid) === undefined || this.#isMismatch(owner, object),
    )
  }

  /** Returns true when the owner has another name, kind or namespace than the reference. */
  #isMismatch(reference: OwnerReference, dependent: KubeObject): boolean {
    const owner = this.#graph.node(reference.uid)
    if (owner === undefined) return false
    const isNamed = owner.kind.kind === reference.kind && owner.object.metadata.name === reference.name
    return !isNamed || this.#isElsewhere(reference, dependent)
  }

  /** Returns true when the owner is in a namespace that this dependent cannot refer to. */
  #isElsewhere(reference: OwnerReference, dependent: KubeObject): boolean {
    const owner = this.#graph.node(reference.uid)?.object
    return owner?.metadata.namespace !== undefined && owner.metadata.namespace !== dependent.metadata.namespace
  }

  async run(uid: string, { client }: WorkContext): Promise<void> {
    const node = this.#graph.node(uid)
    if (node === undefined) return
    const isForeground = waitsWith(node.object, foregroundFinalizer)
    if (isForeground || waitsWith(node.object, orphanFinalizer)) {
      // A kind that is not listed may have dependents.
      if (!this.#allResources.isSynced) this.#postponed.add(uid)
      else if (isForeground) await this.#finishForeground(uid, node, client)
      else await this.#orphanDependents(uid, node, client)
    } else if (node.object.metadata.deletionTimestamp === undefined && ownersOf(node.object).length > 0) {
      await withLatest(node, client, (object) => this.#collect(node.kind, object, client))
    }
  }

  /** Finishes the foreground deletion of an owner once no dependent blocks it. */
  async #finishForeground(uid: string, node: GraphNode, client: Client): Promise<void> {
    for (const dependent of this.#graph.dependentsOf(uid)) {
      const object = this.#graph.node(dependent)?.object
      if (object !== undefined && blocks(object, uid)) return
    }
    await removeFinalizer(node, foregroundFinalizer, client)
  }

  async #orphanDependents(uid: string, node: GraphNode, client: Client): Promise<void> {
    remember(this.#orphaned, uid)
    const dependents = [...this.#graph.dependentsOf(uid)].flatMap((dependent) => this.#graph.node(dependent) ?? [])
    await Promise.all(dependents.map((dependent) => removeOwners(dependent, new Set([uid]), client)))
    await removeFinalizer(node, orphanFinalizer, client)
  }

  /** Deletes an object, or removes owner references, by the state of its owners. */
  async #collect(kind: Kind, object: KubeObject, client: Client): Promise<void> {
    const references = ownersOf(object)
    if (object.metadata.deletionTimestamp !== undefined) return
    const states: OwnerState[] = []
    for (let first = 0; first < references.length; first += ownersAtOnce) {
      await yieldIfLong()
      const some = references.slice(first, first + ownersAtOnce)
      states.push(...(await Promise.all(some.map((reference) => this.#stateOf(object, reference, client)))))
    }
    const uidsIn = (...wanted: readonly OwnerState[]): ReadonlySet<string> =>
      new Set(references.filter((_, index) => wanted.includes(states[index]!)).map(({ uid }) => uid))
    const kept = uidsIn('solid', 'unknown', 'misplaced')
    const dangling = uidsIn('absent', 'waiting')
    if (uidsIn('unknown').size > 0) this.#postponed.add(object.metadata.uid!)
    if (dangling.size === 0) return
    if (kept.size > 0 || references.some(({ uid }) => this.#orphaned.has(uid)))
      return patchOwners(kind, object, (owners) => owners.filter(({ uid }) => !dangling.has(uid)), client)
    const dependents = this.#graph.dependentsOf(object.metadata.uid!)
    if (uidsIn('waiting').size > 0 && dependents.size > 0) {
      if (this.#isInCycle(dependents)) return this.#unblockAndDelete(kind, object, client)
      return deleteObject(kind, object, 'Foreground', client)
    }
    return deleteObject(kind, object, propagationOf(object), client)
  }

  async #stateOf(object: KubeObject, reference: OwnerReference, client: Client): Promise<OwnerState> {
    const state = await this.#owners.stateOf(object, reference, client)
    if (state === 'misplaced' || (state === 'absent' && this.#isElsewhere(reference, object)))
      this.#report(object, reference)
    return state
  }

  /**
   * Returns true when a dependent waits in foreground deletion itself: with blocking references both would wait for
   * ever.
   */
  #isInCycle(dependents: ReadonlySet<string>): boolean {
    return [...dependents].some((uid) => this.#isWaiting(uid))
  }

  async #unblockAndDelete(kind: Kind, object: KubeObject, client: Client): Promise<void> {
    if (ownersOf(object).some(({ blockOwnerDeletion }) => blockOwnerDeletion === true)) {
      await patchOwners(
        kind,
        object,
        (owners) => owners.map((owner) => ({ ...owner, blockOwnerDeletion: false })),
        client,
      )
    }
    await deleteObject(kind, object, 'Foreground', client, { anyVersion: true })
  }

  #report(dependent: KubeObject, reference: OwnerReference): void {
    const { uid, namespace = '' } = dependent.metadata
    const id = `${uid}|${reference.uid}`
    if (this.#reported.has(id)) return
    remember(this.#reported, id)
    const { apiVersion, kind, name } = reference
    const owner = `[${apiVersion}/${kind}, namespace: ${namespace}, name: ${name}, uid: ${reference.uid}]`
    const note = `ownerRef ${owner} does not exist in namespace "${namespace}"`
    this.#context.manager
      .recorder('garbage-collector-controller')
      .about(dependent)
      .warning('OwnerRefInvalidNamespace', note)
  }
}

/** Adds a value to a bounded set, which drops its oldest. */
function remember(set: Set<string>, value: string): void {
  set.add(value)
  const oldest = set.values().next().value
  if (set.size > maxRemembered && oldest !== undefined) set.delete(oldest)
}
