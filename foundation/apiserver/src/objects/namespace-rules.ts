// Rules of Namespaces on deletion, and of the removal of any object.
import { forbidden } from '@fairlead/kube'
import type { JsonObject, ObjectMeta } from '@fairlead/kube'
import type { ResourceDefinition } from '@fairlead/builtin-kinds'

/** Namespaces that exist from the start. */
export const systemNamespaces: readonly string[] = ['default', 'kube-node-lease', 'kube-public', 'kube-system']
const undeletable: ReadonlySet<string> = new Set(['default', 'kube-public', 'kube-system'])

/** Returns true for the resource of Namespaces. */
export function isNamespaces({ group, plural }: ResourceDefinition): boolean {
  return group === '' && plural === 'namespaces'
}

/** @throws StatusError 403 for a namespace that cannot be deleted */
export function refuseDeletionOf(definition: ResourceDefinition, name: string): void {
  if (isNamespaces(definition) && undeletable.has(name))
    throw forbidden(definition, name, 'this namespace may not be deleted')
}

/** Returns true for an object with finalizers: those of metadata, and of a Namespace's spec. */
export function holdsFinalizers(definition: ResourceDefinition, object: JsonObject): boolean {
  if (((object['metadata'] as ObjectMeta).finalizers ?? []).length > 0) return true
  return isNamespaces(definition) && namespaceFinalizers(object).length > 0
}

/** Returns true when an update removes the last finalizer of a terminating object, so that the object is removed. */
export function isReleased(definition: ResourceDefinition, updated: JsonObject, old: JsonObject): boolean {
  const { deletionTimestamp, deletionGracePeriodSeconds } = old['metadata'] as ObjectMeta
  if (deletionTimestamp === undefined || holdsFinalizers(definition, updated)) return false
  return (deletionGracePeriodSeconds ?? 0) === 0
}

function namespaceFinalizers(object: JsonObject): readonly unknown[] {
  return (object['spec'] as { finalizers?: readonly unknown[] } | undefined)?.finalizers ?? []
}
