// The controller of Runnables (originals/cartographer.md §1.6): creates a run for each change of the stamped object,
// takes the outputs from the newest run that succeeded, and deletes runs beyond the retention policy. Start with
// RunnableController.
import { kind as kindOf } from '@fairlead/client'
import type { Client, Kind } from '@fairlead/client'
import type { Controller, EventRecorder, Manager, Reader, ReconcileContext } from '@fairlead/controller'
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
import { ApplyError } from '../engine/apply-error.ts'
import { conditionOf, verdict } from '../engine/condition.ts'
import type { Verdict } from '../engine/condition.ts'
import { healthOf } from '../engine/health/health.ts'
import { withReady } from '../engine/owner-conditions.ts'
import { reconcileRuns } from '../engine/runs/run-history.ts'
import { newestHealthyRun } from '../engine/runs/runs.ts'
import { ownerContext } from '../engine/templates/context.ts'
import { StampError, ownerLabel, renderTemplate, stampLabel, stamped, withDigest } from '../engine/templates/stamp.ts'
import { readOutputs } from '../engine/values/output.ts'
import type { Outputs } from '../engine/values/output.ts'
import { accountFor, accountProblem, impersonate, requeueOnGrant } from '../runtime/account.ts'
import type { Account } from '../runtime/account.ts'
import { runTemplateKind, runnableKind } from '../runtime/kinds.ts'
import { LiveCluster } from '../runtime/live-cluster.ts'
import type { LiveClusterDependencies } from '../runtime/live-cluster.ts'
import type { SupplyMetrics } from '../runtime/metrics.ts'
import { StampedKinds } from '../runtime/stamped-kinds.ts'

/** Runnables reconciled at a time. */
const concurrency = 8

type Context = ReconcileContext<Runnable>

/** The outcome of one pass. */
interface Outcome {
  /** `RunTemplateReady`. */
  readonly template: Verdict
  /** Health of the current run. */
  readonly run?: Verdict
  /** Undefined keeps the outputs in status. */
  readonly outputs?: Outputs
  /** The error to retry with backoff. */
  readonly retry?: unknown
}

/** Creates and reports the runs of all Runnables. */
export class RunnableController {
  readonly controller: Controller<Runnable>
  readonly #metrics: SupplyMetrics
  readonly #recorder: EventRecorder
  readonly #kinds: StampedKinds
  readonly #cluster: LiveClusterDependencies

  constructor(manager: Manager, metrics: SupplyMetrics) {
    this.#metrics = metrics
    this.#recorder = manager.recorder('Runnable')
    this.controller = manager
      .controller('runnable')
      .for(runnableKind)
      .withOptions({ keepReady: false, concurrency })
      .onDeleted(({ key }) => {
        metrics.setReady('Runnable', formatKey(key), undefined)
        this.#kinds.releaseAll(formatKey(key))
      })
      .reconcile((context) => this.#kinds.during(context.object, () => this.#reconcile(context)))
    this.#kinds = new StampedKinds({
      loop: this.controller.loop,
      owner: runnableKind as Kind,
      label: ownerLabel('Runnable'),
      ownerExists: (key) => this.controller.informer.get(key) !== undefined,
    })
    this.#cluster = { access: manager.access, kinds: this.#kinds, metrics, recorder: this.#recorder, ytt: undefined }
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
      return { template: failure, retry: error.retryable ? (error.cause ?? error) : undefined }
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
    const cluster = new LiveCluster(context, account, this.#cluster)
    const desired = withDigest(stamped(renderTemplate(template.spec, values), runnable, labels))
    const { current, runs } = await reconcileRuns(cluster, desired, {
      labels: { [stampLabel.runnable]: longLabelValue(labels[stampLabel.runnable]!) },
      retention: runnable.spec.retentionPolicy,
      healthOf: succeeded,
    })
    const run = succeeded(current)
    const provider = newestHealthyRun(runs)?.object
    if (provider === undefined) return { template: verdict('True', 'Ready'), run }
    const read = readOutputs(provider, Object.entries(template.spec.outputs ?? {}))
    const name = `${await cluster.groupResourceOf(provider)}/${provider.metadata.name}`
    if ('missing' in read) {
      const message = `waiting to read value [${read.missing.path}] from object [${name}]`
      return { template: verdict('False', 'OutputPathNotSatisfied', message), run }
    }
    if (Object.keys(read.outputs).length > 0 && !jsonEqual(read.outputs, runnable.status?.outputs ?? {})) {
      const message = `Runnable [${runnable.metadata.name}] found a new output in [${name}]`
      this.#recorder.about(runnable).normal('ResourceOutputChanged', message)
    }
    return { template: verdict('True', 'Ready'), run, outputs: read.outputs }
  }

  /**
   * Returns the object that `selector` selects, read with the rights of the account. Its changes requeue the Runnable.
   */
  async #selected({ object: runnable, client, read }: Context, account: Account): Promise<KubeObject | undefined> {
    const { selector } = runnable.spec
    if (selector === undefined) return undefined
    const { apiVersion = '', kind = '' } = selector.resource
    const like = kindOf(apiVersion, kind)
    const labelSelector = selectorFrom({ matchLabels: selector.matchingLabels })
    // The controller's cache only triggers; the object is read with the rights of the account.
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
      return (await impersonate(client, account).list(kind, filter)).items
    } catch (error) {
      if (!isForbidden(error)) throw error
      await requeueOnGrant(account, read)
      throw new StampError(`unable to resolve selector: ${(error as Error).message}`, { cause: error })
    }
  }

  async #report({ object, status }: Context, { template, run, outputs }: Outcome): Promise<void> {
    const conditions: Condition[] = withReady([
      conditionOf('RunTemplateReady', template),
      ...(run === undefined ? [] : [conditionOf('StampedObjectCondition', run)]),
    ])
    const kept = outputs === undefined || Object.keys(outputs).length === 0 ? object.status?.outputs : outputs
    await status.apply({ conditions, outputs: kept })
    this.#metrics.setReady('Runnable', formatKey(keyOf(object)), findCondition(conditions, 'Ready')?.status)
  }
}

function succeeded(object: KubeObject): Verdict {
  const rule = { singleConditionType: 'Succeeded' }
  return healthOf({ spelling: 'healthRule', rule, templateKind: 'ClusterTemplate', object })
}
