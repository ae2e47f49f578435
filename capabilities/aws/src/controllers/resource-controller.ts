// The controllers of all kinds: a reconcile reads caches, decides by the engine and carries it out. One controller for
// each kind; the watch of references wakes them.
import { kind as clientKind } from '@fairlead/client'
import {
  RemoteError,
  after,
  allOf,
  annotationsChanged,
  anyOf,
  deletionBegan,
  generationChanged,
} from '@fairlead/controller'
import type { Controller, Manager, Predicate, ReconcileContext, Result } from '@fairlead/controller'
import { formatKey } from '@fairlead/kube'
import type { KubeObject } from '@fairlead/kube'
import { ReferenceWatch } from '@fairlead/references'
import type { ObjectId } from '@fairlead/references'
import { conditionsFor } from '../engine/conditions.ts'
import { placementOf } from '../engine/placement.ts'
import type { PlacementSettings } from '../engine/placement.ts'
import type { Outcome, Settings } from '../engine/reconcile-input.ts'
import { reconcileResource, refused } from '../engine/reconcile.ts'
import { finalizerOf } from '../engine/resource-kind.ts'
import type { ResourceKind } from '../engine/resource-kind.ts'
import type { ResourceManager } from '../engine/resource-manager.ts'
import { lastFields, storedReferences } from '../engine/resource-status.ts'
import { defaultTags, renderTags } from '../engine/tag-template.ts'
import type { TagTemplate } from '../engine/tag-template.ts'
import { Claims } from '../runtime/claims.ts'
import { Namespaces } from '../runtime/namespaces.ts'
import { ClusterStore } from '../runtime/object-store.ts'

/** Options of {@link ResourceControllers}. */
export interface ResourceControllersOptions {
  readonly kinds: readonly ResourceKind[]
  /** Returns the calls for the resource of an object, in a region. */
  readonly resources: (
    kind: ResourceKind,
    region: string,
    object: KubeObject,
    /** Base URL that the namespace of the object chose, and the settings allow. */
    endpoint: string | undefined,
  ) => ResourceManager | Promise<ResourceManager>
  readonly settings: Omit<Settings, 'tags'> &
    Omit<PlacementSettings, 'region'> & { readonly tags?: readonly TagTemplate[] }
  readonly crossNamespace: boolean
  /** Kinds that are only read as referents: another process reconciles them. */
  readonly unmanaged?: readonly string[]
  /** Objects of a kind that are reconciled at a time; 4 when left out. */
  readonly concurrency?: number
}

/** Milliseconds until a deletion looks again for what could refer to its object. */
const absentKindRetry = 30_000

/** Changes that can ask for another resource; those of the status cannot. */
const wanted: readonly Predicate[] = [anyOf(generationChanged, annotationsChanged, deletionBegan)]

/** Reconciles the objects of all kinds. */
export class ResourceControllers implements Disposable {
  readonly #options: ResourceControllersOptions
  readonly #manager: Manager
  readonly #controllers = new Map<string, Controller>()
  readonly #watch: ReferenceWatch<ResourceKind>
  readonly #namespaces: Namespaces
  readonly #claims: Claims

