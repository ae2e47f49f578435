// The controller of MapControllers: starts a run for each, restarts it when its spec changes, stops it when it goes, and says how it does.
import { CustomResourceDefinition, isClientError, isInCluster, kind } from '@fairlead/client'
import type { Kind } from '@fairlead/client'
import { HookClient, generationChanged } from '@fairlead/controller'
import type { CapabilityOptions, Controller, Manager, ReconcileContext } from '@fairlead/controller'
import { SelectorError, condition, isTerminating } from '@fairlead/kube'
import type { Condition, KubeObject } from '@fairlead/kube'
import type { MapController } from './api.ts'
import { apiVersion } from './api.ts'
import { serviceResolver } from './hook/address.ts'
import { makeHooks } from './hook/make-hooks.ts'
import { MapMetrics } from './metrics.ts'
import { readiness } from './readiness.ts'
import { definitionNames, resolveKinds } from './run/kinds.ts'
import { MapRun } from './run/map-run.ts'

/** A MapController as the client gives it. */
export type MapControllerObject = MapController & KubeObject

/** The kind. */
export const mapControllerKind: Kind<MapControllerObject> = kind<MapControllerObject>(apiVersion, 'MapController', {
  plural: 'mapcontrollers',
  namespaced: false,
})

/** Milliseconds between two looks at how a run does. */
const reportPause = 1000

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
      .for(mapControllerKind, { when: generationChanged })
      .with({ keepReady: false })
      .gone(({ key }) => this.#stop(key.name))
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

  async #reconcile(context: ReconcileContext<MapControllerObject>): Promise<void> {
    const { object, status } = context
    const name = object.metadata.name ?? ''
    if (isTerminating(object)) return this.#stop(name)
    const running = this.#running.get(name)
    const isCurrent =
      running !== undefined &&
      running.uid === object.metadata.uid &&
      running.generation === (object.metadata.generation ?? 0)
    const refusal = isCurrent ? undefined : await this.#restart(context)
    const run = this.#running.get(name)?.run
    if (refusal !== undefined || run === undefined) {
      const message = refusal?.message ?? 'It was stopped'
      await status.apply({
        conditions: [
          refusal ?? condition('Accepted', false, { reason: 'Stopped', message }),
          condition('Ready', false, { reason: 'NotAccepted', message }),
        ],
      })
      return
    }
    const state = run.state()
    await status.apply({
      conditions: [
        condition('Accepted', true, { reason: 'Accepted', message: 'The spec can be carried out' }),
        readiness(name, run.isStarted, state),
      ],
      parents: state.parents,
      groups: state.groups,
      failingGroups: state.failing.length,
    })
  }

  /** Starts the run of a spec in place of the one before. Returns why it cannot, if it cannot. */
  async #restart({
    object,
    events,
    read,
    client,
  }: ReconcileContext<MapControllerObject>): Promise<Condition | undefined> {
    const name = object.metadata.name ?? ''
    await this.#stop(name)
    const accepted = await this.#accept(object)
    if ('refusal' in accepted) {
      events.warning('CreateError', accepted.refusal.message, { action: 'Start' })
      // The definitions that are missing wake us when they come.
      for (const definition of definitionNames(object.spec)) await read.get(CustomResourceDefinition, definition)
      return accepted.refusal
    }
    const { clock } = this.#manager
    const hooks = await makeHooks(object, { http: this.#http, client, clock, metrics: this.#metrics })
    const report = (): void => this.#controller.loop.queue.addAfter(name, reportPause)
    const run = new MapRun({
      manager: this.#manager,
      controller: object,
      kinds: accepted.kinds,
      hooks,
      metrics: this.#metrics,
      report,
    })
    events.normal('Starting', `Starting to map ${object.spec.parentResource.resource}`, { action: 'Start' })
    const started = run.start().then(
      () => events.normal('Started', `Started to map ${object.spec.parentResource.resource}`, { action: 'Start' }),
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

  async #accept(
    object: MapController,
  ): Promise<{ readonly kinds: Awaited<ReturnType<typeof resolveKinds>> } | { readonly refusal: Condition }> {
    try {
      return { kinds: await resolveKinds(this.#manager.client.discovery, object.spec) }
    } catch (error) {
      const reason =
        isClientError(error) && error.code === 'UnknownKind'
          ? 'UnknownKind'
          : error instanceof SelectorError
            ? 'InvalidSelector'
            : undefined
      if (reason === undefined) throw error
      return { refusal: condition('Accepted', false, { reason, message: (error as Error).message }) }
    }
  }

  async #stop(name: string): Promise<void> {
    const running = this.#running.get(name)
    if (running === undefined) return
    this.#running.delete(name)
    await running.run.stop()
    await running.started
    this.#metrics.forget(name)
  }
}
