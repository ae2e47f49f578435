// The `scale` subresource shows one field of its parent, so managedFields are translated on the way in and out.
import type { ManagedFieldsEntry, ObjectMeta } from '../object.ts'
import { differenceOf, fieldSetOfPaths, hasPath } from './field-set.ts'
import { decodeOwners, encodeOwners, ownerId } from './owners.ts'
import type { Owner } from './owners.ts'
import { fieldElement } from './path-element.ts'

const scaleVersion = 'autoscaling/v1'
const replicasOfScale = [fieldElement('spec'), fieldElement('replicas')]

/** Where each served version of the parent keeps its replicas (`['spec', 'replicas']`); undefined in one without scale. */
export type ReplicasPaths = Readonly<Record<string, readonly string[] | undefined>>

/** The managedFields of a Scale: those of its parent's managers that own the replicas. Throws FieldsV1Error. */
export function managedFieldsOfScale(
  parent: ObjectMeta['managedFields'],
  paths: ReplicasPaths,
): readonly ManagedFieldsEntry[] | undefined {
  const out = new Map<string, Owner>()
  for (const [id, owner] of decodeOwners(parent)) {
    const path = pathIn(paths, owner.apiVersion)
    if (path === undefined || !hasPath(owner.fields, path)) continue
    out.set(id, { ...owner, apiVersion: scaleVersion, fields: fieldSetOfPaths([replicasOfScale]) })
  }
  return encodeOwners(out)
}

/**
 * The managedFields of the parent after its Scale was written: managers that lost the replicas lose them here, new ones appear with the
 * subresource of their entry and, as in the real server, without a time. `apiVersion` is the parent's. Throws FieldsV1Error.
 */
export function managedFieldsOfParent(
  parent: ObjectMeta['managedFields'],
  scale: ObjectMeta['managedFields'],
  apiVersion: string,
  paths: ReplicasPaths,
): readonly ManagedFieldsEntry[] | undefined {
  const before = decodeOwners(parent)
  const ofScale = decodeOwners(scale)
  const out = new Map<string, Owner>()
  for (const [id, owner] of before) {
    if (!Object.hasOwn(paths, owner.apiVersion)) continue
    const path = pathIn(paths, owner.apiVersion)
    const inScale = [id, ownerId({ ...owner, apiVersion: scaleVersion })].find((candidate) => ofScale.has(candidate))
    if (path === undefined || !hasPath(owner.fields, path)) out.set(id, owner)
    else if (inScale !== undefined) {
      out.set(id, owner)
      ofScale.delete(inScale)
    } else {
      const fields = differenceOf(owner.fields, fieldSetOfPaths([path]))
      if (fields.size > 0) out.set(id, { ...owner, fields })
    }
  }
  const path = pathIn(paths, apiVersion)
  for (const owner of ofScale.values()) {
    if (path === undefined || !hasPath(owner.fields, replicasOfScale)) continue
    const inParent = { ...owner, apiVersion }
    const id = ownerId(inParent)
    out.set(id, { ...inParent, time: before.get(id)?.time, fields: fieldSetOfPaths([path]) })
  }
  return encodeOwners(out)
}

function pathIn(paths: ReplicasPaths, apiVersion: string): readonly string[] | undefined {
  return Object.hasOwn(paths, apiVersion) ? paths[apiVersion]?.map(fieldElement) : undefined
}
