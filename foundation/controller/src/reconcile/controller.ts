// A controller of one kind: a work loop whose items are the keys of its objects. Created by the builder (builder.ts).
import { isClientError } from '@fairlead/client'
import type { Client, Kind } from '@fairlead/client'
import { StatusError, controllerOf, isTerminating, parseApiVersion, parseKey } from '@fairlead/kube'
import type { KubeObject, ObjectKey } from '@fairlead/kube'
import type { EventRecorder, ObjectEvents } from '../event-recorder.ts'
import type { Informer, ObjectChange } from '../informer/informer.ts'
import { failureOf } from '../queue/failure.ts'
import { RemoteError } from '../queue/retry-policy.ts'
import { TerminalError } from '../result.ts'
import type { Result } from '../result.ts'
import { KindUnavailable } from '../informer/kind-unavailable.ts'
import type { WorkContext } from '../work/work-loop-options.ts'
import type { WorkLoop } from '../work/work-loop.ts'
import { addFinalizer, hasFinalizer, removeFinalizer } from './finalizer.ts'
import { ObjectStatus } from './status-writer.ts'
import type { StatusWriter } from './status-writer.ts'
import { WrittenObjects } from './written-objects.ts'

/** The context of a reconcile. */
export interface ReconcileContext<T extends KubeObject> extends WorkContext {
  /** The object from the cache, frozen. */
  readonly object: T
  readonly key: ObjectKey
  readonly status: StatusWriter
  /** Events about the object. */
  readonly events: ObjectEvents
}

/** The context of a cleanup after a deletion: there is no object. */
export interface DeletedContext extends WorkContext {
  readonly key: ObjectKey
}

/** The functions of a controller. */
export interface ControllerBehaviour<T extends KubeObject> {
  reconcile(context: ReconcileContext<T>): Promise<Result> | Result
  /** Called for keys without an object. */
  onDeleted?(context: DeletedContext): Promise<Result> | Result
  readonly finalizer?: { readonly name: string; cleanup(context: ReconcileContext<T>): Promise<Result> | Result }
  /** Sets Ready to False on failures and back to True after them. */
  readonly keepReady: boolean
  /** Reconciles objects from a cache that is not synced; the functions look at its state themselves. */
  readonly reconcilesUnknown: boolean
}

/** Runs one key. */
export class ObjectRunner<T extends KubeObject> {
  readonly #behaviour: ControllerBehaviour<T>
  readonly #recorder: EventRecorder
  readonly #primary: () => Informer<T>
  /** Keys whose last run failed. */
  readonly #failing = new Set<string>()
  /** True once a run has applied a status: other controllers of the kind then leave Ready to this one. */
  #writesStatus = false
  readonly #written = new WrittenObjects()
  /** Keys that were not reconciled because the cache is not synced. */
  readonly #waiting = new Set<string>()

  constructor(behaviour: ControllerBehaviour<T>, recorder: EventRecorder, primary: () => Informer<T>) {
    this.#behaviour = behaviour
    this.#recorder = recorder
    this.#primary = primary
  }

  /** Records a change of the cache. */
  observed(key: string, { type, object }: ObjectChange<T>): void {
    this.#written.observed(key, type === 'removed' ? undefined : object)
  }

