// Validation of blueprints (originals/cartographer.md §1.4), with two checks that Cartographer lacks: cycles, and
// references in deliveries.
import type { FieldError, JsonObject } from '@fairlead/kube'
import { sortKeys, stringifyJson } from '@fairlead/kube'
import type { Blueprint, BlueprintParam, BlueprintResource, OwnerKind } from '../api.ts'
import { cyclicResources, formatNames, inputsOf, provides } from '../engine/blueprints/graph.ts'
import type { Input, InputKind } from '../engine/blueprints/graph.ts'
import { selectorOf } from '../engine/blueprints/selection.ts'
import { invalid, invalidWhen, duplicates } from './field-errors.ts'
import { checkSelector, isEmptySelector } from './selector.ts'

/** Returns the errors of a ClusterSupplyChain or ClusterDelivery. */
export function checkBlueprint({ spec }: Blueprint, owner: OwnerKind): FieldError[] {
  const { resources } = spec
  const selector = selectorOf(spec)
  const names = { labels: 'selector', fields: 'selectorMatchFields' }
  return [
    ...invalidWhen(
      isEmptySelector(selector),
      'spec',
      'at least one selector, selectorMatchExpression, selectorMatchField must be specified',
    ),
    ...checkSelector(selector, owner, 'spec', names),
    ...checkParams(spec.params, 'spec.params'),
    ...duplicates(resources.map(({ name }) => name)).map((name) =>
      invalid('spec.resources', `resource name [${name}] cannot appear more than once`),
    ),
    ...resources.flatMap((resource, index) => checkResource(resource, owner, `spec.resources[${index}]`)),
    ...checkReferences(resources),
    ...checkCycles(resources),
  ]
}

function checkParams(params: readonly BlueprintParam[] = [], field: string): FieldError[] {
  return params.flatMap((param, index) =>
    invalidWhen(
      (param.value === undefined) === (param.default === undefined),
      `${field}[${index}]`,
      `param [${param.name}] is invalid: must set exactly one of value and default`,
    ),
  )
}

function checkResource(resource: BlueprintResource, owner: OwnerKind, field: string): FieldError[] {
  return [
    ...checkParams(resource.params, `${field}.params`),
    ...checkTemplateRef(resource, owner, `${field}.templateRef`),
    ...(owner === 'Deliverable' ? checkDeployment(resource, field) : []),
  ]
}

function checkTemplateRef(resource: BlueprintResource, owner: OwnerKind, field: string): FieldError[] {
  const { name, options } = resource.templateRef
  if ((name === undefined) === (options === undefined || options.length === 0))
    return [
      invalid(field, `resource [${resource.name}] must set exactly one of templateRef.name and templateRef.options`),
    ]
  if (options === undefined || options.length === 0) return []
  const labels = { labels: 'matchLabels', fields: 'matchFields' }
  const selectors = options.map(({ selector }) => stringifyJson(sortKeys(selector as JsonObject)))
  const hasEqualSelectors = new Set(selectors).size < selectors.length
  return [
    ...invalidWhen(options.length < 2, `${field}.options`, 'there must be at least two options'),
    ...duplicates(options.map((option) => option.name ?? '').filter((template) => template !== '')).map((template) =>
      invalid(
        `${field}.options`,
        `duplicate template name [${template}] found in options for resource [${resource.name}]`,
      ),
    ),
    ...invalidWhen(
      options.filter((option) => option.passThrough !== undefined).length > 1,
      `${field}.options`,
      'cannot have more than one pass through option',
    ),
    ...invalidWhen(
      hasEqualSelectors,
      `${field}.options`,
      'two options have the same selector, so neither can ever be selected',
    ),
    ...options.flatMap((option, index) => {
      const at = `${field}.options[${index}]`
      return [
        ...invalidWhen(
          (option.name === undefined) === (option.passThrough === undefined),
          at,
          'exactly one of option.name or option.passThrough must be specified',
        ),
        ...invalidWhen(isEmptySelector(option.selector), `${at}.selector`, 'at least one selector must be specified'),
        ...checkSelector(option.selector, owner, `${at}.selector`, labels),
        ...(option.passThrough === undefined
          ? []
          : checkPassThrough(resource, option.passThrough, `${at}.passThrough`)),
      ]
    }),
  ]
}

function checkPassThrough(resource: BlueprintResource, input: string, field: string): FieldError[] {
  const { kind } = resource.templateRef
  const output = provides(kind)
  if (output === undefined || kind === 'ClusterDeploymentTemplate')
    return [invalid(field, `cannot pass through with [${kind}]`)]
  const exists = inputsOf(resource).some((one) => one.kind === output && one.name === input)
  return invalidWhen(!exists, field, `pass through [${input}] does not refer to a known ${output} input`)
}

function checkDeployment(
  { templateRef, deployment, configs = [], name }: BlueprintResource,
  field: string,
): FieldError[] {
  if (templateRef.kind !== 'ClusterDeploymentTemplate')
    return invalidWhen(
      deployment !== undefined,
      `${field}.deployment`,
      `resource [${name}] is invalid: only a ClusterDeploymentTemplate takes a deployment`,
    )
  return [
    ...invalidWhen(
      deployment === undefined,
      `${field}.deployment`,
      `resource [${name}] is invalid: a ClusterDeploymentTemplate needs a deployment`,
    ),
    ...invalidWhen(
      configs.length > 0,
      `${field}.configs`,
      `resource [${name}] is invalid: a ClusterDeploymentTemplate takes no configs`,
    ),
  ]
}

const fields: Readonly<Record<InputKind, string>> = {
  source: 'sources',
  image: 'images',
  config: 'configs',
  deployment: 'deployment',
}

function checkReferences(resources: readonly BlueprintResource[]): FieldError[] {
  const byName = new Map(resources.map((resource) => [resource.name, resource]))
  return resources.flatMap((resource, index) =>
    inputsOf(resource).flatMap((input) => {
      const problem = referenceProblem(input, byName)
      return problem === undefined ? [] : [invalid(`spec.resources[${index}].${fields[input.kind]}`, problem)]
    }),
  )
}

function referenceProblem(
  { kind, resource: name }: Input,
  resources: ReadonlyMap<string, BlueprintResource>,
): string | undefined {
  const provider = resources.get(name)
  if (provider === undefined) return `[${name}] is provided by unknown resource`
  const expected = kind === 'deployment' ? 'source' : kind
  const provided = provides(provider.templateRef.kind)
  return provided === expected
    ? undefined
    : `resource [${name}] provides ${provided === undefined ? 'nothing' : withArticle(provided)}, not ${withArticle(expected)}`
}

function withArticle(kind: InputKind): string {
  return kind === 'image' ? `an ${kind}` : `a ${kind}`
}

function checkCycles(resources: readonly BlueprintResource[]): FieldError[] {
  const names = cyclicResources(resources)
  return invalidWhen(names.size > 0, 'spec.resources', `the resources ${formatNames(names)} wait for each other`)
}
