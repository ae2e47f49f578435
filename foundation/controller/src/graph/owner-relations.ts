// Edges from owner references, among all kinds that the server serves: what made an object, and what it made.
import { kind as kindOf } from '@fairlead/client'
import type { ServedKind } from '@fairlead/client'
import type { KubeObject, OwnerReference } from '@fairlead/kube'
import { objectReference } from '../object-reference.ts'
import type { ObjectReference } from '../object-reference.ts'
import type { ObjectReader } from './object-reader.ts'
import type { GroupKind, Relation, RelationSource } from './relation.ts'

/** Groups that hold no objects which something makes: events, metrics, reviews. */
const skippedGroups = new Set(['events.k8s.io', 'metrics.k8s.io', 'authorization.k8s.io', 'authentication.k8s.io'])
const skippedKinds = new Set(['Event', 'ComponentStatus'])

/**
 * Returns the source of edges from owner references: an object is made from each of its owners. Objects that have an
 * owner are looked for once, in the namespace of `root`; in all of them when it is cluster-scoped.
 */
export function ownerRelations(root: ObjectReference, views: readonly GroupKind[] = []): RelationSource {
  let made: Promise<ReadonlyMap<string, readonly KubeObject[]>> | undefined
  return {
    async relations(object, read) {
      made ??= objectsByOwner(read, root.namespace, views)
      const to = objectReference(object)
      const { uid = '', namespace, ownerReferences = [] } = object.metadata
      const served = await read.served()
      const owners = ownerReferences.map((owner) => ownerOf(owner, namespace, served))
      return [
        ...owners.map((owner): Relation => ({ type: 'made-from', from: to, to: owner })),
        ...((await made).get(uid) ?? []).map((one): Relation => ({
          type: 'made-from',
          from: objectReference(one),
          to,
        })),
      ]
    },
  }
}

/** Returns metadata of the objects of a namespace, or of all, by the uids of their owners. */
async function objectsByOwner(
  read: ObjectReader,
  namespace: string | undefined,
  views: readonly GroupKind[],
): Promise<ReadonlyMap<string, readonly KubeObject[]>> {
  const kinds = (await read.served()).filter((kind) => isSearched(kind, namespace, views))
  const lists = await Promise.all(
    kinds.map(async ({ apiVersion, kind, plural, namespaced }) =>
      read.listMetadata(kindOf(apiVersion, kind, { plural, namespaced }), namespaced ? namespace : undefined),
    ),
  )
  const byOwner = new Map<string, KubeObject[]>()
  for (const object of lists.flatMap(({ objects }) => objects))
    for (const { uid } of object.metadata.ownerReferences ?? []) {
      const found = byOwner.get(uid)
      if (found === undefined) byOwner.set(uid, [object])
      else found.push(object)
    }
  return byOwner
}

/** An owner of a namespaced object may be cluster-scoped; a namespaced owner owns in its namespace only. */
function isSearched(kind: ServedKind, namespace: string | undefined, views: readonly GroupKind[]): boolean {
  if (!kind.isPreferred || !kind.verbs.includes('list')) return false
  if (skippedGroups.has(kind.group) || (kind.group === '' && skippedKinds.has(kind.kind))) return false
  if (views.some((view) => view.group === kind.group && view.kind === kind.kind)) return false
  return namespace === undefined || kind.namespaced
}

function ownerOf(
  { apiVersion, kind, name, uid }: OwnerReference,
  namespace: string | undefined,
  served: readonly ServedKind[],
): ObjectReference {
  const found = served.find((one) => one.apiVersion === apiVersion && one.kind === kind)
  const isNamespaced = namespace !== undefined && found?.namespaced !== false
  return { apiVersion, kind, ...(isNamespaced ? { namespace } : {}), name, uid }
}
