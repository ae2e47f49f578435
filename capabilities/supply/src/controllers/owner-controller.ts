// The controller of Workloads or Deliverables: chooses the blueprint, realizes its resources, removes what is not derived any more, and says
// how everything does. Start with OwnerController.
import { kind as kindOf } from '@fairlead/client'
import type { Kind } from '@fairlead/client'
import { after } from '@fairlead/controller'
import type { Controller, Informer, Manager, ReconcileContext, Result } from '@fairlead/controller'
import { findCondition, formatKey, formatTime, isTerminating, keyOf } from '@fairlead/kube'
import type { Condition } from '@fairlead/kube'
import type { Blueprint, Owner, ResourceStatus } from '../api.ts'
import { verdict } from '../engine/condition.ts'
import type { Verdict } from '../engine/condition.ts'
import { looksAtTime } from '../engine/health/health-expression.ts'
import { ruleOf } from '../engine/health/health.ts'
import { orphans } from '../engine/orphans.ts'
import { blueprintCondition, realizedConditions, withReady } from '../engine/owner-conditions.ts'
import { hasNewOutput, notEvaluated, resourceStatus } from '../engine/realized-resource.ts'
import type { RealizedResource } from '../engine/realized-resource.ts'
import { scoreOf, selectionMessage, selectionReason, selectorOf, winners } from '../engine/selection.ts'
import { ownerLabel } from '../engine/templates/stamp.ts'
import { firstUnhealthy } from '../engine/summary.ts'
import type { SupplyMetrics } from '../runtime/metrics.ts'
import type { AccessReviews } from '../runtime/access-reviews.ts'
import { accountFor, accountProblem } from '../runtime/account.ts'
import { readinessOf } from '../runtime/blueprints.ts'
import type { Pair } from '../runtime/blueprints.ts'
import { ClusterGround } from '../runtime/live-cluster.ts'
import { realize } from '../engine/realize.ts'
import { StampedKinds } from '../runtime/stamped-kinds.ts'

/** Owners at work at a time. */
const concurrency = 8
/** How often health that depends on the time is looked at. */
const timePause = '15s'

/** What an owner's status says in one pass. */
interface Findings {
  readonly conditions: readonly Condition[]
  readonly resources: readonly ResourceStatus[]
  readonly blueprint: Blueprint | undefined
  readonly unhealthyResource?: string
}

/** Derives the objects of all owners of one kind. */
export class OwnerController {
  readonly controller: Controller<Owner>
  readonly #manager: Manager
  readonly #pair: Pair
  readonly #metrics: SupplyMetrics
  readonly #ytt: string | undefined
  readonly #blueprints: Informer<Blueprint>
  readonly #kinds: StampedKinds
  readonly #access: AccessReviews

