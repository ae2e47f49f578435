// The controller of CompositeControllers or of DecoratorControllers: what is theirs in the runs of controllers
// (controllers/controller-runs.ts).
import type { Kind } from '@fairlead/client'
import { isClientError } from '@fairlead/client'
import type { Manager, ReconcileContext, Result } from '@fairlead/controller'
import { after, anyOf, generationChanged, labelsChanged } from '@fairlead/controller'
import type { KubeObject } from '@fairlead/kube'
import { DynamicApply, ServerSideApply } from '../children/apply-strategy.ts'
import type { ChildKind } from '../children/child.ts'
import type { ControllerEvent, RunContext } from '../controllers/controller-runs.ts'
import { ControllerRuns, reportInterval, syncRequested } from '../controllers/controller-runs.ts'
import type { ResourceName } from '../engine/kinds.ts'
import type { ResolvedResource } from '../engine/resource.ts'
import { SpecError } from '../engine/spec-error.ts'
import { acceptance } from '../hook/acceptance.ts'
import type { CallMetrics } from '../hook/call-metrics.ts'
import type { HookDependencies } from '../hook/make-hooks.ts'
import { clientKind } from '../runtime/client-kind.ts'
import { discoveredResource } from '../runtime/discovered-resource.ts'
import type { Flavour, ParentKind } from './flavour.ts'
import type { KindResolver } from './kind-resolver.ts'
import { childKindOf } from './kind-resolver.ts'
import type { LeftoverFinalizers } from './leftover-finalizers.ts'
import { removeLeftoverFinalizers } from './leftover-finalizers.ts'
import type { SyncSettings } from './settings.ts'
import { defaultSettings } from './settings.ts'
import type { HooksSpec } from './sync-hooks.ts'
import { makeSyncHooks } from './sync-hooks.ts'
import { syncReadiness } from './sync-readiness.ts'
import { SyncRun } from './sync-run.ts'

/** The part of a spec that all of these controllers have. */
export interface SyncSpec extends HooksSpec {
  readonly resyncPeriodSeconds?: number
  readonly maxConcurrentCalls?: number
  readonly namespaces?: readonly string[]
}

/** A kind of controllers. */
export interface SyncControllersOptions<C extends KubeObject> {
  /** Name of the controller of these controllers, such as `composite`. */
  readonly name: string
  readonly kind: Kind<C>
  /** Begins the names of the finalizers of these controllers. */
  readonly finalizerPrefix: string
  readonly http: HookDependencies['http']
  readonly metrics: CallMetrics
  /** Settings of the process; the defaults when left out. */
  readonly settings?: SyncSettings
  readonly specOf: (controller: C) => SyncSpec
  /** Returns the resources that a spec names. */
  readonly resources: (controller: C) => readonly ResourceName[]
  /** Returns the flavour of a controller. Throws SpecError, SelectorError and ClientError `UnknownKind`. */
  readonly flavour: (controller: C, resolve: KindResolver) => Promise<Flavour>
}

/** Runs all controllers of one kind in a cluster. */
export class SyncControllers<C extends KubeObject> {
  readonly #manager: Manager
  readonly #options: SyncControllersOptions<C>
  readonly #runs: ControllerRuns<C, SyncRun>
  readonly #settings: SyncSettings

