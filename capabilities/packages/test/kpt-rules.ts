// Rules by which updates differ from kpt's on purpose (spec packages §2.7, docs/explanation/package-updates.md). A
// difference that they do not explain is a bug.
import type { JsonObject, JsonValue } from '@fairlead/kube'
import { isJsonObject } from '@fairlead/kube'
import type { Difference } from './kpt-comparison.ts'
import { sorted } from './kpt-comparison.ts'

/** Names of the rules. */
type Rule =
  | 'kpt-gives-up'
  | 'moved-resources-are-followed'
  | 'deleted-with-the-last-resource'
  | 'readiness-gates-merge-by-key'
  | 'functions-merge-by-key'
  | 'no-stub-elements'
  | 'no-empty-maps'

/** Returns the rules that explain a difference together; undefined when they do not. */
function explain(difference: Difference): Rule[] | undefined {
  if (difference.failure !== undefined) return ['kpt-gives-up']
  if (difference.isMoved) return ['moved-resources-are-followed']
  const { base, kpt, local, ours, upstream } = difference
  if (difference.isEmptied && upstream === undefined && ours === undefined && same(kpt, base))
    return ['deleted-with-the-last-resource']
  if (kpt === undefined || ours === undefined) return undefined
  const rules: Rule[] = []
  let [theirs, mine]: [JsonValue, JsonValue] = [kpt, ours]
  const apply = (rule: Rule, change: (value: JsonValue, isKpt: boolean) => JsonValue): void => {
    const [nextTheirs, nextMine] = [change(theirs, true), change(mine, false)]
    if (same(theirs, mine) || (same(nextTheirs, theirs) && same(nextMine, mine))) return
    ;[theirs, mine] = [nextTheirs, nextMine]
    rules.push(rule)
  }
  // kpt takes upstream's list as one value where gates changed there, and where some functions have names.
  if (
    same(at(kpt, 'info', 'readinessGates'), at(upstream, 'info', 'readinessGates')) &&
    !same(at(kpt, 'info', 'readinessGates'), at(ours, 'info', 'readinessGates'))
  )
    apply('readiness-gates-merge-by-key', (value) => without(value, 'info', 'readinessGates'))
  if (isMixed([base, upstream, local]) && !same(at(kpt, 'pipeline', 'mutators'), at(ours, 'pipeline', 'mutators')))
    apply('functions-merge-by-key', (value) => without(value, 'pipeline', 'mutators'))
  const known = new Set([base, upstream, local].flatMap((value) => elementsOf(value ?? null)))
  apply('no-stub-elements', (value, isKpt) => withoutStubs(value, isKpt ? mine : theirs, known))
  apply('no-empty-maps', (value) => withoutEmptyMaps(value) ?? {})
  return same(theirs, mine) ? rules : undefined
}

function same(a: JsonValue | undefined, b: JsonValue | undefined): boolean {
  return JSON.stringify(sorted(a ?? null)) === JSON.stringify(sorted(b ?? null))
}

function at(value: JsonValue | undefined, ...path: readonly string[]): JsonValue | undefined {
  return path.reduce<JsonValue | undefined>((one, key) => (isJsonObject(one) ? one[key] : undefined), value)
}

function without(value: JsonValue, key: string, inner: string): JsonValue {
  if (!isJsonObject(value) || !isJsonObject(value[key])) return value
  const { [inner]: _, ...rest } = value[key]
  return { ...value, [key]: rest }
}

/** Some functions have names and some do not. */
function isMixed(versions: readonly (JsonObject | undefined)[]): boolean {
  const functions = versions.flatMap((value) => (at(value, 'pipeline', 'mutators') ?? []) as { name?: string }[])
  return new Set(functions.map(({ name }) => name !== undefined)).size > 1
}

/** Returns every element of every list of maps, as one string. */
function elementsOf(value: JsonValue): string[] {
  if (Array.isArray(value))
    return (value as JsonValue[]).flatMap((one) => [JSON.stringify(sorted(one)), ...elementsOf(one)])
  return isJsonObject(value) ? Object.values(value).flatMap(elementsOf) : []
}

