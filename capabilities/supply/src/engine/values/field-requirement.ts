// Requirements on fields, the same everywhere: in health rules, in selectors of blueprints, in options. Null counts as absent, and `NotIn`
// needs a value that is there (specs/supply-chains.md §2.1).
import type { FieldRequirement } from '../../api.ts'
import type { Found } from './path.ts'
import { valueText } from './value-format.ts'

/** Whether what stands at the key fulfils the requirement. What could not be looked up fulfils nothing. */
export function fulfils(requirement: FieldRequirement, found: Found): boolean {
  if (found.kind === 'error') return false
  const isThere = found.kind === 'value' && found.value !== null
  switch (requirement.operator) {
    case 'Exists':
      return isThere
    case 'DoesNotExist':
      return !isThere
    case 'In':
      return isThere && (requirement.values ?? []).includes(valueText(found.value!))
    case 'NotIn':
      return isThere && !(requirement.values ?? []).includes(valueText(found.value!))
    default:
      return false
  }
}
