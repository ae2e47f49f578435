// The ConfigMaps that the rules of a mapping can name, for its status: computed without a resource.
import { canName } from './map-name.ts'
import type { Rule } from './rule.ts'

/** Maps as `namespace/name`, sorted. */
export interface RuleMaps {
  readonly found: readonly string[]
  /** Named by a rule without variables, and absent. */
  readonly missing: readonly string[]
}

/**
 * Finds the maps of rules among the keys of all ConfigMaps. Rules of instance level match in every namespace, others in
 * that of their mapping.
 */
export function mapsOfRules(
  rules: readonly Rule[],
  namespace: string,
  keys: Iterable<string>,
  limit: number,
): RuleMaps {
  const found = new Set<string>()
  const names = new Set<string>()
  const own = rules.filter(({ level }) => level !== 'instance')
  const anywhere = rules.filter(({ level }) => level === 'instance')
  for (const key of keys) {
    const slash = key.indexOf('/')
    const name = key.slice(slash + 1)
    const candidates = key.slice(0, slash) === namespace ? rules : anywhere
    if (!candidates.some(({ mapname }) => canName(mapname, name))) continue
    found.add(key)
    names.add(name)
  }
  const isConstant = ({ mapname }: Rule): boolean => mapname.variables.length === 0
  const missing = [
    ...own
      .filter((rule) => isConstant(rule) && !found.has(`${namespace}/${rule.mapname.text}`))
      .map((rule) => `${namespace}/${rule.mapname.text}`),
    ...anywhere
      .filter((rule) => isConstant(rule) && !names.has(rule.mapname.text))
      .map((rule) => `*/${rule.mapname.text}`),
  ]
  return { found: [...found].toSorted().slice(0, limit), missing: [...new Set(missing)].toSorted().slice(0, limit) }
}
