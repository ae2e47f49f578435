// The controller of ReferenceRules: starts a run for each, restarts it when its spec changes, stops it when it is
// deleted, and reports the state of its targets.
import { CustomResourceDefinition, isClientError, kind } from '@fairlead/client'
import type { Client } from '@fairlead/client'
import { after } from '@fairlead/controller'
import type { Controller, InformerUse, Manager, ReconcileContext, Result } from '@fairlead/controller'
import {
  SelectorError,
  condition,
  formatKey,
  isTerminating,
  longLabelValue,
  parseApiVersion,
  parseKey,
  selectorFrom,
} from '@fairlead/kube'
import type { Condition } from '@fairlead/kube'
import type { TargetProblem } from '../api.ts'
import { fieldManager, managerPrefix, rowOf } from '../engine/field-plan.ts'
import type { ReferenceRuleObject } from '../runtime/kinds.ts'
import { referenceRuleKind } from '../runtime/kinds.ts'
import { ReferenceMetrics } from '../runtime/reference-metrics.ts'
import { RuleRun } from '../runtime/rule-run.ts'
import type { RuleKinds, RuleState } from '../runtime/rule-run.ts'

/** Milliseconds between two reports of a run. */
const reportInterval = 250
/** Milliseconds between two lookups of kinds that are not served and have no definition. */
const lookupInterval = 30_000
/** Problems in the status of a rule. */
const maxProblems = 10

interface Running {
  readonly uid: string
  readonly generation: number
  readonly run: RuleRun
}

/** Runs all ReferenceRules of a cluster. */
export class ReferenceRules {
  readonly #manager: Manager
  readonly #controller: Controller<ReferenceRuleObject>
  readonly #running = new Map<string, Running>()
  readonly #metrics: ReferenceMetrics
  readonly #rules: InformerUse<ReferenceRuleObject>

  constructor(manager: Manager) {
    this.#manager = manager
    this.#metrics = new ReferenceMetrics(manager.metrics.registry)
    this.#rules = manager.use(referenceRuleKind)
    this.#controller = manager
      .controller('reference-rule')
      .for(referenceRuleKind)
      .withOptions({ keepReady: false })
      .onDeleted(({ key }) => this.#deleted(key.name))
      .reconcile((context) => this.#reconcile(context))
  }

  /** Number of targets that are queued or worked on, over all rules. */
  get busy(): number {
    let busy = 0
    for (const { run } of this.#running.values()) busy += run.loop.queue.length + run.loop.queue.working
    return busy
  }

  /** Stops all runs. */
  async stop(): Promise<void> {
    await Promise.all([...this.#running.keys()].map((name) => this.#stop(name)))
    this.#rules[Symbol.dispose]()
  }

  async #reconcile(context: ReconcileContext<ReferenceRuleObject>): Promise<Result> {
    const { object: rule, status } = context
    const { name = '', uid = '', generation = 0 } = rule.metadata
    if (isTerminating(rule)) return this.#stop(name)
    const running = this.#running.get(name)
    const isCurrent = running?.uid === uid && running.generation === generation
    const refusal = isCurrent ? undefined : await this.#restart(context)
    if (refusal !== undefined) {
      const { message } = refusal
      await status.apply({ conditions: [refusal, condition('Ready', false, { reason: 'NotAccepted', message })] })
      return refusal.reason === 'UnknownKind' ? this.#retryLookup(context) : undefined
    }
    const state = this.#running.get(name)?.run.state
    if (state !== undefined) await status.apply(statusOf(state))
    return undefined
  }

  async #restart({ object: rule, events }: ReconcileContext<ReferenceRuleObject>): Promise<Condition | undefined> {
    const { name = '', uid = '', generation = 0 } = rule.metadata
    await this.#stop(name)
    const accepted = await this.#accept(rule)
    if ('type' in accepted) {
      events.warning(accepted.reason, accepted.message, { action: 'Start' })
      return accepted
    }
    const { source } = accepted
    const row = rowOf(rule, { ...source, valuePath: rule.spec.source.valuePath })
    const run = new RuleRun({
      manager: this.#manager,
      metrics: this.#metrics,
      rule,
      kinds: accepted,
      fields: {
        row,
        annotation: rule.spec.target.reference.annotation,
        manager: fieldManager(name, longLabelValue),
        isFormer: (one) => this.#isFormer(one),
      },
      onStateChange: () => this.#controller.loop.queue.addAfter(name, reportInterval),
    })
    this.#running.set(name, { uid, generation, run })
    run.start()
    return undefined
  }

  /** Returns the kinds of a rule, or the condition that says why it cannot be carried out. */
  async #accept({ spec }: ReferenceRuleObject): Promise<RuleKinds | Condition> {
    const refused = (reason: string, message: string): Condition => condition('Accepted', false, { reason, message })
    const { target, source } = spec
    if (target.reference.path === target.fieldPath)
      return refused('InvalidReference', 'target.reference.path must not be the field that receives the value')
    try {
      selectorFrom(target.labelSelector ?? {})
      const client: Client = this.#manager.client
      const targets = await client.discovery.describe(kind(target.apiVersion, target.kind))
      if (targets.namespaced !== true)
        return refused(
          'TargetNotNamespaced',
          `${target.kind} is cluster-scoped; the service account that writes is one of the target's namespace`,
        )
      const sources = await client.discovery.describe(kind(source.apiVersion, source.kind))
      const { group, version } = parseApiVersion(source.apiVersion)
      return {
        target: kind(target.apiVersion, target.kind, { plural: targets.plural, namespaced: true }),
        source: {
          ...kind(source.apiVersion, source.kind, { plural: sources.plural, namespaced: sources.namespaced }),
          group,
          version,
          plural: sources.plural,
          namespaced: sources.namespaced === true,
        },
      }
    } catch (error) {
      if (error instanceof SelectorError) return refused('InvalidSelector', `target.labelSelector: ${error.message}`)
      if (isClientError(error, 'UnknownKind')) return refused('UnknownKind', error.message)
      throw error
    }
  }

  /** Retries the lookup of kinds when definitions change, and from time to time for kinds without one. */
  async #retryLookup({ read }: ReconcileContext<ReferenceRuleObject>): Promise<Result> {
    await read.list(CustomResourceDefinition)
    return after(lookupInterval)
  }

  /** Values of a deleted rule stay; a rule for the same field takes them over. */
  async #deleted(name: string): Promise<void> {
    await this.#stop(name)
    for (const { run } of this.#running.values()) run.ruleDeleted()
  }

  #isFormer(manager: string): boolean {
    if (!manager.startsWith(managerPrefix)) return false
    const rules = this.#rules.informer.read()
    if (!rules.known) return false
    return !rules.objects.list().some(({ metadata }) => fieldManager(metadata.name ?? '', longLabelValue) === manager)
  }

