// Evaluates the health rule of a template on a stamped object. Start with healthOf. Source: originals/cartographer.md
// §3.2 (the table of 15 situations), with the improvements of §3.6.
import { asJson, builtinHealth, isJsonObject, isTerminating, staleness } from '@fairlead/kube'
import type { JsonObject, JsonValue, KubeObject } from '@fairlead/kube'
import type {
  ClusterHealthRule,
  HealthConditionMatcher,
  HealthFieldMatcher,
  HealthRule,
  RuleSpelling,
  TemplateKind,
} from '../../api.ts'
import { reasonOfType, verdict } from '../conditions/condition.ts'
import type { ConditionStatus, Verdict } from '../conditions/condition.ts'
import { matchesRequirement } from '../values/field-requirement.ts'
import { expressionHealth } from './health-expression.ts'
import { lookup } from '../values/path.ts'
import type { LookupResult } from '../values/path.ts'
import { formatLookup, formatValue } from '../values/value-format.ts'

/** The input of {@link healthOf}. */
export interface HealthInput {
  readonly spelling: RuleSpelling
  /** Undefined when the template has none. */
  readonly rule: HealthRule | undefined
  readonly templateKind: TemplateKind
  /** The stamped object as last read. */
  readonly object: KubeObject | undefined
  /** For templates without a rule; undefined when the resource was never realized. */
  readonly realized?: { readonly stamped: boolean; readonly outputs: readonly string[] }
  /** The ClusterHealthRules, for `auto`. */
  readonly defaults?: readonly ClusterHealthRule[]
  /** Milliseconds since the epoch, for expressions that read `now`. */
  readonly now?: number
}

/** Returns the condition `Healthy`, without its type. */
export function healthOf(input: HealthInput): Verdict {
  const { rule, object } = input
  if (rule === undefined) return healthWithoutRule(input)
  if (object === undefined) return verdict('Unknown', 'NoStampedObject')
  if (isTerminating(object)) return terminating(object)
  if (rule.alwaysHealthy !== undefined) return verdict('True', 'AlwaysHealthy')
  if (rule.auto !== undefined) return defaultHealth(input, object)
  return stale(object) ?? ruleHealth(rule, input, object)
}

/** Returns the rule of a template and its spelling. The lifecycle `tekton` implies the condition Succeeded. */
export function ruleOf(spec: {
  readonly healthRule?: HealthRule
  readonly healthyConditionRule?: HealthRule
  readonly lifecycle?: string
}): { readonly spelling: RuleSpelling; readonly rule: HealthRule | undefined } {
  if (spec.healthRule !== undefined) return { spelling: 'healthRule', rule: spec.healthRule }
  if (spec.healthyConditionRule !== undefined)
    return { spelling: 'healthyConditionRule', rule: spec.healthyConditionRule }
  const rule = spec.lifecycle === 'tekton' ? { singleConditionType: 'Succeeded' } : undefined
  return { spelling: 'healthRule', rule }
}

function healthWithoutRule({ templateKind, object, realized }: HealthInput): Verdict {
  if (realized === undefined) return verdict('Unknown', 'NoResource')
  if (object !== undefined && isTerminating(object)) return terminating(object)
  if (realized.outputs.length > 0) return verdict('True', 'OutputsAvailable')
  if (templateKind !== 'ClusterTemplate') return verdict('Unknown', 'OutputNotAvailable')
  return realized.stamped ? verdict('True', 'AlwaysHealthy') : verdict('Unknown', 'NoStampedObject')
}

function ruleHealth(rule: HealthRule, { spelling, now }: HealthInput, object: KubeObject): Verdict {
  if (rule.singleConditionType !== undefined) return singleCondition(rule.singleConditionType, object)
  if (rule.multiMatch !== undefined) return multiMatch(rule.multiMatch, spelling, asJson(object))
  if (rule.expression !== undefined) return expressionHealth(rule.expression, object, now ?? 0)
  return verdict('Unknown', 'NoMatchesFulfilled', 'the health rule is empty')
}

function terminating({ metadata }: KubeObject): Verdict {
  return verdict('Unknown', 'Terminating', `the object is being deleted since ${metadata.deletionTimestamp}`)
}

/** Returns Unknown when status is about an earlier generation of the object; undefined when it is current. */
function stale(object: KubeObject): Verdict | undefined {
  const message = staleness(object)
  return message === undefined ? undefined : verdict('Unknown', 'Stale', message)
}

interface ReadCondition {
  readonly type: string
  readonly status: string
  readonly message: string
}

/** Returns the well-formed conditions by type; the first of a type wins. */
function conditionsOf(object: JsonObject): Map<string, ReadCondition> {
  const found = new Map<string, ReadCondition>()
  const list = (isJsonObject(object['status']) ? object['status']['conditions'] : undefined) as JsonValue | undefined
  if (!Array.isArray(list)) return found
  for (const one of list as readonly JsonValue[]) {
    if (!isJsonObject(one) || typeof one['type'] !== 'string' || typeof one['status'] !== 'string') continue
    const message = typeof one['message'] === 'string' ? one['message'] : ''
    if (!found.has(one['type'])) found.set(one['type'], { type: one['type'], status: one['status'], message })
  }
  return found
}

function singleCondition(type: string, object: KubeObject): Verdict {
  const reason = reasonOfType(type)
  const found = conditionsOf(asJson(object)).get(type)
  if (found === undefined)
    return verdict('Unknown', reason, `condition with type [${type}] not found on resource status`)
  const status: ConditionStatus = found.status === 'True' || found.status === 'False' ? found.status : 'Unknown'
  return verdict(status, reason, found.message)
}

