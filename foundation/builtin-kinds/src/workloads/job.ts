// Jobs and CronJobs.
import type { MutableJsonObject } from '@fairlead/kube'
import { dns1123Subdomain } from '@fairlead/kube'
import type { Draft, Strategy, WriteContext } from '../definition/strategy.ts'
import { draftAt, draftsAt, ensureAt, fill, fillStrings, flagAt, has, mapAt, objectAt, stringAt } from '../fields.ts'
import { hostNameWarnings, podWarnings } from '../pods/pod-warnings.ts'
import { defaultPodTemplate } from '../pods/pod-spec-defaults.ts'
import { cronJobErrors } from './cron-job-validation.ts'
import { jobChangeErrors, jobStatusErrors } from './job-changes.ts'
import { generatedSelectorErrors, jobSpecErrors } from './job-validation.ts'

/** The strategy of Jobs. */
export const jobStrategy: Strategy = {
  warnings: (object, old) => [
    ...hostNameWarnings(object, old),
    ...podWarnings(object, old, ['spec', 'template', 'spec']),
  ],
  tracksGeneration: true,
  defaultPropagation: 'Orphan',
  applyDefaults(object) {
    defaultJobSpec(ensureAt(object, 'spec'))
    const labels = draftAt(object, 'spec', 'template', 'metadata', 'labels')
    // As in the real server, both are one map, so that the labels that are generated below are in both.
    if (labels !== undefined && !has(object.metadata, 'labels')) object.metadata['labels'] = labels
  },
  prepareForCreate(object, context) {
    if (!flagAt(object, 'spec', 'manualSelector')) generateSelector(object, context)
  },
  validate: (object) => [...generatedSelectorErrors(object), ...jobSpecErrors('spec', objectAt(object, 'spec'), true)],
  // The real server validates the spec twice here, so its causes repeat.
  validateUpdate: (object, old) => [
    ...generatedSelectorErrors(object),
    ...jobSpecErrors('spec', objectAt(object, 'spec'), true),
    ...jobSpecErrors('spec', objectAt(object, 'spec'), true),
    ...jobChangeErrors(objectAt(object, 'spec'), objectAt(old, 'spec')),
  ],
  validateStatusUpdate: jobStatusErrors,
}

/** The strategy of CronJobs. */
export const cronJobStrategy: Strategy = {
  warnings: (object, old) => [
    ...hostNameWarnings(object, old),
    ...podWarnings(object, old, ['spec', 'jobTemplate', 'spec', 'template', 'spec']),
  ],
  tracksGeneration: true,
  applyDefaults(object) {
    const spec = ensureAt(object, 'spec')
    fillStrings(spec, { concurrencyPolicy: 'Allow' })
    fill(spec, { suspend: false, successfulJobsHistoryLimit: 3, failedJobsHistoryLimit: 1 })
    defaultPodTemplate(draftAt(spec, 'jobTemplate', 'spec'))
  },
  validate: (object) => cronJobErrors(object, true),
  validateUpdate: (object) => cronJobErrors(object),
  validateName(name, prefix) {
    return dns1123Subdomain(prefix ? name.replace(/-$/, 'a') : name)
  },
}

function defaultJobSpec(spec: MutableJsonObject): void {
  defaultPodTemplate(spec)
  if (!has(spec, 'completions') && !has(spec, 'parallelism')) fill(spec, { completions: 1 })
  fill(spec, { backoffLimit: has(spec, 'backoffLimitPerIndex') ? 2147483647 : 6 })
  for (const rule of draftsAt(spec, 'podFailurePolicy', 'rules'))
    for (const pattern of draftsAt(rule, 'onPodConditions')) fillStrings(pattern, { status: 'True' })
  fill(spec, { parallelism: 1, completionMode: 'NonIndexed', suspend: false, manualSelector: false })
  fill(spec, { podReplacementPolicy: has(spec, 'podFailurePolicy') ? 'Failed' : 'TerminatingOrFailed' })
}

/** Generates the selector of a Job by its uid, with the old and the new label names. */
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
  const templateLabels = ensureAt(object, 'spec', 'template', 'metadata', 'labels')
  const areShared = object.metadata['labels'] === templateLabels
  fill(templateLabels, labels)
  if (areShared || !has(object.metadata, 'labels'))
    object.metadata['labels'] = { ...mapAt(object, 'spec', 'template', 'metadata', 'labels') }
  ensureAt(object, 'spec', 'selector', 'matchLabels')['batch.kubernetes.io/controller-uid'] = uid
}
