// The controller of MapControllers: starts a run for each, restarts it when its spec changes, stops it when it goes, and says how it does.
import { CustomResourceDefinition, backoffDelay, isClientError, isInCluster, kind } from '@fairlead/client'
import type { Client, Kind } from '@fairlead/client'
import { HookClient, after, anyOf, generationChanged } from '@fairlead/controller'
import type {
  CapabilityOptions,
  Controller,
  Manager,
  ObjectChange,
  ReconcileContext,
  Result,
} from '@fairlead/controller'
import { SelectorError, condition, isTerminating, jsonEqual, selectorFrom } from '@fairlead/kube'
import type { Condition, JsonValue, KubeObject } from '@fairlead/kube'
import type { MapController } from '../api.ts'
import { apiVersion } from '../api.ts'
import { inputFilter } from '../engine/input.ts'
import { serviceResolver } from '../hook/address.ts'
import { ExpressionError } from '../hook/expression.ts'
import { makeHooks } from '../hook/make-hooks.ts'
import { MapMetrics } from '../runtime/metrics.ts'
import { readiness } from './readiness.ts'
import type { Hooks } from '../engine/hook.ts'
import { definitionNames, resolveKinds } from '../runtime/kinds.ts'
import type { ControllerKinds } from '../runtime/kinds.ts'
import { MapRun } from '../runtime/map-run.ts'
import { reportsOfOthers, writeShardReports } from '../runtime/shard-reports.ts'

/** A MapController as the client gives it. */
export type MapControllerObject = MapController & KubeObject

/** MapController, for clients. */
export const mapControllerKind: Kind<MapControllerObject> = kind<MapControllerObject>(apiVersion, 'MapController', {
  plural: 'mapcontrollers',
  namespaced: false,
})

/** Milliseconds between two looks at how a run does. */
const reportPause = 1000
/** Milliseconds until kinds that are not served are looked up again: discovery follows a definition within seconds, and aggregated kinds have none. */
const lookAgainWaits = { base: 1000, cap: 60_000 }

interface Accepted {
  readonly kinds: ControllerKinds
  readonly hooks: Hooks
}

interface Running {
  readonly uid: string
  readonly generation: number
  readonly run: MapRun
  readonly started: Promise<void>
}

/** Runs all MapControllers of a cluster. */
export class MapControllers {
  readonly #manager: Manager
  readonly #metrics: MapMetrics
  readonly #http: HookClient
  readonly #running = new Map<string, Running>()
  readonly #controller: Controller<MapControllerObject>
  /** How often kinds were looked up in vain, with the definitions as they were. */
  readonly #lookups = new Map<string, { readonly seen: string; readonly count: number }>()

  /** Begins to follow MapControllers with the caches of a manager. */
  constructor(manager: Manager, options: Pick<CapabilityOptions, 'resolve'>) {
    const { client, clock, endpoints } = manager
    this.#manager = manager
    this.#metrics = new MapMetrics(manager.metrics.registry)
    const resolve =
      isInCluster() && options.resolve.size === 0
        ? undefined
        : serviceResolver({ client, clock, resolve: options.resolve })
    this.#http = new HookClient({ clock, endpoints, resolve, userAgent: 'fairlead-map' })
    this.#controller = manager
      .controller('map')
      .for(mapControllerKind, { when: anyOf(generationChanged, shardsReported) })
      .withOptions({ keepReady: false, everywhere: true })
      .onDeleted(({ key }) => {
        this.#lookups.delete(key.name)
        return this.#stop(key.name)
      })
      .reconcile((context) => this.#reconcile(context))
  }

  /** The run of a MapController, if it runs. */
  run(name: string): MapRun | undefined {
    return this.#running.get(name)?.run
  }

  /** Groups that wait for a worker or have one, over all MapControllers. */
  get busy(): number {
    let busy = 0
    for (const { run } of this.#running.values()) busy += run.loop.queue.length + run.loop.queue.working
    return busy
  }

  /** Stops everything. */
  async stop(): Promise<void> {
    await Promise.all([...this.#running.keys()].map((name) => this.#stop(name)))
    await this.#http[Symbol.asyncDispose]()
  }

  async #reconcile(context: ReconcileContext<MapControllerObject>): Promise<Result> {
    const { client, object, status } = context
    const name = object.metadata.name ?? ''
    if (isTerminating(object)) return this.#stop(name)
    const running = this.#running.get(name)
    const isCurrent =
      running !== undefined &&
      running.uid === object.metadata.uid &&
      running.generation === (object.metadata.generation ?? 0)
    const refusal = isCurrent ? undefined : await this.#restart(context)
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
      return refusal?.reason === 'UnknownKind' ? this.#lookAgain(context) : undefined
    }
    this.#lookups.delete(name)
    if (shards !== undefined) await writeShardReports(client, object, shards, (shard) => run.failingIn(shard))
    // What follows is said by the replica that has the object's own shard.
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
      failingGroups: others.reduce((sum, { failingGroups }) => sum + failingGroups, state.failing.length),
    })
    return undefined
  }