function multiMatch(rule: NonNullable<HealthRule['multiMatch']>, spelling: RuleSpelling, object: JsonObject): Verdict {
  const conditions = conditionsOf(object)
  const problems: string[] = []
  const holds = (matcher: HealthConditionMatcher): boolean => conditions.get(matcher.type)?.status === matcher.status
  const matches = (matcher: HealthFieldMatcher): boolean => {
    const found = lookup(matcher.key, object)
    if (found.kind === 'error') problems.push(`cannot evaluate [${matcher.key}]: ${found.message}`)
    return matchesRequirement(matcher, found)
  }
  const ofCondition = (status: ConditionStatus, matcher: HealthConditionMatcher): Verdict =>
    verdict(status, 'MatchedCondition', conditionMessage(spelling, conditions.get(matcher.type)!))
  const ofField = (status: ConditionStatus, matcher: HealthFieldMatcher): Verdict =>
    verdict(status, 'MatchedField', fieldMessage(spelling, matcher, object))

  const { matchConditions: badConditions = [], matchFields: badFields = [] } = rule.unhealthy ?? {}
  const badCondition = badConditions.find(holds)
  if (badCondition !== undefined) return ofCondition('False', badCondition)
  const badField = badFields.find(matches)
  if (badField !== undefined) return ofField('False', badField)

  const { matchConditions = [], matchFields = [] } = rule.healthy ?? {}
  const isHealthy = matchConditions.every(holds) && matchFields.every(matches)
  if (isHealthy && matchConditions[0] !== undefined) return ofCondition('True', matchConditions[0])
  if (isHealthy && matchFields[0] !== undefined) return ofField('True', matchFields[0])
  return verdict('Unknown', 'NoMatchesFulfilled', problems.join('; '))
}

function conditionMessage(spelling: RuleSpelling, { type, status, message }: ReadCondition): string {
  if (spelling === 'healthyConditionRule') return withPart(`${type}: ${status}`, ': ', message)
  return withPart(`condition status: ${status}`, ', message: ', message)
}

function fieldMessage(spelling: RuleSpelling, { key, messagePath }: HealthFieldMatcher, object: JsonObject): string {
  const value = formatLookup(lookup(key, object))
  const message = messagePath === undefined ? '' : formatMessage(lookup(messagePath, object))
  if (spelling === 'healthyConditionRule') return withPart(`${shortPath(key)}: ${value}`, ': ', message)
  return withPart(`field value: ${value}`, ', message: ', message)
}

function withPart(message: string, separator: string, part: string): string {
  return part === '' ? message : `${message}${separator}${part}`
}

/** Returns '' when there is no message. */
function formatMessage(found: LookupResult): string {
  return found.kind === 'value' && found.value !== null ? formatValue(found.value) : ''
}

/**
 * Shortens `.status.conditions[?(@.type=="Ready")].status` to `status.conditions['Ready'].status`, as the proposal
 * does.
 */
function shortPath(path: string): string {
  const bare = /^\{(.*)\}$/s.exec(path.trim())?.[1] ?? path.trim()
  return bare.replace(/^\./, '').replaceAll(/\[\?\(\s*@\.type\s*==\s*(["'])(.*?)\1\s*\)\]/g, "['$2']")
}

/** Returns the rule for an object: for `auto` that of the ClusterHealthRule, undefined for a built-in one. */
export function ruleFor(
  rule: HealthRule | undefined,
  object: KubeObject,
  defaults: readonly ClusterHealthRule[],
): HealthRule | undefined {
  if (rule?.auto === undefined) return rule
  const targeting = defaults.filter(({ spec }) => isTarget(spec.target, object))
  // The most specific first; the order of a cache means nothing.
  const [first] = targeting.toSorted((a, b) => rank(a) - rank(b) || (nameOf(a) < nameOf(b) ? -1 : 1))
  return first?.spec.healthRule
}

/** Returns 0 for a rule of one version of a kind, 1 for one of all versions. */
function rank({ spec }: ClusterHealthRule): number {
  return spec.target.apiVersion.endsWith('/*') ? 1 : 0
}

function nameOf({ metadata }: ClusterHealthRule): string {
  return metadata.name ?? ''
}

function defaultHealth(input: HealthInput, object: KubeObject): Verdict {
  const rule = ruleFor(input.rule, object, input.defaults ?? [])
  if (rule !== undefined) {
    const { status, reason, message } = healthOf({ ...input, rule, spelling: 'healthRule' })
    // Unknown keeps the reason of the rule, such as ExpressionError.
    return status === 'Unknown' && reason !== 'NoMatchesFulfilled'
      ? { status, reason, message }
      : verdict(status, 'DefaultRule', message)
  }
  const old = stale(object)
  if (old !== undefined) return old
  const builtin = builtinHealth(object)
  if (builtin !== undefined) return verdict(builtin.status, 'DefaultRule', builtin.message)
  return verdict(
    'Unknown',
    'NoDefaultRule',
    `there is no default health rule for ${object.kind} in ${object.apiVersion}; give the template one, or create a ClusterHealthRule`,
  )
}

function isTarget(target: ClusterHealthRule['spec']['target'], object: KubeObject): boolean {
  if (target.kind !== object.kind) return false
  if (!target.apiVersion.endsWith('/*')) return target.apiVersion === object.apiVersion
  return object.apiVersion.startsWith(target.apiVersion.slice(0, -1))
}
