// A parsed KindActionMapping: its valid rules, and the problems of the others.
import { isJsonArray, ownValue } from '@fairlead/kube'
import type { JsonObject, JsonValue, KubeObject } from '@fairlead/kube'
import { asData } from '../data/map-data.ts'
import type { Problem } from '../data/problem.ts'
import { parseRule } from './rule.ts'
import type { Rule } from './rule.ts'

/** Rules map to actions, to the status of a resource, or to sections of its details. */
export type MapType = 'actions' | 'status' | 'sections'

/** Fields of the spec with the rules of each type. */
export const rulesField: Readonly<Record<MapType, string>> = {
  actions: 'mappings',
  status: 'statusMappings',
  sections: 'sectionMappings',
}

/** A parsed KindActionMapping. */
export interface Mapping {
  readonly namespace: string
  readonly name: string
  /** 1 to 9; higher first. */
  readonly precedence: number
  readonly rules: Readonly<Record<MapType, readonly Rule[]>>
  readonly problems: readonly Problem[]
}

/** Parses a KindActionMapping. An invalid precedence disables all its rules, an invalid rule only itself. */
export function parseMapping(object: Pick<KubeObject, 'metadata'> & { readonly spec?: unknown }): Mapping {
  const spec = asData(object.spec)
  const problems: Problem[] = []
  const precedence = precedenceOf(spec)
  const rules: Record<MapType, readonly Rule[]> = { actions: [], status: [], sections: [] }
  if (precedence === undefined) {
    problems.push({
      code: 'InvalidMapping',
      field: 'spec.precedence',
      message: `precedence must be a whole number from 1 to 9, not ${format(spec['precedence'])}; no rule of this mapping is used`,
    })
  }
  for (const type of Object.keys(rulesField) as MapType[]) {
    const read = rulesOf(spec, rulesField[type], problems)
    if (precedence !== undefined) rules[type] = read
  }
  return {
    namespace: object.metadata.namespace ?? '',
    name: object.metadata.name ?? '',
    precedence: precedence ?? 0,
    rules,
    problems,
  }
}

function precedenceOf(spec: JsonObject): number | undefined {
  const value = ownValue(spec, 'precedence') ?? 1
  return typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= 9 ? value : undefined
}

function rulesOf(spec: JsonObject, key: string, problems: Problem[]): readonly Rule[] {
  const list = ownValue(spec, key) ?? []
  if (!isJsonArray(list)) {
    problems.push({ code: 'InvalidMapping', field: `spec.${key}`, message: `${key} must be a list of rules` })
    return []
  }
  const rules: Rule[] = []
  for (const [index, value] of list.entries()) {
    const rule = parseRule(value, `spec.${key}[${index}]`)
    if ('mapname' in rule) rules.push(rule)
    else problems.push(...rule)
  }
  return rules
}

function format(value: JsonValue | undefined): string {
  return typeof value === 'bigint' ? String(value) : JSON.stringify(value)
}
