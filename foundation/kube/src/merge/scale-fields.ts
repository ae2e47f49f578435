// Translates managedFields between an object and its `scale` subresource (apimachinery's scalehandler.go).
import type { ManagedFieldsEntry, ObjectMeta } from '../object.ts'
import { differenceOf, fieldSetOfPaths, hasPath } from './field-set.ts'
import { decodeManagers, encodeManagers, managerIdentifier } from './managers.ts'
import type { Manager } from './managers.ts'
import { fieldElement } from './path-element.ts'

const scaleVersion = 'autoscaling/v1'
const replicasOfScale = [fieldElement('spec'), fieldElement('replicas')]

/**
 * The path of the replicas in each served version of the parent (`['spec', 'replicas']`); undefined in one without
 * scale.
 */
export type ReplicasPaths = Readonly<Record<string, readonly string[] | undefined>>

/**
 * Returns the managedFields of a Scale: the managers of its parent that own the replicas.
 * @throws FieldsV1Error
 */
export function managedFieldsOfScale(
  parent: ObjectMeta['managedFields'],
  paths: ReplicasPaths,
): readonly ManagedFieldsEntry[] | undefined {
  const out = new Map<string, Manager>()
  for (const [id, manager] of decodeManagers(parent)) {
    const path = pathIn(paths, manager.apiVersion)
    if (path === undefined || !hasPath(manager.fields, path)) continue
    out.set(id, { ...manager, apiVersion: scaleVersion, fields: fieldSetOfPaths([replicasOfScale]) })
  }
  return encodeManagers(out)
}

/**
 * Returns the managedFields of the parent after a write of its Scale: managers that lost the replicas lose them here,
 * new ones have the subresource of their entry and, as in the real server, no time. `apiVersion` is the parent's.
 * @throws FieldsV1Error
 */
export function managedFieldsOfParent(
  parent: ObjectMeta['managedFields'],
  scale: ObjectMeta['managedFields'],
  apiVersion: string,
  paths: ReplicasPaths,
): readonly ManagedFieldsEntry[] | undefined {
  const before = decodeManagers(parent)
  const ofScale = decodeManagers(scale)
  const out = new Map<string, Manager>()
  for (const [id, manager] of before) {
    if (!Object.hasOwn(paths, manager.apiVersion)) continue
    const path = pathIn(paths, manager.apiVersion)
    const inScale = [id, managerIdentifier({ ...manager, apiVersion: scaleVersion })].find((candidate) =>
      ofScale.has(candidate),
    )
    if (path === undefined || !hasPath(manager.fields, path)) out.set(id, manager)
    else if (inScale !== undefined) {
      out.set(id, manager)
      ofScale.delete(inScale)
    } else {
      const fields = differenceOf(manager.fields, fieldSetOfPaths([path]))
      if (fields.size > 0) out.set(id, { ...manager, fields })
    }
  }
  const path = pathIn(paths, apiVersion)
  for (const manager of ofScale.values()) {
    if (path === undefined || !hasPath(manager.fields, replicasOfScale)) continue
    const inParent = { ...manager, apiVersion }
    const id = managerIdentifier(inParent)
    out.set(id, { ...inParent, time: before.get(id)?.time, fields: fieldSetOfPaths([path]) })
  }
  return encodeManagers(out)
}

function pathIn(paths: ReplicasPaths, apiVersion: string): readonly string[] | undefined {
  return Object.hasOwn(paths, apiVersion) ? paths[apiVersion]?.map(fieldElement) : undefined
}
