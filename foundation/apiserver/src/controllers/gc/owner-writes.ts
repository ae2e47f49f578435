// The writes of the garbage collector. Each has the uid of the object as a precondition, and its resourceVersion where
// the decision depends on its content.
import type { Client, DeleteOptions, Kind } from '@fairlead/client'
import { isConflict, isNotFound, keyOf } from '@fairlead/kube'
import type { JsonValue, KubeObject, OwnerReference } from '@fairlead/kube'
import { foregroundFinalizer, orphanFinalizer, ownersOf } from './owner-graph.ts'
import type { GraphNode } from './owner-graph.ts'

/** Conflicts in a row before an object is requeued. */
const attempts = 5

/** Returns the propagation for an object without owners: its finalizers decide. */
export function propagationOf({ metadata: { finalizers = [] } }: KubeObject): DeleteOptions['propagation'] {
  if (finalizers.includes(orphanFinalizer)) return 'Orphan'
  return finalizers.includes(foregroundFinalizer) ? 'Foreground' : 'Background'
}

/** Deletes this very version of the object, or any version of it. Throws StatusError 409 when it has changed. */
export function deleteObject(
  kind: Kind,
  object: KubeObject,
  propagation: DeleteOptions['propagation'],
  client: Client,
  { anyVersion = false }: { readonly anyVersion?: boolean } = {},
): Promise<void> {
  const { uid, resourceVersion } = object.metadata
  const preconditions = { uid: uid!, ...(anyVersion ? {} : { resourceVersion: resourceVersion! }) }
  return ignoringNotFound(client.delete(kind, keyOf(object), { propagation, preconditions }))
}

/** Replaces the owner references of this very version of the object. Throws StatusError 409 when it has changed. */
export function patchOwners(
  kind: Kind,
  object: KubeObject,
  change: (owners: readonly OwnerReference[]) => readonly OwnerReference[],
  client: Client,
): Promise<void> {
  const owners = change(ownersOf(object))
  return patchMetadata(
    kind,
    object,
    { ownerReferences: owners.length === 0 ? null : (owners as readonly JsonValue[]) },
    client,
  )
}

function patchMetadata(
  kind: Kind,
  object: KubeObject,
  changes: Readonly<Record<string, JsonValue>>,
  client: Client,
): Promise<void> {
  const { uid, resourceVersion } = object.metadata
  const merge = { metadata: { uid: uid!, resourceVersion: resourceVersion!, ...changes } }
  return ignoringNotFound(client.patch(kind, keyOf(object), { merge }))
}

/** Removes owners from an object's owner references. */
export function removeOwners({ kind, object }: GraphNode, uids: ReadonlySet<string>, client: Client): Promise<void> {
  return withLatest({ kind, object }, client, async (latest) => {
    if (!ownersOf(latest).some(({ uid }) => uids.has(uid))) return
    await patchOwners(kind, latest, (owners) => owners.filter(({ uid }) => !uids.has(uid)), client)
  })
}

/** Removes a finalizer. */
export function removeFinalizer({ kind, object }: GraphNode, name: string, client: Client): Promise<void> {
  return withLatest({ kind, object }, client, async (latest) => {
    const finalizers = latest.metadata.finalizers ?? []
    if (!finalizers.includes(name)) return
    const rest = finalizers.filter((finalizer) => finalizer !== name)
    await patchMetadata(kind, latest, { finalizers: rest.length === 0 ? null : rest }, client)
  })
}

/** Runs with the cached object, and after a conflict with the live one; stops once the object no longer exists. */
export async function withLatest(
  { kind, object }: GraphNode,
  client: Client,
  run: (object: KubeObject) => Promise<void>,
): Promise<void> {
  let latest: KubeObject | undefined = object
  for (let attempt = 1; latest !== undefined && latest.metadata.uid === object.metadata.uid; attempt++) {
    try {
      return await run(latest)
    } catch (error) {
      if (!isConflict(error) || attempt === attempts) throw error
      latest = await client.find(kind, keyOf(object))
    }
  }
}

/** Waits for a write; the object may have been deleted already. */
async function ignoringNotFound(write: Promise<unknown>): Promise<void> {
  try {
    await write
  } catch (error) {
    if (!isNotFound(error)) throw error
  }
}
