// Formats values for messages and for tags inside strings: strings as they are, everything else as compact JSON with
// sorted keys.
import { sortKeys, stringifyJson } from '@fairlead/kube'
import type { JsonValue } from '@fairlead/kube'
import type { LookupResult } from './path.ts'

/** Returns a value as a string. */
export function formatValue(value: JsonValue): string {
  return typeof value === 'string' ? value : stringifyJson(sortKeys(value))
}

/** Returns the result of a lookup as a string: the value, `<absent>`, or `<` error message `>`. */
export function formatLookup(found: LookupResult): string {
  switch (found.kind) {
    case 'value':
      return formatValue(found.value)
    case 'absent':
      return '<absent>'
    case 'error':
      return `<${found.message}>`
  }
}