/**
 * Leaves out elements that are no whole element of any version, and their counterparts on the other side: kpt leaves
 * parts of elements that upstream removed, and of those that were removed locally and changed upstream, which come back
 * whole in ours.
 */
function withoutStubs(value: JsonValue, other: JsonValue | undefined, known: ReadonlySet<string>): JsonValue {
  if (Array.isArray(value)) {
    const others = Array.isArray(other) ? (other as JsonValue[]) : []
    return (value as JsonValue[])
      .filter((one) => {
        const counterpart = counterpartOf(one, others, known)
        if (counterpart === undefined) return !isJsonObject(one) || known.has(JSON.stringify(sorted(one)))
        return !isPart(one, counterpart, known) && !isPart(counterpart, one, known)
      })
      .map((one) => withoutStubs(one, counterpartOf(one, others, known), known))
  }
  if (!isJsonObject(value)) return value
  const entries = Object.entries(value).map(([key, child]) => [
    key,
    withoutStubs(child, isJsonObject(other) ? other[key] : undefined, known),
  ])
  return Object.fromEntries(entries) as JsonObject
}

/** Returns the element with the same key; else a part of the element that kpt left without its key. */
function counterpartOf(
  one: JsonValue,
  others: readonly JsonValue[],
  known: ReadonlySet<string>,
): JsonValue | undefined {
  const hasKey = (two: JsonValue): boolean => isJsonObject(two) && keys.some((key) => two[key] !== undefined)
  return others.find((two) => sameKey(one, two)) ?? others.find((two) => !hasKey(two) && isPart(two, one, known))
}

const keys = ['name', 'image', 'conditionType', 'port', 'protocol'] as const

function sameKey(one: JsonValue, two: JsonValue): boolean {
  if (!isJsonObject(one) || !isJsonObject(two)) return false
  if (one['name'] !== undefined || two['name'] !== undefined) return one['name'] === two['name']
  // kpt writes the number of a port that it brings back as a string.
  return keys.every((key) => String(one[key]) === String(two[key]))
}

/** The first is no element of any version, and every field of it is in the second, which has more. */
function isPart(one: JsonValue, two: JsonValue, known: ReadonlySet<string>): boolean {
  if (!isJsonObject(one) || !isJsonObject(two) || known.has(JSON.stringify(sorted(one)))) return false
  const isSmaller = Object.keys(one).length < Object.keys(two).length || typeof one['port'] !== typeof two['port']
  return (
    isSmaller &&
    Object.entries(one).every(
      ([key, value]) => Object.hasOwn(two, key) && (same(String(value), String(two[key])) || isJsonObject(value)),
    )
  )
}

function withoutEmptyMaps(value: JsonValue): JsonValue | undefined {
  if (Array.isArray(value))
    return value.length === 0 ? undefined : (value as JsonValue[]).map((one) => withoutEmptyMaps(one) ?? {})
  if (!isJsonObject(value)) return value
  const entries = Object.entries(value).flatMap(([key, child]) => {
    const rest = withoutEmptyMaps(child)
    return rest === undefined ? [] : [[key, rest] as const]
  })
  return entries.length === 0 ? undefined : Object.fromEntries(entries)
}

/** Counts the differences by rule; those that no rule explains are returned as they are. */
export function countRules(differences: readonly Difference[]): {
  readonly counts: Readonly<Partial<Record<Rule, number>>>
  readonly unexplained: readonly Difference[]
} {
  const counts: Partial<Record<Rule, number>> = {}
  const unexplained: Difference[] = []
  for (const difference of differences) {
    const rules = explain(difference)
    if (rules === undefined) unexplained.push(difference)
    for (const rule of rules ?? []) counts[rule] = (counts[rule] ?? 0) + 1
  }
  return { counts, unexplained }
}