  constructor(
    manager: Manager,
    pair: Pair,
    options: { readonly metrics: SupplyMetrics; readonly access: AccessReviews; readonly ytt: string | undefined },
  ) {
    this.#manager = manager
    this.#pair = pair
    this.#metrics = options.metrics
    this.#ytt = options.ytt
    this.#access = options.access
    const { ownerKind } = pair
    this.#blueprints = manager.use(pair.blueprint).informer
    this.controller = manager
      .controller(ownerKind.toLowerCase())
      .for(pair.owner)
      .watches(pair.blueprint, (blueprint) => this.#ownersOf(blueprint), {
        when: (change) =>
          !(change.type === 'added' && change.initial) &&
          (change.type !== 'changed' || change.object.metadata.generation !== change.previous.metadata.generation),
      })
      .with({ keepReady: false, concurrency })
      .gone(({ key }) => {
        this.#metrics.owner(ownerKind, formatKey(key), undefined)
        this.#kinds.forget(formatKey(key))
      })
      .reconcile((context) => this.#kinds.during(context.object, () => this.#reconcile(context)))
    this.#kinds = new StampedKinds({
      loop: this.controller.loop,
      owner: pair.owner as Kind,
      label: ownerLabel(ownerKind),
      hasOwner: (key) => this.controller.informer.get(key) !== undefined,
    })
  }

  /** Keys of the owners that a blueprint concerns: those that it selects, and those that it served. */
  *#ownersOf(blueprint: Blueprint): Generator<string> {
    const selector = selectorOf(blueprint.spec)
    for (const [key, owner] of this.controller.informer.objects) {
      const served = owner.status?.[this.#pair.reference]?.name === blueprint.metadata.name
      if (served || scoreOf(owner, selector) > 0) yield key
    }
  }

  async #reconcile(context: ReconcileContext<Owner>): Promise<Result> {
    const { object: owner } = context
    if (isTerminating(owner)) return undefined
    const candidates = this.#blueprints.list()
    const found = winners(
      owner,
      candidates.map(({ spec }) => selectorOf(spec)),
    ).map((index) => candidates[index]!)
    const [blueprint] = found
    if (blueprint === undefined || found.length !== 1) return this.#withoutBlueprint(context, found.length)
    const readiness = await readinessOf(blueprint, context.read)
    if (readiness.status !== 'True') return this.#unready(context, readiness, blueprint)
    return this.#realize(context, blueprint)
  }

  /** Nothing derives the owner's objects any more, or nobody can tell what does. */
  async #withoutBlueprint(context: ReconcileContext<Owner>, matches: number): Promise<Result> {
    const { object: owner } = context
    const { ownerKind } = this.#pair
    const reason = selectionReason(ownerKind, owner, matches) ?? ''
    const why = verdict('False', reason, selectionMessage(ownerKind, owner, matches))
    if (matches > 1) return this.#unready(context, why, undefined)
    await this.#removeOrphans(context, undefined, [])
    await this.#report(context, {
      conditions: withReady([blueprintCondition(ownerKind, why)]),
      resources: [],
      blueprint: undefined,
    })
    return undefined
  }

  async #unready(context: ReconcileContext<Owner>, why: Verdict, blueprint: Blueprint | undefined): Promise<Result> {
    const conditions = withReady([blueprintCondition(this.#pair.ownerKind, why)])
    await this.#report(context, { conditions, resources: this.#notEvaluated(context), blueprint })
    return undefined
  }

  async #realize(context: ReconcileContext<Owner>, blueprint: Blueprint): Promise<Result> {
    const { object: owner, read } = context
    const { ownerKind } = this.#pair
    const ready = blueprintCondition(ownerKind, verdict('True', 'Ready'))
    const account = accountFor(owner.metadata.namespace ?? '', owner.spec, blueprint.spec)
    const problem = await accountProblem(account, read)
    if (problem !== undefined) {
      const submitted: Condition = { type: 'ResourcesSubmitted', ...verdict('False', 'ServiceAccountError', problem) }
      await this.#report(context, {
        conditions: withReady([ready, submitted]),
        resources: this.#notEvaluated(context),
        blueprint,
      })
      return undefined
    }
    const ground = this.#groundFor(context, account)
    const realized = await realize({ owner, ownerKind, blueprint }, ground)
    await this.#removeOrphans(context, blueprint, realized)
    const now = formatTime(context.clock.now())
    const before = new Map(owner.status?.resources?.map((entry) => [entry.name, entry]))
    const resources = realized.map((one) => resourceStatus(one, before.get(one.resource.name), now))
    const judged = resources.map(({ name, conditions }) => ({ name, healthy: findCondition(conditions, 'Healthy') }))
    await this.#report(context, {
      conditions: realizedConditions(ready, realized, judged),
      resources,
      blueprint,
      unhealthyResource: firstUnhealthy(judged),
    })
    this.#announce(context, realized, resources, before)
    const failure = realized.find((one) => one.retry !== undefined)
    if (failure !== undefined) throw failure.retry
    const watchesTime = realized.some(
      ({ template }) => template !== undefined && looksAtTime(ruleOf(template.spec).rule),
    )
    return watchesTime ? after(timePause) : undefined
  }

  #groundFor(context: ReconcileContext<Owner>, account: ReturnType<typeof accountFor>): ClusterGround {
    const { object: owner, client, read, log, signal, clock } = context
    const [metrics, kinds] = [this.#metrics, this.#kinds]
    const events = this.#manager.recorder(this.#pair.ownerKind).about(owner)
    return new ClusterGround({
      owner,
      account,
      access: this.#access,
      client,
      read,
      kinds,
      events,
      log,
      metrics,
      ytt: this.#ytt,
      now: clock.now(),
      signal,
    })
  }

  /** Deletes what the owner has and nothing derives any more, with the rights of its account. */
  async #removeOrphans(
    context: ReconcileContext<Owner>,
    blueprint: Blueprint | undefined,
    realized: readonly RealizedResource[],
  ): Promise<void> {
    const { object: owner, read, signal } = context
    // Kinds of earlier passes may not be watched yet in this process.
    for (const { stampedRef } of owner.status?.resources ?? []) {
      const { apiVersion, kind } = stampedRef ?? {}
      if (apiVersion !== undefined && kind !== undefined)
        await this.#kinds.cache(kindOf(apiVersion, kind), formatKey(keyOf(owner)), signal)
    }
    const gone = orphans(this.#kinds.ownedBy(owner), blueprint?.spec.resources ?? [], realized)
    if (gone.length === 0) return
    const account = accountFor(owner.metadata.namespace ?? '', owner.spec, blueprint?.spec)
    if ((await accountProblem(account, read)) !== undefined) return
    const ground = this.#groundFor(context, account)
    for (const object of gone) await ground.remove(object)
  }

  #notEvaluated({ object, clock }: ReconcileContext<Owner>): ResourceStatus[] {
    return notEvaluated(object.status?.resources ?? [], formatTime(clock.now()))
  }

  async #report({ object, status }: ReconcileContext<Owner>, findings: Findings): Promise<void> {
    const { conditions, resources, blueprint, unhealthyResource } = findings
    const { blueprintKind, reference, ownerKind } = this.#pair
    await status.apply({
      conditions,
      ...(blueprint !== undefined && { [reference]: { kind: blueprintKind, name: blueprint.metadata.name } }),
      ...(resources.length > 0 && { resources }),
      unhealthyResource,
    })
    this.#metrics.owner(ownerKind, formatKey(keyOf(object)), findCondition(conditions, 'Ready')?.status)
  }

  #announce(
    { object: owner }: ReconcileContext<Owner>,
    realized: readonly RealizedResource[],
    resources: readonly ResourceStatus[],
    before: ReadonlyMap<string, ResourceStatus>,
  ): void {
    const events = this.#manager.recorder(this.#pair.ownerKind).about(owner)
    for (const [index, entry] of resources.entries()) {
      const { submitted, evaluated, object, objectResource } = realized[index]!
      const what = `[${objectResource}/${object?.metadata.name}]`
      const previous = before.get(entry.name)
      if (hasNewOutput(entry.outputs, previous?.outputs)) {
        const how = submitted.reason === 'PassThrough' ? 'passed through a new output' : `found a new output in ${what}`
        events.normal('ResourceOutputChanged', `[${entry.name}] ${how}`)
      }
      const [was, is] = [previous, entry].map((one) => findCondition(one?.conditions, 'Healthy')?.status)
      if (evaluated && is !== undefined && is !== (was ?? 'Unknown'))
        events.normal(
          'ResourceHealthyStatusChanged',
          `[${entry.name}] found healthy status in ${what} changed to [${is}]`,
        )
    }
  }
}
