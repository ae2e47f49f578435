// The controller of MapControllers: starts a run for each, restarts it when its spec changes, stops it when it is
// deleted and reports its state.
import type { Client, Kind } from '@fairlead/client'
import { CustomResourceDefinition, backoffDelay, isClientError, kind } from '@fairlead/client'
import type {
  CapabilityOptions,
  Controller,
  Manager,
  ObjectChange,
  ReconcileContext,
  Relation,
  Result,
} from '@fairlead/controller'
import { after, anyOf, generationChanged } from '@fairlead/controller'
import type { Condition, JsonValue, KubeObject } from '@fairlead/kube'
import { SelectorError, condition, isTerminating, jsonEqual, selectorFrom } from '@fairlead/kube'
import type { MapController } from '../api.ts'
import { apiVersion } from '../api.ts'
import type { Hooks } from '../engine/hook.ts'
import { syncRequestOf } from '../engine/annotations.ts'
import { inputFilter } from '../engine/input.ts'
import type { ControllerKinds } from '../engine/kinds.ts'
import { definitionNames, resolveKinds } from '../engine/kinds.ts'
import type { CallServices } from '../hook/call-services.ts'
import { callServices } from '../hook/call-services.ts'
import { ExpressionError } from '../hook/expression.ts'
import { InvalidHookError, makeHooks } from '../hook/make-hooks.ts'
import { discoveredResource } from '../runtime/discovered-resource.ts'
import { MapRun } from '../runtime/map-run.ts'
import { OutputMetrics } from '../runtime/output-metrics.ts'
import { reportsOfOthers, writeShardReports } from '../runtime/shard-reports.ts'
import { syncRequested } from '../sync/sync-controllers.ts'
import { readiness } from './readiness.ts'

/** A MapController as the client reads it. */
export type MapControllerObject = MapController & KubeObject

/** MapController, for clients. */
export const mapControllerKind: Kind<MapControllerObject> = kind<MapControllerObject>(apiVersion, 'MapController', {
  plural: 'mapcontrollers',
  namespaced: false,
})

/** Milliseconds between two status reports of a run. */
const reportInterval = 1000
/**
 * Backoff in milliseconds between lookups of kinds that are not served: discovery follows a definition within seconds,
 * and kinds of extension API servers have none.
 */
const lookupBackoff = { base: 1000, cap: 60_000 }

interface Accepted {
  readonly kinds: ControllerKinds
  readonly hooks: Hooks
}

interface Running {
  readonly uid: string
  readonly generation: number
  readonly run: MapRun
  readonly started: Promise<void>
  /** When a sync of all its groups was requested last. */
  requested: string | undefined
}

/** Runs all MapControllers of a cluster. */
export class MapControllers {
  readonly #manager: Manager
  readonly #calls: CallServices
  readonly #outputMetrics: OutputMetrics
  readonly #running = new Map<string, Running>()
  /** Runs that are being stopped; the next one of the same name starts afterwards. */
  readonly #stopping = new Map<string, Promise<void>>()
  readonly #controller: Controller<MapControllerObject>
  /** Number of lookups of unknown kinds, with the resourceVersions of the definitions. */
  readonly #lookups = new Map<string, { readonly versions: string; readonly count: number }>()

