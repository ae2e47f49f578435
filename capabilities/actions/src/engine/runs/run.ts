// Runs of command actions, from the Jobs with kAppNav's labels.
import { findCondition } from '@fairlead/kube'
import { jobKeys, jobState, jobTypeLabel, labelOf } from './job.ts'
import type { Job, JobState } from './job.ts'
import { recordedUser } from './run-record.ts'

/** One run of a command action. */
export interface Run {
  readonly job: string
  readonly namespace: string
  readonly action: string
  readonly text: string
  readonly target: {
    readonly kind: string
    readonly subkind?: string
    readonly namespace: string
    readonly name: string
  }
  readonly application?: { readonly namespace: string; readonly name: string }
  /** The user who ran it; as the creator of the Job says, unless `isRecorded`. */
  readonly user: string
  /** The server created the Job on behalf of the user, and vouches for user, action and target. */
  readonly isRecorded?: true
  readonly state: JobState
  readonly created: string
  readonly finished?: string
}

/** Selects runs; absent fields match any run. */
export interface RunFilter {
  readonly kind?: string | undefined
  readonly namespace?: string | undefined
  readonly name?: string | undefined
  readonly action?: string | undefined
  readonly user?: string | undefined
  /** Maximum number of runs; all when left out. */
  readonly limit?: number | undefined
}

/** The label selector of all runs. */
export const runSelector: string = `${jobTypeLabel}=command`

/** Returns the run that a Job represents. */
export function runOf(job: Job): Run {
  const labels = job.metadata.labels ?? {}
  const annotations = job.metadata.annotations ?? {}
  const value = (key: string): string => annotations[key] ?? labels[key] ?? ''
  const isApplication = value(jobKeys.applicationScope) === 'true'
  const applicationName = value(jobKeys.applicationName)
  const subkind = value(jobKeys.subkind)
  const finished = finishTime(job)
  const recorded = recordedUser(job)
  return {
    job: job.metadata.name ?? '',
    namespace: job.metadata.namespace ?? '',
    action: value(jobKeys.action),
    text: value(jobKeys.text),
    target: isApplication
      ? { kind: 'Application', namespace: value(jobKeys.applicationNamespace), name: applicationName }
      : {
          kind: value(jobKeys.kind),
          ...(subkind === '' ? {} : { subkind }),
          namespace: value(jobKeys.namespace),
          name: value(jobKeys.name),
        },
    ...(applicationName === ''
      ? {}
      : { application: { namespace: value(jobKeys.applicationNamespace), name: applicationName } }),
    user: recorded ?? value(jobKeys.user),
    ...(recorded === undefined ? {} : { isRecorded: true }),
    state: jobState(job),
    created: job.metadata.creationTimestamp ?? '',
    ...(finished === undefined ? {} : { finished }),
  }
}

/** Returns when a Job completed or failed; undefined while it has not. */
function finishTime({ status }: Job): string | undefined {
  const failed = findCondition(status?.conditions, 'Failed')
  return status?.completionTime ?? (failed?.status === 'True' ? failed.lastTransitionTime : undefined)
}

/** Returns the runs that match a filter, newest first. */
export function runsOf(jobs: readonly Job[], filter: RunFilter = {}): readonly Run[] {
  const matches = (wanted: string | undefined, found: string): boolean =>
    wanted === undefined || wanted === found || labelOf(wanted) === found
  return jobs
    .map(runOf)
    .filter(
      ({ target, action, user }) =>
        (filter.kind === undefined || filter.kind.toLowerCase() === target.kind.toLowerCase()) &&
        matches(filter.namespace, target.namespace) &&
        matches(filter.name, target.name) &&
        matches(filter.action, action) &&
        matches(filter.user, user),
    )
    .toSorted((a, b) => Date.parse(b.created) - Date.parse(a.created) || (a.job < b.job ? -1 : 1))
    .slice(0, filter.limit)
}