  /** Definitions wake us when they come or change, and begin the waits anew. */
  async #lookAgain({ object, read }: ReconcileContext<MapControllerObject>): Promise<Result> {
    const definitions = await Promise.all(
      definitionNames(object.spec).map((definition) => read.get(CustomResourceDefinition, definition)),
    )
    const seen = definitions.map((definition) => definition?.metadata.resourceVersion ?? '').join()
    const name = object.metadata.name ?? ''
    const before = this.#lookups.get(name)
    const count = before?.seen === seen ? before.count + 1 : 1
    this.#lookups.set(name, { seen, count })
    return after(backoffDelay(count, { ...lookAgainWaits, random: this.#manager.random }))
  }

  /** Starts the run of a spec in place of the one before. Returns why it cannot, if it cannot. */
  async #restart({ object, events, client }: ReconcileContext<MapControllerObject>): Promise<Condition | undefined> {
    const name = object.metadata.name ?? ''
    await this.#stop(name)
    const accepted = await this.#accept(object, client)
    if ('refusal' in accepted) {
      if (this.#manager.owns()) events.warning('CreateError', accepted.refusal.message, { action: 'Start' })
      return accepted.refusal
    }
    const { kinds, hooks } = accepted
    const report = (): void => this.#controller.loop.queue.addAfter(name, reportPause)
    const run = new MapRun({
      manager: this.#manager,
      controller: object,
      kinds,
      hooks,
      metrics: this.#metrics,
      report,
    })
    const kind = object.spec.parentResource.resource
    this.#tell(object, 'Starting', `Starting to map ${kind}`, 'Start')
    const started = run.start().then(
      () => this.#tell(object, 'Started', `Started to map ${kind}`, 'Start'),
      (error: unknown) => this.#manager.log.error('Could not start a MapController', { name, error }),
    )
    this.#running.set(name, {
      uid: object.metadata.uid ?? '',
      generation: object.metadata.generation ?? 0,
      run,
      started,
    })
    return undefined
  }

  async #accept(object: MapController, client: Client): Promise<Accepted | { readonly refusal: Condition }> {
    const { clock, client: own } = this.#manager
    try {
      const hooks = makeHooks(object, { http: this.#http, client, clock, metrics: this.#metrics })
      const kinds = await resolveKinds(own.discovery, object.spec)
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

  async #stop(name: string): Promise<void> {
    const running = this.#running.get(name)
    if (running === undefined) return
    this.#running.delete(name)
    const { run, started } = running
    const kind = run.controller.spec.parentResource.resource
    this.#tell(run.controller, 'Stopping', `Stopping to map ${kind}`, 'Stop')
    await run.stop()
    await started
    this.#tell(run.controller, 'Stopped', `Stopped to map ${kind}; outputs stay`, 'Stop')
    this.#metrics.forget(name)
  }

  /** One of the replicas tells it, where several do it. */
  #tell(controller: MapController, reason: string, note: string, action: string): void {
    if (!this.#manager.owns()) return
    this.#manager
      .recorder('map')
      .about(controller as MapControllerObject)
      .normal(reason, note, { action })
  }
}

/** Another replica reports of its shards. */
function shardsReported(change: ObjectChange<MapControllerObject>): boolean {
  const reports = (object: MapControllerObject | undefined): JsonValue =>
    (object?.status?.shards ?? []) as unknown as JsonValue
  return !jsonEqual(reports(change.object), reports(change.previous))
}

/** The reason of Accepted False for what a user can mend; undefined for all other errors. */
function refusalReason(error: unknown): string | undefined {
  if (isClientError(error) && error.code === 'UnknownKind') return 'UnknownKind'
  if (error instanceof ExpressionError) return error.code
  return error instanceof SelectorError ? 'InvalidSelector' : undefined
}
