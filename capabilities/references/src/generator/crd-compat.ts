// Breaking changes between two versions of a CustomResourceDefinition: what makes a stored object or a manifest invalid
// that was valid before.
import { isJsonArray, isJsonObject, jsonEqual } from '@fairlead/kube'
import type { JsonObject, JsonValue, KubeObject } from '@fairlead/kube'

/** One breaking change. */
export interface BreakingChange {
  /** Name of the definition. */
  readonly definition: string
  /** Place, such as `v1alpha1: spec.chapters[].title`. */
  readonly at: string
  readonly message: string
}

type Report = (at: string, message: string) => void

/** Returns the breaking changes between two versions of a definition; `after` is undefined for a removed one. */
export function breakingChanges(before: KubeObject, after: KubeObject | undefined): readonly BreakingChange[] {
  const definition = before.metadata.name ?? ''
  const found: BreakingChange[] = []
  const report: Report = (at, message) => void found.push({ definition, at, message })
  if (after === undefined) {
    report('', 'the definition is removed')
    return found
  }
  const [old, next] = [specOf(before), specOf(after)]
  for (const path of [['scope'], ['names', 'kind'], ['names', 'plural']]) {
    const [was, is] = [at(old, path), at(next, path)]
    if (was !== is) report(path.join('.'), `was ${String(was)}, is ${String(is)}`)
  }
  const versions = new Map(versionsOf(next).map((version) => [version['name'], version]))
  for (const version of versionsOf(old)) {
    const name = String(version['name'])
    const now = versions.get(version['name'])
    if (now === undefined) report(name, 'the version is removed')
    else if (version['served'] === true && now['served'] !== true) report(name, 'the version is no longer served')
    else compare(schemaOf(version), schemaOf(now), '', (path, message) => report(`${name}: ${path}`, message))
  }
  return found
}

function specOf(definition: KubeObject): JsonObject {
  return (definition['spec'] ?? {}) as JsonObject
}

function at(value: JsonValue | undefined, path: readonly string[]): JsonValue | undefined {
  return path.reduce<JsonValue | undefined>((one, key) => (isJsonObject(one) ? one[key] : undefined), value)
}

function versionsOf(spec: JsonObject): readonly JsonObject[] {
  return isJsonArray(spec['versions']) ? (spec['versions'] as readonly JsonObject[]) : []
}

function schemaOf(version: JsonObject): JsonObject {
  return (at(version, ['schema', 'openAPIV3Schema']) ?? {}) as JsonObject
}

/** Keywords with a number, and whether a larger one allows less. */
const bounds: readonly (readonly [keyword: string, isLower: boolean])[] = [
  ['minimum', true],
  ['minLength', true],
  ['minItems', true],
  ['minProperties', true],
  ['maximum', false],
  ['maxLength', false],
  ['maxItems', false],
  ['maxProperties', false],
]

/** Keywords that allow less when they are added, and may allow less when they change. */
const narrowing = [
  'pattern',
  'format',
  'multipleOf',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'oneOf',
  'anyOf',
  'allOf',
  'not',
]

function compare(before: JsonObject, after: JsonObject, path: string, report: Report): void {
  compareType(before, after, path, report)
  compareValues(before, after, path, report)
  const [old, next] = [mapOf(before['properties']), mapOf(after['properties'])]
  for (const [name, schema] of Object.entries(old)) {
    const now = next[name]
    const below = path === '' ? name : `${path}.${name}`
    if (isJsonObject(now)) compare(schema as JsonObject, now, below, report)
    else if (after['x-kubernetes-preserve-unknown-fields'] !== true) report(below, 'the field is removed')
  }
  const required = new Set(strings(before['required']))
  for (const name of strings(after['required'])) {
    const hasDefault = at(next, [name, 'default']) !== undefined
    if (!required.has(name) && !hasDefault) report(path === '' ? name : `${path}.${name}`, 'the field is required now')
  }
  for (const [keyword, step] of [
    ['items', '[]'],
    ['additionalProperties', '{}'],
  ] as const) {
    const [was, is] = [before[keyword], after[keyword]]
    if (isJsonObject(was) && isJsonObject(is)) compare(was, is, `${path}${step}`, report)
  }
}

function compareType(before: JsonObject, after: JsonObject, path: string, report: Report): void {
  const [was, is] = [before['type'], after['type']]
  // An integer is a number, too; a field without a type takes anything.
  const isWider = is === undefined || (was === 'integer' && is === 'number')
  if (was !== is && !isWider) report(path, `the type was ${String(was ?? 'any')}, is ${String(is)}`)
  if (before['nullable'] === true && after['nullable'] !== true) report(path, 'null is no longer allowed')
  const opens = 'x-kubernetes-preserve-unknown-fields'
  if (before[opens] === true && after[opens] !== true) report(path, 'unknown fields are no longer kept')
  const kindOfList = (schema: JsonObject): JsonValue => schema['x-kubernetes-list-type'] ?? 'atomic'
  const [old, next] = [kindOfList(before), kindOfList(after)]
  if (next === 'atomic') return
  if (old !== next) report(path, `x-kubernetes-list-type was ${show(old)}, is ${show(next)}`)
  const [keys, nextKeys] = [before, after].map((schema) => schema['x-kubernetes-list-map-keys'] ?? null)
  if (old === next && !jsonEqual(keys ?? null, nextKeys ?? null))
    report(path, `x-kubernetes-list-map-keys were ${show(keys ?? null)}, are ${show(nextKeys ?? null)}`)
}

function compareValues(before: JsonObject, after: JsonObject, path: string, report: Report): void {
  const [was, is] = [before['enum'], after['enum']]
  if (isJsonArray(is)) {
    const removed = isJsonArray(was) ? was.filter((value) => !is.some((one) => jsonEqual(one, value))) : undefined
    if (removed === undefined) report(path, `only ${is.map(show).join(', ')} are allowed now`)
    else if (removed.length > 0) report(path, `the values ${removed.map(show).join(', ')} are removed`)
  }
  for (const [keyword, isLower] of bounds) {
    const [old, next] = [before[keyword], after[keyword]]
    if (typeof next !== 'number') continue
    if (typeof old !== 'number' || (isLower ? next > old : next < old))
      report(path, `${keyword} was ${show(old ?? null)}, is ${next}`)
  }
  for (const keyword of narrowing) {
    const [old, next] = [before[keyword], after[keyword]]
    if (next !== undefined && !jsonEqual(old ?? null, next))
      report(path, `${keyword} was ${show(old ?? null)}, is ${show(next)}`)
  }
  const rules = new Set(rulesOf(before))
  for (const rule of rulesOf(after)) if (!rules.has(rule)) report(path, `the rule ${rule} is new`)
}

function rulesOf(schema: JsonObject): readonly string[] {
  const rules = schema['x-kubernetes-validations']
  return isJsonArray(rules) ? rules.map((rule) => String(at(rule, ['rule']))) : []
}

function mapOf(value: JsonValue | undefined): JsonObject {
  return isJsonObject(value) ? value : {}
}

function strings(value: JsonValue | undefined): readonly string[] {
  return isJsonArray(value) ? value.map(String) : []
}

function show(value: JsonValue): string {
  return value === null ? 'none' : JSON.stringify(value)
}