  constructor(manager: Manager, options: ResourceControllersOptions) {
    const { kinds, crossNamespace, unmanaged = [], concurrency = 4 } = options
    this.#manager = manager
    this.#options = options
    for (const kind of kinds) {
      if (unmanaged.includes(kind.kind)) continue
      const controller = manager
        .controller(`aws-${kind.kind.toLowerCase()}`)
        .for(clientKind(`${kind.group}/${kind.version}`, kind.kind, { plural: kind.plural, namespaced: true }))
        .withOptions({ predicates: [allOf(...wanted)], keepReady: false, concurrency })
        .reconcile((context) => this.#reconcile(kind, context))
      this.#controllers.set(`${kind.group}/${kind.kind}`, controller as unknown as Controller)
    }
    this.#namespaces = new Namespaces(manager, (namespace) => this.#wakeNamespace(namespace))
    this.#claims = new Claims(manager, kinds)
    this.#watch = new ReferenceWatch({
      manager,
      kinds,
      crossNamespace,
      finalizerOf,
      wake: ({ group, kind, namespace, name }) =>
        this.#controllers.get(`${group}/${kind}`)?.enqueue({ namespace, name }),
    })
  }

  /** Number of objects that are queued or worked on. */
  get busy(): number {
    let busy = 0
    for (const { loop } of this.#controllers.values()) busy += loop.queue.length + loop.queue.working
    return busy
  }

  [Symbol.dispose](): void {
    this.#claims[Symbol.dispose]()
    this.#namespaces[Symbol.dispose]()
    this.#watch[Symbol.dispose]()
  }

  async #reconcile(kind: ResourceKind, context: ReconcileContext<KubeObject>): Promise<Result> {
    const { client, clock, key, object, status } = context
    const { settings } = this.#options
    const id: ObjectId = { group: kind.group, kind: kind.kind, namespace: key.namespace, name: key.name }
    const finalizer = finalizerOf(kind)
    const isDeleted = object.metadata.deletionTimestamp !== undefined
    const unknown = isDeleted ? await this.#watch.unknownDependents(id) : undefined
    if (unknown !== undefined) {
      await status.apply(waitingFor(object, unknown))
      // The definition of a kind that is not served is not watched.
      return after(absentKindRetry)
    }
    const namespaceAnnotations = await this.#namespaces.annotations(key.namespace)
    const { endpoint, refusal, region } = placementOf(object, namespaceAnnotations, settings)
    if (refusal !== undefined) {
      await status.apply(refused(object, refusal).status)
      return undefined
    }
    let outcome: Outcome
    try {
      outcome = await reconcileResource({
        id,
        object,
        kind,
        finalizer,
        settings: { ...settings, region, tags: renderTags(settings.tags ?? defaultTags, object, kind) },
        now: clock.now(),
        manager: await this.#options.resources(kind, region, object, endpoint),
        referents: this.#watch,
        store: new ClusterStore({
          client,
          specClient: this.#manager.client,
          object,
          status,
          finalizer,
          plural: kind.plural,
          onHold: () => this.#watch.creating(id),
          onRelease: () => this.#watch.created(id),
        }),
        namespaceAnnotations,
        dependents: () => this.#watch.dependents(id),
        holders: (arn, creator) => this.#claims.holders(arn, { id, uid: object.metadata.uid }, creator),
        claim: (arn, creator) => this.#claims.claim(arn, { id, uid: object.metadata.uid }, creator),
      })
    } catch (error) {
      // The finalizer may not have been added: what waits for this object looks at it again.
      this.#watch.created(id)
      throw error
    }
    if (outcome.status !== undefined) await status.apply(outcome.status)
    const { failure, requeueAfter } = outcome
    if (failure !== undefined)
      throw new RemoteError(failure.error.code, failure.error.message, { cause: failure.error })
    if (requeueAfter === undefined) return undefined
    // What is read again from time to time is spread, so that it is not all read at once.
    const isResync = requeueAfter >= 60_000
    return after(isResync ? requeueAfter * (1 - 0.1 * this.#manager.random()) : requeueAfter)
  }

  #wakeNamespace(namespace: string): void {
    for (const { group, kind, version } of this.#options.kinds) {
      const controller = this.#controllers.get(`${group}/${kind}`)
      const objects = this.#manager.informers.peek(clientKind(`${group}/${version}`, kind))?.lastKnown
      for (const { metadata } of objects?.list({ namespace }) ?? [])
        controller?.enqueue({ namespace, name: metadata.name ?? '' })
    }
  }
}

/** Returns the status of an object whose deletion waits until everything that could refer to it is known. */
function waitingFor(object: KubeObject, unknown: string): NonNullable<Outcome['status']> {
  const references = storedReferences(object)
  const message = `waits until it is known what refers to ${formatKey({ namespace: object.metadata.namespace ?? '', name: object.metadata.name ?? '' })}: ${unknown}`
  return {
    ...lastFields(object),
    ...(references.length === 0 ? {} : { resolvedReferences: references }),
    conditions: conditionsFor({ synced: { status: 'False', reason: 'DeletionBlocked', message } }),
  }
}