  /** Returns the keys that were not reconciled because the cache was not synced, once. */
  takeWaiting(): readonly string[] {
    const keys = [...this.#waiting]
    this.#waiting.clear()
    return keys
  }

  async run(key: string, work: WorkContext): Promise<Result> {
    const primary = this.#primary()
    const object = primary.lastKnown.get(key)
    if (object === undefined) {
      const read = primary.read()
      // An event of an owned object enqueues its owner, which may exist although the cache lacks it.
      if (!read.known) throw read.reason
      this.#failing.delete(key)
      return this.#behaviour.onDeleted?.({ ...work, key: parseKey(key) })
    }
    const { finalizer, reconcilesUnknown } = this.#behaviour
    const read = primary.read()
    // What the object demands now is unknown: the object may have changed, or may not exist any more.
    if (!read.known && !reconcilesUnknown) {
      this.#waiting.add(key)
      throw read.reason
    }
    const context = this.#contextFor(key, object, work)
    if (finalizer === undefined) return this.#reconcile(key, context)
    if (!isTerminating(object))
      return this.#reconcile(key, { ...context, object: await addFinalizer(work.client, object, finalizer.name) })
    if (!hasFinalizer(object, finalizer.name)) return undefined
    const result = await finalizer.cleanup(context)
    // A cleanup that requeues is not finished yet.
    if (!result) await removeFinalizer(work.client, object, finalizer.name)
    return result
  }

  /** Reports a failure on the object: an event, and Ready where this controller keeps it. */
  async failed(key: string, error: unknown, work: WorkContext): Promise<void> {
    const object = this.#primary().lastKnown.get(key)
    if (object === undefined || !failureOf(error).isReported) return
    this.#failing.add(key)
    const [reason, message] = [reasonOf(error), messageOf(error)]
    this.#recorder.about(object).warning(reason, message, { action: 'Reconcile' })
    if (this.#behaviour.keepReady) await this.#statusOf(key, object, work).fail(reason, message)
  }

  async #reconcile(key: string, context: ReconcileContext<T> & { readonly status: ObjectStatus }): Promise<Result> {
    let result: Result
    try {
      result = await this.#behaviour.reconcile(context)
    } finally {
      this.#writesStatus ||= context.status.stated
    }
    if (this.#failing.delete(key) && this.#behaviour.keepReady) await context.status.recovered()
    return result
  }

  #contextFor(key: string, object: T, work: WorkContext): ReconcileContext<T> & { readonly status: ObjectStatus } {
    const status = this.#statusOf(key, object, work)
    return { ...work, object, key: parseKey(key), status, events: this.#recorder.about(object) }
  }

  #statusOf(key: string, object: T, work: WorkContext): ObjectStatus {
    return new ObjectStatus(work, object, {
      live: this.#written.newest(key, object),
      isOwner: this.#writesStatus,
      onWritten: (response) => this.#written.wrote(key, response, this.#primary().lastKnown.get(key)),
    })
  }
}

/** A running controller. */
export class Controller<T extends KubeObject = KubeObject> {
  readonly name: string
  readonly kind: Kind<T>
  /** Its work loop. */
  readonly loop: WorkLoop<string>
  /** The cache of its objects. */
  readonly informer: Informer<T>

  constructor(kind: Kind<T>, loop: WorkLoop<string>, informer: Informer<T>) {
    this.name = loop.name
    this.kind = kind
    this.loop = loop
    this.informer = informer
  }

  /** Enqueues an object by its key, as if it had changed. */
  enqueue(key: string | ObjectKey): void {
    this.loop.add(typeof key === 'string' ? key : key.namespace === '' ? key.name : `${key.namespace}/${key.name}`)
  }

  /** The client with the controller's field manager; its writes are not tracked as own writes. */
  get client(): Client {
    return this.loop.client
  }

  /** Stops this controller alone. */
  stop(): Promise<void> {
    return this.loop.stop()
  }
}

/**
 * Returns the keys of the objects of `owner` that control an object: none or one. `has` reports whether a key is in the
 * owners' cache.
 */
export function ownerKeys(owner: Kind, object: KubeObject, has: (key: string) => boolean): readonly string[] {
  const reference = controllerOf(object)
  if (
    reference === undefined ||
    reference.kind !== owner.kind ||
    parseApiVersion(reference.apiVersion).group !== owner.group
  )
    return []
  const namespaced = `${object.metadata.namespace ?? ''}/${reference.name}`
  // Owners of namespaced objects are in the same namespace or cluster-scoped; an owner that is not cached yet is
  // enqueued when it is.
  if (object.metadata.namespace && has(namespaced)) return [namespaced]
  return [object.metadata.namespace && owner.namespaced !== false && !has(reference.name) ? namespaced : reference.name]
}

function reasonOf(error: unknown): string {
  if (error instanceof TerminalError || error instanceof KindUnavailable || error instanceof RemoteError)
    return error.code
  if (isClientError(error)) return error.code
  return error instanceof StatusError && error.reason !== '' ? `${error.reason}` : 'ReconcileFailed'
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
