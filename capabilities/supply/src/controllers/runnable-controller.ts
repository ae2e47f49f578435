// The controller of Runnables (originals/cartographer.md §1.6): reads template, account and selected object, realizes
// the Runnable, and reports its conditions and outputs. Start with RunnableController.
import { kind as kindOf } from '@fairlead/client'
import type { Client, Kind } from '@fairlead/client'
import { KindUnavailable, after } from '@fairlead/controller'
import type { Controller, EventRecorder, Manager, Reader, ReconcileContext, Result } from '@fairlead/controller'
import { findCondition, formatKey, isForbidden, isTerminating, jsonEqual, keyOf, selectorFrom } from '@fairlead/kube'
import type { Condition, KubeObject } from '@fairlead/kube'
import type { Runnable } from '../api.ts'
import { conditionOf, verdict } from '../engine/conditions/condition.ts'
import { withReady } from '../engine/owner-conditions.ts'
import { realizeRunnable } from '../engine/realize-runnable.ts'
import type { RealizedRunnable } from '../engine/realize-runnable.ts'
import { StampError, ownerLabel } from '../engine/templates/stamp.ts'
import { accountFor, accountProblem, deniedInterval, impersonate, requeueOnGrant } from '../runtime/account.ts'
import type { Account } from '../runtime/account.ts'
import { runTemplateKind, runnableKind } from '../runtime/kinds.ts'
import { LiveCluster } from '../runtime/live-cluster.ts'
import type { LiveClusterDependencies } from '../runtime/live-cluster.ts'
import type { SupplyMetrics } from '../runtime/metrics.ts'
import { StampedKinds } from '../runtime/stamped-kinds.ts'

/** Runnables reconciled at a time. */
const concurrency = 8

/** Interval between two reads of a selected object whose kind the controller does not watch. */
const pollInterval = '60s'

type Context = ReconcileContext<Runnable>

function unwatchedMessage(kind: string, apiVersion: string): string {
  return `the selected ${kind} in ${apiVersion} is read every ${pollInterval} because the controller may not watch the kind; a ClusterRole labelled rbac.fairlead.dev/aggregate-to-supply: "true" grants it (\`fairlead supply rbac\` prints it)`
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
      .withOptions({ keepReady: false, reconcilesUnknown: true, concurrency })
      .onDeleted(({ key }) => {
        metrics.setReady('Runnable', formatKey(key), undefined)
        this.#kinds.releaseAll(formatKey(key))
      })
      .reconcile((context) => this.#kinds.during(context.object, () => this.#reconcile(context)))
    this.#kinds = new StampedKinds({
      loop: this.controller.loop,
      informers: manager.informers,
      owner: runnableKind as Kind,
      label: ownerLabel('Runnable'),
      ownerExists: (key) => this.controller.informer.lastKnown.has(key),
    })
    this.#cluster = { access: manager.access, kinds: this.#kinds, metrics, recorder: this.#recorder }
    const { informer, loop } = this.controller
    const enqueueAll = (): void => {
      for (const key of informer.lastKnown.keys()) loop.add(key, 'low')
    }
    const subscription = informer.subscribe({ state: enqueueAll }, { replay: false })
    loop.onStopped(() => subscription[Symbol.dispose]())
  }

  async #reconcile(context: Context): Promise<Result> {
    if (isTerminating(context.object)) return undefined
    const realized = await this.#realizeKnown(context)
    await this.#report(context, realized)
    if (realized.retry !== undefined) throw realized.retry
    if (realized.denied === true) return after(deniedInterval(context.object))
    return realized.polled === true ? after(pollInterval) : undefined
  }

  /** Nothing is concluded from a kind that cannot be read; the next change of that requeues the Runnable. */
  async #realizeKnown(context: Context): Promise<RealizedRunnable> {
    try {
      return await this.#realize(context)
    } catch (error) {
      if (!(error instanceof KindUnavailable)) throw error
      return { template: verdict('Unknown', error.code, error.message) }
    }
  }

  async #realize(context: Context): Promise<RealizedRunnable> {
    const own = this.controller.informer.read()
    if (!own.known) throw own.reason
    const { object: runnable, read } = context
    const { name } = runnable.spec.runTemplateRef
    const template = await read.get(runTemplateKind, { namespace: '', name })
    if (template === undefined)
      return { template: verdict('False', 'RunTemplateNotFound', `could not find ClusterRunTemplate [${name}]`) }
    const account = accountFor(runnable.metadata.namespace ?? '', runnable.spec)
    const problem = await accountProblem(account, read)
    if (problem !== undefined) return { template: verdict('False', 'ServiceAccountError', problem) }
    let polled = false
    const selected = (): Promise<KubeObject | undefined> =>
      this.#selected(context, account, () => {
        polled = true
      })
    const cluster = new LiveCluster(context, account, this.#cluster)
    const realized = await realizeRunnable({ runnable, template, selected }, cluster)
    return { ...realized, polled }
  }

  /**
   * Returns the object that `selector` selects, read with the rights of the account. Its changes requeue the Runnable;
   * `onUnwatched` is called when they cannot because the controller does not watch the kind.
   */
  async #selected(
    { object: runnable, client, read }: Context,
    account: Account,
    onUnwatched: () => void,
  ): Promise<KubeObject | undefined> {
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
    else {
      onUnwatched()
      if (state === 'Forbidden')
        this.#recorder.about(runnable).warning('SelectorNotWatched', unwatchedMessage(kind, apiVersion))
    }
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

  async #report({ object: runnable, status }: Context, realized: RealizedRunnable): Promise<void> {
    const { template, run, outputs = {}, provider } = realized
    const conditions: Condition[] = withReady([
      conditionOf('RunTemplateReady', template),
      ...(run === undefined ? [] : [conditionOf('StampedObjectCondition', run)]),
    ])
    const before = runnable.status?.outputs
    const hasOutputs = Object.keys(outputs).length > 0
    if (hasOutputs && !jsonEqual(outputs, before ?? {})) {
      const message = `Runnable [${runnable.metadata.name}] found a new output in [${provider}]`
      this.#recorder.about(runnable).normal('ResourceOutputChanged', message)
    }
    const { conditions: earlier = [] } = runnable.status ?? {}
    const isNew = !earlier.some(({ reason, message }) => reason === template.reason && message === template.message)
    // What is thrown becomes an event by itself.
    if (template.status === 'False' && isNew && realized.retry === undefined)
      this.#recorder.about(runnable).warning(template.reason, template.message)
    await status.apply({ conditions, outputs: hasOutputs ? outputs : before })
    this.#metrics.setReady('Runnable', formatKey(keyOf(runnable)), findCondition(conditions, 'Ready')?.status)
  }
}
