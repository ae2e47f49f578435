// Carries out the actions on children: child-updater.ts replaces whole objects, as Metacontroller does by default;
// child-applier.ts writes by server-side apply.
import type { Client } from '@fairlead/client'
import { CollisionError, isObjectNotFound } from '@fairlead/client'
import type { KubeObject } from '@fairlead/kube'
import { StatusError, isAlreadyExists, isConflict, isTerminating, keyOf, ownerReferenceTo } from '@fairlead/kube'
import { adoptByAnnotation, adoptByValue, mayAdoptOnRequest } from '../engine/annotations.ts'
import { formatIdentity, identityOf } from '../engine/identity.ts'
import type { OutputWrite } from '../runtime/writer.ts'
import { WriteError, combinedError } from '../runtime/writer.ts'
import type { ApplyStrategy } from './apply-strategy.ts'
import { ServerSideApply, dynamicApply } from './apply-strategy.ts'
import { ChildApplier } from './child-applier.ts'
import type { ChildAction } from './child-plan.ts'
import { isRemoval } from './child-plan.ts'
import { ChildUpdater } from './child-updater.ts'
import type { Child } from './child.ts'
import type { Claims } from './claims.ts'
import { lastAppliedAnnotation } from './merge.ts'

/** Options of a {@link ChildWriter}. */
export interface ChildWriterOptions {
  /** Dynamic apply when left out. */
  readonly strategy?: ApplyStrategy
  /** Objects may be adopted that ask for it by this name. */
  readonly controllerName?: string
}

/** Writes the children of one parent. */
export class ChildWriter {
  readonly #client: Client
  readonly #parent: KubeObject
  readonly #onWrite: (write: OutputWrite) => void
  readonly #objects: ChildApplier | ChildUpdater
  readonly #controllerName: string
  #hasLearned = false

  constructor(
    client: Client,
    parent: KubeObject,
    onWrite: (write: OutputWrite) => void,
    { strategy = dynamicApply, controllerName = '' }: ChildWriterOptions = {},
  ) {
    this.#controllerName = controllerName
    this.#client = client
    this.#objects =
      strategy instanceof ServerSideApply
        ? new ChildApplier(client, parent, strategy)
        : new ChildUpdater(client, strategy)
    this.#parent = parent
    this.#onWrite = onWrite
  }

  /** A write changed nothing: the server stores other values for the same object, which are known now. */
  get hasLearned(): boolean {
    return this.#hasLearned
  }

