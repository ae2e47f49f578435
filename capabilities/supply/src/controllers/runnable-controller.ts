// The controller of Runnables (originals/cartographer.md §1.6): a new run whenever what is asked for changes; outputs from the newest that
// succeeded; runs beyond the retention go.
import { kind as kindOf } from '@fairlead/client'
import type { Client, Kind } from '@fairlead/client'
import type { Controller, Manager, Reader, ReconcileContext } from '@fairlead/controller'
import {
  findCondition,
  formatKey,
  isForbidden,
  isTerminating,
  jsonEqual,
  keyOf,
  longLabelValue,
  selectorFrom,
} from '@fairlead/kube'
import type { Condition, JsonObject, KubeObject } from '@fairlead/kube'
import type { RunTemplate, Runnable } from '../api.ts'
import { conditionOf, verdict } from '../engine/condition.ts'
import type { Verdict } from '../engine/condition.ts'
import { ownerContext } from '../engine/templates/context.ts'
import { healthOf } from '../engine/health/health.ts'
import { readOutputs } from '../engine/values/output.ts'
import type { Outputs } from '../engine/values/output.ts'
import { withReady } from '../engine/owner-conditions.ts'
import { runOrder } from '../engine/runs/run-number.ts'
import { defaultRetention, providingRun, surplusRuns } from '../engine/runs/runs.ts'
import type { Run } from '../engine/runs/runs.ts'
import { StampError, fillIn, ownerLabel, stampLabel, stamped, withDigest } from '../engine/templates/stamp.ts'
import { runTemplateKind, runnableKind } from '../runtime/kinds.ts'
import type { SupplyMetrics } from '../runtime/metrics.ts'
import type { AccessReviews } from '../runtime/access-reviews.ts'
import { accountFor, accountProblem, clientOf, wakeWhenGranted } from '../runtime/account.ts'
import type { Account } from '../runtime/account.ts'
import { ClusterGround } from '../runtime/live-cluster.ts'
import { ApplyError } from '../engine/cluster.ts'
import { StampedKinds } from '../runtime/stamped-kinds.ts'

const concurrency = 8

type Context = ReconcileContext<Runnable>

/** What came of one pass. */
interface Outcome {
  /** `RunTemplateReady`. */
  readonly template: Verdict
  /** Health of the run that was asked for. */
  readonly run?: Verdict
  /** Undefined: those of before stay. */
  readonly outputs?: Outputs
  readonly retry?: unknown
}

/** Makes the runs of all Runnables. */
export class RunnableController {
  readonly controller: Controller<Runnable>
  readonly #manager: Manager
  readonly #metrics: SupplyMetrics
  readonly #kinds: StampedKinds
  readonly #access: AccessReviews

