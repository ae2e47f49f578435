// Validation of CronJobs (pkg/apis/batch/validation, v1.35).
import type { FieldError, JsonObject, KubeObject } from '@fairlead/kube'
import { fieldErrors } from '@fairlead/kube'
import { invalidStruct, invalidWith, nonNegative, oneOf } from '../checks.ts'
import { flagAt, has, numberAt, objectAt, stringAt } from '../fields.ts'
import { cronErrors } from './cron-schedule.ts'
import { jobSpecErrors } from './job-validation.ts'

/** Validates a time zone: it must be in the IANA database of the platform. */
function timeZoneErrors(field: string, zone: string): FieldError[] {
  if (zone === '') return [fieldErrors.invalid(field, zone, 'timeZone must be nil or non-empty string')]
  if (zone.toLowerCase() === 'local')
    return [
      fieldErrors.invalid(
        field,
        zone,
        'timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones',
      ),
    ]
  if (zone.includes('..') || /^[/\\]/.test(zone))
    return [fieldErrors.invalid(field, zone, 'time: invalid location name')]
  try {
    new Intl.DateTimeFormat('en', { timeZone: zone })
    return []
  } catch {
    return [fieldErrors.invalid(field, zone, `unknown time zone ${zone}`)]
  }
}

/** Checks that the job template has no selector, which the server generates. */
function jobTemplateErrors(path: string, spec: JsonObject): FieldError[] {
  const errors = jobSpecErrors(path, spec, false)
  const selector = has(spec, 'selector')
    ? [invalidStruct(`${path}.selector`, objectAt(spec, 'selector'), '`selector` will be auto-generated')]
    : []
  const manual = flagAt(spec, 'manualSelector')
    ? [fieldErrors.notSupported(`${path}.manualSelector`, true, ['nil', 'false'])]
    : []
  return [...errors, ...selector, ...manual]
}

/** Validates a CronJob. */
export function cronJobErrors(object: KubeObject, isCreation = false): FieldError[] {
  const spec = objectAt(object, 'spec')
  const schedule = stringAt(spec, 'schedule')
  const { name = '' } = object.metadata
  return [
    ...(schedule === ''
      ? [fieldErrors.required('spec.schedule')]
      : [
          ...invalidWith('spec.schedule', schedule, cronErrors(schedule)),
          ...(isCreation && schedule.includes('TZ')
            ? invalidWith('spec.schedule', schedule, [
                'cannot use TZ or CRON_TZ in schedule, use timeZone field instead',
              ])
            : []),
        ]),
    ...nonNegative('spec.startingDeadlineSeconds', numberAt(spec, 'startingDeadlineSeconds')),
    ...(has(spec, 'timeZone') ? timeZoneErrors('spec.timeZone', stringAt(spec, 'timeZone')) : []),
    ...oneOf('spec.concurrencyPolicy', stringAt(spec, 'concurrencyPolicy'), ['Allow', 'Forbid', 'Replace'], 'required'),
    ...jobTemplateErrors('spec.jobTemplate.spec', objectAt(spec, 'jobTemplate', 'spec')),
    ...nonNegative('spec.successfulJobsHistoryLimit', numberAt(spec, 'successfulJobsHistoryLimit')),
    ...nonNegative('spec.failedJobsHistoryLimit', numberAt(spec, 'failedJobsHistoryLimit')),
    // Jobs append eleven characters.
    ...(isCreation && name.length > 52
      ? [fieldErrors.invalid('metadata.name', name, 'must be no more than 52 characters')]
      : []),
  ]
}
