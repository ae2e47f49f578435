// The rules of customize hooks (docs of Metacontroller, api/customize): which combinations of fields are valid, and
// where they look. Pure.
import type { KubeObject } from '@fairlead/kube'
import type { HookVersion, RelatedResource } from '../api.ts'
import { ResponseError } from '../engine/response.ts'
import type { RelatedKind, ResolvedResource } from '../engine/resource.ts'

/** Returns a rule as it is carried out for a parent. Throws ResponseError for an invalid one. */
export function relatedRule(
  rule: RelatedResource,
  resource: ResolvedResource,
  parent: KubeObject,
  version: HookVersion,
): RelatedKind {
  const { namespace, names, labelSelector, namespaceSelector } = rule
  const invalid = (problem: string): ResponseError =>
    new ResponseError(
      'InvalidResponse',
      `The related resource rule for ${rule.resource}.${rule.apiVersion}: ${problem}`,
    )
  if (names !== undefined && (labelSelector !== undefined || namespaceSelector !== undefined))
    throw invalid('names excludes labelSelector and namespaceSelector')
  if (namespace !== undefined && namespaceSelector !== undefined) throw invalid('namespace excludes namespaceSelector')
  if (namespaceSelector !== undefined && !resource.namespaced)
    throw invalid('namespaceSelector is only supported for namespaced related resources')
  const own = parent.metadata.namespace
  if (version === 'v1' && own !== undefined && resource.namespaced) {
    if (namespaceSelector !== undefined)
      throw invalid('namespaceSelector is not supported for namespaced parent in v1 hook version')
    if (namespace !== undefined && namespace !== own)
      throw invalid(`requested related object namespace ${namespace} differs from parent object namespace ${own}`)
    return { ...resource, spec: { ...rule, namespace: own } }
  }
  const { namespace: _left, ...elsewhere } = rule
  return { ...resource, spec: resource.namespaced ? rule : elsewhere }
}

/**
 * Returns the parent as rules see it: those of a v1 hook look in its namespace, those of v2 hooks wherever they say.
 */
export function scopeOf(parent: KubeObject, version: HookVersion): KubeObject {
  if (version === 'v1' || parent.metadata.namespace === undefined) return parent
  const { namespace: _left, ...metadata } = parent.metadata
  return { ...parent, metadata }
}

/** Returns whether requests of a v1 hook have an object: those of a namespaced parent only objects of its namespace. */
export function isVisible(object: KubeObject, parent: KubeObject, version: HookVersion): boolean {
  const own = parent.metadata.namespace
  return version === 'v2' || own === undefined || object.metadata.namespace === own
}
