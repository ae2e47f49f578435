// Orphans: stamped objects that no resource stamps any more (originals/cartographer.md §2.9). Their labels name a
// resource that the blueprint does not have or that passes its input through now, or the object has an earlier name or
// kind, or is a run of an earlier template.
import { longLabelValue } from '@fairlead/kube'
import type { KubeObject } from '@fairlead/kube'
import type { BlueprintResource } from '../api.ts'
import type { RealizedResource } from './realized-resource.ts'
import { stampLabel } from './templates/stamp.ts'

/**
 * Returns the orphans among the objects of an owner. `realized` is empty when nothing could be realized. Objects of a
 * resource that could not be evaluated are no orphans: what it would stamp is unknown.
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
  // A pass-through stamps nothing.
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
