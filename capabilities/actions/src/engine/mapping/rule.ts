// One rule of a KindActionMapping, checked and made ready to match.
import type { JsonValue } from '@fairlead/kube'
import { isJsonObject, ownValue } from '@fairlead/kube'
import { mapNameVariables, parseMapName } from './map-name.ts'
import type { MapNameTemplate, MatchedOwner } from './map-name.ts'
import type { Problem } from '../data/problem.ts'
import type { Target } from './target.ts'

/** How specific a rule is, most specific first (seed "Configmap Hierarchy and Precedence"). */
export type Level = 'instance' | 'subkind' | 'kind'

/** What a rule asks of an owner; '' where nothing is asked. */
export interface OwnerCriteria {
  readonly kind: string
  readonly apiVersion: string
  readonly uid: string
}

/** A rule. '' stands for a field that is absent. */
export interface Rule {
  /** Where it stands: `spec.mappings[0]`. */
  readonly field: string
  readonly apiVersion: string
  readonly kind: string
  /** Lower case. */
  readonly subkind: string
  readonly name: string
  readonly owner: OwnerCriteria | undefined
  readonly mapname: MapNameTemplate
  readonly level: Level
  /** Name, subkind or kind is `*`: such a rule stands behind exact ones. */
  readonly isWild: boolean
}

/** Reads a rule; what is wrong with it is a list of problems, and then it is not used. */
export function parseRule(value: JsonValue, field: string): Rule | readonly Problem[] {
  if (!isJsonObject(value))
    return [{ code: 'InvalidRule', field, message: 'a rule should be an object with apiVersion, kind and mapname' }]
  const problems: Problem[] = []
  const text = (key: string, required: boolean, from = value, path = field): string => {
    const found = ownValue(from, key) ?? ''
    if (typeof found !== 'string')
      problems.push({ code: 'InvalidRule', field: `${path}.${key}`, message: `${key} should be a text` })
    else if (found === '' && required)
      problems.push({
        code: 'InvalidRule',
        field: `${path}.${key}`,
        message: `${key} is missing: a rule without it matches nothing`,
      })
    return typeof found === 'string' ? found : ''
  }
  const apiVersion = text('apiVersion', true)
  const kind = text('kind', true)
  const subkind = text('subkind', false).toLowerCase()
  const name = text('name', false)
  const ownerValue = ownValue(value, 'owner') ?? undefined
  let owner: OwnerCriteria | undefined
  if (isJsonObject(ownerValue)) {
    const part = (key: string): string => text(key, false, ownerValue, `${field}.owner`)
    owner = { kind: part('kind'), apiVersion: part('apiVersion'), uid: part('uid') }
    if (owner.kind === '' && owner.apiVersion === '' && owner.uid === '') owner = undefined
  } else if (ownerValue !== undefined) {
    problems.push({
      code: 'InvalidRule',
      field: `${field}.owner`,
      message: 'owner should be an object with kind, apiVersion or uid',
    })
  }
  const template = parseMapName(text('mapname', true))
  if ('unknown' in template) {
    problems.push({
      code: 'UnknownVariable',
      field: `${field}.mapname`,
      message: `\${${template.unknown}} is no variable of mapname; there are ${mapNameVariables.join(', ')}`,
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
    isWild: name === '*' || subkind === '*' || kind === '*',
  }
}

/** The rule's apiVersion and kind fit; depends on these two of a target only. */
export function fitsKind(rule: Rule, target: Pick<Target, 'apiVersion' | 'group' | 'version' | 'kind'>): boolean {
  return (rule.kind === '*' || rule.kind === target.kind) && fitsApiVersion(rule.apiVersion, target)
}

/**
 * Everything else fits. A rule speaks of a resource with a subkind only if it names one, unless it is of kind level
 * (originals/kappnav.md §2.4, 3). The owner is the one that satisfied the rule, the first one where the rule asks for none.
 */
export function fitsRest(rule: Rule, target: Target): { readonly owner: MatchedOwner | undefined } | undefined {
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

function fitsApiVersion(
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
  const fits = (wanted: string, found: string): boolean => wanted === '' || wanted === '*' || wanted === found
  return fits(criteria.kind, owner.kind) && fits(criteria.apiVersion, owner.apiVersion) && fits(criteria.uid, owner.uid)
}

function withoutLeadingSlash(apiVersion: string): string {
  return apiVersion.startsWith('/') ? apiVersion.slice(1) : apiVersion
}
