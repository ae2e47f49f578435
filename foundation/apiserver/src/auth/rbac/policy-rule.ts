// Rules of Roles and ClusterRoles: the requests that they allow, and whether some rules cover others (for escalation
// checks). Pure. The semantics are those of Kubernetes' plugin/pkg/auth/authorizer/rbac and
// pkg/registry/rbac/validation.
import { goQuote } from '@fairlead/kube'
import type { Attributes } from '../../identity/authorizer.ts'

/** A rule of a Role or ClusterRole. Absent lists are empty. */
export interface PolicyRule {
  readonly verbs: readonly string[]
  readonly apiGroups?: readonly string[]
  readonly resources?: readonly string[]
  readonly resourceNames?: readonly string[]
  readonly nonResourceURLs?: readonly string[]
}

const none: readonly string[] = []

/** Returns true when a rule allows a request. */
export function ruleAllows(rule: PolicyRule, attributes: Attributes): boolean {
  if (!hasOrAll(rule.verbs, attributes.verb)) return false
  if (attributes.resource === undefined) {
    return (rule.nonResourceURLs ?? none).some((pattern) => pathCovers(pattern, attributes.path ?? ''))
  }
  return (
    hasOrAll(rule.apiGroups ?? none, attributes.group ?? '') &&
    resourceMatches(rule.resources ?? none, attributes.resource, attributes.subresource ?? '') &&
    nameMatches(rule.resourceNames ?? none, attributes.name ?? '')
  )
}

function resourceMatches(allowed: readonly string[], resource: string, subresource: string): boolean {
  const combined = subresource === '' ? resource : `${resource}/${subresource}`
  return allowed.some(
    (entry) => entry === '*' || entry === combined || (subresource !== '' && entry === `*/${subresource}`),
  )
}

function nameMatches(allowed: readonly string[], name: string): boolean {
  return allowed.length === 0 || allowed.includes(name)
}

function pathCovers(pattern: string, path: string): boolean {
  return pattern === path || (pattern.endsWith('*') && path.startsWith(pattern.replace(/\*+$/, '')))
}

/** Returns the parts of `wanted` that `held` does not cover, each with a single verb and resource. */
export function missingRules(held: readonly PolicyRule[], wanted: readonly PolicyRule[]): PolicyRule[] {
  return wanted.flatMap((rule) => [...splitRule(rule)]).filter((part) => !held.some((rule) => ruleCovers(rule, part)))
}

function* splitRule(rule: PolicyRule): Generator<PolicyRule> {
  for (const group of rule.apiGroups ?? none) {
    for (const resource of rule.resources ?? none) {
      for (const verb of rule.verbs) {
        const part = { verbs: [verb], apiGroups: [group], resources: [resource] }
        if (rule.resourceNames === undefined || rule.resourceNames.length === 0) yield part
        else for (const name of rule.resourceNames) yield { ...part, resourceNames: [name] }
      }
    }
  }
  for (const url of rule.nonResourceURLs ?? none) {
    for (const verb of rule.verbs) yield { verbs: [verb], nonResourceURLs: [url] }
  }
}

function ruleCovers(rule: PolicyRule, part: PolicyRule): boolean {
  const { resourceNames: names = none } = rule
  return (
    coversAll(rule.verbs, part.verbs, hasOrAll) &&
    coversAll(rule.apiGroups ?? none, part.apiGroups ?? none, hasOrAll) &&
    coversAll(rule.resources ?? none, part.resources ?? none, resourceCovers) &&
    coversAll(rule.nonResourceURLs ?? none, part.nonResourceURLs ?? none, (held, url) =>
      held.some((pattern) => pathCovers(pattern, url)),
    ) &&
    (names.length === 0 || (part.resourceNames !== undefined && coversAll(names, part.resourceNames, has)))
  )
}

function coversAll(
  held: readonly string[],
  wanted: readonly string[],
  covers: (held: readonly string[], item: string) => boolean,
): boolean {
  return wanted.every((item) => covers(held, item))
}

function resourceCovers(held: readonly string[], resource: string): boolean {
  if (hasOrAll(held, resource)) return true
  const slash = resource.indexOf('/')
  return slash >= 0 && held.includes(`*${resource.slice(slash)}`)
}

function has(list: readonly string[], item: string): boolean {
  return list.includes(item)
}

function hasOrAll(list: readonly string[], item: string): boolean {
  return list.includes('*') || list.includes(item)
}

/**
 * Merges the verbs of rules that are otherwise equal; rules with several groups, resources or names stay as they are.
 */
export function compactRules(rules: readonly PolicyRule[]): PolicyRule[] {
  const complex: PolicyRule[] = []
  const simple = new Map<string, { readonly rule: PolicyRule; readonly verbs: Set<string> }>()
  for (const rule of rules) {
    const { apiGroups = none, resources = none, resourceNames = none, nonResourceURLs = none } = rule
    if (apiGroups.length !== 1 || resources.length !== 1 || resourceNames.length > 1 || nonResourceURLs.length > 0) {
      complex.push(rule)
      continue
    }
    const id = JSON.stringify([apiGroups[0], resources[0], ...resourceNames])
    const known = simple.get(id)
    if (known === undefined) simple.set(id, { rule, verbs: new Set(rule.verbs) })
    else for (const verb of rule.verbs) known.verbs.add(verb)
  }
  return [...complex, ...[...simple.values()].map(({ rule, verbs }) => ({ ...rule, verbs: [...verbs] }))]
}

/** Formats a rule for messages about escalation: `{APIGroups:["apps"], Resources:["*"], Verbs:["*"]}`. */
export function describeRule(rule: PolicyRule): string {
  const parts: readonly [string, readonly string[] | undefined][] = [
    ['APIGroups', rule.apiGroups],
    ['Resources', rule.resources],
    ['NonResourceURLs', rule.nonResourceURLs],
    ['ResourceNames', rule.resourceNames],
    ['Verbs', rule.verbs],
  ]
  const shown = parts
    .filter(([, list]) => list !== undefined && list.length > 0)
    .map(([name, list]) => `${name}:${goList(list!)}`)
  return `{${shown.join(', ')}}`
}

/** Formats a list like Go's `%q`: `["a" "b"]`. */
export function goList(list: readonly string[]): string {
  return `[${list.map(goQuote).join(' ')}]`
}
