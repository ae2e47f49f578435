// The Cluster port on an API server: writes with the rights of the owner's service account, reads from caches
// (specs/supply-chains.md §2.5, §2.6).
import { isObjectNotFound, kindOfObject } from '@fairlead/client'
import type { Client, ResourcePath } from '@fairlead/client'
import { failureOf, serviceAccountSubject } from '@fairlead/controller'
import type {
  AccessReviews,
  EventRecorder,
  FailureType,
  KindUnavailable,
  ObjectCache,
  ObjectEvents,
  ReconcileContext,
} from '@fairlead/controller'
import { formatKey, isConflict, isControlledBy, isForbidden, isTerminating, keyOf, selectorFrom } from '@fairlead/kube'
import type { JsonObject, JsonValue, KubeObject } from '@fairlead/kube'
import type { ClusterHealthRule, Owner, Template, TemplateKind } from '../api.ts'
import { ApplyError } from '../engine/apply-error.ts'
import type { Cluster } from '../engine/cluster.ts'
import { runNumber, runOrder, withRunNumber } from '../engine/runs/run-number.ts'
import { StampError, stampLabel } from '../engine/templates/stamp.ts'
import type { Ytt } from '../ytt/ytt.ts'
import { impersonate, requeueOnGrant } from './account.ts'
import type { Account } from './account.ts'
import { healthRuleKind, templateKind } from './kinds.ts'
import type { SupplyMetrics } from './metrics.ts'
import { stampManager, takeover } from './stamp-manager.ts'
import { controlledObjects } from './stamped-kinds.ts'
import type { StampedKinds } from './stamped-kinds.ts'

/** Dependencies that the clusters of one controller share. */
export interface LiveClusterDependencies {
  readonly access: AccessReviews
  readonly kinds: StampedKinds
  readonly metrics: SupplyMetrics
  readonly recorder: EventRecorder
  /** Left out for Runnables, whose templates are never in ytt. */
  readonly ytt?: Ytt
}

/** The {@link Cluster} of one owner in one pass. */
export class LiveCluster implements Cluster {
  readonly now: number
  readonly #context: ReconcileContext<KubeObject>
  readonly #account: Account
  readonly #dependencies: LiveClusterDependencies
  readonly #owner: KubeObject
  /** Impersonates the account. */
  readonly #client: Client
  readonly #events: ObjectEvents

  /** `context` is the reconcile of the owner; everything stamped is written with the rights of `account`. */
  constructor(context: ReconcileContext<KubeObject>, account: Account, dependencies: LiveClusterDependencies) {
    this.now = context.clock.now()
    this.#context = context
    this.#account = account
    this.#dependencies = dependencies
    this.#owner = context.object
    this.#client = impersonate(context.client, account).with({ manager: stampManager(context.object) })
    this.#events = dependencies.recorder.about(context.object)
  }

  template(kind: TemplateKind, name: string): Promise<Template | undefined> {
    return this.#context.read.get(templateKind(kind), { namespace: '', name })
  }

  clusterHealthRules(): Promise<readonly ClusterHealthRule[]> {
    return this.#context.read.list(healthRuleKind)
  }

  renderYtt(template: string, context: JsonObject): Promise<JsonValue> {
    const { ytt } = this.#dependencies
    if (ytt === undefined) throw new StampError('templates of runs cannot be in ytt')
    return ytt.render(template, context)
  }

