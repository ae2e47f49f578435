// validate-cel: checks resources by rules in CEL. Fairlead's own; kpt has starlark and Rego for it.
import { CelBudgetError, CelCompileError, CelError, compile, fromJson, toJson, types } from '@fairlead/kube/cel'
import type { CelProgram, CelValue } from '@fairlead/kube/cel'
import type { YAMLMap } from 'yaml'
import type { FunctionResult } from '../engine/function-runner.ts'
import type { Selector } from '../engine/kptfile/kptfile.ts'
import { mapAt, mapsAt, textAt, textsAt } from '../engine/render/fields.ts'
import type { FunctionInput, FunctionOutcome } from '../engine/render/resource-function.ts'
import type { Resource } from '../engine/render/resource.ts'
import { isLocalConfig } from '../engine/render/resource.ts'
import { selectResources } from '../engine/render/selection.ts'
import { jsonOf } from '../engine/yaml/json-value.ts'
import { ConfigError, configData, configType, isConfigMap } from './config.ts'
import { fileOf } from './results.ts'
import { functionFailure } from './sdk-failure.ts'

/** API version of the configs of Fairlead's own functions. */
const ownApiVersion = 'fn.fairlead.dev/v1alpha1'

type Severity = 'error' | 'warning' | 'info'

interface Rule {
  readonly name: string
  /** Resources that the rule checks; all but local configuration when it is empty. */
  readonly match: Selector
  readonly expression: CelProgram
  readonly message: string
  readonly messageExpression: CelProgram | undefined
  readonly severity: Severity
  readonly fieldPath: string | undefined
}

const environment = { variables: { object: types.dyn, resources: types.dyn } }

/**
 * Checks every resource by every rule that matches it. `object` is the resource, `resources` the list of all. A rule
 * holds when its expression is true; an error of severity `error` fails the function, as does an expression that fails.
 */
export function validateCel({ items, config }: FunctionInput): FunctionOutcome {
  let rules: readonly Rule[]
  try {
    rules = rulesOf(config)
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return { results: [{ message: error.message, severity: 'error' }], failure: functionFailure }
  }
  // Converted once: every evaluation sees all of them.
  const values = new Map(items.map((item) => [item, fromJson(jsonOf(item.fields, item.document))]))
  const resources = [...values.values()]
  const results: FunctionResult[] = []
  for (const rule of rules)
    for (const resource of selectResources(items, [rule.match], [])) {
      if (isLocalConfig(resource)) continue
      const result = check(rule, resource, { object: values.get(resource) ?? null, resources })
      if (result !== undefined) results.push(result)
    }
  const isFailure = results.some(({ severity }) => severity === 'error')
  return isFailure ? { results, failure: functionFailure } : { results }
}

function check(
  { name, expression, message, messageExpression, severity, fieldPath }: Rule,
  resource: Resource,
  values: { readonly object: CelValue; readonly resources: CelValue },
): FunctionResult | undefined {
  const report = (text: string, level: Severity): FunctionResult => ({
    message: text,
    severity: level,
    resourceRef: {
      apiVersion: resource.apiVersion,
      kind: resource.kind,
      name: resource.name,
      ...(resource.namespace !== '' && { namespace: resource.namespace }),
    },
    ...(fieldPath !== undefined && { field: { path: fieldPath } }),
    file: fileOf(resource),
    tags: { rule: name },
  })
  try {
    if (toJson(expression.evaluate({}, { values })) === true) return undefined
    const text: unknown =
      messageExpression === undefined ? undefined : toJson(messageExpression.evaluate({}, { values }))
    return report(typeof text === 'string' && text !== '' ? text : message, severity)
  } catch (error) {
    if (!(error instanceof CelError) && !(error instanceof CelBudgetError)) throw error
    return report(`rule ${name} could not be evaluated: ${error.message}`, 'error')
  }
}

function rulesOf(config: YAMLMap | undefined): readonly Rule[] {
  const { apiVersion, kind } = configType(config)
  if (config !== undefined && isConfigMap(config)) {
    const rules = [...configData(config)].map(([name, expression]) => ruleOf(name, expression))
    if (rules.length === 0) throw new ConfigError('no rules: give NAME: EXPRESSION in the data of the ConfigMap')
    return rules
  }
  if (config === undefined || apiVersion !== ownApiVersion || kind !== 'ValidateCEL')
    throw new ConfigError(`functionConfig must be a ConfigMap or ValidateCEL (${ownApiVersion})`)
  const rules = mapsAt(config, 'rules').map((rule, index) => {
    const name = textAt(rule, 'name') ?? `rules[${index}]`
    return ruleOf(name, textAt(rule, 'expression') ?? '', rule)
  })
  if (rules.length === 0) throw new ConfigError('no rules: rules must have at least one')
  return rules
}

function ruleOf(name: string, expression: string, rule?: YAMLMap): Rule {
  const field = (key: string): string => (rule === undefined ? '' : (textAt(rule, key) ?? ''))
  const severity = field('severity') || 'error'
  if (severity !== 'error' && severity !== 'warning' && severity !== 'info')
    throw new ConfigError(`rule ${name}: severity must be error, warning or info`)
  const match = rule === undefined ? undefined : mapAt(rule, 'match')
  return {
    name,
    match: match === undefined ? {} : selectorOf(match),
    expression: programOf(name, expression),
    message: field('message') || `rule ${name} does not hold: ${expression}`,
    messageExpression: field('messageExpression') === '' ? undefined : programOf(name, field('messageExpression')),
    severity,
    fieldPath: field('fieldPath') || undefined,
  }
}

function selectorOf(match: YAMLMap): Selector {
  const texts = ['apiVersion', 'kind', 'name', 'namespace'].flatMap((key) => {
    const value = textAt(match, key)
    return value === undefined ? [] : [[key, value] as const]
  })
  return {
    ...Object.fromEntries(texts),
    labels: Object.fromEntries(textsAt(match, 'labels')),
    annotations: Object.fromEntries(textsAt(match, 'annotations')),
  }
}

function programOf(name: string, expression: string): CelProgram {
  try {
    return compile(expression, environment)
  } catch (error) {
    if (error instanceof CelCompileError) throw new ConfigError(`rule ${name}: ${error.message}`)
    throw error
  }
}
