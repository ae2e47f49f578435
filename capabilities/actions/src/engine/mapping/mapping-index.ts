// All mappings of a cluster, ready for lookups: rules are brought into order once, and a lookup walks only those that fit the kind.
import { fillMapName } from './map-name.ts'
import type { MapName, MatchedOwner } from './map-name.ts'
import type { Mapping, MapType } from './mapping.ts'
import type { Problem } from '../data/problem.ts'
import { fitsKind, fitsRest } from './rule.ts'
import type { Level, Rule } from './rule.ts'
import { makeTarget } from './target.ts'
import type { Target } from './target.ts'

/** A map that a resource may have, and the rule that says so. */
export interface Candidate {
  /** Of the ConfigMap. */
  readonly name: string
  readonly namespace: string
  readonly level: Level
  readonly mapping: Mapping
  readonly rule: Rule
}

/** Answer of a lookup. */
export interface Candidates {
  /** Most specific first, no duplicates. */
  readonly candidates: readonly Candidate[]
  /** Rules that fit and still gave no name, for this resource. */
  readonly problems: readonly (Problem & { readonly mapping: Mapping })[]
}

interface Placed {
  readonly mapping: Mapping
  readonly rule: Rule
  /** What the rule gives whatever the target: most rules have no variables and look beside their mapping. */
  readonly constant: Numbered | undefined
}

interface Keyed {
  /** `namespace/name` of the map. */
  readonly key: string
  readonly candidate: Candidate
}

interface Numbered {
  /** Number of the key among all constant ones: telling duplicates apart by numbers costs no hashing. */
  readonly id: number
  readonly candidate: Candidate
}

const levels: Readonly<Record<Level, number>> = { instance: 0, subkind: 1, kind: 2 }

/** Kinds that are remembered; whoever asks for more distinct ones only pays for the search again. */
const maxRememberedKinds = 1000

/** The index. Make a new one when a mapping changed; it never changes itself. */
export class MappingIndex {
  /** By `kind` of the rule, in order. */
  readonly #byKind: Readonly<Record<MapType, ReadonlyMap<string, readonly Placed[]>>>
  readonly #fitting = new Map<string, readonly Placed[]>()
  readonly #position = new Map<Placed, number>()
  /** Numbers of constant keys, and for each the last lookup that gave it. */
  readonly #ids = new Map<string, number>()
  readonly #seenIn: number[] = []
  #lookups = 0

  /** An index of these mappings. */
  constructor(mappings: readonly Mapping[]) {
    this.#byKind = {
      actions: this.#index(mappings, 'actions'),
      status: this.#index(mappings, 'status'),
      sections: this.#index(mappings, 'sections'),
    }
  }

  /**
   * The maps of a resource: level, then precedence, then exact rules before those with a wildcard, then mapping by namespace and name,
   * then rule order. Every match counts; duplicates drop out.
   */
  candidates(target: Target, type: MapType = 'actions'): Candidates {
    const candidates: Candidate[] = []
    const problems: (Problem & { readonly mapping: Mapping })[] = []
    if (target.apiVersion === '') return { candidates, problems }
    const lookup = ++this.#lookups
    const seen = new Set<string>()
    for (const { mapping, rule, constant } of this.#rulesFor(target, type)) {
      const fits = fitsRest(rule, target)
      if (fits === undefined) continue
      if (constant !== undefined) {
        if (this.#seenIn[constant.id] === lookup) continue
        this.#seenIn[constant.id] = lookup
        candidates.push(constant.candidate)
        continue
      }
      const made = candidateOf(mapping, rule, target, fits.owner)
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

  #rulesFor(target: Target, type: MapType): readonly Placed[] {
    const key = `${type} ${target.apiVersion} ${target.kind}`
    const known = this.#fitting.get(key)
    if (known !== undefined) return known
    const rules = this.#byKind[type]
    const fitting = [...(rules.get(target.kind) ?? []), ...(target.kind === '*' ? [] : (rules.get('*') ?? []))]
      .filter(({ rule }) => fitsKind(rule, target))
      .sort((a, b) => this.#position.get(a)! - this.#position.get(b)!)
    if (this.#fitting.size >= maxRememberedKinds) this.#fitting.clear()
    this.#fitting.set(key, fitting)
    return fitting
  }

  #index(mappings: readonly Mapping[], type: MapType): ReadonlyMap<string, readonly Placed[]> {
    const placed = mappings
      .toSorted((a, b) => compare(a.namespace, b.namespace) || compare(a.name, b.name))
      .flatMap((mapping) =>
        mapping.rules[type].map((rule): Placed => ({ mapping, rule, constant: this.#constantOf(mapping, rule) })),
      )
      .sort(
        (a, b) =>
          levels[a.rule.level] - levels[b.rule.level] ||
          b.mapping.precedence - a.mapping.precedence ||
          Number(a.rule.isWild) - Number(b.rule.isWild),
      )
    const byKind = new Map<string, Placed[]>()
    for (const [position, one] of placed.entries()) {
      this.#position.set(one, position)
      const same = byKind.get(one.rule.kind)
      if (same === undefined) byKind.set(one.rule.kind, [one])
      else same.push(one)
    }
    return byKind
  }

  #constantOf(mapping: Mapping, rule: Rule): Numbered | undefined {
    if (rule.mapname.variables.length > 0 || rule.level === 'instance') return undefined
    const made = candidateOf(mapping, rule, nobody, undefined)
    if ('code' in made) return undefined
    const id = this.#ids.get(made.key) ?? this.#seenIn.push(0) - 1
    this.#ids.set(made.key, id)
    return { id, candidate: made.candidate }
  }
}

/** The candidate of a rule for a target, or what is wrong with its name. */
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

const nobody = makeTarget({ apiVersion: 'v1', kind: 'Nobody', subkind: '', name: '', namespace: '', owners: [] })

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
