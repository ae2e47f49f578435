// The usage of ResourceQuotas (k8s.io/apiserver's quota evaluator and the ResourceQuota controller, v1.35). Writes are
// charged to `status.used` before they are stored; `recalculate` measures again what is stored. Both hold the lock of
// the namespace, and writes under way count, so that neither can lose a charge of the other.
import type { Clock, KubeObject } from '@fairlead/kube'
import { formatKey, isConflict, isNotFound, keyOf } from '@fairlead/kube'
import { resourceName } from '@fairlead/builtin-kinds'
import type { ResourceDefinition } from '@fairlead/builtin-kinds'
import { KeyedMutex } from '../../storage/keyed-mutex.ts'
import type { AdmissionAttributes } from '../attributes.ts'
import { refusal } from '../attributes.ts'
import type { ListNamespace } from './limit-ranger.ts'
import { growth, quotaEvaluator } from './quota-evaluator.ts'
import type { QuotaEvaluator } from './quota-evaluator.ts'
import { scopeRequirements } from './quota-scope.ts'
import type { ResourceQuota } from './quota-scope.ts'
import { addTo, count, isSameList, listText, pick, resourceList, resourceStrings, sumOf } from './resource-list.ts'
import type { ResourceList } from './resource-list.ts'

const quotas = 'resourcequotas.'
const attempts = 10

/** The access of a ledger to the server. */
export interface QuotaLedgerOptions {
  readonly clock: Clock
  /** All served definitions. */
  readonly definitions: () => Iterable<ResourceDefinition>
  /** Returns a stored object, from memory. */
  readonly read: (resource: string, key: string) => KubeObject | undefined
  readonly listNamespace: ListNamespace
  /** Returns the newest state of a quota, pending writes included, with its resourceVersion. */
  readonly head: (key: string) => Promise<KubeObject | undefined>
  /** Writes the status of a quota at its resourceVersion. @throws StatusError 404, 409 */
  readonly writeStatus: (quota: ResourceQuota, manager: string) => Promise<void>
}

/** A write that waits for its charge. */
interface Waiter {
  readonly attributes: AdmissionAttributes
  readonly evaluator: QuotaEvaluator
  readonly settle: PromiseWithResolvers<Disposable | undefined>
}

/** A write that has been charged and may not be stored yet. */
interface Charge {
  readonly resource: string
  readonly object: KubeObject
  readonly usage: ResourceList
  /** Returns true while the stored objects do not show the write. */
  readonly isPending: () => boolean
}

/** A quota and its usage with the charges of the current batch. */
interface Running {
  readonly quota: ResourceQuota
  readonly hard: ResourceList
  readonly used: ResourceList
}

/** Charges writes to quotas and measures their usage. */
export class QuotaLedger {
  readonly #options: QuotaLedgerOptions
  readonly #locks = new KeyedMutex()
  /** The next batch, by namespace. */
  readonly #waiting = new Map<string, Waiter[]>()
  readonly #charges = new Map<string, Set<Charge>>()
  readonly #usages = new WeakMap<KubeObject, ResourceList>()
  readonly #listeners = new Set<(namespace: string) => void>()

  constructor(options: QuotaLedgerOptions) {
    this.#options = options
  }

