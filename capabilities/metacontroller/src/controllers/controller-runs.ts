// The runs of the controllers of one kind: starts a run for each controller object, restarts it when its spec changes,
// stops it when it is deleted and has its state reported. Start with ControllerRuns.
import type { Kind } from '@fairlead/client'
import { CustomResourceDefinition, backoffDelay, isClientError } from '@fairlead/client'
import type { Controller, Manager, ObjectChange, Predicate, ReconcileContext, Result } from '@fairlead/controller'
import { after } from '@fairlead/controller'
import type { Condition, KubeObject } from '@fairlead/kube'
import { SelectorError, condition, isTerminating } from '@fairlead/kube'
import { syncRequestOf } from '../engine/annotations.ts'
import type { ResourceName } from '../engine/kinds.ts'
import { definitionNames } from '../engine/kinds.ts'
import { SpecError } from '../engine/spec-error.ts'
import { ExpressionError } from '../hook/expression.ts'
import { InvalidHookError } from '../hook/make-hooks.ts'

/** One controller in one generation of its spec. */
export interface ControllerRun {
  readonly controller: KubeObject
  readonly loop: { readonly queue: { readonly length: number; readonly working: number } }
  start(): Promise<void>
  stop(): Promise<void>
  /** Enqueues everything: a sync of all was requested. */
  syncAll(): void
}

/** The events of a run, and their notes. */
export type RunEvent = 'Starting' | 'Started' | 'Stopping' | 'Stopped'

/** An event about a controller. */
export interface ControllerEvent {
  readonly reason: string
  readonly note: string
}

/** A kind of controllers. */
export interface ControllerRunsOptions<C extends KubeObject, R extends ControllerRun> {
  /** Name of the controller of these controllers, such as `composite`. */
  readonly name: string
  readonly kind: Kind<C>
  /** The changes of a controller object that matter. */
  readonly when: Predicate<C>
  /** Name of the recorder of the events. */
  readonly recorder: string
  /** Returns the resources that a spec names. */
  readonly resources: (controller: C) => readonly ResourceName[]
  /** Returns whether a controller is run by this process; all are when left out. */
  readonly isOurs?: (controller: C) => boolean
  /**
   * Makes the run of a spec. `onStateChange` reports its state. Throws SpecError, SelectorError, InvalidHookError,
   * ExpressionError and ClientError `UnknownKind` for a spec that cannot be carried out.
   */
  readonly make: (context: ReconcileContext<C>, run: RunContext<C>) => Promise<R>
  /** Reports the state of a run; `isNew` when it was started just now. */
  readonly report: (context: ReconcileContext<C>, run: R, isNew: boolean) => Promise<Result>
  readonly noteOf: (event: RunEvent, controller: KubeObject) => string
  /** Returns the event about a spec that cannot be carried out. */
  readonly refusal: (name: string, reason: string, message: string) => ControllerEvent
  readonly onStarted?: () => void
  readonly onDeleted?: (name: string) => void
  /** Ends what a run that was stopped leaves behind; the object of the controller is deleted, or is now `next`. */
  readonly onStopped?: (run: R, next: 'deleted' | 'kept') => Promise<void> | void
}

/** The controller object of a run, and ways to report about it. */
export interface RunContext<C extends KubeObject> {
  /** Returns the controller as it is now, as long as its spec is the one that was started. */
  readonly current: () => C
  readonly onStateChange: () => void
  /** Emits an event about the controller; only the replica that owns the controllers does. */
  readonly emit: (event: ControllerEvent) => void
}

interface Running<R extends ControllerRun> {
  readonly uid: string
  readonly generation: number
  readonly run: R
  readonly started: Promise<void>
  /** When a sync of all was requested last. */
  requested: string | undefined
}

/** Milliseconds between two status reports of a run. */
export const reportInterval = 1000
/**
 * Backoff in milliseconds between lookups of kinds that are not served: discovery follows a definition within seconds,
 * and kinds of extension API servers have none.
 */
