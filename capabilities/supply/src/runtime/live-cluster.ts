// The ground of the controller: a cluster, written with the rights of a service account, read from caches (specs/supply-chains.md §2.5, §2.6).
import { CollisionError, isClientError, kindOfObject } from '@fairlead/client'
import type { Client, ResourcePath } from '@fairlead/client'
import type { Informer, Logger, ObjectEvents, Reader } from '@fairlead/controller'
import {
  StatusError,
  formatKey,
  isAlreadyExists,
  isConflict,
  isControlledBy,
  isForbidden,
  isNotFound,
  isTerminating,
  keyOf,
  selectorFrom,
} from '@fairlead/kube'
import type { JsonObject, JsonValue, KubeObject } from '@fairlead/kube'
import type { ClusterHealthRule, Template, TemplateKind } from '../api.ts'
import { stampLabel } from '../engine/templates/stamp.ts'
import { runOrder, runNumber, withRunNumber } from '../engine/runs/run-number.ts'
import { healthRuleKind, templateKind } from './kinds.ts'
import type { SupplyMetrics } from './metrics.ts'
import { evaluateYtt } from '../ytt/ytt-program.ts'
import { clientOf, wakeWhenGranted } from './account.ts'
import type { AccessReviews } from './access-reviews.ts'
import type { Account } from './account.ts'
import { ApplyError } from '../engine/cluster.ts'
import type { Ground } from '../engine/cluster.ts'
import { ownedIn } from './stamped-kinds.ts'
import type { StampedKinds } from './stamped-kinds.ts'

/** What the ground of one owner stands on. */
export interface ClusterGroundOptions {
  readonly owner: KubeObject
  readonly account: Account
  readonly access: AccessReviews
  /** As the controller; acts as the account for everything that is stamped. */
  readonly client: Client
  readonly read: Reader
  readonly kinds: StampedKinds
  readonly events: ObjectEvents
  readonly log: Logger
  readonly metrics: SupplyMetrics
  readonly ytt: string | undefined
  readonly now: number
  readonly signal: AbortSignal
}

/** The {@link Ground} of one owner in one pass. */
export class ClusterGround implements Ground {
  readonly now: number
  readonly #options: ClusterGroundOptions
  readonly #client: Client

  constructor(options: ClusterGroundOptions) {
    this.now = options.now
    this.#options = options
    this.#client = clientOf(options.client, options.account)
  }

  template(kind: TemplateKind, name: string): Promise<Template | undefined> {
    return this.#options.read.get(templateKind(kind), { namespace: '', name })
  }

  healthDefaults(): Promise<readonly ClusterHealthRule[]> {
    return this.#options.read.list(healthRuleKind)
  }

