// Requirements on fields, the same everywhere: in health rules, in selectors of blueprints, in options. Null counts as absent, and `NotIn`
// needs a value that is there (specs/supply-chains.md §2.1).
import type { FieldRequirement } from '../../api.ts'
import type { LookupResult } from './path.ts'
import { formatValue } from './value-format.ts'

/** Whether what stands at the key matchesRequirement the requirement. What could not be looked up matchesRequirement nothing. */
export function matchesRequirement(requirement: FieldRequirement, found: LookupResult): boolean {
  if (found.kind === 'error') return false
  const isThere = found.kind === 'value' && found.value !== null
  switch (requirement.operator) {
    case 'Exists':
      return isThere
    case 'DoesNotExist':
      return !isThere
    case 'In':
      return isThere && (requirement.values ?? []).includes(formatValue(found.value!))
    case 'NotIn':
      return isThere && !(requirement.values ?? []).includes(formatValue(found.value!))
    default:
      return false
  }
}
