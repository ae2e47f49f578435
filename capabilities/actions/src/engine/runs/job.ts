// The Jobs that run command actions, as kAppNav creates them (originals/kappnav.md §3.2), with limits and least
// privilege.
import { kind } from '@fairlead/client'
import type { Kind } from '@fairlead/client'
import { isConditionTrue, labelValue, longLabelValue } from '@fairlead/kube'
import type { Condition, JsonObject, KubeObject } from '@fairlead/kube'
import type { Target } from '../mapping/target.ts'

/** `batch/v1 Job`, with the fields of its status that are read here. */
export interface Job extends KubeObject {
  readonly status?: {
    readonly active?: number
    readonly succeeded?: number
    readonly failed?: number
    readonly startTime?: string
    readonly completionTime?: string
    readonly conditions?: readonly Condition[]
  }
}
/** `batch/v1 Job`, for clients. */
export const Job: Kind<Job> = kind<Job>('batch/v1', 'Job', { plural: 'jobs', namespaced: true })

/** Settings of Jobs, from kAppNav's configuration. */
export interface JobSettings {
  readonly namespace: string
  readonly serviceAccountName: string
  /** Seconds after which a finished Job is deleted; undefined keeps it. */
  readonly ttlSeconds: number | undefined
  /** Seconds that a Job may take; undefined for no limit. */
  readonly deadlineSeconds: number | undefined
  readonly resources: JsonObject | undefined
  /** Number of retries of a failed command; kAppNav's 4 when left out. */
  readonly backoffLimit?: number
}

/** The action that a Job runs. */
export interface JobRequest {
  readonly target: Target
  readonly action: string
  /** The text of the action in menus. */
  readonly text: string
  readonly image: string
  readonly command: readonly string[]
  /** The Application in which the user selected the action. */
  readonly application: { readonly name: string; readonly namespace: string } | undefined
  readonly user: string
}

/** Label of all Jobs of actions; its value is `command`. */
export const jobTypeLabel = 'kappnav-job-type'

/** Keys of the labels and annotations of Jobs. */
export const jobKeys = {
  action: 'kappnav-job-action-name',
  applicationName: 'kappnav-job-application-name',
  applicationNamespace: 'kappnav-job-application-namespace',
  applicationScope: 'kappnav-job-application-scope',
  kind: 'kappnav-job-component-kind',
  subkind: 'kappnav-job-component-sub-kind',
  name: 'kappnav-job-component-name',
  namespace: 'kappnav-job-component-namespace',
  text: 'kappnav-job-action-text',
  user: 'kappnav-job-user-id',
} as const

/** Seconds that finished Jobs are kept by default: a week. */
export const defaultTtlSeconds = 604_800
/** Seconds that Jobs may take by default: an hour. */
export const defaultDeadlineSeconds = 3600

/** Returns the labels that identify the target and the action of a Job. */
export function jobLabels({
  target,
  action,
  application,
}: Pick<JobRequest, 'target' | 'action' | 'application'>): Readonly<Record<string, string>> {
  const isApplication = target.kind === 'Application' && target.group === 'app.k8s.io'
  const from = isApplication ? target : application
  return {
    [jobTypeLabel]: 'command',
    [jobKeys.action]: action,
    ...(from === undefined
      ? {}
      : { [jobKeys.applicationName]: from.name, [jobKeys.applicationNamespace]: from.namespace }),
    ...(isApplication
      ? { [jobKeys.applicationScope]: 'true' }
      : {
          [jobKeys.kind]: target.kind,
          ...(target.subkind === '' ? {} : { [jobKeys.subkind]: target.subkind }),
          [jobKeys.name]: target.name,
          ...(target.isClusterScoped === true ? {} : { [jobKeys.namespace]: target.namespace }),
        }),
  }
}

/** Returns the Job for one command. `uid` makes its name unique. */
export function jobFor(request: JobRequest, settings: JobSettings, uid: string): KubeObject {
  const name = `kappnav-${uid}`
  const full = jobLabels(request)
  const labels = Object.fromEntries(Object.entries(full).map(([key, value]) => [key, labelOf(value)]))
  const shortened = Object.entries(full).filter(([key, value]) => labels[key] !== value)
  const { ttlSeconds, deadlineSeconds, resources, backoffLimit = 4 } = settings
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: {
      name,
      namespace: settings.namespace,
      labels: { ...labels, 'app.kubernetes.io/managed-by': 'fairlead' },
      annotations: {
        ...Object.fromEntries(shortened),
        [jobKeys.text]: request.text,
        ...(request.user === '' ? {} : { [jobKeys.user]: request.user }),
      },
    },
    spec: {
      backoffLimit,
      ...(ttlSeconds === undefined ? {} : { ttlSecondsAfterFinished: ttlSeconds }),
      ...(deadlineSeconds === undefined ? {} : { activeDeadlineSeconds: deadlineSeconds }),
      template: {
        metadata: { labels },
        spec: {
          restartPolicy: 'Never',
          serviceAccountName: settings.serviceAccountName,
          securityContext: { runAsNonRoot: true, runAsUser: 1001 },
          containers: [
            {
              name,
              image: request.image,
              command: [...request.command],
              ...(resources === undefined ? {} : { resources }),
            },
          ],
        },
      },
    },
  }
}

/** The states of a Job, in one word. `Retrying`: a pod failed, and the next one has not started. */
export type JobState = 'Succeeded' | 'Failed' | 'Running' | 'Waiting' | 'Retrying'

/** Returns the state of a Job. A complete Job has succeeded even if pods of it failed before. */
export function jobState({ status }: Job): JobState {
  if (isConditionTrue(status?.conditions, 'Complete')) return 'Succeeded'
  if (isConditionTrue(status?.conditions, 'Failed')) return 'Failed'
  if ((status?.active ?? 0) > 0) return 'Running'
  return (status?.failed ?? 0) > 0 ? 'Retrying' : 'Waiting'
}

/** Reports whether a Job is complete or has failed. */
export function isFinished(job: Job): boolean {
  return ['Succeeded', 'Failed'].includes(jobState(job))
}

/** Returns a valid label value: long ones are shortened with a hash, invalid characters are replaced. */
export function labelOf(value: string): string {
  if (labelValue(value).length === 0) return value
  const allowed = longLabelValue(value.replaceAll(/[^A-Za-z0-9_.-]/g, '_'))
  return allowed.replaceAll(/^[^A-Za-z0-9]+|[^A-Za-z0-9]+$/g, '')
}
