// Violations of a level of PodSecurity, and the phrases that they share.
import type { Container, PodSpec, SecurityContext } from './pod.ts'
import { containersOf } from './pod.ts'

/** A violation: a short reason, and the detail of one pod. */
export interface Violation {
  readonly reason: string
  readonly detail: string
}

/** Returns `"a", "b"`. */
export function quoted(items: Iterable<string>): string {
  return [...items].map((item) => `"${item}"`).join(', ')
}

/** Returns the items without duplicates, sorted. */
export function distinct(items: readonly string[]): readonly string[] {
  return [...new Set(items)].toSorted()
}

/** Returns the singular for one, the plural for any other number. */
export function plural(singular: string, many: string, { length }: readonly unknown[]): string {
  return length === 1 ? singular : many
}

/** Returns `container "a"` or `containers "a", "b"`. */
export function named(containers: readonly Container[]): string {
  return `${plural('container', 'containers', containers)} ${quoted(containers.map(({ name }) => name))}`
}

/** Returns who sets a forbidden value in a security context: `pod and container "a"`; '' when none does. */
export function setters(spec: PodSpec, isForbidden: (context: SecurityContext) => boolean): string {
  const containers = containersOf(spec).filter(({ securityContext = {} }) => isForbidden(securityContext))
  return [
    ...(isForbidden(spec.securityContext ?? {}) ? ['pod'] : []),
    ...(containers.length > 0 ? [named(containers)] : []),
  ].join(' and ')
}

/** Returns all security contexts of a pod: its own and those of its containers. */
export function contextsOf(spec: PodSpec): readonly SecurityContext[] {
  return [spec, ...containersOf(spec)].flatMap(({ securityContext }) => securityContext ?? [])
}