  /** Watches the controllers with the caches of a manager. */
  constructor(manager: Manager, options: SyncControllersOptions<C>) {
    this.#manager = manager
    this.#options = options
    this.#settings = options.settings ?? defaultSettings
    this.#runs = new ControllerRuns<C, SyncRun>(manager, {
      name: options.name,
      kind: options.kind,
      when: anyOf(generationChanged, labelsChanged, syncRequested),
      recorder: 'metacontroller',
      resources: options.resources,
      isOurs: ({ metadata }) => this.#settings.targets.matches(metadata.labels),
      make: (context, run) => this.#make(context, run),
      report: (context, run, isNew) => this.#report(context, run, isNew),
      noteOf: (event, { metadata }) => `${event} controller: ${metadata.name ?? ''}`,
      refusal: refusalEvent,
      onStopped: async (run, next) => {
        if (next === 'deleted') return run.removeFinalizers()
        const now = manager.informers.peek(options.kind)?.lastKnown.get(run.controller.metadata.name ?? '')
        const namespaces = now === undefined ? undefined : options.specOf(now).namespaces
        if (namespaces !== undefined)
          await run.removeFinalizers(({ metadata }) => !namespaces.includes(metadata.namespace ?? ''))
      },
    })
    manager
      .loop<string>({
        name: `${options.name}-leftovers`,
        id: (item) => item,
        run: (_item, { client, log, signal }) => this.#removeLeftovers({ client, log, signal }),
      })
      .add('finalizers')
  }

  /** Number of parents that are queued or being synced, over all controllers. */
  get busy(): number {
    return this.#runs.busy
  }

  /** Stops all runs. */
  stop(): Promise<void> {
    return this.#runs.stop()
  }

  async #report({ object, status }: ReconcileContext<C>, run: SyncRun, isNew: boolean): Promise<Result> {
    if (!this.#manager.owns()) return undefined
    // Clients that create a controller and then change it would conflict with a report in between.
    if (isNew) return after(reportInterval)
    const state = run.state()
    const { hooks, endpointConfigs } = this.#options.specOf(object)
    await status.apply({
      conditions: [
        acceptance([hooks?.sync?.webhook, hooks?.finalize?.webhook, hooks?.customize?.webhook], endpointConfigs),
        syncReadiness(object.metadata.name ?? '', run.isStarted, state),
      ],
      parents: state.parents,
      failingParents: state.failing.length,
    })
    return undefined
  }

  async #make({ object, client }: ReconcileContext<C>, { current, onStateChange }: RunContext<C>): Promise<SyncRun> {
    const { http, metrics, specOf } = this.#options
    const spec = specOf(object)
    const flavour = await this.#options.flavour(object, new DiscoveredKinds(this.#manager))
    const origin = { controllerType: flavour.controllerType, controllerName: object.metadata.name ?? '' }
    const hooks = makeSyncHooks(spec, origin, { http, client, clock: this.#manager.clock, metrics })
    if (hooks.sync === undefined && hooks.finalize === undefined)
      throw new SpecError('InvalidHook', 'spec.hooks needs a sync or a finalize webhook')
    const { applyManager, workers } = this.#settings
    return new SyncRun({
      manager: this.#manager,
      controller: object,
      current,
      flavour,
      hooks,
      namespaces: spec.namespaces,
      resyncPeriodSeconds: spec.resyncPeriodSeconds,
      workers: spec.maxConcurrentCalls ?? workers,
      strategy: applyManager === undefined ? new DynamicApply() : new ServerSideApply(applyManager),
      resolve: (resource) => discoveredResource(this.#manager.client.discovery, resource),
      onStateChange,
    })
  }

  /** Controllers may have been deleted while this process did not run. */
  async #removeLeftovers(context: Pick<LeftoverFinalizers, 'client' | 'log' | 'signal'>): Promise<undefined> {
    const { kind, finalizerPrefix, resources } = this.#options
    const { items } = await context.client.list(kind, { signal: context.signal })
    const seen = new Set<string>()
    const kinds: Kind[] = []
    for (const name of items.flatMap(resources)) {
      if (seen.has(`${name.resource}.${name.apiVersion}`)) continue
      seen.add(`${name.resource}.${name.apiVersion}`)
      try {
        kinds.push(clientKind(await discoveredResource(context.client.discovery, name)))
      } catch (error) {
        if (!isClientError(error) || error.code !== 'UnknownKind') throw error
      }
    }
    await removeLeftoverFinalizers({ ...context, controllers: kind, prefix: finalizerPrefix, kinds })
    return undefined
  }
}

/** The kinds of a spec, by discovery. */
class DiscoveredKinds implements KindResolver {
  readonly #manager: Manager

  constructor(manager: Manager) {
    this.#manager = manager
  }

  async parent(name: Parameters<KindResolver['parent']>[0]): Promise<ParentKind> {
    const resource = await this.#resource(name)
    const { subresources } = await this.#manager.client.discovery.describe({
      apiVersion: resource.apiVersion,
      kind: resource.kind,
    })
    return {
      ...resource,
      ignoreStatusChanges: name.ignoreStatusChanges === true,
      hasStatusSubresource: subresources.includes('status'),
    }
  }

  async child(name: Parameters<KindResolver['child']>[0]): Promise<ChildKind> {
    return childKindOf(await this.#resource(name), name)
  }

  #resource(name: ResourceName): Promise<ResolvedResource> {
    return discoveredResource(this.#manager.client.discovery, name)
  }
}

/** Returns the event about a spec that cannot be carried out, as Metacontroller has it. */
function refusalEvent(name: string, reason: string, message: string): ControllerEvent {
  return reason === 'NoStatusSubresource'
    ? { reason: 'SyncError', note: `[${name}] Sync error - ignoring, ${message}` }
    : { reason: 'CreateError', note: `Cannot create new controller: ${message}` }
}
