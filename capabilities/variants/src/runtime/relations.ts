// The edges of variants and sets in the graph of derived objects. Start with relationsOf.
import { objectReference } from '@fairlead/controller'
import type { CacheReader, ObjectReference, Relation } from '@fairlead/controller'
import { controllerOf, parseApiVersion } from '@fairlead/kube'
import type { KubeObject } from '@fairlead/kube'
import { PackageRevisionKind, porchGroup } from '@fairlead/packages'
import { apiGroup, PackageVariantKind, PackageVariantSetKind } from '../api.ts'
import type { PackageVariant } from '../api.ts'

/**
 * Returns the edges that begin or end at an object, as far as owner references, status and the caches show them:
 * - a revision is made from the variant that controls it, a variant from its set;
 * - the upstream revision that a variant has selected is upstream of the variant;
 * - an injected object is input of the variant.
 */
export function relationsOf(object: KubeObject, reader: CacheReader): readonly Relation[] {
  const { group } = parseApiVersion(object.apiVersion)
  const { namespace = '', name = '' } = object.metadata
  if (namespace === '') return []
  if (group === apiGroup && object.kind === PackageVariantKind.kind) return variantRelations(object as PackageVariant)
  const variants = reader.list(PackageVariantKind, { namespace })
  if (!variants.known) return madeFrom(object)
  const edges = variants.objects.flatMap(variantRelations)
  if (group === apiGroup && object.kind === PackageVariantSetKind.kind)
    return edges.filter(({ type, to }) => type === 'made-from' && to.uid === object.metadata.uid)
  const isObject = ({ from }: Relation): boolean =>
    from.kind === object.kind && from.name === name && from.apiVersion === object.apiVersion
  const known = edges.filter((edge) => edge.type !== 'made-from' && isObject(edge))
  return [...(group === porchGroup ? madeFrom(object) : []), ...known]
}

/** Edges of a variant, without the revisions that it has made but in its status. */
function variantRelations(variant: PackageVariant): readonly Relation[] {
  const { metadata, status } = variant
  const namespace = metadata.namespace!
  const to = objectReference(variant)
  const { upstream, downstreamTargets = [], injectionPoints = [] } = status ?? {}
  return [
    ...madeFrom(variant),
    ...(upstream?.name === undefined ? [] : [edge('upstream-of', revision(namespace, upstream.name), to)]),
    ...downstreamTargets.map(({ name }) => edge('made-from', revision(namespace, name), to)),
    ...injectionPoints.flatMap(({ apiVersion, kind, injectedResource }) =>
      injectedResource === undefined
        ? []
        : [edge('input-of', { apiVersion, kind, namespace, name: injectedResource }, to)],
    ),
  ]
}

/** Returns the edge to the variant or set that controls an object. */
function madeFrom(object: KubeObject): readonly Relation[] {
  const owner = controllerOf(object)
  if (owner === undefined || parseApiVersion(owner.apiVersion).group !== apiGroup) return []
  const { apiVersion, kind, name, uid } = owner
  return [
    edge('made-from', objectReference(object), { apiVersion, kind, namespace: object.metadata.namespace!, name, uid }),
  ]
}

function edge(type: Relation['type'], from: ObjectReference, to: ObjectReference): Relation {
  return { type, from, to }
}

function revision(namespace: string, name: string): ObjectReference {
  const { apiVersion, kind } = PackageRevisionKind
  return { apiVersion, kind, namespace, name }
}