  ytt(text: string, context: JsonObject): Promise<JsonValue> {
    return evaluateYtt(text, context, this.#options.ytt)
  }

  async apply(stamped: KubeObject): Promise<KubeObject> {
    const cache = await this.#cacheFor(stamped)
    return this.#attempt(async () => {
      const { owner } = this.#options
      const wanted = stamped.metadata.name ? stamped : await this.#withGeneratedName(stamped, cache)
      const before = wanted.metadata.name ? cache.get(keyOf(wanted)) : undefined
      const object = wanted.metadata.name
        ? await this.#client.apply(wanted, { owner, force: true, cached: before })
        : await this.#client.create(wanted)
      if (before?.metadata.resourceVersion !== object.metadata.resourceVersion)
        await this.#applied(object, before === undefined ? 'Created' : 'Patched')
      return object
    })
  }

  async ensureRun(wanted: KubeObject): Promise<KubeObject> {
    const cache = await this.#cacheFor(wanted)
    const same = this.#newest(ownedIn(cache, this.#options.owner), wanted)
    if (same !== undefined && isSameRun(same, wanted)) return same
    return this.#attempt(async () => {
      const newest = await this.#newestLive(wanted)
      if (newest !== undefined && isSameRun(newest, wanted)) return newest
      const object = await this.#client.create(withRunNumber(wanted, newest === undefined ? 1 : runNumber(newest) + 1))
      await this.#applied(object, 'Created')
      return object
    })
  }

  async owned(like: KubeObject, labels: Readonly<Record<string, string>>): Promise<readonly KubeObject[]> {
    const selector = selectorFrom({ matchLabels: labels })
    const owned = ownedIn(await this.#cacheFor(like), this.#options.owner)
    return owned.filter(({ metadata }) => selector.matches(metadata.labels ?? {}))
  }

  discard(run: KubeObject): Promise<void> {
    return this.remove(run)
  }

  async resourceOf(object: KubeObject): Promise<string> {
    const { plural, group } = await this.#options.client.discovery.resource(object)
    return group === '' ? plural : `${plural}.${group}`
  }

  /** Deletes an object of the owner with the rights of the account. What fails is logged; the next pass tries again. */
  async remove(object: KubeObject): Promise<void> {
    if (isTerminating(object)) return
    const { events, log, metrics } = this.#options
    const { uid } = object.metadata
    try {
      const name = `${await this.resourceOf(object)}/${object.metadata.name}`
      await this.#client.delete(kindOfObject(object), keyOf(object), {
        propagation: 'Background',
        preconditions: { uid },
      })
      metrics.wrote('delete')
      events.normal('StampedObjectRemoved', `Deleted object [${name}]`, { action: 'Delete' })
    } catch (error) {
      if (isNotFound(error) || isConflict(error)) return
      log.warn('Could not delete a stamped object', { kind: object.kind, key: formatKey(keyOf(object)), error })
    }
  }

  async #withGeneratedName(stamped: KubeObject, cache: Informer): Promise<KubeObject> {
    const before = this.#newest(ownedIn(cache, this.#options.owner), stamped) ?? (await this.#newestLive(stamped))
    if (before === undefined) return stamped
    const { generateName: _prefix, ...metadata } = stamped.metadata
    return { ...stamped, metadata: { ...metadata, name: before.metadata.name } }
  }

  /** The cache may lag behind what this controller, or the one before it, has made: the cluster decides. */
  async #newestLive(wanted: KubeObject): Promise<KubeObject | undefined> {
    const { items } = await this.#client.list(kindOfObject(wanted), {
      namespace: wanted.metadata.namespace,
      labelSelector: { matchLabels: this.#identity(wanted) },
    })
    return this.#newest(items, wanted)
  }

  #newest(objects: readonly KubeObject[], wanted: KubeObject): KubeObject | undefined {
    const selector = selectorFrom({ matchLabels: this.#identity(wanted) })
    const { owner } = this.#options
    return objects
      .filter(
        (object) =>
          selector.matches(object.metadata.labels ?? {}) && isControlledBy(object, owner) && !isTerminating(object),
      )
      .reduce<KubeObject | undefined>(
        (best, one) => (best === undefined || runOrder(one) > runOrder(best) ? one : best),
        undefined,
      )
  }

  /** The labels that all runs of a resource, or of a Runnable, have in common. */
  #identity({ metadata }: KubeObject): Record<string, string> {
    const names = [
      stampLabel.resource,
      stampLabel.templateKind,
      stampLabel.templateName,
      stampLabel.runnable,
      stampLabel.runTemplate,
    ]
    const entries = Object.entries(metadata.labels ?? {})
    return Object.fromEntries(entries.filter(([name]) => (names as readonly string[]).includes(name)))
  }

  async #cacheFor(object: KubeObject): Promise<Informer> {
    const { kinds, owner, client, signal } = this.#options
    const kind = kindOfObject(object)
    const informer = await kinds.cache(kind, formatKey(keyOf(owner)), signal)
    switch (informer.state) {
      case 'Absent':
        throw new ApplyError(
          'TemplateRejectedByAPIServer',
          `the server serves no ${kind.kind} in ${kind.apiVersion}; install its CustomResourceDefinition or check the spelling`,
          { settled: true },
        )
      case 'Forbidden':
        throw new ApplyError(
          'FailedToListCreatedObjects',
          `the controller cannot list and watch ${kind.kind} in ${kind.apiVersion}: ${textOf(informer.error)}; a ClusterRole labelled rbac.fairlead.dev/aggregate-to-supply: "true" grants it`,
          { settled: true },
        )
      case 'Syncing':
        throw new ApplyError('FailedToListCreatedObjects', `${kind.kind} in ${kind.apiVersion} is still being listed`, {
          settled: true,
        })
      case 'Synced':
    }
    const resource = await client.discovery.resource(kind)
    if (!resource.namespaced)
      throw new ApplyError(
        'TemplateRejectedByAPIServer',
        `${kind.kind} in ${kind.apiVersion} has no namespace, so it cannot be owned by a ${owner.kind}`,
        { settled: true },
      )
    await this.#reviewAccess(resource)
    return informer
  }

  /** What the account may not read, no status and no output may show. */
  async #reviewAccess(resource: ResourcePath): Promise<void> {
    const { access, account, owner, read } = this.#options
    const namespace = owner.metadata.namespace ?? ''
    if (await access.mayRead(account, resource, namespace)) return
    await wakeWhenGranted(account, read)
    const { plural, group } = resource
    throw new ApplyError(
      'TemplateRejectedByAPIServer',
      `${plural}${group === '' ? '' : `.${group}`} is forbidden: User "system:serviceaccount:${account.namespace}:${account.name}" cannot get resource "${plural}" in API group "${group}" in the namespace "${namespace}"`,
      { settled: true },
    )
  }

  async #applied(object: KubeObject, what: 'Created' | 'Patched'): Promise<void> {
    const { events, metrics } = this.#options
    metrics.wrote(what === 'Created' ? 'create' : 'update')
    events.normal('StampedObjectApplied', `${what} object [${await this.resourceOf(object)}/${object.metadata.name}]`, {
      action: 'Apply',
    })
  }

  async #attempt(write: () => Promise<KubeObject>): Promise<KubeObject> {
    try {
      return await write()
    } catch (error) {
      const { account, read } = this.#options
      const code = 'TemplateRejectedByAPIServer'
      if (isForbidden(error)) {
        await wakeWhenGranted(account, read)
        throw new ApplyError(code, textOf(error), { settled: true, cause: error })
      }
      if (error instanceof CollisionError || isClientError(error, 'UnknownKind'))
        throw new ApplyError(code, textOf(error), { settled: false, cause: error })
      if (error instanceof StatusError && error.code < 500 && !isPassing(error))
        throw new ApplyError(code, textOf(error), { settled: false, cause: error })
      throw error
    }
  }
}

/** A lost race or a busy server, which the next attempt settles; a name that is taken is neither. */
function isPassing(error: StatusError): boolean {
  return error.code === 429 || (isConflict(error) && !isAlreadyExists(error))
}

function isSameRun(run: KubeObject, wanted: KubeObject): boolean {
  return run.metadata.labels?.[stampLabel.digest] === wanted.metadata.labels?.[stampLabel.digest]
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
