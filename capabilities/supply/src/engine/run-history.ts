// The runs of a resource or of a Runnable over the Cluster port: one is created for each change of the desired object,
// and those beyond the retention policy are deleted (originals/cartographer.md §2.7).
import { parseApiVersion } from '@fairlead/kube'
import type { KubeObject } from '@fairlead/kube'
import type { RetentionPolicy } from '../api.ts'
import type { Cluster } from './cluster.ts'
import type { Verdict } from './conditions/condition.ts'
import { runOrder } from './runs/run-number.ts'
import { defaultRetention, runsToPrune } from './runs/runs.ts'
import type { Run } from './runs/runs.ts'

/** A run with its object and its health. */
export interface ObservedRun extends Run {
  readonly object: KubeObject
  readonly verdict: Verdict
}

/** The runs of one resource. */
export interface RunHistory {
  /** The run of the desired object. */
  readonly current: KubeObject
  /** All runs of the kind of `current`, with it, in no particular order. */
  readonly runs: readonly ObservedRun[]
  /** The error of a run that could not be deleted, to retry. */
  readonly undeleted?: unknown
}

/**
 * Creates the run of `desired` unless it exists, and deletes the runs that `retention` does not keep; the current run
 * is never deleted. `labels` select the runs of the same resource. Throws ApplyError.
 */
export async function reconcileRuns(
  cluster: Cluster,
  desired: KubeObject,
  options: {
    readonly labels: Readonly<Record<string, string>>
    readonly retention: RetentionPolicy | undefined
    readonly healthOf: (object: KubeObject) => Promise<Verdict> | Verdict
  },
): Promise<RunHistory> {
  const { labels, retention = defaultRetention, healthOf } = options
  const current = await cluster.ensureRun(desired)
  const owned = await cluster.ownedObjects(current, labels)
  // The cache may not have the run that was just created.
  const objects = owned.some((object) => isSame(object, current)) ? owned : [...owned, current]
  const runs = await Promise.all(
    objects.map(async (object): Promise<ObservedRun> => {
      const verdict = await healthOf(object)
      return {
        name: object.metadata.name ?? '',
        created: runOrder(object),
        health: verdict.status,
        verdict,
        object,
      }
    }),
  )
  let undeleted: unknown
  for (const { object } of runsToPrune(runs, retention))
    if (!isSame(object, current)) undeleted ??= await cluster.deleteRun(object)
  return { current, runs: runs.filter(({ object }) => isSameKind(object, current)), undeleted }
}

/** Runs of an earlier kind of the template count for retention alone. */
function isSameKind(left: KubeObject, right: KubeObject): boolean {
  return left.kind === right.kind && parseApiVersion(left.apiVersion).group === parseApiVersion(right.apiVersion).group
}

function isSame(left: KubeObject, right: KubeObject): boolean {
  return left.metadata.uid === right.metadata.uid
}
