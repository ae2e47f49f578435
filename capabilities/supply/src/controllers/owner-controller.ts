// The controller of Workloads or Deliverables: selects the blueprint, realizes its resources, deletes orphans, and
// reports the health of all of them. Start with OwnerController.
import type { Kind } from '@fairlead/client'
import { KindUnavailable, after } from '@fairlead/controller'
import type { Controller, EventRecorder, Informer, Manager, ReconcileContext, Result } from '@fairlead/controller'
import { findCondition, formatKey, formatTime, isTerminating, keyOf } from '@fairlead/kube'
import type { Condition } from '@fairlead/kube'
import type { Blueprint, Owner, ResourceStatus } from '../api.ts'
import { conditionOf, verdict } from '../engine/conditions/condition.ts'
import type { Verdict } from '../engine/conditions/condition.ts'
import { isKept } from '../engine/orphans.ts'
import { blueprintCondition, realizedConditions, withReady } from '../engine/owner-conditions.ts'
import { realize } from '../engine/realize.ts'
import { hasNewOutput, notEvaluated, notEvaluatedNow, resourceStatus } from '../engine/realized-resource.ts'
import type { RealizedResource } from '../engine/realized-resource.ts'
import {
  bestMatches,
  matchScore,
  selectionMessage,
  selectionReason,
  selectorOf,
} from '../engine/blueprints/selection.ts'
import { firstUnhealthy } from '../engine/conditions/summary.ts'
import { ownerLabel } from '../engine/templates/stamp.ts'
import { accountFor, accountProblem, deniedInterval } from '../runtime/account.ts'
import type { Account } from '../runtime/account.ts'
import type { ChainKinds } from '../runtime/chain-kinds.ts'
import { OrphanRemoval, removalGrace } from './orphan-removal.ts'
import { LiveCluster } from '../runtime/live-cluster.ts'
import type { LiveClusterDependencies } from '../runtime/live-cluster.ts'
import type { SupplyMetrics } from '../runtime/metrics.ts'
import type { Ytt } from '../ytt/ytt.ts'
import { StampedKinds } from '../runtime/stamped-kinds.ts'
import { templatesReadiness } from '../runtime/templates-readiness.ts'

/** Owners reconciled at a time. */
const concurrency = 8
/** Interval between two evaluations of health rules that read `now`. */
const nowInterval = '15s'

/** The status of an owner after one pass. */
interface OwnerReport {
  readonly conditions: readonly Condition[]
  readonly resources: readonly ResourceStatus[]
  /** Undefined when none is chosen. */
  readonly blueprintName: string | undefined
  /** The account that the objects were stamped with in this pass. */
  readonly account?: Account
  /** RFC 3339 time at which the objects are deleted. */
  readonly removalTime?: string | undefined
  readonly unhealthyResource?: string
}

/** Stamps and reports the objects of all owners of one kind. */
export class OwnerController {
  readonly controller: Controller<Owner>
  readonly #chain: ChainKinds
  readonly #metrics: SupplyMetrics
  readonly #recorder: EventRecorder
  readonly #blueprints: Informer<Blueprint>
  readonly #kinds: StampedKinds
  readonly #cluster: LiveClusterDependencies

