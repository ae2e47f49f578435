// The edges of variants and sets in the graph of derived objects. Start with relations.
import { objectReference } from '@fairlead/controller'
import type { ObjectReader, ObjectReference, Relation, RelationSource } from '@fairlead/controller'
import { controllerOf, parseApiVersion } from '@fairlead/kube'
import type { KubeObject } from '@fairlead/kube'
import { PackageRevisionKind, RepositoryKind, porchGroup } from '@fairlead/packages'
import { apiGroup, PackageVariantKind, PackageVariantSetKind } from '../api.ts'
import type { PackageVariant } from '../api.ts'

/**
 * The edges that begin or end at an object, as far as owner references and status show them:
 * - a revision is made from the variant that controls it, a variant from its set;
 * - a variant refers to the Repositories of its upstream and downstream packages;
 * - the upstream revision that a variant has selected is upstream of the variant;
 * - an injected object is input of the variant.
 */
export const relations: RelationSource = { relations: relationsOf }

async function relationsOf(object: KubeObject, read: ObjectReader): Promise<readonly Relation[]> {
  const { group } = parseApiVersion(object.apiVersion)
  const { namespace = '', name = '' } = object.metadata
  if (namespace === '') return []
  if (group === apiGroup && object.kind === PackageVariantKind.kind) return variantRelations(object as PackageVariant)
  const variants = await read.list(PackageVariantKind, namespace)
  const edges = variants.objects.flatMap(variantRelations)
  if (group === apiGroup && object.kind === PackageVariantSetKind.kind)
    return edges.filter(({ type, to }) => type === 'made-from' && to.uid === object.metadata.uid)
  const isObject = ({ kind, name: other, apiVersion }: ObjectReference): boolean =>
    kind === object.kind && other === name && apiVersion === object.apiVersion
  const known = edges.filter(({ type, from, to }) => type !== 'made-from' && (isObject(from) || isObject(to)))
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
    ...repositoriesOf(variant).map((name) => edge('refers-to', to, repository(namespace, name))),
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

/** Returns the names of the Repositories that a variant takes packages from and puts them into, each once. */
function repositoriesOf({ spec }: PackageVariant): readonly string[] {
  return [...new Set([spec.upstream?.repo, spec.downstream?.repo])].filter((name) => name !== undefined && name !== '')
}

function repository(namespace: string, name: string): ObjectReference {
  const { apiVersion, kind } = RepositoryKind
  return { apiVersion, kind, namespace, name }
}

function revision(namespace: string, name: string): ObjectReference {
  const { apiVersion, kind } = PackageRevisionKind
  return { apiVersion, kind, namespace, name }
}
