// Validation of health rules (originals/cartographer.md §3.1): exactly one rule, matchers in both states, valid paths
// and expressions.
import type { FieldError } from '@fairlead/kube'
import type { HealthFieldMatcher, HealthMatchers, HealthRule } from '../api.ts'
import { expressionProblem } from '../engine/health/health-expression.ts'
import { pathProblem } from '../engine/values/path.ts'
import { valuesProblem } from './selector.ts'
import { invalid, invalidWhen } from './field-errors.ts'

/** Returns the errors of a health rule at `field`. */
export function checkRule(rule: HealthRule, field: string): FieldError[] {
  const given = Object.entries(rule).filter(([, value]) => value !== undefined)
  if (given.length !== 1) {
    const found = given.length === 0 ? 'neither' : 'multiple'
    return [
      invalid(
        field,
        `invalid health rule: must specify one of alwaysHealthy, singleConditionType or multiMatch, found ${found} (expression and auto are further choices)`,
      ),
    ]
  }
  if (rule.multiMatch !== undefined) return checkMultiMatch(rule.multiMatch, `${field}.multiMatch`)
  if (rule.expression === undefined)
    return invalidWhen(
      rule.singleConditionType === '',
      `${field}.singleConditionType`,
      'the condition type must not be empty',
    )
  return Object.entries(rule.expression).flatMap(([name, expression]) => {
    const problem = typeof expression === 'string' ? expressionProblem(name, expression) : undefined
    return problem === undefined ? [] : [invalid(`${field}.expression.${name}`, problem)]
  })
}

function checkMultiMatch({ unhealthy, healthy }: NonNullable<HealthRule['multiMatch']>, field: string): FieldError[] {
  return [
    ...checkMatchers(unhealthy, 'unhealthy', `${field}.unhealthy`),
    ...checkMatchers(healthy, 'healthy', `${field}.healthy`),
  ]
}

function checkMatchers(matchers: HealthMatchers | undefined, state: string, field: string): FieldError[] {
  const { matchConditions = [], matchFields = [] } = matchers ?? {}
  if (matchConditions.length === 0 && matchFields.length === 0)
    return [invalid(field, `invalid multi match health rule: ${state} rule has no matchFields or matchConditions`)]
  return matchFields.flatMap((matcher, index) => checkFieldMatcher(matcher, `${field}.matchFields[${index}]`))
}

function checkFieldMatcher(matcher: HealthFieldMatcher, field: string): FieldError[] {
  const { key, messagePath } = matcher
  const problems: [string, string | undefined][] = [
    ['key', pathProblem(key)],
    ['messagePath', messagePath === undefined ? undefined : pathProblem(messagePath)],
    ['values', valuesProblem(matcher)],
  ]
  return problems.flatMap(([name, problem]) => (problem === undefined ? [] : [invalid(`${field}.${name}`, problem)]))
}
