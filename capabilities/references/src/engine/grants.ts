// ReferenceGrants: which references may cross namespaces.
import type { ReferenceGrant } from '../api.ts'
import type { ObjectId } from './object-id.ts'

/** Reports whether a grant of the referent's namespace allows the reference. */
export function isGranted(grants: readonly ReferenceGrant[], from: ObjectId, to: ObjectId): boolean {
  return grants.some(
    ({ metadata, spec }) =>
      metadata.namespace === to.namespace &&
      spec.from.some(
        ({ group, kind, namespace }) => group === from.group && kind === from.kind && namespace === from.namespace,
      ) &&
      spec.to.some(
        ({ group, kind, name }) =>
          group === to.group && kind === to.kind && (name === undefined || name === '' || name === to.name),
      ),
  )
}
