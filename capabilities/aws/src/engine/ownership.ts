// Ownership of a resource that exists although its object never saw it created: a process that died between the
// creation and the status write left it, or it belongs to someone else.
import type { KubeObject } from '@fairlead/kube'
import type { Observed, ResourceManager } from './resource-manager.ts'

/** Tag with the UID of the object that a resource was created for. */
export const ownerTag = 'services.k8s.aws/object-uid'

/** Returns the tags that a resource of an object is created with. */
export function creationTags(
  { metadata }: KubeObject,
  tags: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  return { ...tags, 'services.k8s.aws/namespace': metadata.namespace ?? '', [ownerTag]: metadata.uid ?? '' }
}

/** Reports whether a resource was created for an object. */
export async function isOwn(manager: ResourceManager, observed: Observed, { metadata }: KubeObject): Promise<boolean> {
  const tags = await manager.tags(observed)
  return metadata.uid !== undefined && tags[ownerTag] === metadata.uid
}
