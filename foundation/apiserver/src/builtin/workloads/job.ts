// Jobs and CronJobs.
import type { FieldError, JsonObject, KubeObject, LabelSelector, MutableJsonObject } from '@fairlead/kube'
import {
  dns1123Subdomain,
  fieldErrors,
  fieldPath,
  goQuote,
  jsonEqual,
  qualifiedName,
  selectorFrom,
} from '@fairlead/kube'
import type { Draft, Strategy, WriteContext } from '../../registry/strategy.ts'
import { immutable, invalidStruct, invalidWith, labelSelectorErrors, nonNegative, oneOf } from '../checks.ts'
import {
  draftAt,
  draftsAt,
  ensureAt,
  fill,
  fillText,
  flagAt,
  has,
  mapAt,
  numberAt,
  objectAt,
  objectsAt,
  stringAt,
} from '../fields.ts'
import { invalidInternal } from '../internal-form.ts'
import { internalPodTemplate } from '../pods/pod-spec-difference.ts'
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
  validate: (object) => [...generatedSelectorErrors(object), ...jobSpecErrors('spec', objectAt(object, 'spec'), true)],
  // The real server checks the spec twice here, and its causes repeat.
  validateUpdate: (object, old) => [
    ...generatedSelectorErrors(object),
    ...jobSpecErrors('spec', objectAt(object, 'spec'), true),
    ...jobSpecErrors('spec', objectAt(object, 'spec'), true),
    ...jobChangeErrors(objectAt(object, 'spec'), objectAt(old, 'spec')),
  ],
  validateStatusUpdate: jobStatusErrors,
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
  validate: (object) => cronJobErrors(object, true),
  validateUpdate: (object) => cronJobErrors(object),
  validateName(name, prefix) {
    const messages = dns1123Subdomain(prefix ? name.replace(/-$/, 'a') : name)
    return name.length > 52 ? [...messages, 'must be no more than 52 characters'] : messages
  },
}