  constructor(manager: Manager, chain: ChainKinds, options: { readonly metrics: SupplyMetrics; readonly ytt: Ytt }) {
    const { metrics, ytt } = options
    const { ownerKind } = chain
    this.#chain = chain
    this.#metrics = metrics
    this.#recorder = manager.recorder(ownerKind)
    this.#blueprints = manager.use(chain.blueprint).informer
    this.controller = manager
      .controller(ownerKind.toLowerCase())
      .for(chain.owner)
      .watches(chain.blueprint, (blueprint) => this.#ownersOf(blueprint), {
        when: (change) =>
          !(change.type === 'added' && change.initial) &&
          (change.type !== 'changed' || change.object.metadata.generation !== change.previous.metadata.generation),
      })
      .withOptions({ keepReady: false, reconcilesUnknown: true, concurrency })
      .onDeleted(({ key }) => {
        metrics.setReady(ownerKind, formatKey(key), undefined)
        this.#kinds.releaseAll(formatKey(key))
      })
      .reconcile((context) => this.#kinds.during(context.object, () => this.#reconcile(context)))
    this.#kinds = new StampedKinds({
      loop: this.controller.loop,
      informers: manager.informers,
      owner: chain.owner as Kind,
      label: ownerLabel(ownerKind),
      ownerExists: (key) => this.controller.informer.lastKnown.has(key),
    })
    this.#cluster = { access: manager.access, kinds: this.#kinds, metrics, recorder: this.#recorder, ytt }
    // Whether a blueprint selects an owner is known only while all blueprints and the owner are: each change of that
    // concerns all.
    const enqueueAll = (): void => {
      for (const key of this.controller.informer.lastKnown.keys()) this.controller.loop.add(key, 'low')
    }
    const listener = { state: enqueueAll }
    for (const subscription of [
      this.#blueprints.subscribe(listener, { replay: false }),
      this.controller.informer.subscribe(listener, { replay: false }),
    ])
      this.controller.loop.onStopped(() => subscription[Symbol.dispose]())
  }

  /** Keys of the owners that a blueprint selects or that it was used for. */
  *#ownersOf(blueprint: Blueprint): Generator<string> {
    const selector = selectorOf(blueprint.spec)
    for (const [key, owner] of this.controller.informer.lastKnown.entries()) {
      const isUsed = owner.status?.[this.#chain.reference]?.name === blueprint.metadata.name
      if (isUsed || matchScore(owner, selector) > 0) yield key
    }
  }

  async #reconcile(context: ReconcileContext<Owner>): Promise<Result> {
    if (isTerminating(context.object)) return undefined
    try {
      const [own, read] = [this.controller.informer.read(), this.#blueprints.read()]
      if (!own.known) throw own.reason
      if (!read.known) throw read.reason
      return await this.#selectAndRealize(context, read.objects.list())
    } catch (error) {
      // Unknown is not deleted: nothing is concluded from a cache that is not synced. Its next state requeues.
      if (!(error instanceof KindUnavailable)) throw error
      return this.#reportUnknown(context, verdict('Unknown', error.code, error.message))
    }
  }

  async #selectAndRealize(context: ReconcileContext<Owner>, candidates: readonly Blueprint[]): Promise<Result> {
    const { object: owner } = context
    const selectors = candidates.map(({ spec }) => selectorOf(spec))
    const matches = bestMatches(owner, selectors).map((index) => candidates[index]!)
    const [blueprint] = matches
    if (blueprint === undefined || matches.length !== 1) return this.#reportNoBlueprint(context, matches)
    const readiness = await templatesReadiness(blueprint, context.read)
    if (readiness.status !== 'True') {
      this.#warn(context, readiness)
      return this.#reportNotReady(context, readiness, blueprint)
    }
    return this.#realize(context, blueprint)
  }

  /**
   * Without a blueprint all objects of the owner are orphans, which are deleted after a grace period: a typo in a
   * selector, or a blueprint that is applied again, must not cost what runs. With several blueprints, it is unknown
   * which objects are orphans.
   */
  async #reportNoBlueprint(context: ReconcileContext<Owner>, matches: readonly Blueprint[]): Promise<Result> {
    const { object: owner } = context
    const { ownerKind } = this.#chain
    const reason = selectionReason(ownerKind, owner, matches.length) ?? ''
    const readiness = verdict('False', reason, selectionMessage(ownerKind, owner, matches.length))
    if (matches.length > 1) {
      const names = matches.map(({ metadata }) => metadata.name).join(', ')
      this.#warn(context, readiness, `${readiness.message}; those of [${names}] match`)
      return this.#reportNotReady(context, readiness, undefined)
    }
    const conditions = withReady([blueprintCondition(ownerKind, readiness)])
    const removal = new OrphanRemoval(context, this.#cluster)
    const resources = this.#notEvaluated(context)
    if (isKept(owner) || !(await removal.hasObjects())) {
      await this.#report(context, { conditions, resources: isKept(owner) ? resources : [], blueprintName: undefined })
      return undefined
    }
    const now = context.clock.now()
    const removalTime = owner.status?.removalTime ?? formatTime(now + removalGrace)
    if (now < Date.parse(removalTime)) {
      await this.#report(context, { conditions, resources, blueprintName: undefined, removalTime })
      if (owner.status?.removalTime === undefined)
        this.#recorder
          .about(owner)
          .warning(
            'StampedObjectsWillBeRemoved',
            `${readiness.message}; its objects will be deleted at ${removalTime} unless one selects it again`,
          )
      return after(new Date(removalTime))
    }
    const { left, failure } = await removal.withoutBlueprint()
    const names = new Set(left.map(({ name }) => name))
    await this.#report(context, {
      conditions,
      resources: resources.filter(({ name }) => names.has(name)),
      blueprintName: undefined,
      removalTime: left.length > 0 ? removalTime : undefined,
    })
    if (failure !== undefined) throw failure
    return undefined
  }

  async #reportNotReady(
    context: ReconcileContext<Owner>,
    readiness: Verdict,
    blueprint: Blueprint | undefined,
  ): Promise<Result> {
    const conditions = withReady([blueprintCondition(this.#chain.ownerKind, readiness)])
    await this.#report(context, {
      conditions,
      resources: this.#notEvaluated(context),
      blueprintName: blueprint?.metadata.name,
    })
    return undefined
  }

  /** Reports that a kind that decides about the owner cannot be read now; all that is known of it stays. */
  async #reportUnknown(context: ReconcileContext<Owner>, readiness: Verdict): Promise<Result> {
    const { status } = context.object
    const carried = ['ResourcesSubmitted', 'ResourcesHealthy'].flatMap((type) => {
      const last = findCondition(status?.conditions, type)
      return last === undefined ? [] : [conditionOf(type, notEvaluatedNow(last))]
    })
    const conditions = withReady([blueprintCondition(this.#chain.ownerKind, readiness), ...carried])
    await this.#report(context, {
      conditions,
      resources: this.#notEvaluated(context),
      blueprintName: status?.[this.#chain.reference]?.name,
      removalTime: status?.removalTime,
    })
    return undefined
  }

  async #realize(context: ReconcileContext<Owner>, blueprint: Blueprint): Promise<Result> {
    const { object: owner, read } = context
    const { ownerKind } = this.#chain
    const ready = blueprintCondition(ownerKind, verdict('True', 'Ready'))
    const account = accountFor(owner.metadata.namespace ?? '', owner.spec, blueprint.spec)
    const problem = await accountProblem(account, read)
    if (problem !== undefined) {
      const submitted: Condition = { type: 'ResourcesSubmitted', ...verdict('False', 'ServiceAccountError', problem) }
      this.#warn(context, submitted)
      const conditions = withReady([ready, submitted])
      await this.#report(context, {
        conditions,
        resources: this.#notEvaluated(context),
        blueprintName: blueprint?.metadata.name,
      })
      return undefined
    }
    const cluster = new LiveCluster(context, account, this.#cluster)
    const realized = await realize({ owner, ownerKind, blueprint }, cluster)
    const { left, failure: undeleted } = await new OrphanRemoval(context, this.#cluster).afterPass(blueprint, realized)
    const now = formatTime(context.clock.now())
    const before = new Map(owner.status?.resources?.map((entry) => [entry.name, entry]))
    const resources = realized.map((one) => resourceStatus(one, before.get(one.resource.name), now))
    const health = resources.map(({ name, conditions }) => ({ name, healthy: findCondition(conditions, 'Healthy') }))
    await this.#report(context, {
      conditions: realizedConditions(ready, realized, health),
      resources: [...resources, ...notEvaluated(left, now)],
      blueprintName: blueprint.metadata.name,
      account,
      unhealthyResource: firstUnhealthy(health),
    })
    this.#recordChanges(context, realized, resources, before)
    const failure = realized.find((one) => one.retry !== undefined)?.retry ?? undeleted
    // What is thrown becomes an event by itself.
    if (failure !== undefined) throw failure
    const refused = realized.find(({ submitted }) => submitted.status === 'False')?.submitted
    if (refused !== undefined) this.#warn(context, refused)
    if (realized.some(({ denied }) => denied === true)) return after(deniedInterval(owner))
    return realized.some(({ readsNow }) => readsNow === true) ? after(nowInterval) : undefined
  }

  #notEvaluated({ object, clock }: ReconcileContext<Owner>): ResourceStatus[] {
    return notEvaluated(object.status?.resources ?? [], formatTime(clock.now()))
  }

  async #report({ object, status }: ReconcileContext<Owner>, report: OwnerReport): Promise<void> {
    const { conditions, resources, blueprintName, removalTime, unhealthyResource } = report
    const account = report.account ?? object.status?.serviceAccountRef
    const { blueprintKind, reference, ownerKind } = this.#chain
    await status.apply({
      conditions,
      ...(blueprintName !== undefined && { [reference]: { kind: blueprintKind, name: blueprintName } }),
      ...(resources.length > 0 && {
        resources,
        ...(account !== undefined && { serviceAccountRef: { namespace: account.namespace, name: account.name } }),
      }),
      removalTime,
      unhealthyResource,
    })
    this.#metrics.setReady(ownerKind, formatKey(keyOf(object)), findCondition(conditions, 'Ready')?.status)
  }

  /** Records a warning for a failure that a user must mend, once: status reported it before otherwise. */
  #warn({ object: owner }: ReconcileContext<Owner>, failure: Verdict, note: string = failure.message): void {
    const { reason, message } = failure
    const isReported = owner.status?.conditions?.some((one) => one.reason === reason && one.message === message)
    if (isReported !== true) this.#recorder.about(owner).warning(reason, note)
  }

  /** Records an event for each new output and for each change of health. */
  #recordChanges(
    { object: owner }: ReconcileContext<Owner>,
    realized: readonly RealizedResource[],
    resources: readonly ResourceStatus[],
    before: ReadonlyMap<string, ResourceStatus>,
  ): void {
    const events = this.#recorder.about(owner)
    for (const [index, entry] of resources.entries()) {
      const { submitted, object, objectResource } = realized[index]!
      const name = `[${objectResource}/${object?.metadata.name}]`
      const previous = before.get(entry.name)
      if (hasNewOutput(entry.outputs, previous?.outputs)) {
        const source =
          submitted.reason === 'PassThrough' ? 'passed through a new output' : `found a new output in ${name}`
        events.normal('ResourceOutputChanged', `[${entry.name}] ${source}`)
      }
      const [was, is] = [previous, entry].map((one) => findCondition(one?.conditions, 'Healthy')?.status)
      if (object !== undefined && is !== undefined && is !== (was ?? 'Unknown'))
        events.normal(
          'ResourceHealthyStatusChanged',
          `[${entry.name}] found healthy status in ${name} changed to [${is}]`,
        )
    }
  }
}