  async apply(stamped: KubeObject): Promise<KubeObject> {
    const cache = await this.#cacheFor(stamped)
    return this.#write(async () => {
      const desired = stamped.metadata.name ? stamped : await this.#withGeneratedName(stamped, cache)
      const cached = desired.metadata.name ? await this.#takenOver(cache.get(keyOf(desired))) : undefined
      const object = desired.metadata.name
        ? await this.#client.apply(desired, { owner: this.#owner, force: true, cached })
        : await this.#client.create(desired)
      if (cached?.metadata.resourceVersion !== object.metadata.resourceVersion)
        await this.#recordWrite(object, cached === undefined ? 'Created' : 'Patched')
      return object
    })
  }

  async ensureRun(desired: KubeObject): Promise<KubeObject> {
    const cache = await this.#cacheFor(desired)
    const cached = this.#newest(controlledObjects(cache, this.#owner), desired)
    if (cached !== undefined && isSameRun(cached, desired)) return cached
    return this.#write(async () => {
      const newest = await this.#newestLive(desired)
      if (newest !== undefined && isSameRun(newest, desired)) return newest
      // Runs of an earlier kind of the template are counted, too.
      const known = this.#newest(this.#dependencies.kinds.ownedBy(this.#owner), desired)
      const last = Math.max(0, ...[newest, known].flatMap((run) => (run === undefined ? [] : [runNumber(run)])))
      const object = await this.#client.create(withRunNumber(desired, last + 1))
      await this.#recordWrite(object, 'Created')
      return object
    })
  }

  async ownedObjects(like: KubeObject, labels: Readonly<Record<string, string>>): Promise<readonly KubeObject[]> {
    const selector = selectorFrom({ matchLabels: labels })
    await this.#cacheFor(like)
    return this.#dependencies.kinds
      .ownedBy(this.#owner)
      .filter(({ metadata }) => selector.matches(metadata.labels ?? {}))
  }

  async stampedEarlier(resource: string): Promise<KubeObject | undefined> {
    const { status } = this.#owner as Owner
    const { apiVersion, kind, name } = status?.resources?.find((entry) => entry.name === resource)?.stampedRef ?? {}
    if (apiVersion === undefined || kind === undefined || name === undefined) return undefined
    const { namespace } = this.#owner.metadata
    try {
      const cache = await this.#cacheFor({ apiVersion, kind, metadata: { name, namespace } })
      const object = cache.get({ namespace: namespace ?? '', name })
      return object !== undefined && isControlledBy(object, this.#owner) ? object : undefined
    } catch (error) {
      // The pass reports and retries what it needs itself; without the object its health stays unknown.
      if (this.#context.signal.aborted) throw error
      return undefined
    }
  }

  deleteRun(run: KubeObject): Promise<unknown> {
    return this.delete(run)
  }

  async groupResourceOf(object: KubeObject): Promise<string> {
    const { plural, group } = await this.#context.client.discovery.resource(object)
    return group === '' ? plural : `${plural}.${group}`
  }

  /**
   * Deletes an object of the owner with the rights of the account, if it still is as in the cache. Returns the error to
   * retry.
   */
  async delete(object: KubeObject): Promise<unknown> {
    if (isTerminating(object)) return undefined
    const { uid, resourceVersion } = object.metadata
    try {
      const name = `${await this.groupResourceOf(object)}/${object.metadata.name}`
      // Without an observer the deletion requeues the owner: it may want an object of that name by then.
      await this.#client.with({ observer: undefined }).delete(kindOfObject(object), keyOf(object), {
        propagation: 'Background',
        preconditions: { uid, resourceVersion },
      })
      this.#dependencies.metrics.countWrite('delete')
      this.#events.normal('StampedObjectRemoved', `Deleted object [${name}]`, { action: 'Delete' })
      return undefined
    } catch (error) {
      if (isObjectNotFound(error)) return undefined
      if (!isConflict(error)) {
        const { log } = this.#context
        log.warn('Could not delete a stamped object', { kind: object.kind, key: formatKey(keyOf(object)), error })
      }
      return error
    }
  }

  async #withGeneratedName(stamped: KubeObject, cache: ObjectCache): Promise<KubeObject> {
    const existing = this.#newest(controlledObjects(cache, this.#owner), stamped) ?? (await this.#newestLive(stamped))
    if (existing === undefined) return stamped
    const { generateName: _prefix, ...metadata } = stamped.metadata
    return { ...stamped, metadata: { ...metadata, name: existing.metadata.name } }
  }

  /** Takes over the fields of earlier managers of an object of the owner. */
  async #takenOver(object: KubeObject | undefined): Promise<KubeObject | undefined> {
    if (object === undefined || !isControlledBy(object, this.#owner)) return object
    const patch = takeover(object, this.#client.manager)
    return patch === undefined ? object : this.#client.patch(kindOfObject(object), keyOf(object), patch)
  }

  /** Lists live objects: the cache may lag behind the writes of this controller or of its predecessor. */
  async #newestLive(desired: KubeObject): Promise<KubeObject | undefined> {
    const { items } = await this.#client.list(kindOfObject(desired), {
      namespace: desired.metadata.namespace,
      labelSelector: { matchLabels: identityLabels(desired) },
    })
    return this.#newest(items, desired)
  }

  /** Returns the newest object of the same resource or Runnable as `desired` that is not being deleted. */
  #newest(objects: readonly KubeObject[], desired: KubeObject): KubeObject | undefined {
    const selector = selectorFrom({ matchLabels: identityLabels(desired) })
    return objects
      .filter(
        (object) =>
          selector.matches(object.metadata.labels ?? {}) &&
          isControlledBy(object, this.#owner) &&
          !isTerminating(object),
      )
      .reduce<KubeObject | undefined>(
        (newest, object) => (newest === undefined || runOrder(object) > runOrder(newest) ? object : newest),
        undefined,
      )
  }

  /**
   * Returns the synced cache of the object's kind, if the account may read the kind in the owner's namespace. Throws
   * ApplyError.
   */
  async #cacheFor(object: KubeObject): Promise<ObjectCache> {
    const { client, signal } = this.#context
    const kind = kindOfObject(object)
    const informer = await this.#dependencies.kinds.informer(kind, formatKey(keyOf(this.#owner)), signal)
    const read = informer.read()
    if (!read.known) throw unknownKind(read.reason)
    const resource = await client.discovery.resource(kind)
    if (!resource.namespaced)
      throw new ApplyError(
        'TemplateRejectedByAPIServer',
        `${kind.kind} in ${kind.apiVersion} is cluster-scoped, so it cannot be owned by a ${this.#owner.kind}`,
        { retry: 'woken' },
      )
    await this.#reviewAccess(resource)
    return read.objects
  }

  /** The caches are the controller's; status and outputs must not show what the account itself may not read. */
  async #reviewAccess({ group, plural }: ResourcePath): Promise<void> {
    const subject = serviceAccountSubject(this.#account)
    const namespace = this.#owner.metadata.namespace ?? ''
    // Lists show whole objects, too, so either right is enough.
    for (const verb of ['get', 'list']) {
      const { allowed } = await this.#dependencies.access.check(subject, { verb, group, resource: plural, namespace })
      if (allowed) return
    }
    await requeueOnGrant(this.#account, this.#context.read)
    throw new ApplyError(
      'TemplateRejectedByAPIServer',
      `${plural}${group === '' ? '' : `.${group}`} is forbidden: User "${subject.user}" cannot get resource "${plural}" in API group "${group}" in the namespace "${namespace}"`,
      { retry: 'denied' },
    )
  }

  async #recordWrite(object: KubeObject, operation: 'Created' | 'Patched'): Promise<void> {
    this.#dependencies.metrics.countWrite(operation === 'Created' ? 'create' : 'update')
    const name = `${await this.groupResourceOf(object)}/${object.metadata.name}`
    this.#events.normal('StampedObjectApplied', `${operation} object [${name}]`, { action: 'Apply' })
  }

  /** Runs a write; rejections by the API server become ApplyErrors, other errors pass. */
  async #write(write: () => Promise<KubeObject>): Promise<KubeObject> {
    try {
      return await write()
    } catch (error) {
      const code = 'TemplateRejectedByAPIServer'
      const { type } = failureOf(error)
      if (isForbidden(error)) {
        await requeueOnGrant(this.#account, this.#context.read)
        // Admission refuses with the same code and reason; no event announces that it will accept.
        throw new ApplyError(code, messageOf(error), {
          retry: type === 'AccessDenied' ? 'denied' : 'backoff',
          cause: error,
        })
      }
      if (rejections.has(type)) throw new ApplyError(code, messageOf(error), { retry: 'backoff', cause: error })
      throw error
    }
  }
}

