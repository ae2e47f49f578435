// The decision pass of a Runnable over the Cluster port (originals/cartographer.md §1.6): creates a run for each change
// of the stamped object, and takes the outputs from the newest run that succeeded. Start with realizeRunnable.
import { longLabelValue } from '@fairlead/kube'
import type { JsonObject, KubeObject } from '@fairlead/kube'
import type { RunTemplate, Runnable } from '../api.ts'
import { ApplyError } from './apply-error.ts'
import type { Cluster } from './cluster.ts'
import { verdict } from './conditions/condition.ts'
import type { Verdict } from './conditions/condition.ts'
import { healthOf } from './health/health.ts'
import { reconcileRuns } from './run-history.ts'
import { newestHealthyRun } from './runs/runs.ts'
import { ownerContext } from './templates/context.ts'
import { StampError, renderTemplate, stampLabel, stamped, withDigest } from './templates/stamp.ts'
import { readOutputs } from './values/output.ts'
import type { Outputs } from './values/output.ts'

/** A Runnable with its ClusterRunTemplate. */
export interface RunnableChain {
  readonly runnable: Runnable
  readonly template: RunTemplate
  /** Returns the object that `selector` selects; undefined without a selector. Throws StampError. */
  readonly selected: () => Promise<KubeObject | undefined>
}

/** A Runnable after one pass. */
export interface RealizedRunnable {
  /** `RunTemplateReady`. */
  readonly template: Verdict
  /** Health of the current run; undefined when there is none. */
  readonly run?: Verdict
  /** Undefined keeps the outputs in status. */
  readonly outputs?: Outputs
  /** `plural.group/name` of the run that provides the outputs. */
  readonly provider?: string
  /** The error to retry with backoff. */
  readonly retry?: unknown
  /** True when changes of the selected object requeue nothing. */
  readonly polled?: boolean
  /** True when RBAC refused: to be retried late, in case the grant is missed. */
  readonly denied?: boolean
}

/** Realizes a Runnable. Errors of its template and its runs are part of the result. */
export async function realizeRunnable(chain: RunnableChain, cluster: Cluster): Promise<RealizedRunnable> {
  try {
    return await realizeRuns(chain, cluster)
  } catch (error) {
    if (error instanceof StampError)
      return { template: verdict('False', 'TemplateStampFailure', `could not stamp template: ${error.message}`) }
    if (!(error instanceof ApplyError)) {
      const message = error instanceof Error ? error.message : String(error)
      return { template: verdict('Unknown', 'StampedObjectRejectedByAPIServer', message), retry: error }
    }
    const isRejection = error.code === 'TemplateRejectedByAPIServer'
    const failure = verdict('False', isRejection ? 'StampedObjectRejectedByAPIServer' : error.code, error.message)
    if (error.retry === 'denied') return { template: failure, denied: true }
    return { template: failure, retry: error.retry === 'backoff' ? (error.cause ?? error) : undefined }
  }
}

async function realizeRuns(
  { runnable, template, selected }: RunnableChain,
  cluster: Cluster,
): Promise<RealizedRunnable> {
  const labels = {
    [stampLabel.runnable]: runnable.metadata.name ?? '',
    [stampLabel.runTemplate]: template.metadata.name ?? '',
  }
  const object = await selected()
  const context: JsonObject = {
    runnable: ownerContext(runnable),
    selected: object === undefined ? null : ownerContext(object),
  }
  const desired = withDigest(stamped(renderTemplate(template.spec, context), runnable, labels))
  const { current, runs, undeleted } = await reconcileRuns(cluster, desired, {
    labels: { [stampLabel.runnable]: longLabelValue(runnable.metadata.name ?? '') },
    retention: runnable.spec.retentionPolicy,
    healthOf: succeeded,
  })
  const run = succeeded(current)
  const newest = newestHealthyRun(runs)?.object
  if (newest === undefined) return { template: verdict('True', 'Ready'), run, retry: undeleted }
  const read = readOutputs(newest, Object.entries(template.spec.outputs ?? {}))
  const provider = `${await cluster.groupResourceOf(newest)}/${newest.metadata.name}`
  if ('outputs' in read)
    return { template: verdict('True', 'Ready'), run, outputs: read.outputs, provider, retry: undeleted }
  const message = `waiting to read value [${read.missing.path}] from object [${provider}]`
  return { template: verdict('False', 'OutputPathNotSatisfied', message), run, retry: undeleted }
}

function succeeded(object: KubeObject): Verdict {
  const rule = { singleConditionType: 'Succeeded' }
  return healthOf({ spelling: 'healthRule', rule, templateKind: 'ClusterTemplate', object })
}
