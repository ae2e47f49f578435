// Related objects (Q34): which objects a rule of relatedResources picks for a parent.
import { selectorFrom } from '@fairlead/kube'
import type { KubeObject } from '@fairlead/kube'
import type { NamespaceLabels } from './input.ts'
import type { ObjectsOfKind } from './request.ts'
import type { RelatedKind } from './resource.ts'
import type { Caches } from '../runtime/caches.ts'

/** A rule picks the object for this parent. */
export function relatedConcerns(
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
      if (labels === undefined || !selectorFrom(namespaceSelector).matches(labels)) return false
    }
  }
  if (names !== undefined && !names.includes(name)) return false
  return labelSelector === undefined || selectorFrom(labelSelector).matches(object.metadata.labels)
}

/** The objects that the rules pick for a parent, one entry for each rule. */
export function relatedObjects(rules: readonly RelatedKind[], caches: Caches, parent: KubeObject): ObjectsOfKind[] {
  return rules.map((rule, index) => {
    const informer = caches.related[index]
    const only = rule.namespaced ? namespaceOf(rule, parent) : undefined
    const { names } = rule.spec
    const candidates =
      informer === undefined
        ? []
        : names !== undefined && (only !== undefined || !rule.namespaced)
          ? names.flatMap((name) => informer.get({ namespace: only ?? '', name }) ?? [])
          : informer.list(only === undefined ? {} : { namespace: only })
    return {
      kind: rule,
      objects: candidates.filter((object) =>
        relatedConcerns(rule, parent, object, (name) => caches.namespaceLabels(name)),
      ),
    }
  })
}

/** The one namespace that a rule looks at: the one it names, else the parent's own unless it selects namespaces. */
function namespaceOf(rule: RelatedKind, parent: KubeObject): string | undefined {
  if (rule.spec.namespace !== undefined) return rule.spec.namespace
  return rule.spec.namespaceSelector === undefined ? parent.metadata.namespace : undefined
}