/** Returns the error of a stamped kind whose objects are unknown; the next change of its state requeues the owner. */
function unknownKind({ kind, state, cause, message }: KindUnavailable): ApplyError {
  const name = `${kind.kind} in ${kind.apiVersion}`
  switch (state) {
    case 'Absent':
      return new ApplyError(
        'TemplateRejectedByAPIServer',
        `the server serves no ${name}; install its CustomResourceDefinition or check the spelling`,
        { retry: 'woken' },
      )
    case 'Forbidden':
      return new ApplyError(
        'FailedToListCreatedObjects',
        `the controller cannot list and watch ${name}: ${messageOf(cause)}; a ClusterRole labelled rbac.fairlead.dev/aggregate-to-supply: "true" grants it (\`fairlead supply rbac\` prints it)`,
        { retry: 'woken' },
      )
    case 'Stale':
      return new ApplyError('FailedToListCreatedObjects', message, { retry: 'woken' })
    case 'Syncing':
      return new ApplyError(
        'FailedToListCreatedObjects',
        `${name} is still being listed${cause === undefined ? '' : `: ${messageOf(cause)}`}`,
        { retry: 'woken' },
      )
  }
}

/** The failures of writes that do not pass with the next attempt: the template, or what it names, has to change. */
const rejections: ReadonlySet<FailureType> = new Set([
  'FieldsOwned',
  'Invalid',
  'KindNotServed',
  'NameTaken',
  'ObjectMissing',
])

function isSameRun(run: KubeObject, desired: KubeObject): boolean {
  return run.metadata.labels?.[stampLabel.digest] === desired.metadata.labels?.[stampLabel.digest]
}

/** Returns the labels that all runs of a resource, or of a Runnable, share. */
function identityLabels({ metadata }: KubeObject): Record<string, string> {
  const names: readonly string[] = [
    stampLabel.resource,
    stampLabel.templateKind,
    stampLabel.templateName,
    stampLabel.runnable,
    stampLabel.runTemplate,
  ]
  return Object.fromEntries(Object.entries(metadata.labels ?? {}).filter(([name]) => names.includes(name)))
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