const lookupBackoff = { base: 1000, cap: 60_000 }

/** Runs all controllers of one kind in a cluster. */
export class ControllerRuns<C extends KubeObject, R extends ControllerRun> {
  readonly #manager: Manager
  readonly #options: ControllerRunsOptions<C, R>
  readonly #controller: Controller<C>
  readonly #running = new Map<string, Running<R>>()
  /** Runs that are being stopped; the next one of the same name starts afterwards. */
  readonly #stopping = new Map<string, Promise<void>>()
  /** Number of lookups of unknown kinds, with the resourceVersions of the definitions. */
  readonly #lookups = new Map<string, { readonly versions: string; readonly count: number }>()

  /** Watches the controllers with the caches of a manager. */
  constructor(manager: Manager, options: ControllerRunsOptions<C, R>) {
    this.#manager = manager
    this.#options = options
    this.#controller = manager
      .controller(options.name)
      .for(options.kind, { when: options.when })
      .withOptions({ keepReady: false, everywhere: true })
      .onDeleted(({ key }) => {
        this.#lookups.delete(key.name)
        this.restart(key.name, 'deleted')
        options.onDeleted?.(key.name)
      })
      .reconcile((context) => this.#reconcile(context))
  }

  /** Returns the run of a controller; undefined when it does not run. */
  run(name: string): R | undefined {
    return this.#running.get(name)?.run
  }

  /** The runs, by the name of the controller. */
  get all(): readonly R[] {
    return [...this.#running.values()].map(({ run }) => run)
  }

  /** Number of groups that are queued or being reconciled, over all runs. */
  get busy(): number {
    return this.all.reduce((busy, { loop: { queue } }) => busy + queue.length + queue.working, 0)
  }

  /** Stops all runs. */
  async stop(): Promise<void> {
    for (const name of this.#running.keys()) this.restart(name)
    await Promise.all(this.#stopping.values())
  }

  /** Stops a run in the background: other controllers do not wait for it. The end enqueues its controller again. */
  restart(name: string, next: 'deleted' | 'kept' = 'kept'): void {
    const running = this.#running.get(name)
    if (running === undefined) return
    this.#running.delete(name)
    const stopping = this.#finish(running, next).finally(() => {
      this.#stopping.delete(name)
      this.#controller.loop.add(name)
    })
    this.#stopping.set(name, stopping)
  }

  async #reconcile(context: ReconcileContext<C>): Promise<Result> {
    const { object, status } = context
    const name = object.metadata.name ?? ''
    // Another process runs it: nothing of it is touched.
    if (this.#options.isOurs?.(object) === false) {
      this.restart(name)
      return undefined
    }
    const running = this.#running.get(name)
    const isCurrent = running?.uid === object.metadata.uid && running?.generation === (object.metadata.generation ?? 0)
    if (!isCurrent || isTerminating(object)) this.restart(name, isTerminating(object) ? 'deleted' : 'kept')
    if (this.#stopping.has(name) || isTerminating(object)) return undefined
    const refusal = isCurrent ? undefined : await this.#start(context)
    const run = this.run(name)
    if (refusal !== undefined || run === undefined) {
      const message = refusal?.message ?? 'It was stopped'
      const accepted = refusal ?? condition('Accepted', false, { reason: 'Stopped', message })
      const ready = condition('Ready', false, { reason: 'NotAccepted', message })
      if (this.#manager.owns()) await status.apply({ conditions: [accepted, ready] })
      return refusal?.reason === 'UnknownKind' ? this.#retryLookup(context) : undefined
    }
    this.#lookups.delete(name)
    const requested = syncRequestOf(object)
    if (running !== undefined && isCurrent && running.requested !== requested) {
      running.requested = requested
      run.syncAll()
    }
    return this.#options.report(context, run, !isCurrent)
  }

  /**
   * Retries the lookup of kinds. Reading the definitions enqueues the controller when they change, which restarts the
   * backoff.
   */
  async #retryLookup({ object, read }: ReconcileContext<C>): Promise<Result> {
    const names = definitionNames(this.#options.resources(object))
    const definitions = await Promise.all(names.map((definition) => read.get(CustomResourceDefinition, definition)))
    const versions = definitions.map((definition) => definition?.metadata.resourceVersion ?? '').join()
    const name = object.metadata.name ?? ''
    const before = this.#lookups.get(name)
    const count = before?.versions === versions ? before.count + 1 : 1
    this.#lookups.set(name, { versions, count })
    return after(backoffDelay(count, { ...lookupBackoff, random: this.#manager.random }))
  }

  /** Starts the run of a spec. Returns the condition to report when it cannot. */
  async #start(context: ReconcileContext<C>): Promise<Condition | undefined> {
    const { object, events } = context
    const name = object.metadata.name ?? ''
    const { make, noteOf, refusal, onStarted } = this.#options
    const emit = (event: ControllerEvent): void => this.#emit(object, event)
    let run: R
    try {
      run = await make(context, {
        current: () => this.#current(object),
        onStateChange: () => this.#controller.loop.queue.addAfter(name, reportInterval),
        emit,
      })
    } catch (error) {
      const reason = refusalReason(error)
      if (reason === undefined) throw error
      const { message } = error as Error
      const { reason: of, note } = refusal(name, reason, message)
      if (this.#manager.owns()) events.warning(of, note, { action: 'Start' })
      return condition('Accepted', false, { reason, message })
    }
    emit({ reason: 'Starting', note: noteOf('Starting', object) })
    const started = run.start().then(
      () => {
        emit({ reason: 'Started', note: noteOf('Started', object) })
        onStarted?.()
      },
      (error: unknown) => this.#manager.log.error('Could not start a controller', { kind: object.kind, name, error }),
    )
    const { uid = '', generation = 0 } = object.metadata
    this.#running.set(name, { uid, generation, run, started, requested: syncRequestOf(object) })
    return undefined
  }

  #current(started: C): C {
    const { name = '', uid, generation } = started.metadata
    const known = this.#manager.informers.peek(this.#options.kind)?.lastKnown.get(name)
    const isSame = known?.metadata.uid === uid && known?.metadata.generation === generation
    return known !== undefined && isSame ? known : started
  }

  async #finish({ run, started }: Running<R>, next: 'deleted' | 'kept'): Promise<void> {
    const { noteOf, onStopped } = this.#options
    const { controller } = run
    this.#emit(controller, { reason: 'Stopping', note: noteOf('Stopping', controller) })
    await run.stop()
    await started
    if (next === 'deleted') await onStopped?.(run, next)
    this.#emit(controller, { reason: 'Stopped', note: noteOf('Stopped', controller) })
    if (next === 'kept') await onStopped?.(run, next)
  }

  #emit(controller: KubeObject, { reason, note }: ControllerEvent): void {
    if (!this.#manager.owns()) return
    const action = reason.startsWith('Stop') ? 'Stop' : 'Start'
    this.#manager.recorder(this.#options.recorder).about(controller).normal(reason, note, { action })
  }
}

/** Returns whether a sync of everything of a controller was requested. */
export function syncRequested({ object, previous }: ObjectChange): boolean {
  return previous !== undefined && syncRequestOf(object) !== syncRequestOf(previous)
}

/** Returns the reason of Accepted=False for an error that the user can fix; undefined for all other errors. */
function refusalReason(error: unknown): string | undefined {
  if (isClientError(error) && error.code === 'UnknownKind') return 'UnknownKind'
  if (error instanceof SpecError || error instanceof InvalidHookError || error instanceof ExpressionError)
    return error.code
  return error instanceof SelectorError ? 'InvalidSelector' : undefined
}
