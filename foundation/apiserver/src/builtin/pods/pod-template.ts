// Templates of workloads: the checks that Deployment, ReplicaSet, StatefulSet, DaemonSet and Job share.
import type { FieldError, JsonObject, LabelSelector } from '@fairlead/kube'
import { fieldErrors, selectorFrom } from '@fairlead/kube'
import { isEmptySelector, labelErrors, labelSelectorErrors } from '../checks.ts'
import { has, mapAt, objectAt, stringAt } from '../fields.ts'
import type { Strategy } from '../../registry/strategy.ts'
import { defaultPodTemplate } from './pod-spec-defaults.ts'
import { podSpecErrors } from './pod-spec-validation.ts'

/** Checks a PodTemplateSpec: its labels, then its spec. */
export function podTemplateErrors(path: string, template: JsonObject): FieldError[] {
  return [
    ...labelErrors(`${path}.labels`, mapAt(template, 'metadata', 'labels')),
    ...podSpecErrors(`${path}.spec`, objectAt(template, 'spec')),
  ]
}

/**
 * Checks `spec.selector` against `spec.template`. `owner` names the kind in messages (`deployment`, `daemonset` …).
 * Pods of such workloads always restart.
 */
export function selectedTemplateErrors(spec: JsonObject, owner: string): FieldError[] {
  const errors: FieldError[] = []
  const selector = objectAt(spec, 'selector')
  if (!has(spec, 'selector')) {
    errors.push(fieldErrors.required('spec.selector'))
  } else {
    errors.push(...labelSelectorErrors('spec.selector', selector))
    if (isEmptySelector(selector))
      errors.push(fieldErrors.invalid('spec.selector', selector, `empty selector is invalid for ${owner}`))
  }
  return [
    ...errors,
    ...matchingTemplateErrors(
      'spec.template',
      objectAt(spec, 'template'),
      has(spec, 'selector') ? selector : undefined,
    ),
  ]
}

/** A missing selector selects nothing, so it never matches. */
function matchingTemplateErrors(path: string, template: JsonObject, selector: JsonObject | undefined): FieldError[] {
  const labels = mapAt(template, 'metadata', 'labels')
  const errors: FieldError[] = []
  const parsed = parseSelector(selector)
  if (parsed === undefined) return [fieldErrors.invalid('spec.selector', selector ?? null, 'invalid label selector')]
  if (!parsed.isEmpty && !parsed.matches(labels)) {
    errors.push(
      fieldErrors.invalid(
        `${path}.metadata.labels`,
        Object.keys(labels).length === 0 ? null : labels,
        '`selector` does not match template `labels`',
      ),
    )
  }
  errors.push(...podTemplateErrors(path, template))
  const restartPolicy = stringAt(template, 'spec', 'restartPolicy')
  if (restartPolicy !== 'Always')
    errors.push(fieldErrors.notSupported(`${path}.spec.restartPolicy`, restartPolicy, ['Always']))
  if (has(objectAt(template, 'spec'), 'activeDeadlineSeconds')) {
    errors.push(
      fieldErrors.forbidden(
        `${path}.spec.activeDeadlineSeconds`,
        'activeDeadlineSeconds in ReplicaSet is not Supported',
      ),
    )
  }
  return errors
}

function parseSelector(selector: JsonObject | undefined): ReturnType<typeof selectorFrom> | undefined {
  try {
    return selectorFrom(selector as LabelSelector | undefined)
  } catch {
    return undefined
  }
}

/** Behaviour of PodTemplates. */
export const podTemplateStrategy: Strategy = {
  returnsDeletedObject: true,
  tracksGeneration: true,
  allowCreateOnUpdate: true,
  applyDefaults: (object) => defaultPodTemplate(object),
  validate: (object) => podTemplateErrors('template', objectAt(object, 'template')),
  validateUpdate: (object) => podTemplateErrors('template', objectAt(object, 'template')),
}
