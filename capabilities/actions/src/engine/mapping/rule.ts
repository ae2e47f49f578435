// A rule of a KindActionMapping: parsing and matching.
import { dns1123Subdomain, isJsonObject, ownValue } from '@fairlead/kube'
import type { JsonValue } from '@fairlead/kube'
import type { Problem } from '../data/problem.ts'
import { mapNameVariables, parseMapName } from './map-name.ts'
import type { MapNameTemplate, MatchedOwner } from './map-name.ts'
import type { Target } from './target.ts'

/** Specificity of a rule, most specific first (seed "Configmap Hierarchy and Precedence"). */
export type Level = 'instance' | 'subkind' | 'kind'

/** Criteria that an owner must satisfy; '' matches any value. */
export interface OwnerCriteria {
  readonly kind: string
  readonly apiVersion: string
  readonly uid: string
}

/** A parsed rule. '' is an absent field. */
export interface Rule {
  /** Path of the rule: `spec.mappings[0]`. */
  readonly field: string
  readonly apiVersion: string
  readonly kind: string
  /** Lower case. */
  readonly subkind: string
  readonly name: string
  readonly owner: OwnerCriteria | undefined
  readonly mapname: MapNameTemplate
  readonly level: Level
  /** Name, subkind or kind is `*`: the rule is ordered after exact ones. */
  readonly isWildcard: boolean
}

/** Parses a rule, or returns the problems that make it unusable. */
export function parseRule(value: JsonValue, field: string): Rule | readonly Problem[] {
  if (!isJsonObject(value))
    return [{ code: 'InvalidRule', field, message: 'a rule must be an object with apiVersion, kind and mapname' }]
  const problems: Problem[] = []
  const stringAt = (key: string, required: boolean, from = value, path = field): string => {
    const found = ownValue(from, key) ?? ''
    if (typeof found !== 'string')
      problems.push({ code: 'InvalidRule', field: `${path}.${key}`, message: `${key} must be a string` })
    else if (found === '' && required)
      problems.push({
        code: 'InvalidRule',
        field: `${path}.${key}`,
        message: `${key} is missing: a rule without ${key} matches nothing`,
      })
    return typeof found === 'string' ? found : ''
  }
  const apiVersion = stringAt('apiVersion', true)
  const unmatched = neverMatches(apiVersion)
  if (unmatched !== undefined) problems.push({ code: 'InvalidRule', field: `${field}.apiVersion`, message: unmatched })
  const kind = stringAt('kind', true)
  const subkind = stringAt('subkind', false).toLowerCase()
  const name = stringAt('name', false)
  const ownerValue = ownValue(value, 'owner') ?? undefined
  let owner: OwnerCriteria | undefined
  if (isJsonObject(ownerValue)) {
    const part = (key: string): string => stringAt(key, false, ownerValue, `${field}.owner`)
    owner = { kind: part('kind'), apiVersion: part('apiVersion'), uid: part('uid') }
    if (owner.kind === '' && owner.apiVersion === '' && owner.uid === '') owner = undefined
  } else if (ownerValue !== undefined) {
    problems.push({
      code: 'InvalidRule',
      field: `${field}.owner`,
      message: 'owner must be an object with kind, apiVersion or uid',
    })
  }
  const template = parseMapName(stringAt('mapname', true))
  if ('unknown' in template) {
    problems.push({
      code: 'UnknownVariable',
      field: `${field}.mapname`,
      message: `unknown variable \${${template.unknown}} in mapname; the variables are ${mapNameVariables.join(', ')}`,
    })
  } else if (template.variables.length === 0 && template.text !== '') {
    const [invalid] = dns1123Subdomain(template.text)
    if (invalid !== undefined)
      problems.push({
        code: 'InvalidMapName',
        field: `${field}.mapname`,
        message: `"${template.text}" is not a valid ConfigMap name: ${invalid}`,
      })
  }
  if (problems.length > 0 || 'unknown' in template) return problems
  return {
    field,
    apiVersion: withoutLeadingSlash(apiVersion),
    kind,
    subkind,
    name,
    owner,
    mapname: template,
    level: name !== '' ? 'instance' : subkind !== '' ? 'subkind' : 'kind',
    isWildcard: name === '*' || subkind === '*' || kind === '*',
  }
}

/** Returns why no resource has an apiVersion that matches; undefined when one may. */
function neverMatches(apiVersion: string): string | undefined {
  if (/[^*/]\*|\*[^*/]/.test(apiVersion))
    return `"${apiVersion}" matches nothing: * stands for a whole group or version`
  if (apiVersion.startsWith('core/')) return `"${apiVersion}" matches nothing: the core group has no name; write v1`
  return undefined
}

/** Reports whether a rule matches the apiVersion and kind of a target. No other field of the target is used. */
export function matchesKind(rule: Rule, target: Pick<Target, 'apiVersion' | 'group' | 'version' | 'kind'>): boolean {
  return (rule.kind === '*' || rule.kind === target.kind) && matchesApiVersion(rule.apiVersion, target)
}

/**
 * Matches all other fields of a rule. Above kind level, a rule matches a resource with a subkind only if it names a
 * subkind (originals/kappnav.md §2.4, 3). Returns the owner that satisfied the rule, or the first owner if the rule has
 * no criteria; undefined when the rule does not match.
 */
export function matchRest(rule: Rule, target: Target): { readonly owner: MatchedOwner | undefined } | undefined {
  if (rule.level !== 'kind') {
    if (
      rule.subkind !== ''
        ? target.subkind === '' || (rule.subkind !== '*' && rule.subkind !== target.subkind)
        : target.subkind !== ''
    )
      return undefined
    if (rule.name !== '' && (target.name === '' || (rule.name !== '*' && rule.name !== target.name))) return undefined
  }
  if (rule.owner === undefined) return target.owners.length === 0 ? ownerless : { owner: target.owners[0] }
  const criteria = rule.owner
  const owner = target.owners.find((one) => satisfies(criteria, one))
  return owner && { owner }
}

const ownerless = { owner: undefined }

function matchesApiVersion(
  pattern: string,
  { apiVersion, group, version }: Pick<Target, 'apiVersion' | 'group' | 'version'>,
): boolean {
  if (pattern === apiVersion) return true
  const [first, second, ...more] = pattern.split('/') as [string, ...string[]]
  if (more.length > 0) return false
  if (second === undefined) return group === '' && first === '*' && !apiVersion.includes('/')
  return (
    apiVersion.includes('/') &&
    !version.includes('/') &&
    (first === '*' || first === group) &&
    (second === '*' || second === version)
  )
}

function satisfies(criteria: OwnerCriteria, owner: MatchedOwner): boolean {
  const matches = (wanted: string, found: string): boolean => wanted === '' || wanted === '*' || wanted === found
  return (
    matches(criteria.kind, owner.kind) &&
    matches(criteria.apiVersion, owner.apiVersion) &&
    matches(criteria.uid, owner.uid)
  )
}

function withoutLeadingSlash(apiVersion: string): string {
  return apiVersion.startsWith('/') ? apiVersion.slice(1) : apiVersion
}