  /**
   * Adopts an orphan, after having read the parent from the server. Returns the child; undefined when the parent was
   * deleted or the orphan changed meanwhile.
   */
  async adopt(orphan: KubeObject): Promise<KubeObject | undefined> {
    const live = await this.#client.find(this.#parent, keyOf(this.#parent))
    if (live === undefined || live.metadata.uid !== this.#parent.metadata.uid || isTerminating(live)) return undefined
    const { ownerReferences = [] } = orphan.metadata
    return this.#setOwners(orphan, [...ownerReferences, ownerReferenceTo(live)])
  }

  /** Releases a child that the selector of its parent matches no more. */
  async release(child: KubeObject): Promise<void> {
    const { ownerReferences = [] } = child.metadata
    const left = ownerReferences.filter(({ uid }) => uid !== this.#parent.metadata.uid)
    await this.#setOwners(child, left.length === 0 ? null : left)
  }

  /** Adopts and releases objects; returns the children of the parent. */
  async claim({ children, adopt, release }: Claims): Promise<readonly Child[]> {
    const adopted: Child[] = []
    for (const { kind, object } of adopt) {
      const after = await this.adopt(object)
      if (after !== undefined) adopted.push({ kind, object: after })
    }
    for (const { object } of release) await this.release(object)
    return [...children, ...adopted]
  }

  /**
   * Carries out a plan. Tries everything; then throws the errors as one. Returns false when a child was changed
   * meanwhile and left as it is: its event syncs the parent again.
   */
  async carryOut(plan: readonly ChildAction[]): Promise<boolean> {
    const errors: unknown[] = []
    let isComplete = true
    const tryAll = async (actions: readonly ChildAction[]): Promise<void> => {
      for (const action of actions) {
        try {
          if (!(await this.#carryOutOne(action))) isComplete = false
        } catch (error) {
          errors.push(aboutChild(error, 'object' in action ? action.object : action.observed))
        }
      }
    }
    await tryAll(plan.filter(isRemoval))
    await tryAll(plan.filter((action) => !isRemoval(action)))
    if (errors.length === 1) throw errors[0]
    if (errors.length > 1) throw combinedError(errors)
    return isComplete
  }

  async #carryOutOne(action: ChildAction): Promise<boolean> {
    switch (action.op) {
      case 'keep':
        return true
      case 'create':
        return this.#create(action.object)
      case 'update':
        return this.#update(action.observed, action.object)
      case 'delete':
        if (action.unless !== undefined && (await this.#objects.isUnchanged(action.observed, action.unless)))
          return true
        return this.#delete(action.observed)
      case 'release':
        return this.#orphan(action.observed)
    }
  }

  async #create(object: KubeObject): Promise<true> {
    try {
      const after = await this.#objects.create(object)
      this.#onWrite({ op: 'create', before: undefined, after })
      return true
    } catch (error) {
      if (!isAlreadyExists(error) && !(error instanceof CollisionError)) throw error
      if (await this.#adoptOnRequest(object)) return true
      const message = `${formatIdentity(identityOf(object))} exists already and is no child of ${formatIdentity(identityOf(this.#parent))}; it is left as it is`
      throw new WriteError('NameTaken', message, { cause: error })
    }
  }

  /** Adopts an object that asks for it; its event syncs the parent, which makes it as the hook wants it. */
  async #adoptOnRequest(desired: KubeObject): Promise<boolean> {
    const live = await this.#client.find<KubeObject>(desired, keyOf(desired))
    if (live === undefined || !mayAdoptOnRequest(this.#controllerName, this.#parent, live)) return false
    const { labels = {}, annotations = {}, ownerReferences = [] } = desired.metadata
    const { [lastAppliedAnnotation]: _left, ...marks } = annotations
    const owners = [...(live.metadata.ownerReferences ?? []), ...ownerReferences]
    return (
      (await this.#setOwners(live, owners, { labels, annotations: { ...marks, [adoptByAnnotation]: null } })) !==
      undefined
    )
  }

  async #update(before: KubeObject, object: KubeObject): Promise<boolean> {
    try {
      const after = await this.#objects.update(before, object)
      if (after.metadata.resourceVersion === before.metadata.resourceVersion) this.#hasLearned = true
      else this.#onWrite({ op: 'update', before, after })
      return true
    } catch (error) {
      // Deleted or changed meanwhile: the watch reports it.
      if (!isObjectNotFound(error) && !isConflict(error)) throw error
      return false
    }
  }

  /** Leaves a child without its owner, with the annotation by which the parent may take it over again. */
  async #orphan(child: KubeObject): Promise<boolean> {
    const { ownerReferences = [] } = child.metadata
    const left = ownerReferences.filter(({ uid }) => uid !== this.#parent.metadata.uid)
    const annotations = { [adoptByAnnotation]: adoptByValue(this.#controllerName, this.#parent) }
    return (await this.#setOwners(child, left.length === 0 ? null : left, { annotations })) !== undefined
  }

  async #delete(observed: KubeObject): Promise<boolean> {
    const { uid, resourceVersion } = observed.metadata
    const options = { propagation: 'Background', preconditions: { uid, resourceVersion } } as const
    try {
      const after = await this.#client.delete(observed, keyOf(observed), options)
      this.#onWrite({ op: 'delete', before: observed, after })
      return true
    } catch (error) {
      if (!isObjectNotFound(error) && !isConflict(error)) throw error
      return isObjectNotFound(error)
    }
  }

  async #setOwners(
    child: KubeObject,
    ownerReferences: KubeObject['metadata']['ownerReferences'] | null,
    marks: object = {},
  ): Promise<KubeObject | undefined> {
    const { uid = null, resourceVersion = null } = child.metadata
    const merge = { metadata: { uid, resourceVersion, ownerReferences, ...marks } }
    try {
      const after = await this.#client.patch(child, keyOf(child), { merge: merge as never })
      this.#onWrite({ op: 'adopt', before: child, after })
      return after
    } catch (error) {
      if (isObjectNotFound(error) || isConflict(error)) return undefined
      throw error
    }
  }
}

/** Returns an error that names the child, where the server's message does not; its cause decides on the retry. */
function aboutChild(error: unknown, child: KubeObject): unknown {
  if (!(error instanceof StatusError) || error.message.includes(child.metadata.name ?? '')) return error
  return new WriteError('WriteFailed', `${formatIdentity(identityOf(child))}: ${error.message}`, { cause: error })
}
