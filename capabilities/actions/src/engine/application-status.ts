// The status of an Application: the worst of its components, in the order of kAppNav's configuration
// (originals/kappnav.md §4).
import { ownValue } from '@fairlead/kube'
import type { JsonObject } from '@fairlead/kube'
import { unknownStatus } from './maps/status-map.ts'
import type { ResourceStatus } from './maps/status-map.ts'

/** kAppNav's default of `app-status-precedence`. */
const defaultPrecedence = ['Failed', 'Problem', 'Warning', 'Pending', 'In Progress', 'Unknown', 'Normal', 'Completed']

/** Returns `app-status-precedence` of kAppNav's configuration: a JSON list, or words separated by commas. */
export function statusPrecedence(config: JsonObject): readonly string[] {
  const text = ownValue(config, 'app-status-precedence')
  if (typeof text !== 'string' || text.trim() === '') return defaultPrecedence
  const words = text.replaceAll(/[[\]"']/g, '').split(',')
  return words.map((word) => word.trim()).filter((word) => word !== '')
}

/** A component and its status. */
export interface ComponentStatus {
  readonly name: string
  readonly status: ResourceStatus
}

/**
 * Returns the status of an Application: the first value of `precedence` that a component has. Unknown without
 * components, and when none has a value of the list.
 */
export function applicationStatus(
  components: readonly ComponentStatus[],
  precedence: readonly string[],
  unknownValue: string,
): ResourceStatus {
  const value = precedence.find((one) => components.some(({ status }) => status.value === one))
  if (value === undefined) return unknownStatus(unknownValue)
  const having = components.filter(({ status }) => status.value === value)
  const named = having.slice(0, 3).map(({ name }) => name)
  const more = having.length > named.length ? `, and ${having.length - named.length} more` : ''
  return { value, flyover: `${having.length} of ${components.length} components: ${named.join(', ')}${more}` }
}
