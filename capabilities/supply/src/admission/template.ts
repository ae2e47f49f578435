// Validation of templates (originals/cartographer.md §1.5, §1.6).
import { isJsonObject } from '@fairlead/kube'
import type { JsonObject } from '@fairlead/kube'
import type { FieldError } from '@fairlead/kube'
import type { ClusterHealthRule, RunTemplate, Template, TemplateSpec } from '../api.ts'
import { pathProblem } from '../engine/values/path.ts'
import { templateExpressionProblem } from '../engine/templates/stamp.ts'
import { invalid, invalidWhen } from './field-errors.ts'
import { checkRule } from './health-rule.ts'

/** Returns the errors of one of the five templates. */
export function checkTemplate({ kind, spec }: Template): FieldError[] {
  return [
    ...checkContent(spec),
    ...checkPaths(spec),
    ...checkLifecycle(spec),
    ...invalidWhen(
      spec.healthRule !== undefined && spec.healthyConditionRule !== undefined,
      'spec.healthyConditionRule',
      'healthRule and healthyConditionRule are two spellings of one field; set one of them',
    ),
    ...(spec.healthRule === undefined ? [] : checkRule(spec.healthRule, 'spec.healthRule')),
    ...(spec.healthyConditionRule === undefined
      ? []
      : checkRule(spec.healthyConditionRule, 'spec.healthyConditionRule')),
    ...(kind === 'ClusterDeploymentTemplate' ? checkCompletion(spec) : []),
  ]
}

/** Returns the errors of a ClusterRunTemplate. */
export function checkRunTemplate({ spec }: RunTemplate): FieldError[] {
  return [
    ...checkNamespace(spec.template),
    ...invalidWhen(!isJsonObject(spec.template['spec']), 'spec.template.spec', 'a run needs a spec'),
    ...Object.entries(spec.outputs ?? {}).flatMap(([name, path]) => checkPath(path, `spec.outputs.${name}`)),
  ]
}

/** Returns the errors of a ClusterHealthRule. */
export function checkHealthRule({ spec }: ClusterHealthRule): FieldError[] {
  if (spec.healthRule.auto !== undefined)
    return [invalid('spec.healthRule.auto', 'a ClusterHealthRule cannot itself be auto')]
  return checkRule(spec.healthRule, 'spec.healthRule')
}

function checkContent({ template, ytt, expression }: TemplateSpec): FieldError[] {
  const given = [template, ytt, expression].filter((one) => one !== undefined)
  if (given.length !== 1)
    return [
      invalid(
        'spec',
        `invalid template: must specify one of template, ytt or expression, found ${given.length === 0 ? 'neither' : 'multiple'}`,
      ),
    ]
  if (template !== undefined) return checkNamespace(template)
  const problem = expression === undefined ? undefined : templateExpressionProblem(expression)
  return problem === undefined ? [] : [invalid('spec.expression', problem)]
}

function checkNamespace(template: JsonObject): FieldError[] {
  const { metadata } = template
  const isSet = isJsonObject(metadata) && metadata['namespace'] !== undefined
  return invalidWhen(
    isSet,
    'spec.template.metadata.namespace',
    'invalid template: template should not set metadata.namespace on the child object',
  )
}

function checkPaths({ urlPath, revisionPath, imagePath, configPath }: TemplateSpec): FieldError[] {
  return Object.entries({ urlPath, revisionPath, imagePath, configPath }).flatMap(([name, path]) =>
    path === undefined ? [] : checkPath(path, `spec.${name}`),
  )
}

function checkPath(path: string, field: string): FieldError[] {
  const problem = pathProblem(path)
  return problem === undefined ? [] : [invalid(field, problem)]
}

function checkLifecycle({ lifecycle = 'mutable', retentionPolicy }: TemplateSpec): FieldError[] {
  return invalidWhen(
    lifecycle === 'mutable' && retentionPolicy !== undefined,
    'spec.retentionPolicy',
    'invalid template: if lifecycle is mutable, no retention policy may be set',
  )
}

function checkCompletion({ observedMatches, observedCompletion }: TemplateSpec): FieldError[] {
  const hasMatches = observedMatches !== undefined && observedMatches.length > 0
  if (hasMatches === (observedCompletion !== undefined)) {
    const found = hasMatches ? 'both' : 'neither'
    return [
      invalid(
        'spec',
        `invalid spec: must set exactly one of spec.ObservedMatches and spec.ObservedCompletion, found ${found}`,
      ),
    ]
  }
  const paths: [string, string | undefined][] = [
    ...(observedMatches ?? []).flatMap(({ input, output }, index): [string, string][] => [
      [`spec.observedMatches[${index}].input`, input],
      [`spec.observedMatches[${index}].output`, output],
    ]),
    ['spec.observedCompletion.succeeded.key', observedCompletion?.succeeded.key],
    ['spec.observedCompletion.failed.key', observedCompletion?.failed?.key],
  ]
  return paths.flatMap(([field, path]) => (path === undefined ? [] : checkPath(path, field)))
}