  /** Watches MapControllers with the caches of a manager. Disposes `calls` when it stops. */
  constructor(
    manager: Manager,
    options: Pick<CapabilityOptions, 'resolve'>,
    calls: CallServices = callServices(manager, options),
  ) {
    this.#manager = manager
    this.#calls = calls
    this.#outputMetrics = new OutputMetrics(manager.metrics.registry)
    this.#controller = manager
      .controller('map')
      .for(mapControllerKind, { when: anyOf(generationChanged, shardsReported, syncRequested) })
      .withOptions({ keepReady: false, everywhere: true })
      .onDeleted(({ key }) => {
        this.#lookups.delete(key.name)
        this.#stop(key.name)
        // Those that replace it start again, and take its outputs over.
        for (const [name, { run }] of this.#running)
          if (run.controller.spec.replaces?.includes(key.name) === true) this.#stop(name)
      })
      .reconcile((context) => this.#reconcile(context))
  }

  /** Returns the run of a MapController; undefined when it does not run. */
  run(name: string): MapRun | undefined {
    return this.#running.get(name)?.run
  }

  /** Number of groups that are queued or being reconciled, over all MapControllers. */
  get busy(): number {
    let busy = 0
    for (const { run } of this.#running.values()) busy += run.loop.queue.length + run.loop.queue.working
    return busy
  }

  /** Returns the edges that begin or end at an object, as far as the running MapControllers know them. */
  relations(object: KubeObject): readonly Relation[] {
    return [...this.#running.values()].flatMap(({ run }) => run.relations(object))
  }

  /** Stops all runs. */
  async stop(): Promise<void> {
    for (const name of this.#running.keys()) this.#stop(name)
    await Promise.all(this.#stopping.values())
    await this.#calls[Symbol.asyncDispose]()
  }

  async #reconcile(context: ReconcileContext<MapControllerObject>): Promise<Result> {
    const { client, object, status } = context
    const name = object.metadata.name ?? ''
    const running = this.#running.get(name)
    const isCurrent =
      running !== undefined &&
      running.uid === object.metadata.uid &&
      running.generation === (object.metadata.generation ?? 0)
    if (!isCurrent || isTerminating(object)) this.#stop(name)
    // The end of the stop enqueues the controller again.
    if (this.#stopping.has(name) || isTerminating(object)) return undefined
    const refusal = isCurrent ? undefined : await this.#start(context)
    const run = this.#running.get(name)?.run
    const { shards } = this.#manager
    if (refusal !== undefined || run === undefined) {
      const message = refusal?.message ?? 'It was stopped'
      if (this.#manager.owns())
        await status.apply({
          conditions: [
            refusal ?? condition('Accepted', false, { reason: 'Stopped', message }),
            condition('Ready', false, { reason: 'NotAccepted', message }),
          ],
        })
      return refusal?.reason === 'UnknownKind' ? this.#retryLookup(context) : undefined
    }
    this.#lookups.delete(name)
    const requested = syncRequestOf(object)
    if (running !== undefined && isCurrent && running.requested !== requested) {
      running.requested = requested
      run.syncAll()
    }
    if (shards !== undefined) await writeShardReports(client, object, shards, (shard) => run.failingIn(shard))
    // The replica that owns the object's shard reports the rest.
    if (!this.#manager.owns()) return undefined
    const state = run.state()
    const others = reportsOfOthers(object, shards)
    await status.apply({
      conditions: [
        condition('Accepted', true, { reason: 'Accepted', message: 'The spec can be carried out' }),
        readiness(name, run.isStarted, state, others),
      ],
      parents: state.parents,
      groups: state.groups,
      driftedOutputs: state.drifted,
      failingGroups: others.reduce((sum, { failingGroups }) => sum + failingGroups, state.failing.length),
    })
    return undefined
  }

  /**
   * Retries the lookup of kinds. Reading the definitions enqueues the controller when they change, which restarts the
   * backoff.
   */
  async #retryLookup({ object, read }: ReconcileContext<MapControllerObject>): Promise<Result> {
    const definitions = await Promise.all(
      definitionNames(object.spec).map((definition) => read.get(CustomResourceDefinition, definition)),
    )
    const versions = definitions.map((definition) => definition?.metadata.resourceVersion ?? '').join()
    const name = object.metadata.name ?? ''
    const before = this.#lookups.get(name)
    const count = before?.versions === versions ? before.count + 1 : 1
    this.#lookups.set(name, { versions, count })
    return after(backoffDelay(count, { ...lookupBackoff, random: this.#manager.random }))
  }

  /** Starts the run of a spec. Returns the condition to report when it cannot. */
  async #start({ object, events, client }: ReconcileContext<MapControllerObject>): Promise<Condition | undefined> {
    const name = object.metadata.name ?? ''
    const accepted = await this.#accept(object, client)
    if ('refusal' in accepted) {
      if (this.#manager.owns()) events.warning('CreateError', accepted.refusal.message, { action: 'Start' })
      return accepted.refusal
    }
    const { kinds, hooks } = accepted
    const replaced = new Set<string>()
    for (const other of object.spec.replaces ?? []) {
      if ((await client.find(mapControllerKind, other)) === undefined) replaced.add(other)
      else this.#emit(object, 'WaitingForDeletion', `Takes the outputs of ${other} over once it is deleted`, 'Start')
    }
    const onStateChange = (): void => this.#controller.loop.queue.addAfter(name, reportInterval)
    const run = new MapRun({
      manager: this.#manager,
      controller: object,
      current: () => this.#current(object),
      replaced,
      kinds,
      hooks,
      metrics: this.#outputMetrics,
      others: () => [...this.#running.values()].map((running) => running.run),
      onStateChange,
    })
    const kind = object.spec.parentResource.resource
    this.#emit(object, 'Starting', `Starting to map ${kind}`, 'Start')
    const started = run.start().then(
      () => {
        this.#emit(object, 'Started', `Started to map ${kind}`, 'Start')
        this.#refreshStatus()
      },
      (error: unknown) => this.#manager.log.error('Could not start a MapController', { name, error }),
    )
    this.#running.set(name, {
      uid: object.metadata.uid ?? '',
      generation: object.metadata.generation ?? 0,
      run,
      started,
      requested: syncRequestOf(object),
    })
    return undefined
  }

  async #accept(object: MapController, client: Client): Promise<Accepted | { readonly refusal: Condition }> {
    const { clock, client: own } = this.#manager
    try {
      const hooks = makeHooks(object, { ...this.#calls, client, clock })
      const kinds = await resolveKinds(object.spec, (name) => discoveredResource(own.discovery, name))
      for (const kind of kinds.inputs) inputFilter(kind)
      for (const { spec } of [...kinds.inputs, ...kinds.related])
        selectorFrom(spec.labelSelector ?? spec.namespaceSelector ?? {})
      return { kinds, hooks }
    } catch (error) {
      const reason = refusalReason(error)
      if (reason === undefined) throw error
      return { refusal: condition('Accepted', false, { reason, message: (error as Error).message }) }
    }
  }

  /** Returns a MapController as it is now, as long as its spec is the one that was started. */
  #current(started: MapControllerObject): MapController {
    const { name = '', uid, generation } = started.metadata
    const known = this.#manager.informers.peek(mapControllerKind)?.lastKnown.get(name)
    const isSame = known?.metadata.uid === uid && known?.metadata.generation === generation
    return known !== undefined && isSame ? known : started
  }

  /** Stops a run in the background: other MapControllers do not wait for it. */
  #stop(name: string): void {
    const running = this.#running.get(name)
    if (running === undefined) return
    this.#running.delete(name)
    const stopping = this.#finish(name, running).finally(() => {
      this.#stopping.delete(name)
      this.#controller.loop.add(name)
    })
    this.#stopping.set(name, stopping)
  }

  async #finish(name: string, { run, started }: Running): Promise<void> {
    const kind = run.controller.spec.parentResource.resource
    this.#emit(run.controller, 'Stopping', `Stopping to map ${kind}`, 'Stop')
    await run.stop()
    await started
    this.#emit(run.controller, 'Stopped', `Stopped to map ${kind}; outputs stay`, 'Stop')
    this.#outputMetrics.forget(name)
    this.#refreshStatus()
  }

  #refreshStatus(): void {
    for (const { run } of this.#running.values()) run.refreshStatus()
  }

  /** Emits an event; only the replica that owns the controllers does. */
  #emit(controller: MapController, reason: string, note: string, action: string): void {
    if (!this.#manager.owns()) return
    this.#manager
      .recorder('map')
      .about(controller as MapControllerObject)
      .normal(reason, note, { action })
  }
}

/** Returns whether another replica changed the reports of its shards. */
function shardsReported(change: ObjectChange<MapControllerObject>): boolean {
  const reports = (object: MapControllerObject | undefined): JsonValue =>
    (object?.status?.shards ?? []) as unknown as JsonValue
  return !jsonEqual(reports(change.object), reports(change.previous))
}

/** Returns the reason of Accepted=False for an error that the user can fix; undefined for all other errors. */
function refusalReason(error: unknown): string | undefined {
  if (isClientError(error) && error.code === 'UnknownKind') return 'UnknownKind'
  if (error instanceof ExpressionError || error instanceof InvalidHookError) return error.code
  return error instanceof SelectorError ? 'InvalidSelector' : undefined
}