  /** Calls `listener` with the namespace of a charge whose write failed: its quotas show too much. */
  onRelease(listener: (namespace: string) => void): Disposable {
    this.#listeners.add(listener)
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) }
  }

  /** Returns the keys of the quotas of a namespace. */
  keysOf(namespace: string): readonly string[] {
    return [...this.#options.listNamespace(quotas, namespace)].map((quota) => formatKey(keyOf(quota)))
  }

  /**
   * Charges a write to the quotas of its namespace. Dispose the result when the write has been committed or has failed.
   * @throws StatusError 403 when it would exceed one
   */
  charge(attributes: AdmissionAttributes): Promise<Disposable | undefined> | undefined {
    const { operation, resource, subresource, namespace, object } = attributes
    if (namespace === '' || object === undefined) return undefined
    const evaluator = quotaEvaluator(resource.definition)
    if (evaluator === undefined || !evaluator.handles(operation, subresource)) return undefined
    for (const _quota of this.#options.listNamespace(quotas, namespace)) return this.#enqueue(attributes, evaluator)
    return undefined
  }

  #enqueue(attributes: AdmissionAttributes, evaluator: QuotaEvaluator): Promise<Disposable | undefined> {
    const { namespace } = attributes
    const settle = Promise.withResolvers<Disposable | undefined>()
    const waiting = this.#waiting.get(namespace)
    const waiter = { attributes, evaluator, settle }
    if (waiting !== undefined) waiting.push(waiter)
    else {
      this.#waiting.set(namespace, [waiter])
      void this.#runBatch(namespace)
    }
    return settle.promise
  }

  /** Charges all writes that wait when the lock is free, with one status update per quota. */
  async #runBatch(namespace: string): Promise<void> {
    using _lock = await this.#locks.acquire(namespace)
    const batch = this.#waiting.get(namespace) ?? []
    this.#waiting.delete(namespace)
    try {
      await this.#settle(namespace, batch)
    } catch (error) {
      for (const { settle } of batch) settle.reject(error)
      this.#release(namespace)
    }
  }

  async #settle(namespace: string, batch: readonly Waiter[]): Promise<void> {
    let waiters = batch
    let keys = this.keysOf(namespace)
    for (let attempt = 1; ; attempt++) {
      const before = await this.#readRunning(keys)
      const { running, charged } = this.#chargeAll(before, waiters)
      const changed = running.filter(({ used }, index) => !isSameList(used, before[index]!.used))
      // Rejected now, but charged to another quota by an earlier attempt.
      if (attempt > 1 && charged.length < waiters.length) this.#release(namespace)
      const failed: string[] = []
      for (const { quota, used } of changed) {
        try {
          await this.#write({ ...quota, status: { ...quota.status, used: resourceStrings(used) } }, 'kube-apiserver')
        } catch (error) {
          if (!isConflict(error) || attempt === attempts) throw error
          failed.push(formatKey(keyOf(quota)))
        }
      }
      if (failed.length === 0) {
        for (const waiter of charged) waiter.settle.resolve(this.#begin(waiter))
        return
      }
      // Those whose quotas were written are charged already; only the quotas that changed meanwhile are checked again.
      waiters = charged
      keys = failed
    }
  }

  async #readRunning(keys: readonly string[]): Promise<readonly Running[]> {
    const found = await Promise.all(keys.map((key) => this.#options.head(key)))
    return found.flatMap((quota: ResourceQuota | undefined) =>
      quota === undefined
        ? []
        : [{ quota, hard: resourceList(quota.status?.hard), used: resourceList(quota.status?.used) }],
    )
  }

  /** Charges each write that fits; rejects the others. */
  #chargeAll(
    before: readonly Running[],
    waiters: readonly Waiter[],
  ): { readonly running: readonly Running[]; readonly charged: readonly Waiter[] } {
    let running = before
    const charged: Waiter[] = []
    for (const waiter of waiters) {
      try {
        const next = chargeOne(running, waiter, this.#options.clock.now())
        if (waiter.attributes.dryRun) waiter.settle.resolve(undefined)
        else {
          running = next
          charged.push(waiter)
        }
      } catch (error) {
        waiter.settle.reject(error)
      }
    }
    return { running, charged }
  }

  /** Records a charged write until it is settled. */
  #begin({ attributes, evaluator }: Waiter): Disposable {
    const { namespace, operation, object, oldObject, resource: served } = attributes
    const resource = resourceName(served.definition)
    const key = formatKey({ namespace, name: object!.metadata.name ?? attributes.name })
    const now = this.#options.clock.now()
    const read = (): KubeObject | undefined => this.#options.read(resource, key)
    const before = read()
    const isStored = (): boolean => read()?.metadata.uid === object!.metadata.uid
    const isCreate = operation === 'CREATE'
    const usage = evaluator.usage(object!, now)
    const charge: Charge = {
      resource,
      object: object!,
      usage: isCreate || oldObject === undefined ? usage : growth(usage, evaluator.usage(oldObject, now)),
      isPending: () => (isCreate ? !isStored() : read() === before),
    }
    const charges = this.#charges.get(namespace) ?? new Set<Charge>()
    this.#charges.set(namespace, charges.add(charge))
    return {
      [Symbol.dispose]: () => {
        charges.delete(charge)
        if (charges.size === 0 && this.#charges.get(namespace) === charges) this.#charges.delete(namespace)
        if (!isCreate || !isStored()) this.#release(namespace)
      },
    }
  }

  #release(namespace: string): void {
    for (const listener of this.#listeners) listener(namespace)
  }

  /**
   * Measures the usage of a quota and writes its status when that changes it. Returns true when the limits in the
   * status are new: writes before them were not charged.
   * @throws StatusError 409
   */
  async recalculate(namespace: string, name: string): Promise<boolean> {
    using _lock = await this.#locks.acquire(namespace)
    const quota: ResourceQuota | undefined = await this.#options.head(formatKey({ namespace, name }))
    if (quota === undefined) return false
    const { status } = quota
    const hard = resourceList(quota.spec?.hard)
    const used = pick(
      new Map([...resourceList(status?.used), ...this.#measure(quota, new Set(hard.keys()))]),
      new Set(hard.keys()),
    )
    const areLimitsNew = status?.hard === undefined || !isSameList(hard, resourceList(status.hard))
    if (!areLimitsNew && status.used !== undefined && isSameList(used, resourceList(status.used))) return false
    const next = { hard: resourceStrings(hard), used: resourceStrings(used) }
    await this.#write({ ...quota, status: next }, 'kube-controller-manager')
    return areLimitsNew
  }

  /** Returns the usage of everything in the namespace of a quota that one of its limits counts. */
  #measure(quota: ResourceQuota, limits: ReadonlySet<string>): ResourceList {
    const namespace = quota.metadata.namespace!
    const now = this.#options.clock.now()
    const total = new Map(resourceList(undefined))
    for (const definition of this.#options.definitions()) {
      const evaluator = quotaEvaluator(definition)
      const names = new Set([...limits].filter((name) => evaluator?.measures(name) === true))
      if (evaluator === undefined || names.size === 0) continue
      const resource = resourceName(definition)
      for (const name of names) if (!total.has(name)) total.set(name, count(0))
      const add = (object: KubeObject, usage: ResourceList): void => {
        if (isInScopes(evaluator, quota, object)) addTo(total, pick(usage, names))
      }
      for (const object of this.#options.listNamespace(resource, namespace))
        add(object, this.#usageOf(evaluator, object, now))
      for (const charge of this.#charges.get(namespace) ?? [])
        if (charge.resource === resource && charge.isPending()) add(charge.object, charge.usage)
    }
    return total
  }

  /** Returns the usage of a stored object; that of a terminating one depends on the time. */
  #usageOf(evaluator: QuotaEvaluator, object: KubeObject, now: number): ResourceList {
    if (object.metadata.deletionTimestamp !== undefined) return evaluator.usage(object, now)
    let usage = this.#usages.get(object)
    if (usage === undefined) this.#usages.set(object, (usage = evaluator.usage(object, now)))
    return usage
  }

  /** Writes a status; a deleted quota needs none. */
  async #write(quota: ResourceQuota, manager: string): Promise<void> {
    try {
      await this.#options.writeStatus(quota, manager)
    } catch (error) {
      if (!isNotFound(error)) throw error
    }
  }
}

/** Returns the quotas with one more write. @throws StatusError 403 */
function chargeOne(running: readonly Running[], waiter: Waiter, now: number): readonly Running[] {
  const { attributes, evaluator } = waiter
  const object = attributes.object!
  const matching = running.map((entry) => matchQuota(entry, waiter))
  if (matching.every((names) => names === undefined)) return running
  const usage = evaluator.usage(object, now)
  const negative = [...usage].filter(([, { nanos }]) => nanos < 0n).map(([name]) => name)
  if (negative.length > 0)
    throw refusal(attributes, `quota usage is negative for resource(s): ${negative.toSorted().join(',')}`)
  const { oldObject } = attributes
  return running.map((entry, index) => {
    if (matching[index] === undefined) return entry
    const wasCounted = oldObject !== undefined && matches(entry, evaluator, oldObject)
    const added = wasCounted ? growth(usage, evaluator.usage(oldObject, now)) : usage
    const requested = new Map([...pick(added, new Set(entry.hard.keys()))].filter(([, { nanos }]) => nanos !== 0n))
    if (requested.size === 0) return entry
    const used = sumOf(entry.used, requested)
    const exceeded = new Set(
      [...requested.keys()].filter((name) => used.get(name)!.nanos > entry.hard.get(name)!.nanos),
    )
    if (exceeded.size > 0) {
      const [asked, before, limited] = [requested, entry.used, entry.hard].map((list) => listText(pick(list, exceeded)))
      throw refusal(
        attributes,
        `exceeded quota: ${entry.quota.metadata.name}, requested: ${asked}, used: ${before}, limited: ${limited}`,
      )
    }
    return { ...entry, used }
  })
}

/** Returns the limits of a quota that count the object; undefined when it is not counted. @throws StatusError 403 */
function matchQuota(entry: Running, { attributes, evaluator }: Waiter): readonly string[] | undefined {
  const object = attributes.object!
  if (!matches(entry, evaluator, object)) return undefined
  const name = entry.quota.metadata.name!
  const limits = [...entry.hard.keys()].filter((limit) => evaluator.measures(limit)).toSorted()
  const missing = evaluator.constraintError?.(limits, object)
  if (missing !== undefined) throw refusal(attributes, `failed quota: ${name}: ${missing}`)
  if (!limits.every((limit) => entry.used.has(limit)))
    throw refusal(attributes, `status unknown for quota: ${name}, resources: ${limits.join(',')}`)
  return limits
}

function matches({ quota, hard }: Running, evaluator: QuotaEvaluator, object: KubeObject): boolean {
  return [...hard.keys()].some((limit) => evaluator.measures(limit)) && isInScopes(evaluator, quota, object)
}

function isInScopes(evaluator: QuotaEvaluator, quota: ResourceQuota, object: KubeObject): boolean {
  return scopeRequirements(quota).every((scope) => evaluator.isInScope?.(scope, object) === true)
}
