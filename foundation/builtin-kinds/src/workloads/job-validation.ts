// Validation of the spec of a Job (pkg/apis/batch/validation, v1.35).
import type { FieldError, JsonObject, KubeObject, LabelSelector } from '@fairlead/kube'
import { dns1123Subdomain, fieldErrors, selectorFrom } from '@fairlead/kube'
import { invalidStruct, invalidWith, labelSelectorErrors, nonNegative, oneOf } from '../checks.ts'
import { flagAt, has, mapAt, numberAt, objectAt, stringAt } from '../fields.ts'
import { podTemplateErrors } from '../pods/pod-template.ts'
import { policyErrors } from './job-policies.ts'

/** Checks that a Job without manualSelector has the generated selector and its labels. */
export function generatedSelectorErrors(object: KubeObject): FieldError[] {
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

/** Validates the spec of a Job, or of the job template of a CronJob, which has no selector yet. */
export function jobSpecErrors(path: string, spec: JsonObject, withSelector: boolean): FieldError[] {
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

/** Reports whether a selector matches; an invalid one is reported elsewhere. */
function selects(selector: JsonObject | undefined, labels: Readonly<Record<string, string>>): boolean {
  try {
    return selectorFrom(selector as LabelSelector | undefined).matches(labels)
  } catch {
    return true
  }
}

const urlPath = /^[A-Za-z0-9/\-._~%!$&'()*+,;=:]+$/
const urlPathDetail = String.raw`regex used for validation is '[A-Za-z0-9/\-._~%!$&'()*+,;=:]+'`

function managerErrors(field: string, manager: string): FieldError[] {
  if (manager === '') return [fieldErrors.required(field)]
  const [, host = '', path = ''] = /^([^/]*)\/(.*)$/s.exec(manager) ?? []
  const tooLong = manager.length > 63 ? [fieldErrors.tooLong(field, 63)] : []
  if (host === '' || path === '')
    return [fieldErrors.invalid(field, manager, 'must be a domain-prefixed path (such as "acme.io/foo")'), ...tooLong]
  const errors = [
    ...invalidWith(field, host, dns1123Subdomain(host)),
    ...(urlPath.test(path) ? [] : [fieldErrors.invalid(field, path, `Invalid path (${urlPathDetail})`)]),
  ]
  return [...errors, ...tooLong]
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

/** Validates the restart policy: a Job's pods terminate, and `Always` is the default of a missing policy. */
function restartErrors(path: string, policy: string, hasFailurePolicy: boolean): FieldError[] {
  const field = `${path}.template.spec.restartPolicy`
  if (policy === 'Always') return [fieldErrors.required(field, 'valid values: "OnFailure", "Never"')]
  if (policy !== 'OnFailure' && policy !== 'Never')
    return [fieldErrors.notSupported(field, policy, ['OnFailure', 'Never'])]
  return hasFailurePolicy && policy !== 'Never'
    ? [fieldErrors.invalid(field, policy, 'only "Never" is supported when podFailurePolicy is specified')]
    : []
}
