// The controller of CompositeControllers or of DecoratorControllers: starts a run for each, restarts it when its spec
// changes, stops it when it is deleted and reports its state.
import type { Kind } from '@fairlead/client'
import { CustomResourceDefinition, backoffDelay, isClientError } from '@fairlead/client'
import type { Controller, Manager, ObjectChange, ReconcileContext, Result } from '@fairlead/controller'
import { after, anyOf, generationChanged, labelsChanged } from '@fairlead/controller'
import type { Condition, KubeObject } from '@fairlead/kube'
import { SelectorError, condition, isTerminating, parseApiVersion } from '@fairlead/kube'
import { DynamicApply, ServerSideApply } from '../children/apply-strategy.ts'
import type { ChildKind } from '../children/child.ts'
import { syncRequestOf } from '../engine/annotations.ts'
import type { ResourceName } from '../engine/kinds.ts'
import type { ResolvedResource } from '../engine/resource.ts'
import type { CallMetrics } from '../hook/call-metrics.ts'
import type { HookDependencies } from '../hook/make-hooks.ts'
import { InvalidHookError } from '../hook/make-hooks.ts'
import { clientKind } from '../runtime/client-kind.ts'
import { discoveredResource } from '../runtime/discovered-resource.ts'
import type { KindResolver } from './kind-resolver.ts'
import { childKindOf } from './kind-resolver.ts'
import type { LeftoverFinalizers } from './leftover-finalizers.ts'
import { removeLeftoverFinalizers } from './leftover-finalizers.ts'
import type { SyncSettings } from './settings.ts'
import { defaultSettings } from './settings.ts'
import { SpecError } from './spec-error.ts'
import type { Flavour, ParentKind } from './flavour.ts'
import type { HooksSpec, SyncHooks } from './sync-hooks.ts'
import { makeSyncHooks } from './sync-hooks.ts'
import { SyncRun } from './sync-run.ts'
import { syncReadiness } from './sync-readiness.ts'

/** The part of a spec that all of these controllers have. */
export interface SyncSpec extends HooksSpec {
  readonly resyncPeriodSeconds?: number
  readonly maxConcurrentCalls?: number
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

interface Running {
  readonly uid: string
  readonly generation: number
  readonly run: SyncRun
  readonly started: Promise<void>
  /** When a sync of all its parents was requested last. */
  requested: string | undefined
}

/** Milliseconds between two status reports of a run, and before the first one. */
const reportInterval = 1000
/** Backoff in milliseconds between lookups of kinds that are not served. */
const lookupBackoff = { base: 1000, cap: 60_000 }

/** Runs all controllers of one kind in a cluster. */
export class SyncControllers<C extends KubeObject> {
  readonly #manager: Manager
  readonly #options: SyncControllersOptions<C>
  readonly #controller: Controller<C>
  readonly #running = new Map<string, Running>()
  readonly #stopping = new Map<string, Promise<void>>()
  readonly #lookups = new Map<string, number>()
  readonly #settings: SyncSettings

