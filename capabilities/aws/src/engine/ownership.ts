// Ownership of a resource that exists although its object never saw it created: a process that died between the
// creation and the status write left it, or it belongs to someone else.
import type { KubeObject } from '@fairlead/kube'
import type { ObjectId } from '@fairlead/references'
import type { ReconcileInput } from './reconcile-input.ts'
import { confirmedArn } from './resource-status.ts'
import type { Observed, ResourceManager } from './resource-manager.ts'

/** Tag with the UID of the object that a resource was created for. */
export const ownerTag = 'services.k8s.aws/object-uid'

/** Returns the tags that a resource of an object is created with. */
export function creationTags(
  { metadata }: KubeObject,
  tags: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  return { ...tags, [ownerTag]: metadata.uid ?? '' }
}

/** Reports whether a resource was created for an object. */
export async function isOwn(manager: ResourceManager, observed: Observed, { metadata }: KubeObject): Promise<boolean> {
  return metadata.uid !== undefined && (await creatorOf(manager, observed)) === metadata.uid
}

/**
 * Returns the other object that has a resource, when this one does not have it yet; undefined when it may take it.
 * Called last, as it claims the resource.
 */
export async function ownerOf(input: ReconcileInput, observed: Observed): Promise<ObjectId | undefined> {
  const { manager, object } = input
  const { arn } = observed
  if (input.claim === undefined || arn === undefined || arn === confirmedArn(object)) return undefined
  return input.claim(arn, await creatorOf(manager, observed))
}

/**
 * Returns an object of another namespace whose resource this one may not read, as that namespace does not grant it;
 * undefined when it may.
 */
export async function deniedHolder(input: ReconcileInput, observed: Observed): Promise<ObjectId | undefined> {
  const { id, manager, referents } = input
  if (input.holders === undefined || observed.arn === undefined) return undefined
  const others = input.holders(observed.arn, await creatorOf(manager, observed))
  return others.find((other) => {
    if (other.namespace === id.namespace) return false
    const permission = referents.permission(id, other)
    return permission === 'denied' || permission === 'unknown'
  })
}

/** Returns the UID of the object that a resource was created for. */
async function creatorOf(manager: ResourceManager, observed: Observed): Promise<string | undefined> {
  return (observed.tags ?? (await manager.tags(observed)))[ownerTag]
}
