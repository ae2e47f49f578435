// The ConfigMaps that the rules of a mapping can name, for its status: computed without a resource.
import { canName } from './map-name.ts'
import type { MapNameTemplate } from './map-name.ts'
import type { Mapping, MapType } from './mapping.ts'
import { rulesField } from './mapping.ts'

/** Maps as `namespace/name`, sorted. */
export interface RuleMaps {
  readonly found: readonly string[]
  /** Named by a rule without variables, and absent. */
  readonly missing: readonly string[]
}

/** The names that some rules can give. */
class Names {
  readonly constants = new Set<string>()
  /** Templates by the literals at their ends. */
  readonly #templates = new Map<string, MapNameTemplate[]>()
  readonly #seen = new Set<string>()
  /** Distinct lengths of the literals at the beginning and at the end. */
  readonly #first = new Set<number>()
  readonly #last = new Set<number>()

  add(template: MapNameTemplate): void {
    const { literals, text, variables } = template
    if (this.#seen.has(text)) return
    this.#seen.add(text)
    if (variables.length === 0) {
      this.constants.add(text)
      return
    }
    const [first, last] = [literals[0]!, literals.at(-1)!]
    this.#first.add(first.length)
    this.#last.add(last.length)
    const key = `${first}\0${last}`
    const same = this.#templates.get(key)
    if (same === undefined) this.#templates.set(key, [template])
    else same.push(template)
  }

  has(name: string): boolean {
    if (this.constants.has(name)) return true
    for (const first of this.#first)
      for (const last of this.#last) {
        if (first + last > name.length) continue
        const templates = this.#templates.get(`${name.slice(0, first)}\0${name.slice(name.length - last)}`)
        if (templates?.some((template) => canName(template, name)) === true) return true
      }
    return false
  }
}

/** Finds the ConfigMaps that a mapping can name. Computed once for each version of a mapping. */
export class MapFinder {
  readonly #namespace: string
  /** Of rules of instance level: they match in every namespace. */
  readonly #anywhere = new Names()
  /** Of other rules: they match in the namespace of their mapping. */
  readonly #own = new Names()

  constructor({ namespace, rules }: Mapping) {
    this.#namespace = namespace
    for (const type of Object.keys(rulesField) as MapType[])
      for (const { level, mapname } of rules[type]) (level === 'instance' ? this.#anywhere : this.#own).add(mapname)
  }

  /** Reports whether a rule can name a ConfigMap. */
  names(namespace: string, name: string): boolean {
    return this.#anywhere.has(name) || (namespace === this.#namespace && this.#own.has(name))
  }

  /** Returns the first entries of both lists, given all keys of ConfigMaps that the rules can name. */
  summary(found: readonly string[], limit: number): RuleMaps {
    const keys = new Set(found)
    const names = new Set(found.map((key) => key.slice(key.indexOf('/') + 1)))
    const missing = [
      ...[...this.#own.constants].map((name) => `${this.#namespace}/${name}`).filter((key) => !keys.has(key)),
      ...[...this.#anywhere.constants].filter((name) => !names.has(name)).map((name) => `*/${name}`),
    ]
    return { found: found.toSorted().slice(0, limit), missing: [...new Set(missing)].toSorted().slice(0, limit) }
  }
}
