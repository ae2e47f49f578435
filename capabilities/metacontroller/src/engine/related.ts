// Related objects (Q34): the objects that the rules of relatedResources select for a parent.
import type { KubeObject, LabelSelector, ObjectKey, Selector } from '@fairlead/kube'
import { selectorFrom } from '@fairlead/kube'
import type { NamespaceLabels } from './input.ts'
import type { ObjectsOfKind } from './request.ts'
import type { RelatedKind } from './resource.ts'

/** Reads the objects of related kinds, by the position of their rule in the spec. */
export interface RelatedReader {
  get(rule: number, key: ObjectKey): KubeObject | undefined
  /** Lists the objects of a namespace, of all namespaces when it is undefined. */
  list(rule: number, namespace: string | undefined): Iterable<KubeObject>
  readonly namespaceLabels: NamespaceLabels
}

/** Returns whether a rule selects the object for this parent. */
export function isRelated(
  rule: RelatedKind,
  parent: KubeObject,
  object: KubeObject,
  namespaceLabels: NamespaceLabels,
): boolean {
  const { names, labelSelector, namespaceSelector } = rule.spec
  const { namespace = '', name = '' } = object.metadata
  if (rule.namespaced) {
    const only = namespaceOf(rule, parent)
    if (only !== undefined && only !== namespace) return false
    if (namespaceSelector !== undefined) {
      const labels = namespaceLabels(namespace)
      if (labels === undefined || !selectorOf(namespaceSelector).matches(labels)) return false
    }
  }
  if (names !== undefined && !names.includes(name)) return false
  return labelSelector === undefined || selectorOf(labelSelector).matches(object.metadata.labels)
}

/** Returns the objects that the rules select for a parent, one entry for each rule. */
export function relatedObjects(
  rules: readonly RelatedKind[],
  reader: RelatedReader,
  parent: KubeObject,
): ObjectsOfKind[] {
  return rules.map((rule, index) => {
    const only = rule.namespaced ? namespaceOf(rule, parent) : undefined
    const { names } = rule.spec
    const candidates =
      names !== undefined && (only !== undefined || !rule.namespaced)
        ? names.flatMap((name) => reader.get(index, { namespace: only ?? '', name }) ?? [])
        : [...reader.list(index, only)]
    return {
      kind: rule,
      objects: candidates.filter((object) => isRelated(rule, parent, object, reader.namespaceLabels)),
    }
  })
}

/** Returns whether the rules select another set of namespaces once the labels of one have changed. */
export function selectsOtherNamespaces(
  rules: readonly RelatedKind[],
  before: Labels | undefined,
  now: Labels | undefined,
): boolean {
  const isSelected = (selector: LabelSelector, labels: Labels | undefined): boolean =>
    labels !== undefined && selectorOf(selector).matches(labels)
  return rules.some(
    ({ spec: { namespaceSelector } }) =>
      namespaceSelector !== undefined && isSelected(namespaceSelector, before) !== isSelected(namespaceSelector, now),
  )
}

type Labels = Readonly<Record<string, string>>

const selectors = new WeakMap<LabelSelector, Selector>()

/** Returns the selector of a rule, parsed once: it is applied to every object of the kind. */
function selectorOf(spec: LabelSelector): Selector {
  let selector = selectors.get(spec)
  if (selector === undefined) selectors.set(spec, (selector = selectorFrom(spec)))
  return selector
}

/** The one namespace that a rule reads: the one it names, else the parent's own unless it selects namespaces. */
function namespaceOf(rule: RelatedKind, parent: KubeObject): string | undefined {
  if (rule.spec.namespace !== undefined) return rule.spec.namespace
  return rule.spec.namespaceSelector === undefined ? parent.metadata.namespace : undefined
}
