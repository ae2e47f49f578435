// Jobs and CronJobs.
import type { FieldError, JsonObject, KubeObject, MutableJsonObject } from '@fairlead/kube'
import { dns1123Subdomain, fieldErrors } from '@fairlead/kube'
import type { Draft, Strategy, WriteContext } from '../../registry/strategy.ts'
import { immutable, invalidWith, labelSelectorErrors, nonNegative, oneOf } from '../checks.ts'
import { draftAt, ensureAt, fill, fillText, flagAt, has, mapAt, numberAt, objectAt, stringAt } from '../fields.ts'
import { podWarnings } from '../pods/pod-warnings.ts'
import { defaultPodTemplate } from '../pods/pod-spec-defaults.ts'
import { podTemplateErrors } from '../pods/pod-template.ts'
import { cronErrors } from './cron-schedule.ts'

/** Behaviour of Jobs. */
export const jobStrategy: Strategy = {
  warnings: (object, old) => podWarnings(object, old, ['spec', 'template', 'spec']),
  tracksGeneration: true,
  defaultPropagation: 'Orphan',
  applyDefaults(object) {
    defaultJobSpec(ensureAt(object, 'spec'))
    const labels = draftAt(object, 'spec', 'template', 'metadata', 'labels')
    if (labels !== undefined && !has(object.metadata, 'labels')) object.metadata['labels'] = { ...labels }
  },
  prepareForCreate(object, context) {
    if (!flagAt(object, 'spec', 'manualSelector')) generateSelector(object, context)
  },
  validate: (object) => jobSpecErrors('spec', objectAt(object, 'spec'), true),
  validateUpdate: (object, old) => [
    ...jobSpecErrors('spec', objectAt(object, 'spec'), true),
    ...jobChangeErrors(objectAt(object, 'spec'), objectAt(old, 'spec')),
  ],
  validateStatusUpdate: (object) =>
    ['active', 'succeeded', 'failed'].flatMap((field) =>
      nonNegative(`status.${field}`, numberAt(object, 'status', field)),
    ),
}

/** Behaviour of CronJobs. */
export const cronJobStrategy: Strategy = {
  warnings: (object, old) => podWarnings(object, old, ['spec', 'jobTemplate', 'spec', 'template', 'spec']),
  tracksGeneration: true,
  applyDefaults(object) {
    const spec = ensureAt(object, 'spec')
    fillText(spec, { concurrencyPolicy: 'Allow' })
    fill(spec, { suspend: false, successfulJobsHistoryLimit: 3, failedJobsHistoryLimit: 1 })
    defaultPodTemplate(draftAt(spec, 'jobTemplate', 'spec'))
  },
  validate: (object) => cronJobErrors(object),
  validateUpdate: (object) => cronJobErrors(object),
  validateName(name, prefix) {
    const messages = dns1123Subdomain(prefix ? name.replace(/-$/, 'a') : name)
    return name.length > 52 ? [...messages, 'must be no more than 52 characters'] : messages
  },
}

function defaultJobSpec(spec: MutableJsonObject): void {
  defaultPodTemplate(spec)
  if (!has(spec, 'completions') && !has(spec, 'parallelism')) fill(spec, { completions: 1 })
  fill(spec, { parallelism: 1, backoffLimit: 6, completionMode: 'NonIndexed', suspend: false, manualSelector: false })
  fill(spec, { podReplacementPolicy: has(spec, 'podFailurePolicy') ? 'Failed' : 'TerminatingOrFailed' })
}

/** Jobs select their pods by their own uid, under the old and the new label names. */
function generateSelector(object: Draft, context: WriteContext): void {
  const uid = stringAt(object, 'metadata', 'uid') || context.newUid()
  object.metadata['uid'] ??= uid
  const name = stringAt(object, 'metadata', 'name')
  const labels = {
    'controller-uid': uid,
    'batch.kubernetes.io/controller-uid': uid,
    'job-name': name,
    'batch.kubernetes.io/job-name': name,
  }
  fill(ensureAt(object, 'spec', 'template', 'metadata', 'labels'), labels)
  if (!has(object.metadata, 'labels'))
    object.metadata['labels'] = { ...mapAt(object, 'spec', 'template', 'metadata', 'labels') }
  ensureAt(object, 'spec', 'selector', 'matchLabels')['batch.kubernetes.io/controller-uid'] = uid
}

function jobSpecErrors(path: string, spec: JsonObject, withSelector: boolean): FieldError[] {
  const counts = ['parallelism', 'completions', 'activeDeadlineSeconds', 'backoffLimit', 'ttlSecondsAfterFinished']
  const errors = counts.flatMap((field) => nonNegative(`${path}.${field}`, numberAt(spec, field)))
  if (has(spec, 'completionMode'))
    errors.push(...oneOf(`${path}.completionMode`, stringAt(spec, 'completionMode'), ['NonIndexed', 'Indexed']))
  if (stringAt(spec, 'completionMode') === 'Indexed' && !has(spec, 'completions')) {
    errors.push(fieldErrors.required(`${path}.completions`, 'when completion mode is Indexed'))
  }
  errors.push(
    ...podTemplateErrors(`${path}.template`, objectAt(spec, 'template')),
    ...restartErrors(path, stringAt(spec, 'template', 'spec', 'restartPolicy')),
  )
  if (withSelector) {
    if (!has(spec, 'selector')) errors.push(fieldErrors.required(`${path}.selector`))
    else errors.push(...labelSelectorErrors(`${path}.selector`, objectAt(spec, 'selector')))
  }
  return errors
}

/** A Job's pods end; `Always` is what a missing policy was defaulted to. */
function restartErrors(path: string, policy: string): FieldError[] {
  const field = `${path}.template.spec.restartPolicy`
  if (policy === 'Always') return [fieldErrors.required(field, 'valid values: "OnFailure", "Never"')]
  return policy === 'OnFailure' || policy === 'Never'
    ? []
    : [fieldErrors.notSupported(field, policy, ['OnFailure', 'Never'])]
}

function jobChangeErrors(spec: JsonObject, old: JsonObject): FieldError[] {
  return [
    ...(stringAt(spec, 'completionMode') === 'Indexed'
      ? []
      : immutable('spec.completions', spec['completions'], old['completions'])),
    ...immutable('spec.selector', spec['selector'], old['selector']),
    ...(flagAt(old, 'suspend') ? [] : immutable('spec.template', spec['template'], old['template'])),
    ...['completionMode', 'podFailurePolicy', 'backoffLimitPerIndex', 'managedBy', 'successPolicy'].flatMap((field) =>
      immutable(`spec.${field}`, spec[field], old[field]),
    ),
  ]
}

function cronJobErrors(object: KubeObject): FieldError[] {
  const spec = objectAt(object, 'spec')
  const schedule = stringAt(spec, 'schedule')
  return [
    ...(schedule === ''
      ? [fieldErrors.required('spec.schedule')]
      : invalidWith('spec.schedule', schedule, cronErrors(schedule))),
    ...nonNegative('spec.startingDeadlineSeconds', numberAt(spec, 'startingDeadlineSeconds')),
    ...oneOf('spec.concurrencyPolicy', stringAt(spec, 'concurrencyPolicy'), ['Allow', 'Forbid', 'Replace'], 'required'),
    ...jobSpecErrors('spec.jobTemplate.spec', objectAt(spec, 'jobTemplate', 'spec'), false),
    ...nonNegative('spec.successfulJobsHistoryLimit', numberAt(spec, 'successfulJobsHistoryLimit')),
    ...nonNegative('spec.failedJobsHistoryLimit', numberAt(spec, 'failedJobsHistoryLimit')),
  ]
}
