// Rules of webhooks and policies: `operations`, `apiGroups`, `apiVersions`, `resources` and `scope`.
import type { AdmissionAttributes } from '../attributes.ts'
import { otherVersions } from './equivalents.ts'
import type { ServedResource } from '../../registry/registry.ts'

/** One entry of `rules`, `resourceRules` or `excludeResourceRules`. */
export interface Rule {
  readonly operations?: readonly string[]
  readonly apiGroups?: readonly string[]
  readonly apiVersions?: readonly string[]
  /** `pods`, `pods/log`, `*`, `pods/*`, and `*` with a subresource behind it. */
  readonly resources?: readonly string[]
  readonly scope?: string
  /** Policies only; empty: every name. */
  readonly resourceNames?: readonly string[]
}

/**
 * Returns the version of the request's resource that the first matching rule names; undefined when none matches.
 * `Equivalent` considers the resource's other versions after no rule has named the one of the request.
 */
export function matchingVersion(
  rules: readonly Rule[],
  matchPolicy: string | undefined,
  request: AdmissionAttributes,
): ServedResource | undefined {
  if (rules.some((rule) => matchesRule(rule, request, request.resource))) return request.resource
  if (matchPolicy !== 'Equivalent') return undefined
  const others = otherVersions(request.resource)
  if (others.length === 0) return undefined
  for (const rule of rules) {
    const other = others.find((resource) => matchesRule(rule, request, resource))
    if (other !== undefined) return other
  }
  return undefined
}

/** Returns true when a rule matches the request as one for `resource`. */
export function matchesRule(
  rule: Rule,
  request: AdmissionAttributes,
  { definition, version }: ServedResource,
): boolean {
  return (
    names(rule.operations, request.operation) &&
    names(rule.apiGroups, definition.group) &&
    names(rule.apiVersions, version.name) &&
    matchesScope(rule.scope, request) &&
    (rule.resources ?? []).some((text) => matchesResource(text, definition.plural, request.subresource)) &&
    (rule.resourceNames === undefined || rule.resourceNames.length === 0 || rule.resourceNames.includes(request.name))
  )
}

function names(values: readonly string[] | undefined, value: string): boolean {
  return values !== undefined && (values.includes(value) || values.includes('*'))
}

/** Namespaces themselves are cluster-scoped. */
function matchesScope(scope: string | undefined, { resource: { definition } }: AdmissionAttributes): boolean {
  if (scope === undefined || scope === '' || scope === '*') return true
  return (scope === 'Namespaced') === definition.namespaced
}

function matchesResource(text: string, plural: string, subresource: string): boolean {
  const slash = text.indexOf('/')
  const [resource, sub] = slash < 0 ? [text, ''] : [text.slice(0, slash), text.slice(slash + 1)]
  return (resource === '*' || resource === plural) && (sub === '*' || sub === subresource)
}
