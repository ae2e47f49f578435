// Requirements on fields, with one meaning in health rules, selectors and options. Null counts as absent, and `NotIn`
// does not match an absent value (specs/supply-chains.md §2.1).
import type { FieldRequirement } from '../../api.ts'
import type { LookupResult } from './path.ts'
import { formatValue } from './value-format.ts'

/** Reports whether the value at the key of a requirement matches it. A failed lookup matches nothing. */
export function matchesRequirement(requirement: FieldRequirement, found: LookupResult): boolean {
  if (found.kind === 'error') return false
  const isPresent = found.kind === 'value' && found.value !== null
  switch (requirement.operator) {
    case 'Exists':
      return isPresent
    case 'DoesNotExist':
      return !isPresent
    case 'In':
      return isPresent && (requirement.values ?? []).includes(formatValue(found.value!))
    case 'NotIn':
      return isPresent && !(requirement.values ?? []).includes(formatValue(found.value!))
    default:
      return false
  }
}