  async #stop(name: string): Promise<void> {
    const running = this.#running.get(name)
    this.#running.delete(name)
    await running?.run[Symbol.asyncDispose]()
  }
}

interface RuleStatus {
  readonly [field: string]: unknown
  readonly conditions: readonly Condition[]
}

/** Returns the status of a rule whose targets are in these states. */
function statusOf({ targets, problems, isListed, unseenRights }: RuleState): RuleStatus {
  const counts = { resolved: 0, waiting: 0, failing: 0 }
  const byState = { waiting: [] as TargetProblem[], failing: [] as TargetProblem[] }
  for (const [key, { state, reason, message }] of targets) {
    counts[state]++
    const { namespace, name } = parseKey(key)
    if (state !== 'resolved') byState[state].push({ namespace, name, reason, message })
  }
  for (const one of Object.values(byState)) one.sort((a, b) => (formatKey(a) < formatKey(b) ? -1 : 1))
  // Those that wait may be many, and go on by themselves.
  const open = [...byState.failing, ...byState.waiting]
  const conditions = [
    condition('Accepted', true, { reason: 'Accepted', message: 'The spec can be carried out' }),
    readiness(counts, open, { problems, isListed, unseenRights }),
  ]
  return { ...counts, ...(open.length === 0 ? {} : { problems: open.slice(0, maxProblems) }), conditions }
}

function readiness(
  { resolved, waiting, failing }: { readonly resolved: number; readonly waiting: number; readonly failing: number },
  [first]: readonly TargetProblem[],
  {
    problems,
    isListed,
    unseenRights,
  }: Pick<RuleState, 'problems' | 'isListed'> & { readonly unseenRights: string | undefined },
): Condition {
  if (problems.length > 0)
    return condition('Ready', false, {
      reason: 'KindUnavailable',
      message: `${problems.join('; ')}; values stay as they are meanwhile`,
    })
  if (!isListed)
    return condition('Ready', 'Unknown', { reason: 'Syncing', message: 'Its objects are still being listed' })
  const example = first === undefined ? '' : `, such as ${formatKey(first)}: ${first.message}`
  const unseen =
    unseenRights === undefined
      ? ''
      : `; it is not known when rights are granted, so that they are tried again every minute: ${unseenRights}`
  if (failing > 0)
    return condition('Ready', false, {
      reason: 'TargetsFailing',
      message: `${targetsOf(failing)} cannot be resolved${example}${unseen}`,
    })
  if (waiting > 0)
    return condition('Ready', 'Unknown', {
      reason: 'TargetsWaiting',
      message: `${targetsOf(waiting)} waiting for a source${example}`,
    })
  return condition('Ready', true, {
    reason: 'Resolved',
    message: `${targetsOf(resolved)} with the value of the source`,
  })
}

function targetsOf(count: number): string {
  return count === 1 ? '1 target' : `${count} targets`
}
