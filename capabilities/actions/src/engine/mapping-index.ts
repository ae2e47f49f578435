// All mappings of a cluster, ready for lookups: rules are brought into order once, and a lookup walks only those that fit the kind.
import { fillMapName } from './map-name.ts'
import type { Mapping, MapType } from './mapping.ts'
import type { Problem } from './problem.ts'
import { fitsKind, fitsRest } from './rule.ts'
import type { Level, Rule } from './rule.ts'
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
    const seen = new Set<string>()
    for (const { mapping, rule } of this.#rulesFor(target, type)) {
      const fits = fitsRest(rule, target)
      if (fits === undefined) continue
      const filled = fillMapName(rule.mapname, target, fits.owner)
      if ('code' in filled) {
        problems.push({ ...filled, field: `${rule.field}.mapname`, mapping })
        continue
      }
      const namespace = rule.level === 'instance' ? target.namespace : mapping.namespace
      const key = `${namespace}/${filled.name}`
      if (seen.has(key)) continue
      seen.add(key)
      candidates.push({ name: filled.name, namespace, level: rule.level, mapping, rule })
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
      .flatMap((mapping) => mapping.rules[type].map((rule): Placed => ({ mapping, rule })))
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
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
