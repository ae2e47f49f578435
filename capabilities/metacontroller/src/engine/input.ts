// Which objects are inputs of a parent (R8-R11, Q2-Q5, Q41).
import type { KubeObject, LabelSelector, Selector } from '@fairlead/kube'
import { SelectorError, everything, isControlledBy, isJsonObject, selectorFrom } from '@fairlead/kube'
import type { InputKind } from './resource.ts'
import { hopLimit, hopsOf } from './tag.ts'

/** The parent's selector, or why it is invalid. An invalid selector never means "matches nothing" (Q2). */
export type ParentSelector =
  | { readonly valid: true; readonly selector: Selector; readonly matchLabels: Readonly<Record<string, string>> }
  | { readonly valid: false; readonly message: string }

/** Reads `spec.selector` of a parent. A missing or empty one selects everything in reach (R9, Q2). */
export function parentSelector(parent: KubeObject): ParentSelector {
  const spec = parent.spec
  const given = isJsonObject(spec) ? spec.selector : undefined
  if (given === undefined || given === null) return { valid: true, selector: everything, matchLabels: {} }
  if (!isJsonObject(given))
    return { valid: false, message: `spec.selector must be a label selector, not ${describe(given)}` }
  const unknown = Object.keys(given).find((field) => field !== 'matchLabels' && field !== 'matchExpressions')
  if (unknown !== undefined) {
    return {
      valid: false,
      message: `spec.selector has the field ${unknown}; a label selector has matchLabels and matchExpressions`,
    }
  }
  const labels = given.matchLabels ?? {}
  if (!isJsonObject(labels)) return { valid: false, message: 'spec.selector.matchLabels must be a map of strings' }
  const wrong = Object.entries(labels).find(([, value]) => typeof value !== 'string')
  if (wrong !== undefined) return { valid: false, message: `spec.selector.matchLabels.${wrong[0]} must be a string` }
  const expressions = given.matchExpressions ?? []
  if (!Array.isArray(expressions) || !expressions.every(isRequirement)) {
    return {
      valid: false,
      message: 'spec.selector.matchExpressions must be a list of objects with key, operator and values',
    }
  }
  try {
    return {
      valid: true,
      selector: selectorFrom(given as LabelSelector),
      matchLabels: labels as Record<string, string>,
    }
  } catch (error) {
    if (error instanceof SelectorError) return { valid: false, message: `spec.selector is invalid: ${error.message}` }
    throw error
  }
}

/** Returns the labels of a namespace; undefined when they are not known. */
export type NamespaceLabels = (namespace: string) => Readonly<Record<string, string>> | undefined

/** The selectors of an input kind, parsed once. */
export interface InputFilter {
  readonly kind: InputKind
  readonly labels: Selector
  readonly namespaces: Selector | undefined
}

/** Returns the filter of an input kind. Throws SelectorError for a selector that the schema accepts. */
export function inputFilter(kind: InputKind): InputFilter {
  return {
    kind,
    labels: kind.spec.labelSelector === undefined ? everything : selectorFrom(kind.spec.labelSelector),
    namespaces: kind.spec.namespaceSelector === undefined ? undefined : selectorFrom(kind.spec.namespaceSelector),
  }
}

/**
 * The role of an object for a parent. `input`: it is mapped. `none`: it is in another namespace, does not match, or the
 * parent itself controls it. `stopped`: it would be an input, but its chain of maps is too long; its group is left as
 * it is (Q5).
 */
export type InputRole = 'input' | 'none' | 'stopped'

/** Returns the role of an object of an input kind for a parent. */
export function inputRole(
  input: KubeObject,
  filter: InputFilter,
  parent: KubeObject,
  selector: Selector,
  namespaceLabels: NamespaceLabels,
): InputRole {
  const namespace = filter.kind.namespaced ? (input.metadata.namespace ?? '') : ''
  const parentNamespace = parent.metadata.namespace ?? ''
  if (namespace !== '' && parentNamespace !== '' && namespace !== parentNamespace) return 'none'
  const labels = input.metadata.labels ?? {}
  if (!selector.matches(labels) || !filter.labels.matches(labels)) return 'none'
  if (namespace !== '' && filter.namespaces !== undefined) {
    const found = namespaceLabels(namespace)
    if (found === undefined || !filter.namespaces.matches(found)) return 'none'
  }
  if (isControlledBy(input, parent)) return 'none'
  return hopsOf(input) >= hopLimit ? 'stopped' : 'input'
}

function isRequirement(value: unknown): boolean {
  if (!isJsonObject(value) || typeof value.key !== 'string' || typeof value.operator !== 'string') return false
  const values = value.values ?? []
  return Array.isArray(values) && values.every((one) => typeof one === 'string')
}

function describe(value: unknown): string {
  return Array.isArray(value) ? 'a list' : `a ${typeof value}`
}
