// The controller of MapControllers: what is theirs in the runs of controllers (controller-runs.ts).
import type { Client, Kind } from '@fairlead/client'
import { CustomResourceDefinition, kind } from '@fairlead/client'
import type { CapabilityOptions, Manager, ObjectChange, ReconcileContext, Result } from '@fairlead/controller'
import { anyOf, generationChanged } from '@fairlead/controller'
import type { JsonValue, KubeObject } from '@fairlead/kube'
import { jsonEqual, selectorFrom } from '@fairlead/kube'
import type { MapController } from '../api.ts'
import { apiVersion } from '../api.ts'
import type { Hooks } from '../engine/hook.ts'
import { inputFilter } from '../engine/input.ts'
import type { ControllerKinds } from '../engine/kinds.ts'
import { definitionNames, resolveKinds, resourcesOf } from '../engine/kinds.ts'
import { checkNamespaces } from '../engine/spec-error.ts'
import { acceptance } from '../hook/acceptance.ts'
import type { CallServices } from '../hook/call-services.ts'
import { callServices } from '../hook/call-services.ts'
import { makeHooks } from '../hook/make-hooks.ts'
import { discoveredResource } from '../runtime/discovered-resource.ts'
import { MapRun } from '../runtime/map-run.ts'
import { OutputMetrics } from '../runtime/output-metrics.ts'
import { reportsOfOthers, writeShardReports } from '../runtime/shard-reports.ts'
import type { RunContext, RunEvent } from './controller-runs.ts'
import { ControllerRuns, syncRequested } from './controller-runs.ts'
import { readiness } from './readiness.ts'

/** A MapController as the client reads it. */
export type MapControllerObject = MapController & KubeObject

/** MapController, for clients. */
export const mapControllerKind: Kind<MapControllerObject> = kind<MapControllerObject>(apiVersion, 'MapController', {
  plural: 'mapcontrollers',
  namespaced: false,
})

/** Runs all MapControllers of a cluster. */
export class MapControllers {
  readonly #manager: Manager
  readonly #calls: CallServices
  readonly #outputMetrics: OutputMetrics
  readonly #runs: ControllerRuns<MapControllerObject, MapRun>

  /** Watches MapControllers with the caches of a manager. Disposes `calls` when it stops. */
  constructor(
    manager: Manager,
    options: Pick<CapabilityOptions, 'resolve'>,
    calls: CallServices = callServices(manager, options),
  ) {
    this.#manager = manager
    this.#calls = calls
    this.#outputMetrics = new OutputMetrics(manager.metrics.registry)
    this.#runs = new ControllerRuns<MapControllerObject, MapRun>(manager, {
      name: 'map',
      kind: mapControllerKind,
      when: anyOf(generationChanged, shardsReported, syncRequested),
      recorder: 'map',
      resources: ({ spec }) => resourcesOf(spec),
      make: (context, run) => this.#make(context, run),
      report: (context, run) => this.#report(context, run),
      noteOf,
      refusal: (_name, _reason, message) => ({ reason: 'CreateError', note: message }),
      onStarted: () => this.#refreshStatus(),
      onDeleted: (name) => this.#onDeleted(name),
      onStopped: (run) => {
        this.#outputMetrics.forget(run.name)
        this.#refreshStatus()
      },
    })
  }

  /** Returns the run of a MapController; undefined when it does not run. */
  run(name: string): MapRun | undefined {
    return this.#runs.run(name)
  }

  /** Number of groups that are queued or being reconciled, over all MapControllers. */
  get busy(): number {
    return this.#runs.busy
  }

  /** Stops all runs. */
  async stop(): Promise<void> {
    await this.#runs.stop()
    await this.#calls[Symbol.asyncDispose]()
  }

  async #report(context: ReconcileContext<MapControllerObject>, run: MapRun): Promise<Result> {
    const { client, object, status } = context
    const { shards } = this.#manager
    if (run.statusProblem !== undefined) run.schemaIs(await generationOfParents(context))
    if (shards !== undefined) await writeShardReports(client, object, shards, (shard) => run.failingIn(shard))
    // The replica that owns the object's shard reports the rest.
    if (!this.#manager.owns()) return undefined
    const state = run.state()
    const others = reportsOfOthers(object, shards)
    await status.apply({
      conditions: [
        acceptance([object.spec.hooks.map.webhook, object.spec.hooks.tombstone?.webhook], object.spec.endpointConfigs),
        readiness(run.name, run.isStarted, state, others),
      ],
      parents: state.parents,
      groups: state.groups,
      driftedOutputs: state.drifted,
      failingGroups: others.reduce((sum, { failingGroups }) => sum + failingGroups, state.failing.length),
    })
    return undefined
  }

  async #make(
    { object, client }: ReconcileContext<MapControllerObject>,
    { current, onStateChange, emit }: RunContext<MapControllerObject>,
  ): Promise<MapRun> {
    const { kinds, hooks } = await this.#accept(object, client)
    const replaced = new Set<string>()
    for (const other of object.spec.replaces ?? []) {
      const note = `Takes the outputs of ${other} over once it is deleted`
      if ((await client.find(mapControllerKind, other)) === undefined) replaced.add(other)
      else emit({ reason: 'WaitingForDeletion', note })
    }
    return new MapRun({
      manager: this.#manager,
      controller: object,
      current,
      replaced,
      kinds,
      hooks,
      metrics: this.#outputMetrics,
      others: () => this.#runs.all,
      onStateChange,
    })
  }

  async #accept(
    object: MapController,
    client: Client,
  ): Promise<{ readonly kinds: ControllerKinds; readonly hooks: Hooks }> {
    const { clock, client: own } = this.#manager
    const hooks = makeHooks(object, { ...this.#calls, client, clock })
    const kinds = await resolveKinds(object.spec, (name) => discoveredResource(own.discovery, name))
    checkNamespaces(object.spec, [kinds.parent])
    for (const input of kinds.inputs) inputFilter(input)
    for (const { spec } of [...kinds.inputs, ...kinds.related])
      selectorFrom(spec.labelSelector ?? spec.namespaceSelector ?? {})
    return { kinds, hooks }
  }

  /** Those that replace a deleted MapController start again, and take its outputs over. */
  #onDeleted(name: string): void {
    for (const { controller, name: of } of this.#runs.all)
      if (controller.spec.replaces?.includes(name) === true) this.#runs.restart(of)
  }

  #refreshStatus(): void {
    for (const run of this.#runs.all) run.refreshStatus()
  }
}

/**
 * Returns the generation of the definition of the parents, and has the MapController reported again when it changes;
 * undefined where there is none or it cannot be read.
 */
async function generationOfParents({
  object,
  read,
}: ReconcileContext<MapControllerObject>): Promise<number | undefined> {
  const [name] = definitionNames([object.spec.parentResource])
  if (name === undefined || (await read.state(CustomResourceDefinition)) !== 'Synced') return undefined
  return (await read.get(CustomResourceDefinition, name))?.metadata.generation
}

function noteOf(event: RunEvent, controller: KubeObject): string {
  const { resource } = (controller as unknown as MapController).spec.parentResource
  return `${event} to map ${resource}${event === 'Stopped' ? '; outputs stay' : ''}`
}

/** Returns whether another replica changed the reports of its shards. */
function shardsReported(change: ObjectChange<MapControllerObject>): boolean {
  const reports = (object: MapControllerObject | undefined): JsonValue =>
    (object?.status?.shards ?? []) as unknown as JsonValue
  return !jsonEqual(reports(change.object), reports(change.previous))
}
