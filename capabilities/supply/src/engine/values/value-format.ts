// How values stand in messages and in texts of templates: strings as they are, everything else as compact JSON with sorted keys.
import { sortKeys, stringifyJson } from '@fairlead/kube'
import type { JsonValue } from '@fairlead/kube'
import type { LookupResult } from './path.ts'

/** The text of a value. */
export function formatValue(value: JsonValue): string {
  return typeof value === 'string' ? value : stringifyJson(sortKeys(value))
}

/** The text of what a path led to. */
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
