// The edges of variants and sets in the graph of derived objects. Start with relations.
import { objectReference } from '@fairlead/controller'
import type { ObjectReader, ObjectReference, Relation, RelationSource } from '@fairlead/controller'
import { controllerOf, parseApiVersion } from '@fairlead/kube'
import type { KubeObject } from '@fairlead/kube'
import { PackageRevisionKind, RepositoryKind, porchGroup } from '@fairlead/packages'
import type { PackageRevision } from '@fairlead/packages'
import { apiGroup, PackageVariantKind, PackageVariantSetKind } from '../api.ts'
import type { PackageVariant, PackageVariantSet } from '../api.ts'
import { isPublished } from '../engine/observed-revision.ts'

/**
 * The edges that begin or end at an object, as far as owner references and status show them:
 * - a revision is made from the variant that controls it, a variant from its set;
 * - variants and sets refer to the Repositories of their packages;
 * - the upstream revision that a variant has selected is upstream of the variant; where no revision of the package is
 *   published, all of them are;
 * - an injected object is input of the variant.
 */
export const relations: RelationSource = {
  async relations(object, read) {
    const { group } = parseApiVersion(object.apiVersion)
    const { namespace = '', name = '' } = object.metadata
    if (namespace === '') return []
    const isObject = ({ apiVersion, kind, name: other }: ObjectReference): boolean =>
      apiVersion === object.apiVersion && kind === object.kind && other === name
    const edges = (await edgesIn(namespace, read)).filter(({ from, to }) => isObject(from) || isObject(to))
    if (group === apiGroup && [PackageVariantKind.kind, PackageVariantSetKind.kind].includes(object.kind)) return edges
    // The status of a variant may name revisions that others control.
    const others = edges.filter(({ type }) => type !== 'made-from')
    return [...(group === porchGroup ? madeFrom(object) : []), ...others]
  },
}

/** The edges of the variants and sets of a namespace, for each reader once. */
const known = new WeakMap<ObjectReader, Map<string, Promise<readonly Relation[]>>>()

function edgesIn(namespace: string, read: ObjectReader): Promise<readonly Relation[]> {
  const ofReader = known.get(read) ?? new Map<string, Promise<readonly Relation[]>>()
  known.set(read, ofReader)
  const edges = ofReader.get(namespace) ?? readEdges(namespace, read)
  ofReader.set(namespace, edges)
  return edges
}

async function readEdges(namespace: string, read: ObjectReader): Promise<readonly Relation[]> {
  const [{ objects: variants }, { objects: sets }] = await Promise.all([
    read.list(PackageVariantKind, namespace),
    read.list(PackageVariantSetKind, namespace),
  ])
  if (variants.length === 0 && sets.length === 0) return []
  const { objects: revisions } = await read.list(PackageRevisionKind, namespace)
  const upstreamEdges = [...variants, ...sets].flatMap((one) => unpublishedUpstreams(one, revisions))
  return [...variants.flatMap(variantRelations), ...sets.flatMap(setRelations), ...upstreamEdges]
}

/** Returns the edges to a variant or set from the revisions of its upstream package, when none of them is published. */
function unpublishedUpstreams(
  follower: PackageVariant | PackageVariantSet,
  revisions: readonly PackageRevision[],
): readonly Relation[] {
  const { repo, package: packageName } = follower.spec.upstream ?? {}
  const ofPackage = revisions.filter(({ spec }) => spec.repository === repo && spec.packageName === packageName)
  const isPublic = ({ spec }: PackageRevision): boolean => isPublished({ lifecycle: spec.lifecycle ?? 'Draft' })
  if (ofPackage.some(isPublic)) return []
  return ofPackage.map((one) => edge('upstream-of', objectReference(one), objectReference(follower)))
}

function setRelations(set: PackageVariantSet): readonly Relation[] {
  const repo = set.spec.upstream?.repo
  return repo === undefined || repo === ''
    ? []
    : [edge('refers-to', objectReference(set), repository(set.metadata.namespace!, repo))]
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
