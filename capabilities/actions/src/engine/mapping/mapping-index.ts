// The index of all mappings of a cluster: rules are sorted once, and a lookup visits only those that match the kind.
import type { Problem } from '../data/problem.ts'
import { fillMapName } from './map-name.ts'
import type { MapName, MatchedOwner } from './map-name.ts'
import type { Mapping, MapType } from './mapping.ts'
import { matchRest, matchesKind } from './rule.ts'
import type { Level, Rule } from './rule.ts'
import { makeTarget } from './target.ts'
import type { Target } from './target.ts'

/** A map that a resource may have, and the rule that names it. */
export interface Candidate {
  /** Name of the ConfigMap. */
  readonly name: string
  readonly namespace: string
  readonly level: Level
  readonly mapping: Mapping
  readonly rule: Rule
}

/** Result of a lookup. */
export interface Candidates {
  /** Most specific first, no duplicates. */
  readonly candidates: readonly Candidate[]
  /** Rules that match the resource and give no valid name for it. */
  readonly problems: readonly (Problem & { readonly mapping: Mapping })[]
}

interface IndexedRule {
  readonly mapping: Mapping
  readonly rule: Rule
  /** The mapping counts for the resources of all namespaces. */
  readonly isTrusted: boolean
  /**
   * The candidate if it is the same for every target: most rules have no variables and name a map in their own
   * namespace.
   */
  readonly constant: Numbered | undefined
}

interface Keyed {
  /** `namespace/name` of the map. */
  readonly key: string
  readonly candidate: Candidate
}

interface Numbered {
  /** Number of the key among all constant ones: comparing numbers to find duplicates costs no hashing. */
  readonly id: number
  readonly candidate: Candidate
}

/** Reports whether the mappings and maps of a namespace count for the resources of all namespaces. */
export type IsTrusted = (namespace: string) => boolean

const levels: Readonly<Record<Level, number>> = { instance: 0, subkind: 1, kind: 2 }

/** Entries of the cache of rules by kind. */
const maxCachedKinds = 1000

/** The index of a set of mappings. Immutable: create a new one when a mapping changes. */
export class MappingIndex {
  /** Rules by their `kind`, sorted. */
  readonly #byKind: Readonly<Record<MapType, ReadonlyMap<string, readonly IndexedRule[]>>>
  readonly #matching = new Map<string, readonly IndexedRule[]>()
  readonly #position = new Map<IndexedRule, number>()
  /** Numbers of constant keys, and for each the last lookup that returned it. */
  readonly #ids = new Map<string, number>()
  readonly #seenIn: number[] = []
  readonly #isTrusted: IsTrusted
  #lookups = 0

  /**
   * Creates the index of a set of mappings. Mappings of a namespace that is not trusted count for the resources of that
   * namespace alone.
   */
  constructor(mappings: readonly Mapping[], isTrusted: IsTrusted = () => true) {
    this.#isTrusted = isTrusted
    this.#byKind = {
      actions: this.#index(mappings, 'actions'),
      status: this.#index(mappings, 'status'),
      sections: this.#index(mappings, 'sections'),
    }
  }

  /**
   * Returns the candidate maps of a resource, ordered by level, precedence, exact rules before those with a wildcard,
   * namespace and name of the mapping, and rule order. All matches count; duplicates are dropped.
   */
  candidates(target: Target, type: MapType = 'actions'): Candidates {
    const candidates: Candidate[] = []
    const problems: (Problem & { readonly mapping: Mapping })[] = []
    if (target.apiVersion === '') return { candidates, problems }
    const lookup = ++this.#lookups
    const seen = new Set<string>()
    for (const { mapping, rule, isTrusted, constant } of this.#rulesFor(target, type)) {
      // Writers of a namespace must not decide about the resources of another one.
      if (!isTrusted && (target.isClusterScoped === true || mapping.namespace !== target.namespace)) continue
      const match = matchRest(rule, target)
      if (match === undefined) continue
      if (constant !== undefined) {
        if (this.#seenIn[constant.id] === lookup) continue
        this.#seenIn[constant.id] = lookup
        candidates.push(constant.candidate)
        continue
      }
      const made = candidateOf(mapping, rule, target, match.owner)
      if ('code' in made) {
        problems.push({ ...made, field: `${rule.field}.mapname`, mapping })
        continue
      }
      const id = this.#ids.get(made.key)
      if (id === undefined ? seen.has(made.key) : this.#seenIn[id] === lookup) continue
      if (id === undefined) seen.add(made.key)
      else this.#seenIn[id] = lookup
      candidates.push(made.candidate)
    }
    return { candidates, problems }
  }

  #rulesFor(target: Target, type: MapType): readonly IndexedRule[] {
    const key = `${type} ${target.apiVersion} ${target.kind}`
    const cached = this.#matching.get(key)
    if (cached !== undefined) return cached
    const rules = this.#byKind[type]
    const matching = [...(rules.get(target.kind) ?? []), ...(target.kind === '*' ? [] : (rules.get('*') ?? []))]
      .filter(({ rule }) => matchesKind(rule, target))
      .sort((a, b) => this.#position.get(a)! - this.#position.get(b)!)
    if (this.#matching.size >= maxCachedKinds) this.#matching.clear()
    this.#matching.set(key, matching)
    return matching
  }

  #index(mappings: readonly Mapping[], type: MapType): ReadonlyMap<string, readonly IndexedRule[]> {
    const rules = mappings
      .toSorted((a, b) => compare(a.namespace, b.namespace) || compare(a.name, b.name))
      .flatMap((mapping) =>
        mapping.rules[type].map((rule): IndexedRule => ({
          mapping,
          rule,
          isTrusted: this.#isTrusted(mapping.namespace),
          constant: this.#constantOf(mapping, rule),
        })),
      )
      .sort(
        (a, b) =>
          levels[a.rule.level] - levels[b.rule.level] ||
          b.mapping.precedence - a.mapping.precedence ||
          Number(a.rule.isWildcard) - Number(b.rule.isWildcard),
      )
    const byKind = new Map<string, IndexedRule[]>()
    for (const [position, one] of rules.entries()) {
      this.#position.set(one, position)
      const same = byKind.get(one.rule.kind)
      if (same === undefined) byKind.set(one.rule.kind, [one])
      else same.push(one)
    }
    return byKind
  }

  #constantOf(mapping: Mapping, rule: Rule): Numbered | undefined {
    if (rule.mapname.variables.length > 0 || rule.level === 'instance') return undefined
    const made = candidateOf(mapping, rule, anyTarget, undefined)
    if ('code' in made) return undefined
    const id = this.#ids.get(made.key) ?? this.#seenIn.push(0) - 1
    this.#ids.set(made.key, id)
    return { id, candidate: made.candidate }
  }
}

/** Returns the candidate of a rule for a target, or the problem with its name. */
function candidateOf(
  mapping: Mapping,
  rule: Rule,
  target: Target,
  owner: MatchedOwner | undefined,
): Keyed | Exclude<MapName, { readonly name: string }> {
  const filled = fillMapName(rule.mapname, target, owner)
  if ('code' in filled) return filled
  const namespace = rule.level === 'instance' ? target.namespace : mapping.namespace
  return {
    key: `${namespace}/${filled.name}`,
    candidate: { name: filled.name, namespace, level: rule.level, mapping, rule },
  }
}

const anyTarget = makeTarget({ apiVersion: 'v1', kind: 'Any', subkind: '', name: '', namespace: '', owners: [] })

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
