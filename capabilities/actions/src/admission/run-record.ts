// Only the server writes the record of a delegated run, so that history can be believed.
import type { RequiredAccess, Validator } from '@fairlead/controller'
import type { KubeObject } from '@fairlead/kube'
import { apiGroup } from '../api.ts'
import { jobTypeLabel } from '../engine/runs/job.ts'
import { recordKeys, recordedUser } from '../engine/runs/run-record.ts'

/** Prefix of the labels and annotations that say which action a Job runs. */
const jobKeyPrefix = 'kappnav-job-'

/** Holds when a Job has a record, or had one. */
const hasRecord = `[object, oldObject].exists(job, job != null && has(job.metadata.annotations) && ${JSON.stringify(Object.values(recordKeys))}.exists(key, key in job.metadata.annotations))`

/** Requires the verb `record` on actions of those who write the record of a run, or change what it is a record of. */
export const runRecordValidator: Validator = {
  group: 'batch',
  resources: ['jobs'],
  condition: hasRecord,
  validate: () => [],
  authorize(object, old) {
    const changed = old === undefined ? firstRecordKey(object) : changedKey(object, old)
    if (changed === undefined) return []
    const { namespace } = object.metadata
    const reason = `metadata ${changed} records a run of an action, and only the server of actions records runs`
    const access: RequiredAccess = {
      verb: 'record',
      group: apiGroup,
      resource: 'actions',
      reason,
      ...(namespace === undefined ? {} : { namespace }),
    }
    return [access]
  },
}

function firstRecordKey({ metadata }: KubeObject): string | undefined {
  return Object.values(recordKeys).find((key) => metadata.annotations?.[key] !== undefined)
}

/** Returns the first key of a record that differs; for a recorded Job also the first of what identifies its action. */
function changedKey(object: KubeObject, old: KubeObject): string | undefined {
  const isRecorded = recordedUser(old) !== undefined
  const keys = new Set<string>(Object.values(recordKeys))
  if (isRecorded)
    for (const { metadata } of [object, old])
      for (const key of [...Object.keys(metadata.labels ?? {}), ...Object.keys(metadata.annotations ?? {})])
        if (key.startsWith(jobKeyPrefix) || key === jobTypeLabel) keys.add(key)
  return [...keys].find(
    (key) =>
      object.metadata.annotations?.[key] !== old.metadata.annotations?.[key] ||
      object.metadata.labels?.[key] !== old.metadata.labels?.[key],
  )
}
