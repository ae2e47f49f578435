// Validation of workload templates, shared by Deployment, ReplicaSet, StatefulSet, DaemonSet and Job.
import type { FieldError, JsonObject, LabelSelector } from '@fairlead/kube'
import { fieldErrors, qualifiedName, selectorFrom } from '@fairlead/kube'
import { invalidStruct, invalidWith, isEmptySelector, labelErrors, labelSelectorErrors } from '../checks.ts'
import { has, mapAt, objectAt, objectsAt, stringAt } from '../fields.ts'
import type { Strategy } from '../definition/strategy.ts'
import { defaultPodTemplate } from './pod-spec-defaults.ts'
import { podWarnings } from './pod-warnings.ts'
import { podSpecErrors } from './pod-spec-validation.ts'

/** Validates a PodTemplateSpec: its labels, then its spec. */
export function podTemplateErrors(path: string, template: JsonObject): FieldError[] {
  return [
    ...templateMetadataErrors(path, template),
    ...podSpecErrors(`${path}.spec`, objectAt(template, 'spec')),
    ...(objectsAt(template, 'spec', 'ephemeralContainers').length > 0
      ? [fieldErrors.forbidden(`${path}.spec.ephemeralContainers`, 'ephemeral containers not allowed in pod template')]
      : []),
  ]
}

function templateMetadataErrors(path: string, template: JsonObject): FieldError[] {
  return [
    ...labelErrors(`${path}.labels`, mapAt(template, 'metadata', 'labels')),
    ...Object.keys(mapAt(template, 'metadata', 'annotations')).flatMap((key) =>
      invalidWith(`${path}.annotations`, key, qualifiedName(key.toLowerCase())),
    ),
  ]
}

/** The names of workloads in two of their messages. */
const ownerNames = {
  deployment: 'ReplicaSet',
  daemonset: 'DaemonSet',
  statefulset: 'StatefulSet',
} as const

/**
 * Validates `spec.selector` against `spec.template`. `owner` names the kind in messages (`deployment`, `daemonset` …).
 * Pods of such workloads always restart.
 */
export function selectedTemplateErrors(
  spec: JsonObject,
  owner: keyof typeof ownerNames,
  template: JsonObject = objectAt(spec, 'template'),
): FieldError[] {
  const errors: FieldError[] = []
  const selector = objectAt(spec, 'selector')
  if (!has(spec, 'selector')) {
    if (owner !== 'daemonset') errors.push(fieldErrors.required('spec.selector'))
  } else {
    errors.push(...labelSelectorErrors('spec.selector', selector))
    if (isEmptySelector(selector))
      errors.push(fieldErrors.invalid('spec.selector', selector, `empty selector is invalid for ${owner}`))
  }
  return [
    ...errors,
    ...matchingTemplateErrors('spec.template', template, has(spec, 'selector') ? selector : undefined, owner),
  ]
}

/** Validates that the selector matches the template's labels; a missing one never does. */
function matchingTemplateErrors(
  path: string,
  template: JsonObject,
  selector: JsonObject | undefined,
  owner: keyof typeof ownerNames,
): FieldError[] {
  const labels = mapAt(template, 'metadata', 'labels')
  const errors: FieldError[] = []
  const parsed = parseSelector(selector)
  if (parsed === undefined && owner !== 'daemonset') {
    const detail = owner === 'statefulset' ? '' : 'invalid label selector'
    return [invalidStruct('spec.selector', inOrder(selector ?? {}), detail)]
  }
  if (
    parsed !== undefined &&
    (!parsed.isEmpty || (owner === 'daemonset' && selector === undefined)) &&
    !parsed.matches(labels)
  ) {
    errors.push(
      fieldErrors.invalid(
        `${path}.metadata.labels`,
        Object.keys(labels).length === 0 ? null : labels,
        '`selector` does not match template `labels`',
      ),
    )
  }
  errors.push(...podTemplateErrors(path, template))
  // Like the real server, which checks the metadata of these templates twice.
  if (owner === 'statefulset') errors.push(...templateMetadataErrors(path, template))
  const restartPolicy = stringAt(template, 'spec', 'restartPolicy')
  if (restartPolicy !== 'Always')
    errors.push(fieldErrors.notSupported(`${path}.spec.restartPolicy`, restartPolicy, ['Always']))
  if (has(objectAt(template, 'spec'), 'activeDeadlineSeconds')) {
    errors.push(
      fieldErrors.forbidden(
        `${path}.spec.activeDeadlineSeconds`,
        `activeDeadlineSeconds in ${ownerNames[owner]} is not Supported`,
      ),
    )
  }
  return errors
}

/** Returns a selector with its fields in the order of Go's struct. */
function inOrder(selector: JsonObject): JsonObject {
  const { matchLabels, ...rest } = selector
  return matchLabels === undefined ? rest : { matchLabels, ...rest }
}

function parseSelector(selector: JsonObject | undefined): ReturnType<typeof selectorFrom> | undefined {
  try {
    return selectorFrom(selector as LabelSelector | undefined)
  } catch {
    return undefined
  }
}

/** The strategy of PodTemplates. */
export const podTemplateStrategy: Strategy = {
  returnsDeletedObject: true,
  tracksGeneration: true,
  applyDefaults: (object) => defaultPodTemplate(object),
  warnings: (object, old) => podWarnings(object, old, ['template', 'spec']),
  validate: (object) => podTemplateErrors('template', objectAt(object, 'template')),
  validateUpdate: (object) => podTemplateErrors('template', objectAt(object, 'template')),
}