function defaultJobSpec(spec: MutableJsonObject): void {
  defaultPodTemplate(spec)
  if (!has(spec, 'completions') && !has(spec, 'parallelism')) fill(spec, { completions: 1 })
  fill(spec, { backoffLimit: has(spec, 'backoffLimitPerIndex') ? 2147483647 : 6 })
  for (const rule of draftsAt(spec, 'podFailurePolicy', 'rules'))
    for (const pattern of draftsAt(rule, 'onPodConditions')) fillText(pattern, { status: 'True' })
  fill(spec, { parallelism: 1, completionMode: 'NonIndexed', suspend: false, manualSelector: false })
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

/** Who lets the server choose the selector may not set the labels that it selects by. */
function generatedSelectorErrors(object: KubeObject): FieldError[] {
  if (flagAt(object, 'spec', 'manualSelector')) return []
  const { uid = '', name = '' } = object.metadata
  const labels = mapAt(object, 'spec', 'template', 'metadata', 'labels')
  const expected = {
    'controller-uid': uid,
    'job-name': name,
    'batch.kubernetes.io/controller-uid': uid,
    'batch.kubernetes.io/job-name': name,
  }
  const errors = Object.entries(expected).flatMap(([key, value]) =>
    labels[key] === value
      ? []
      : [
          labels[key] === undefined
            ? fieldErrors.required(`spec.template.metadata.labels[${key}]`, `must be '${value}'`)
            : fieldErrors.invalid(`spec.template.metadata.labels[${key}]`, labels, `must be '${value}'`),
        ],
  )
  if (!selects(objectAt(object, 'spec', 'selector'), expected))
    errors.push(invalidStruct('spec.selector', objectAt(object, 'spec', 'selector'), '`selector` not auto-generated'))
  return errors
}

function jobSpecErrors(path: string, spec: JsonObject, withSelector: boolean): FieldError[] {
  const counts = [
    'parallelism',
    'completions',
    'activeDeadlineSeconds',
    'backoffLimit',
    'ttlSecondsAfterFinished',
    'backoffLimitPerIndex',
    'maxFailedIndexes',
  ]
  const errors = counts.flatMap((field) => nonNegative(`${path}.${field}`, numberAt(spec, field)))
  if (has(spec, 'maxFailedIndexes') && !has(spec, 'backoffLimitPerIndex'))
    errors.push(fieldErrors.required(`${path}.backoffLimitPerIndex`, 'when maxFailedIndexes is specified'))
  if (has(spec, 'managedBy')) errors.push(...managerErrors(`${path}.managedBy`, stringAt(spec, 'managedBy')))
  errors.push(
    ...completionErrors(path, spec),
    ...policyErrors(path, spec),
    ...podTemplateErrors(`${path}.template`, objectAt(spec, 'template')),
    ...restartErrors(path, stringAt(spec, 'template', 'spec', 'restartPolicy'), has(spec, 'podFailurePolicy')),
  )
  if (!withSelector) return errors
  const selector = has(spec, 'selector') ? objectAt(spec, 'selector') : undefined
  if (selector === undefined) errors.push(fieldErrors.required(`${path}.selector`))
  else errors.push(...labelSelectorErrors(`${path}.selector`, selector))
  const labels = mapAt(spec, 'template', 'metadata', 'labels')
  if (!selects(selector, labels)) {
    const shown = Object.keys(labels).length === 0 ? null : labels
    const detail = '`selector` does not match template `labels`'
    errors.push(fieldErrors.invalid(`${path}.template.metadata.labels`, shown, detail))
  }
  return errors
}

/** A selector that cannot be read has been told of already. */
function selects(selector: JsonObject | undefined, labels: Readonly<Record<string, string>>): boolean {
  try {
    return selectorFrom(selector as LabelSelector | undefined).matches(labels)
  } catch {
    return true
  }
}

function managerErrors(field: string, manager: string): FieldError[] {
  if (manager === '') return [fieldErrors.required(field)]
  const [, host = '', path = ''] = /^([^/]*)\/(.*)$/s.exec(manager) ?? []
  if (host === '' || path === '')
    return [fieldErrors.invalid(field, manager, 'must be a domain-prefixed path (such as "acme.io/foo")')]
  const errors = invalidWith(field, host, dns1123Subdomain(host))
  return manager.length > 63 ? [...errors, fieldErrors.tooLong(field, 63)] : errors
}

const softLimit = 100_000

function completionErrors(path: string, spec: JsonObject): FieldError[] {
  const mode = stringAt(spec, 'completionMode')
  const [completions, parallelism] = [numberAt(spec, 'completions'), numberAt(spec, 'parallelism') ?? 0]
  const [perIndex, failed] = [numberAt(spec, 'backoffLimitPerIndex'), numberAt(spec, 'maxFailedIndexes')]
  const errors: FieldError[] = []
  if (has(spec, 'completionMode')) errors.push(...oneOf(`${path}.completionMode`, mode, ['NonIndexed', 'Indexed']))
  if (mode === 'Indexed') {
    if (completions === undefined)
      errors.push(fieldErrors.required(`${path}.completions`, 'when completion mode is Indexed'))
    if (parallelism > softLimit)
      errors.push(
        fieldErrors.invalid(
          `${path}.parallelism`,
          parallelism,
          `must be less than or equal to ${softLimit} when completion mode is Indexed`,
        ),
      )
    if (completions !== undefined && failed !== undefined && failed > completions)
      errors.push(fieldErrors.invalid(`${path}.maxFailedIndexes`, failed, 'must be less than or equal to completions'))
    if (failed !== undefined && failed > softLimit)
      errors.push(fieldErrors.invalid(`${path}.maxFailedIndexes`, failed, `must be less than or equal to ${softLimit}`))
    if (completions !== undefined && completions > softLimit && perIndex !== undefined)
      errors.push(...manyCompletionErrors(path, parallelism, failed))
  } else if (mode === '' || mode === 'NonIndexed') {
    for (const [field, value] of Object.entries({ backoffLimitPerIndex: perIndex, maxFailedIndexes: failed }))
      if (value !== undefined)
        errors.push(fieldErrors.invalid(`${path}.${field}`, value, 'requires indexed completion mode'))
  }
  return errors
}

function manyCompletionErrors(path: string, parallelism: number, failed: number | undefined): FieldError[] {
  const atMost =
    'must be less than or equal to 10000 when completions are above 100000 and used with backoff limit per index'
  return [
    ...(failed === undefined
      ? [fieldErrors.required(`${path}.maxFailedIndexes`, `must be specified when completions is above ${softLimit}`)]
      : []),
    ...(parallelism > 10_000 ? [fieldErrors.invalid(`${path}.parallelism`, parallelism, atMost)] : []),
    ...(failed !== undefined && failed > 10_000
      ? [fieldErrors.invalid(`${path}.maxFailedIndexes`, failed, atMost)]
      : []),
  ]
}

function policyErrors(path: string, spec: JsonObject): FieldError[] {
  const errors: FieldError[] = []
  const containers = ['containers', 'initContainers'].flatMap((list) =>
    objectsAt(spec, 'template', 'spec', list).map((container) => stringAt(container, 'name')),
  )
  if (has(spec, 'podFailurePolicy')) {
    const rules = objectsAt(spec, 'podFailurePolicy', 'rules')
    const field = `${path}.podFailurePolicy.rules`
    if (rules.length > 20) errors.push(fieldErrors.tooMany(field, rules.length, 20))
    for (const [index, rule] of rules.entries())
      errors.push(...failureRuleErrors(fieldPath(field, index), rule, has(spec, 'backoffLimitPerIndex'), containers))
  }
  if (has(spec, 'successPolicy')) {
    const field = `${path}.successPolicy`
    const policy = objectAt(spec, 'successPolicy')
    if (stringAt(spec, 'completionMode') !== 'Indexed')
      errors.push(
        invalidInternal(field, 'k8s.io.api.batch.v1.SuccessPolicy', policy, 'requires indexed completion mode'),
      )
    else errors.push(...successErrors(field, policy, numberAt(spec, 'completions') ?? 0))
  }
  if (has(spec, 'podReplacementPolicy')) {
    const choices = has(spec, 'podFailurePolicy') ? ['Failed'] : ['Failed', 'TerminatingOrFailed']
    errors.push(...oneOf(`${path}.podReplacementPolicy`, stringAt(spec, 'podReplacementPolicy'), choices))
  }
  return errors
}

const actions = ['Count', 'FailIndex', 'FailJob', 'Ignore']

function failureRuleErrors(
  path: string,
  rule: JsonObject,
  hasIndexLimit: boolean,
  containers: readonly string[],
): FieldError[] {
  const action = stringAt(rule, 'action')
  const conditions = objectsAt(rule, 'onPodConditions')
  const errors: FieldError[] = []
  if (action === '') errors.push(fieldErrors.required(`${path}.action`, `valid values: ${quotedList(actions)}`))
  else if (action === 'FailIndex' && !hasIndexLimit)
    errors.push(fieldErrors.invalid(`${path}.action`, action, 'requires the backoffLimitPerIndex to be set'))
  else errors.push(...oneOf(`${path}.action`, action, actions))
  if (has(rule, 'onExitCodes'))
    errors.push(...exitCodeErrors(`${path}.onExitCodes`, objectAt(rule, 'onExitCodes'), containers))
  if (conditions.length > 20) errors.push(fieldErrors.tooMany(`${path}.onPodConditions`, conditions.length, 20))
  for (const [index, pattern] of conditions.entries()) {
    const place = fieldPath(path, 'onPodConditions', index)
    const type = stringAt(pattern, 'type')
    errors.push(
      ...invalidWith(`${place}.type`, type, qualifiedName(type)),
      ...oneOf(`${place}.status`, stringAt(pattern, 'status'), ['False', 'True', 'Unknown'], 'required'),
    )
  }
  if (has(rule, 'onExitCodes') && conditions.length > 0)
    errors.push(
      fieldErrors.invalid(path, undefined, 'specifying both OnExitCodes and OnPodConditions is not supported'),
    )
  if (!has(rule, 'onExitCodes') && conditions.length === 0)
    errors.push(fieldErrors.invalid(path, undefined, 'specifying one of OnExitCodes and OnPodConditions is required'))
  return errors
}

function exitCodeErrors(path: string, requirement: JsonObject, containers: readonly string[]): FieldError[] {
  const operator = stringAt(requirement, 'operator')
  const name = stringAt(requirement, 'containerName')
  const values = (requirement['values'] ?? []) as readonly number[]
  const errors: FieldError[] =
    operator === ''
      ? [fieldErrors.required(`${path}.operator`, `valid values: ${quotedList(['In', 'NotIn'])}`)]
      : oneOf(`${path}.operator`, operator, ['In', 'NotIn'])
  if (has(requirement, 'containerName') && !containers.includes(name))
    errors.push(
      fieldErrors.invalid(
        `${path}.containerName`,
        name,
        'must be one of the container or initContainer names in the pod template',
      ),
    )
  if (values.length === 0)
    errors.push(fieldErrors.invalid(`${path}.values`, requirement['values'] ?? null, 'at least one value is required'))
  if (values.length > 255) errors.push(fieldErrors.tooMany(`${path}.values`, values.length, 255))
  for (const [index, value] of values.entries()) {
    const place = fieldPath(path, 'values', index)
    if (operator === 'In' && value === 0)
      errors.push(fieldErrors.invalid(place, value, 'must not be 0 for the In operator'))
    if (values.indexOf(value) < index) errors.push(fieldErrors.duplicate(place, value))
  }
  if (values.some((value, index) => index > 0 && (values[index - 1] ?? 0) > value))
    errors.push(fieldErrors.invalid(`${path}.values`, values, 'must be ordered'))
  return errors
}

function successErrors(path: string, policy: JsonObject, completions: number): FieldError[] {
  const rules = objectsAt(policy, 'rules')
  const field = `${path}.rules`
  if (rules.length === 0)
    return [fieldErrors.required(field, 'at least one rules must be specified when the successPolicy is specified')]
  const errors = rules.length > 20 ? [fieldErrors.tooMany(field, rules.length, 20)] : []
  for (const [index, rule] of rules.entries()) {
    const place = fieldPath(field, index)
    const count = numberAt(rule, 'succeededCount')
    if (count === undefined && !has(rule, 'succeededIndexes'))
      errors.push(fieldErrors.required(place, 'at least one of succeededCount or succeededIndexes must be specified'))
    if (count === undefined) continue
    errors.push(...nonNegative(`${place}.succeededCount`, count))
    if (count > completions)
      errors.push(
        fieldErrors.invalid(
          `${place}.succeededCount`,
          count,
          `must be less than or equal to ${completions} (the number of specified completions)`,
        ),
      )
  }
  return errors
}

function quotedList(values: readonly string[]): string {
  return `[${values.map(goQuote).join(' ')}]`
}

/** A Job's pods end; `Always` is what a missing policy was defaulted to. */
function restartErrors(path: string, policy: string, hasFailurePolicy: boolean): FieldError[] {
  const field = `${path}.template.spec.restartPolicy`
  if (policy === 'Always') return [fieldErrors.required(field, 'valid values: "OnFailure", "Never"')]
  if (policy !== 'OnFailure' && policy !== 'Never')
    return [fieldErrors.notSupported(field, policy, ['OnFailure', 'Never'])]
  return hasFailurePolicy && policy !== 'Never'
    ? [fieldErrors.invalid(field, policy, 'only "Never" is supported when podFailurePolicy is specified')]
    : []
}

function jobChangeErrors(spec: JsonObject, old: JsonObject): FieldError[] {
  return [
    ...completionChangeErrors(spec, old),
    ...immutable('spec.selector', spec['selector'], old['selector']),
    ...templateChangeErrors(spec, old),
    ...['completionMode', 'podFailurePolicy', 'backoffLimitPerIndex', 'managedBy', 'successPolicy'].flatMap((field) =>
      immutable(`spec.${field}`, spec[field], old[field]),
    ),
  ]
}

/** An indexed Job may grow and shrink where as many may run at once as there are to complete. */
function completionChangeErrors(spec: JsonObject, old: JsonObject): FieldError[] {
  const [completions, before] = [numberAt(spec, 'completions'), numberAt(old, 'completions')]
  if (stringAt(spec, 'completionMode') !== 'Indexed')
    return immutable('spec.completions', spec['completions'], old['completions'])
  if (completions === before || completions === undefined) return []
  return completions === numberAt(spec, 'parallelism')
    ? []
    : [fieldErrors.invalid('spec.completions', completions, 'can only be modified in tandem with spec.parallelism')]
}

/** A Job that has not begun may still be told where its pods run. */
function templateChangeErrors(spec: JsonObject, old: JsonObject): FieldError[] {
  const { template } = spec
  if (!flagAt(old, 'suspend'))
    return jsonEqual(template ?? null, old['template'] ?? null) ? [] : [invalidTemplate(objectAt(spec, 'template'))]
  const fixed = (value: JsonObject): JsonObject => {
    const pod = objectAt(value, 'template', 'spec')
    const {
      nodeSelector: _selector,
      tolerations: _tolerations,
      schedulingGates: _gates,
      affinity: _affinity,
      ...rest
    } = pod
    const { nodeAffinity: _nodes, ...affinity } = objectAt(pod, 'affinity')
    return { ...rest, affinity }
  }
  return jsonEqual(fixed(spec), fixed(old)) ? [] : [invalidTemplate(objectAt(spec, 'template'))]
}

function invalidTemplate(template: JsonObject): FieldError {
  return invalidStruct('spec.template', internalPodTemplate(template), 'field is immutable')
}

function jobStatusErrors(object: KubeObject, old: KubeObject): FieldError[] {
  const [status, before] = [objectAt(object, 'status'), objectAt(old, 'status')]
  const is = (of: JsonObject, type: string): boolean =>
    objectsAt(of, 'conditions').some((condition) => condition['type'] === type && condition['status'] === 'True')
  const errors = ['active', 'succeeded', 'failed', 'ready', 'terminating'].flatMap((field) =>
    nonNegative(`status.${field}`, numberAt(status, field)),
  )
  const conditions = (detail: string): number =>
    errors.push(fieldErrors.invalid('status.conditions', undefined, detail))
  const [complete, failed] = [is(status, 'Complete'), is(status, 'Failed')]
  if (complete && failed) conditions('cannot set Complete=True and Failed=true conditions')
  if (complete && is(status, 'FailureTarget')) conditions('cannot set Complete=True and FailureTarget=true conditions')
  if (has(status, 'completionTime') && !complete)
    errors.push(
      fieldErrors.invalid(
        'status.completionTime',
        status['completionTime'],
        'cannot set completionTime when there is no Complete=True condition',
      ),
    )
  if (!has(status, 'completionTime') && complete)
    errors.push(fieldErrors.required('status.completionTime', 'completionTime is required for Complete jobs'))
  if (has(status, 'startTime') && has(status, 'completionTime')) {
    if (Date.parse(stringAt(status, 'completionTime')) < Date.parse(stringAt(status, 'startTime')))
      errors.push(
        fieldErrors.invalid('status.completionTime', status['completionTime'], 'must be equal to or after `startTime`'),
      )
  }
  if (failed && !is(status, 'FailureTarget'))
    conditions('cannot set Failed=True condition without the FailureTarget=true condition')
  if (complete && !is(status, 'SuccessCriteriaMet'))
    conditions('cannot set Complete=True condition without the SuccessCriteriaMet=true condition')
  const active = numberAt(status, 'active') ?? 0
  if (active > 0 && (complete || failed))
    errors.push(fieldErrors.invalid('status.active', active, 'active>0 is invalid for finished job'))
  if (!has(status, 'startTime') && (complete || failed))
    errors.push(fieldErrors.required('status.startTime', 'startTime is required for finished job'))
  if (has(status, 'ready') && (numberAt(status, 'ready') ?? 0) > active)
    errors.push(
      fieldErrors.invalid('status.ready', numberAt(status, 'ready'), 'cannot set more ready pods than active'),
    )
  for (const type of ['Failed', 'Complete', 'FailureTarget'])
    if (is(before, type) && !is(status, type)) conditions(`cannot disable the terminal ${type}=True condition`)
  const isIndexed = stringAt(object, 'spec', 'completionMode') === 'Indexed'
  for (const counter of isIndexed ? ['failed'] : ['failed', 'succeeded']) {
    const [now, then] = [numberAt(status, counter) ?? 0, numberAt(before, counter) ?? 0]
    if (now < then) errors.push(fieldErrors.invalid(`status.${counter}`, now, `cannot decrease the ${counter} counter`))
  }
  return errors
}

/** A name of the IANA data base, which the platform knows. */
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
  try {
    new Intl.DateTimeFormat('en', { timeZone: zone })
    return []
  } catch {
    return [fieldErrors.invalid(field, zone, `unknown time zone ${zone}`)]
  }
}

/** Jobs of a CronJob get selectors of their own. */
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

function cronJobErrors(object: KubeObject, isCreation = false): FieldError[] {
  const spec = objectAt(object, 'spec')
  const schedule = stringAt(spec, 'schedule')
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
  ]
}
