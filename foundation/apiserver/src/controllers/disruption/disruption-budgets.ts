// Keeps the status of PodDisruptionBudgets, which decides about evictions: the disruption controller of Kubernetes.
import { kind } from '@fairlead/client'
import type { Client, Kind } from '@fairlead/client'
import { after } from '@fairlead/controller'
import type { ObjectChange, Result } from '@fairlead/controller'
import { SelectorError, controllerOf, formatKey, isTerminating, jsonEqual, keyOf, selectorFrom } from '@fairlead/kube'
import type { JsonValue, KubeObject } from '@fairlead/kube'
import { DisruptionBudget, coversPod, isPodReady } from '../../objects/disruption-budget.ts'
import type { DisruptionBudgetStatus } from '../../objects/disruption-budget.ts'
import { controllerManager, enqueueOn } from '../controller-context.ts'
import type { ControllerContext } from '../controller-context.ts'
import { budgetStatus, failedStatus, hasFailed, needsScale } from './budget-status.ts'
import { ScaleUnknown, scaleOfControllers } from './controller-scale.ts'
import type { ControllerScale } from './controller-scale.ts'
import { formatSelector } from './selector-text.ts'

const Pod: Kind = kind('v1', 'Pod', { plural: 'pods', namespaced: true })

/** Sets up the controller. */
export function setUpDisruptionBudgets(context: ControllerContext): void {
  const events = context.manager.recorder('controllermanager')
  const loop = context.manager.loop<string>({
    name: 'disruption-controller',
    id: (key) => key,
    concurrency: 5,
    manager: controllerManager,
    run: async (key, { client, signal, clock }): Promise<Result> => {
      for (const informer of [budgets, pods]) {
        await informer.waitForState(signal)
        const known = informer.read()
        if (!known.known) throw known.reason
      }
      const budget = budgets.lastKnown.get(key)
      if (budget === undefined) return undefined
      const about = events.about(budget)
      let covered: readonly KubeObject[]
      let scale: ControllerScale | undefined
      try {
        const selector = selectorFrom(budget.spec?.selector)
        covered = pods.lastKnown
          .list({ namespace: budget.metadata.namespace! })
          .filter(({ metadata }) => selector.matches(metadata.labels ?? {}))
        if (covered.length === 0) about.normal('NoPods', 'No matching pods found')
        if (needsScale(budget)) scale = await scaleOfControllers(covered, context.resources, client)
      } catch (error) {
        const { message } = error as Error
        about.warning('CalculateExpectedPodCountFailed', `Failed to calculate the number of expected pods: ${message}`)
        await writeStatus(budget, failedStatus(budget, message, clock.now()), client)
        // An event leads out of these; anything else is tried again.
        if (error instanceof ScaleUnknown || error instanceof SelectorError) return undefined
        throw error
      }
      if (scale !== undefined && scale.unmanaged > 0) about.warning('UnmanagedPods', unmanagedNote(budget))
      const { status, notDeleted, recheckAt } = budgetStatus({
        budget,
        pods: covered,
        scale: scale?.replicas,
        now: clock.now(),
      })
      for (const pod of notDeleted)
        events.about(pod).warning('NotDeleted', `Pod was expected by PDB ${key} to be deleted but it wasn't`)
      await writeStatus(budget, status, client)
      return recheckAt === undefined ? undefined : after(new Date(recheckAt))
    },
    logFields: (key) => ({ podDisruptionBudget: key }),
  })
  const budgets = enqueueOn(context, loop, DisruptionBudget, ({ object }) => [formatKey(keyOf(object))])
  const pods = enqueueOn(context, loop, Pod, ({ type, object, previous, initial }: ObjectChange) => {
    // All budgets are enqueued at the start.
    if (initial || (type === 'changed' && countsAlike(object, previous))) return []
    const inNamespace = budgets.lastKnown.list({ namespace: object.metadata.namespace! })
    const covering = inNamespace.filter((budget) => coversPod(budget, object))
    if (type !== 'removed' && covering.length > 1) {
      const note = `Pod "${formatKey(keyOf(object))}" matches multiple PodDisruptionBudgets: evictions of it fail`
      events.about(object).warning('MultiplePodDisruptionBudgets', note)
    }
    const left = inNamespace.filter((budget) => previous !== undefined && coversPod(budget, previous))
    return new Set([...covering, ...left].map((budget) => formatKey(keyOf(budget))))
  })
  // A kind that is served from now on may be that of a controller.
  context.onStop(
    context.resources.onChange(() => {
      for (const budget of budgets.lastKnown.values())
        if (hasFailed(budget)) loop.queue.addAfter(formatKey(keyOf(budget)), context.delay)
    }),
  )
}

/** Reports whether two states of a Pod count alike in every budget. */
function countsAlike(pod: KubeObject, previous: KubeObject | undefined): boolean {
  return (
    previous !== undefined &&
    isPodReady(pod) === isPodReady(previous) &&
    isTerminating(pod) === isTerminating(previous) &&
    controllerOf(pod)?.uid === controllerOf(previous)?.uid &&
    jsonEqual(labelsOf(pod), labelsOf(previous))
  )
}

function labelsOf({ metadata }: KubeObject): JsonValue {
  return metadata.labels ?? {}
}

function unmanagedNote({ spec }: DisruptionBudget): string {
  return (
    `Pods selected by this PodDisruptionBudget (selector: ${formatSelector(spec?.selector)}) were found to be unmanaged. ` +
    'As a result, the status of the PDB cannot be calculated correctly, which may result in undefined behavior. ' +
    'To account for these pods please set ".spec.minAvailable" field of the PDB to an integer value.'
  )
}

/** Writes a status at the resourceVersion that it was computed from: an eviction since then must not be lost. */
async function writeStatus(
  budget: DisruptionBudget,
  status: DisruptionBudgetStatus | undefined,
  client: Client,
): Promise<void> {
  if (status !== undefined) await client.update({ ...budget, status }, { subresource: 'status' })
}
