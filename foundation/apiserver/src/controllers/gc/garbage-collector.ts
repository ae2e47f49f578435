// Garbage collection by owner references: background, foreground (`foregroundDeletion`, `blockOwnerDeletion`) and orphan. Rules of the real
// garbage collector (recordings crud/delete-*, crud/gc-*); deletes carry uid and resourceVersion, so that no late news kills a new object.
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

/** How much is remembered of what is gone. */
const remembered = 10_000

/** Sets the controller up. */
export function setUpGarbageCollection(context: ControllerContext): void {
  const every = context.allResources()
  const collector = new GarbageCollector(context, every)
  const loop = context.manager.loop<string>({
    name: 'garbage-collector-controller',
    id: (uid) => uid,
    concurrency: 32,
    manager: controllerManager,
    run: (uid, work) => collector.run(uid, work),
    logFields: (uid) => ({ uid }),
  })
  context.onStop(collector.listen(loop))
}

/** The collector. Its items are uids: of dependents whose owners may be gone, and of owners that wait for their dependents. */
class GarbageCollector {
  readonly #context: ControllerContext
  readonly #every: AllResourcesInformer
  readonly #graph = new OwnerGraph()
  readonly #owners: OwnerLookup
  /** Uids to look at once all caches are complete. */
  readonly #postponed = new Set<string>()
  /** Owners that went without their dependents; one that was seen too late must not be taken for lost. */
  readonly #orphaned = new Set<string>()
  readonly #reported = new Set<string>()

  constructor(context: ControllerContext, every: AllResourcesInformer) {
    this.#context = context
    this.#every = every
    this.#owners = new OwnerLookup(this.#graph, context.resources, every)
  }

  listen(loop: WorkLoop<string>): Disposable {
    const look = (uid: string): void => loop.queue.addAfter(uid, this.#context.delay)
    return this.#every.subscribe({
      changed: (kind, change) => {
        if (change.type === 'removed') this.#removed(change.object, look)
        else this.#put(kind, change, look)
      },
      lost: ({ group, kind }) => {
        for (const [uid, node] of this.#graph.nodes()) {
          if (node.kind.group === group && node.kind.kind === kind) this.#graph.remove(uid)
        }
      },
      synced: () => {
        for (const uid of this.#postponed) look(uid)
        this.#postponed.clear()
      },
    })
  }

  #removed(object: KubeObject, look: (uid: string) => void): void {
    const uid = object.metadata.uid!
    this.#graph.remove(uid)
    for (const dependent of this.#graph.dependentsOf(uid)) look(dependent)
    this.#wakeWaitingOwners(object, look)
  }

  #put(kind: Kind, { object, previous }: ObjectChange, look: (uid: string) => void): void {
    const uid = object.metadata.uid!
    const replaced = previous !== undefined && previous.metadata.uid !== uid
    if (replaced) this.#removed(previous, look)
    const before = replaced ? undefined : previous
    this.#graph.put(kind, object)
    const began = (finalizer: string): boolean =>
      waitsWith(object, finalizer) && (before === undefined || !waitsWith(before, finalizer))
    if (began(foregroundFinalizer)) {
      look(uid)
      for (const dependent of this.#graph.dependentsOf(uid)) look(dependent)
    } else if (began(orphanFinalizer)) look(uid)
    if (before !== undefined && ownersOf(before) === ownersOf(object)) return
    if (before !== undefined) this.#wakeWaitingOwners(before, look)
    if (ownersOf(object).length === 0) return
    if (ownersOf(object).some((owner) => this.#isWaiting(owner.uid))) look(uid)
    else if (this.#isDoubtful(object)) {
      if (this.#every.isSynced) look(uid)
      else this.#postponed.add(uid)
    }
  }

  #wakeWaitingOwners(dependent: KubeObject, look: (uid: string) => void): void {
    for (const owner of ownersOf(dependent)) if (this.#isWaiting(owner.uid)) look(owner.uid)
  }

  #isWaiting(uid: string): boolean {
    const owner = this.#graph.node(uid)
    return owner !== undefined && waitsWith(owner.object, foregroundFinalizer)
  }

  /** Some owner is not known here, or not as the reference says. */
  #isDoubtful(object: KubeObject): boolean {
    return ownersOf(object).some(
      (owner) => this.#graph.node(owner.uid) === undefined || this.#isMistaken(owner, object),
    )
  }

  /** The owner is known, but under another name, kind or namespace than the reference says. */
  #isMistaken(reference: OwnerReference, dependent: KubeObject): boolean {
    const owner = this.#graph.node(reference.uid)
    if (owner === undefined) return false
    const isNamed = owner.kind.kind === reference.kind && owner.object.metadata.name === reference.name
    return !isNamed || this.#isElsewhere(reference, dependent)
  }

  /** The owner exists, but in a namespace where a reference of this dependent cannot lead. */
  #isElsewhere(reference: OwnerReference, dependent: KubeObject): boolean {
    const owner = this.#graph.node(reference.uid)?.object
    return owner?.metadata.namespace !== undefined && owner.metadata.namespace !== dependent.metadata.namespace
  }

  async run(uid: string, { client }: WorkContext): Promise<void> {
    const node = this.#graph.node(uid)
    if (node === undefined) return
    const isForeground = waitsWith(node.object, foregroundFinalizer)
    if (isForeground || waitsWith(node.object, orphanFinalizer)) {
      // a kind that is not listed may hold dependents
      if (!this.#every.isSynced) this.#postponed.add(uid)
      else if (isForeground) await this.#finishForeground(uid, node, client)
      else await this.#orphanDependents(uid, node, client)
    } else if (node.object.metadata.deletionTimestamp === undefined && ownersOf(node.object).length > 0) {
      await withLatest(node, client, (object) => this.#collect(node.kind, object, client))
    }
  }

  /** An owner in the foreground goes once nothing blocks it. */
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

  /** Decides about an object by the state of its owners. */
  async #collect(kind: Kind, object: KubeObject, client: Client): Promise<void> {
    const references = ownersOf(object)
    if (object.metadata.deletionTimestamp !== undefined) return
    const states = await Promise.all(references.map((reference) => this.#stateOf(object, reference, client)))
    const uidsIn = (...wanted: readonly OwnerState[]): ReadonlySet<string> =>
      new Set(references.filter((_, index) => wanted.includes(states[index]!)).map(({ uid }) => uid))
    const kept = uidsIn('solid', 'unknown', 'misplaced')
    const gone = uidsIn('absent', 'waiting')
    if (uidsIn('unknown').size > 0) this.#postponed.add(object.metadata.uid!)
    if (gone.size === 0) return
    if (kept.size > 0 || references.some(({ uid }) => this.#orphaned.has(uid)))
      return patchOwners(kind, object, (owners) => owners.filter(({ uid }) => !gone.has(uid)), client)
    const dependents = this.#graph.dependentsOf(object.metadata.uid!)
    if (uidsIn('waiting').size > 0 && dependents.size > 0) {
      if (this.#isInCircle(dependents)) return this.#unblockAndDelete(kind, object, client)
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

  /** A dependent of the object waits in the foreground itself: with blocking references both would wait for ever. */
  #isInCircle(dependents: ReadonlySet<string>): boolean {
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

/** Adds to a set that forgets its oldest members. */
function remember(set: Set<string>, member: string): void {
  set.add(member)
  const oldest = set.values().next().value
  if (set.size > remembered && oldest !== undefined) set.delete(oldest)
}