  /** Watches the controllers with the caches of a manager. */
  constructor(manager: Manager, options: SyncControllersOptions<C>) {
    this.#manager = manager
    this.#options = options
    this.#settings = options.settings ?? defaultSettings
    this.#controller = manager
      .controller(options.name)
      .for(options.kind, { when: anyOf(generationChanged, labelsChanged, syncRequested) })
      .withOptions({ keepReady: false, everywhere: true })
      .onDeleted(({ key }) => {
        this.#lookups.delete(key.name)
        this.#stop(key.name, { isDeleted: true })
      })
      .reconcile((context) => this.#reconcile(context))
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
    let busy = 0
    for (const { run } of this.#running.values()) busy += run.loop.queue.length + run.loop.queue.working
    return busy
  }

  /** Stops all runs. */
  async stop(): Promise<void> {
    for (const name of this.#running.keys()) this.#stop(name)
    await Promise.all(this.#stopping.values())
  }

  async #reconcile(context: ReconcileContext<C>): Promise<Result> {
    const { object, status } = context
    const name = object.metadata.name ?? ''
    // Another process runs it: nothing of it is touched.
    if (!this.#settings.targets.matches(object.metadata.labels)) {
      this.#stop(name)
      return undefined
    }
    const running = this.#running.get(name)
    const isCurrent = running?.uid === object.metadata.uid && running?.generation === (object.metadata.generation ?? 0)
    if (!isCurrent || isTerminating(object)) this.#stop(name, { isDeleted: isTerminating(object) })
    // The end of the stop enqueues the controller again.
    if (this.#stopping.has(name) || isTerminating(object)) return undefined
    const refusal = isCurrent ? undefined : await this.#start(context)
    const run = this.#running.get(name)?.run
    if (!this.#manager.owns()) return undefined
    if (refusal !== undefined || run === undefined) {
      const message = refusal?.message ?? 'It was stopped'
      const accepted = refusal ?? condition('Accepted', false, { reason: 'Stopped', message })
      await status.apply({
        conditions: [accepted, condition('Ready', false, { reason: 'NotAccepted', message })],
      })
      return refusal?.reason === 'UnknownKind' ? this.#retryLookup(context) : undefined
    }
    this.#lookups.delete(name)
    const requested = syncRequestOf(object)
    if (running !== undefined && isCurrent && running.requested !== requested) {
      running.requested = requested
      run.syncAll()
    }
    // Clients that create a controller and then change it would conflict with a report in between.
    if (!isCurrent) return after(reportInterval)
    const state = run.state()
    await status.apply({
      conditions: [
        condition('Accepted', true, { reason: 'Accepted', message: 'The spec can be carried out' }),
        syncReadiness(name, run.isStarted, state),
      ],
      parents: state.parents,
      failingParents: state.failing.length,
    })
    return undefined
  }

  /** Retries the lookup of kinds; reading their definitions enqueues the controller when they change. */
  async #retryLookup({ object, read }: ReconcileContext<C>): Promise<Result> {
    for (const { apiVersion, resource } of this.#options.resources(object)) {
      const { group } = parseApiVersion(apiVersion)
      if (group.includes('.')) await read.get(CustomResourceDefinition, `${resource}.${group}`)
    }
    const name = object.metadata.name ?? ''
    const count = (this.#lookups.get(name) ?? 0) + 1
    this.#lookups.set(name, count)
    return after(backoffDelay(count, { ...lookupBackoff, random: this.#manager.random }))
  }

  /** Starts the run of a spec. Returns the condition to report when it cannot. */
  async #start({ object, events, client }: ReconcileContext<C>): Promise<Condition | undefined> {
    const name = object.metadata.name ?? ''
    const spec = this.#options.specOf(object)
    const resolver = new DiscoveredKinds(this.#manager)
    let flavour: Flavour
    let hooks: SyncHooks
    try {
      flavour = await this.#options.flavour(object, resolver)
      const { http, metrics } = this.#options
      const origin = { controllerType: flavour.controllerType, controllerName: name }
      hooks = makeSyncHooks(spec, origin, { http, client, clock: this.#manager.clock, metrics })
      if (hooks.sync === undefined && hooks.finalize === undefined)
        throw new SpecError('InvalidHook', 'spec.hooks needs a sync or a finalize webhook')
    } catch (error) {
      const reason = refusalReason(error)
      if (reason === undefined) throw error
      const { message } = error as Error
      const isIgnored = reason === 'NoStatusSubresource'
      if (this.#manager.owns())
        events.warning(
          isIgnored ? 'SyncError' : 'CreateError',
          isIgnored ? `[${name}] Sync error - ignoring, ${message}` : `Cannot create new controller: ${message}`,
          { action: 'Start' },
        )
      return condition('Accepted', false, { reason, message })
    }
    const run = new SyncRun({
      manager: this.#manager,
      controller: object,
      current: () => this.#current(object),
      flavour,
      hooks,
      resyncPeriodSeconds: spec.resyncPeriodSeconds,
      workers: spec.maxConcurrentCalls ?? this.#settings.workers,
      strategy:
        this.#settings.applyManager === undefined
          ? new DynamicApply()
          : new ServerSideApply(this.#settings.applyManager),
      resolve: (resource) => discoveredResource(this.#manager.client.discovery, resource),
      onStateChange: () => this.#controller.loop.queue.addAfter(name, reportInterval),
    })
    this.#emit(object, 'Starting', `Starting controller: ${name}`, 'Start')
    const started = run.start().then(
      () => this.#emit(object, 'Started', `Started controller: ${name}`, 'Start'),
      (error: unknown) => this.#manager.log.error('Could not start a controller', { name, error }),
    )
    const { uid = '', generation = 0 } = object.metadata
    this.#running.set(name, { uid, generation, run, started, requested: syncRequestOf(object) })
    return undefined
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

  #current(started: C): KubeObject {
    const { name = '', uid, generation } = started.metadata
    const known = this.#manager.informers.peek(this.#options.kind)?.lastKnown.get(name)
    const isSame = known?.metadata.uid === uid && known?.metadata.generation === generation
    return known !== undefined && isSame ? known : started
  }

  /** Stops a run in the background: other controllers do not wait for it. */
  #stop(name: string, { isDeleted = false }: { readonly isDeleted?: boolean } = {}): void {
    const running = this.#running.get(name)
    if (running === undefined) return
    this.#running.delete(name)
    const stopping = this.#finish(name, running, isDeleted).finally(() => {
      this.#stopping.delete(name)
      this.#controller.loop.add(name)
    })
    this.#stopping.set(name, stopping)
  }

  async #finish(name: string, { run, started }: Running, isDeleted: boolean): Promise<void> {
    this.#emit(run.controller, 'Stopping', `Stopping controller: ${name}`, 'Stop')
    await run.stop()
    await started
    if (isDeleted) await run.removeFinalizers()
    this.#emit(run.controller, 'Stopped', `Stopped controller: ${name}`, 'Stop')
  }

  #emit(controller: KubeObject, reason: string, note: string, action: string): void {
    if (this.#manager.owns())
      this.#manager.recorder('metacontroller').about(controller).normal(reason, note, { action })
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

/** Returns whether a sync of all parents of a controller was requested. */
export function syncRequested({ object, previous }: ObjectChange): boolean {
  return previous !== undefined && syncRequestOf(object) !== syncRequestOf(previous)
}

/** Returns the reason of Accepted=False for an error that the user can fix; undefined for all other errors. */
function refusalReason(error: unknown): string | undefined {
  if (isClientError(error) && error.code === 'UnknownKind') return 'UnknownKind'
  if (error instanceof SpecError || error instanceof InvalidHookError) return error.code
  return error instanceof SelectorError ? 'InvalidSelector' : undefined
}
