// Stamped objects that nothing derives any more (originals/cartographer.md §2.9), told by their labels: a resource that the blueprint does not
// name, one that passes its input through now, an object under an earlier name or of an earlier kind, runs of an earlier template.
import { longLabelValue } from '@fairlead/kube'
import type { KubeObject } from '@fairlead/kube'
import type { BlueprintResource } from '../api.ts'
import type { RealizedResource } from './realized-resource.ts'
import { stampLabel } from './templates/stamp.ts'

/**
 * Those of `owned` that are orphans. `realized` is empty where nothing could be realized. The objects of a resource that could not be evaluated
 * stay: what it would stamp is not known.
 */
export function orphans(
  owned: readonly KubeObject[],
  resources: readonly BlueprintResource[],
  realized: readonly RealizedResource[],
): KubeObject[] {
  const declared = new Map(resources.map((resource) => [longLabelValue(resource.name), resource.name]))
  const results = new Map(realized.map((one) => [one.resource.name, one]))
  return owned.filter((object) => {
    const resource = declared.get(object.metadata.labels?.[stampLabel.resource] ?? '')
    if (resource === undefined) return true
    const result = results.get(resource)
    return result?.evaluated === true && !isKept(object, result)
  })
}

function isKept(object: KubeObject, { template, object: current }: RealizedResource): boolean {
  // Passed through: nothing is stamped.
  if (template === undefined || current === undefined) return false
  if (object.metadata.uid === current.metadata.uid) return true
  const labels = object.metadata.labels ?? {}
  return (
    (template.spec.lifecycle ?? 'mutable') !== 'mutable' &&
    labels[stampLabel.lifecycle] !== 'mutable' &&
    labels[stampLabel.templateKind] === template.kind &&
    labels[stampLabel.templateName] === longLabelValue(template.metadata.name ?? '')
  )
}