  constructor(manager: Manager, metrics: SupplyMetrics, access: AccessReviews) {
    this.#manager = manager
    this.#metrics = metrics
    this.#access = access
    this.controller = manager
      .controller('runnable')
      .for(runnableKind)
      .with({ keepReady: false, concurrency })
      .gone(({ key }) => {
        metrics.owner('Runnable', formatKey(key), undefined)
        this.#kinds.forget(formatKey(key))
      })
      .reconcile((context) => this.#kinds.during(context.object, () => this.#reconcile(context)))
    this.#kinds = new StampedKinds({
      loop: this.controller.loop,
      owner: runnableKind as Kind,
      label: ownerLabel('Runnable'),
      hasOwner: (key) => this.controller.informer.get(key) !== undefined,
    })
  }

  async #reconcile(context: Context): Promise<void> {
    if (isTerminating(context.object)) return
    const outcome = await this.#run(context)
    await this.#report(context, outcome)
    if (outcome.retry !== undefined) throw outcome.retry
  }

  async #run(context: Context): Promise<Outcome> {
    const { object: runnable, read } = context
    const { name } = runnable.spec.runTemplateRef
    const template = await read.get(runTemplateKind, { namespace: '', name })
    if (template === undefined)
      return { template: verdict('False', 'RunTemplateNotFound', `could not find ClusterRunTemplate [${name}]`) }
    const account = accountFor(runnable.metadata.namespace ?? '', runnable.spec)
    const problem = await accountProblem(account, read)
    if (problem !== undefined) return { template: verdict('False', 'ServiceAccountError', problem) }
    try {
      return await this.#stamp(context, template, account)
    } catch (error) {
      if (error instanceof StampError)
        return { template: verdict('False', 'TemplateStampFailure', `could not stamp template: ${error.message}`) }
      if (!(error instanceof ApplyError)) throw error
      const isRejection = error.code === 'TemplateRejectedByAPIServer'
      const failure = verdict('False', isRejection ? 'StampedObjectRejectedByAPIServer' : error.code, error.message)
      return { template: failure, retry: error.settled ? undefined : (error.cause ?? error) }
    }
  }

  async #stamp(context: Context, template: RunTemplate, account: Account): Promise<Outcome> {
    const { object: runnable } = context
    const labels = {
      [stampLabel.runnable]: runnable.metadata.name ?? '',
      [stampLabel.runTemplate]: template.metadata.name ?? '',
    }
    const selected = await this.#selected(context, account)
    const values: JsonObject = {
      runnable: ownerContext(runnable),
      selected: selected === undefined ? null : ownerContext(selected),
    }
    const wanted = withDigest(stamped(fillIn(template.spec, values), runnable, labels))
    const ground = this.#groundFor(context, account)
    const current = await ground.ensureRun(wanted)
    const mine = { [stampLabel.runnable]: longLabelValue(labels[stampLabel.runnable]!) }
    const owned = await ground.owned(current, mine)
    const all = owned.some(({ metadata }) => metadata.uid === current.metadata.uid) ? owned : [...owned, current]
    const runs = all.map((object): Run & { readonly object: KubeObject } => {
      return { name: object.metadata.name ?? '', created: runOrder(object), health: succeeded(object).status, object }
    })
    for (const { object } of surplusRuns(runs, runnable.spec.retentionPolicy ?? defaultRetention)) {
      if (object.metadata.uid !== current.metadata.uid) await ground.discard(object)
    }
    const run = succeeded(current)
    const providing = providingRun(runs)?.object
    if (providing === undefined) return { template: verdict('True', 'Ready'), run }
    const read = readOutputs(providing, Object.entries(template.spec.outputs ?? {}))
    if ('missing' in read) {
      const { path } = read.missing
      const what = `${await ground.resourceOf(providing)}/${providing.metadata.name}`
      return {
        template: verdict('False', 'OutputPathNotSatisfied', `waiting to read value [${path}] from object [${what}]`),
        run,
      }
    }
    if (Object.keys(read.outputs).length > 0 && !jsonEqual(read.outputs, runnable.status?.outputs ?? {})) {
      const what = `${await ground.resourceOf(providing)}/${providing.metadata.name}`
      this.#events(runnable).normal(
        'ResourceOutputChanged',
        `Runnable [${runnable.metadata.name}] found a new output in [${what}]`,
      )
    }
    return { template: verdict('True', 'Ready'), run, outputs: read.outputs }
  }

  /** The object that `selector` names, read with the rights of the account; its changes wake the Runnable. */
  async #selected({ object: runnable, client, read }: Context, account: Account): Promise<KubeObject | undefined> {
    const { selector } = runnable.spec
    if (selector === undefined) return undefined
    const { apiVersion = '', kind = '' } = selector.resource
    const like = kindOf(apiVersion, kind)
    const labelSelector = selectorFrom({ matchLabels: selector.matchingLabels })
    // The controller's cache only wakes; what may be seen is decided by the account.
    const state = await read.state(like)
    if (state === 'Absent')
      throw new StampError(`unable to resolve selector: the server serves no ${kind} in ${apiVersion}`)
    const { namespaced } = await client.discovery.resource(like)
    const filter = { labelSelector, ...(namespaced && { namespace: runnable.metadata.namespace }) }
    if (state === 'Synced') await read.list(like, filter)
    const items = await this.#listAs(account, client, read, like, filter)
    const [only] = items
    if (only === undefined || items.length !== 1) {
      throw new StampError(
        `unable to resolve selector: [${labelSelector.toString()}] must match exactly one ${kind} in ${apiVersion}, it matches ${items.length}`,
      )
    }
    return only
  }

  async #listAs(
    account: Account,
    client: Client,
    read: Reader,
    kind: Kind,
    filter: Parameters<Client['list']>[1],
  ): Promise<readonly KubeObject[]> {
    try {
      return (await clientOf(client, account).list(kind, filter)).items
    } catch (error) {
      if (!isForbidden(error)) throw error
      await wakeWhenGranted(account, read)
      throw new StampError(`unable to resolve selector: ${(error as Error).message}`, { cause: error })
    }
  }

  #groundFor({ object: owner, client, read, log, signal, clock }: Context, account: Account): ClusterGround {
    const [metrics, kinds, events] = [this.#metrics, this.#kinds, this.#events(owner)]
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
      ytt: undefined,
      now: clock.now(),
      signal,
    })
  }

  #events(runnable: Runnable): ReturnType<ReturnType<Manager['recorder']>['about']> {
    return this.#manager.recorder('Runnable').about(runnable)
  }

  async #report({ object, status }: Context, { template, run, outputs }: Outcome): Promise<void> {
    const conditions: Condition[] = withReady([
      conditionOf('RunTemplateReady', template),
      ...(run === undefined ? [] : [conditionOf('StampedObjectCondition', run)]),
    ])
    const kept = outputs === undefined || Object.keys(outputs).length === 0 ? object.status?.outputs : outputs
    await status.apply({ conditions, outputs: kept })
    this.#metrics.owner('Runnable', formatKey(keyOf(object)), findCondition(conditions, 'Ready')?.status)
  }
}

function succeeded(object: KubeObject): Verdict {
  const rule = { singleConditionType: 'Succeeded' }
  return healthOf({ spelling: 'healthRule', rule, templateKind: 'ClusterTemplate', object })
}
