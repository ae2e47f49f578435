// Orphans: stamped objects that no resource stamps any more (originals/cartographer.md §2.9). Their labels name a
// resource that the blueprint does not have or that passes its input through now, or the object has an earlier name or
// kind, or is a run of an earlier template.
import { longLabelValue, parseApiVersion } from '@fairlead/kube'
import type { KubeObject } from '@fairlead/kube'
import type { BlueprintResource, Template } from '../api.ts'
import type { RealizedResource } from './realized-resource.ts'
import { stampLabel } from './templates/stamp.ts'

/**
 * The annotation that keeps objects: with the value `Orphan` on an owner all of its objects, on a stamped object that
 * one. They stay until their owner is deleted.
 */
export const deletionPolicyAnnotation = 'carto.run/deletion-policy'

/** Reports whether the annotation keeps the objects of an owner, or a stamped object. */
export function isKept({ metadata }: KubeObject): boolean {
  return metadata.annotations?.[deletionPolicyAnnotation] === 'Orphan'
}

/**
 * Returns the orphans among the objects of an owner. `realized` is empty when nothing could be realized. An object that
 * a resource stamped in this pass is no orphan, whatever its labels in the cache are: the cache lags behind, and labels
 * can be edited. Objects that a resource may stamp once it can be evaluated are no orphans either.
 */
export function orphans(
  owned: readonly KubeObject[],
  resources: readonly BlueprintResource[],
  realized: readonly RealizedResource[],
): KubeObject[] {
  const declared = new Map(resources.map((resource) => [longLabelValue(resource.name), resource.name]))
  const results = new Map(realized.map((one) => [one.resource.name, one]))
  const current = realized.flatMap(({ object }) => (object === undefined ? [] : [object]))
  return owned.filter((object) => {
    if (isKept(object)) return false
    if (current.some((one) => isSameObject(one, object))) return false
    const resource = declared.get(object.metadata.labels?.[stampLabel.resource] ?? '')
    // The name of a resource can change while it waits: then its object has the old name and its template.
    if (resource === undefined) return !realized.some((one) => mayStamp(one, object))
    const result = results.get(resource)
    return result?.stamped === true && !isRun(object, result)
  })
}

/** Compares by uid, or by group, kind and name: an object may have been recreated since it was cached. */
function isSameObject(left: KubeObject, right: KubeObject): boolean {
  if (left.metadata.uid === right.metadata.uid) return true
  return (
    left.kind === right.kind &&
    left.metadata.name === right.metadata.name &&
    parseApiVersion(left.apiVersion).group === parseApiVersion(right.apiVersion).group
  )
}

/** Reports whether a resource that stamped nothing in this pass may stamp the object. */
function mayStamp({ stamped, template }: RealizedResource, object: KubeObject): boolean {
  return !stamped && (template === undefined || isOfTemplate(object, template))
}

/** Reports whether the object is a run of the resource, which its retention policy keeps or prunes. */
function isRun(object: KubeObject, { template, object: current }: RealizedResource): boolean {
  // A pass-through stamps nothing.
  if (template === undefined || current === undefined) return false
  return (
    (template.spec.lifecycle ?? 'mutable') !== 'mutable' &&
    object.metadata.labels?.[stampLabel.lifecycle] !== 'mutable' &&
    isOfTemplate(object, template)
  )
}

/** Reports whether the labels of a stamped object name a template. */
export function isOfTemplate({ metadata }: KubeObject, template: Template): boolean {
  const labels = metadata.labels ?? {}
  return (
    labels[stampLabel.templateKind] === template.kind &&
    labels[stampLabel.templateName] === longLabelValue(template.metadata.name ?? '')
  )
}
