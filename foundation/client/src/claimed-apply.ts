// Applies objects that must be ours: design decision 5, step by step.
import {
  asJson,
  controllerOf,
  formatKey,
  isConflict,
  isForbidden,
  isInvalid,
  jsonEqual,
  ownerReferenceTo,
} from '@fairlead/kube'
import type { KubeObject, ObjectKey, OwnerReference } from '@fairlead/kube'
import { isApplied } from './applied-configuration.ts'
import { ClientError } from './client-error.ts'
import { kindOfObject } from './kind.ts'
import type { Kind } from './kind.ts'
import { withoutUndefined } from './request-body.ts'
import type { ApplyOptions, CallOptions, List, ListOptions } from './options.ts'

/**
 * An object of that name exists and is not ours. `live` is that object; `raced` when it appeared while we created ours.
 */
export class CollisionError extends ClientError {
  readonly live: KubeObject
  readonly raced: boolean

  constructor(live: KubeObject, raced: boolean) {
    super('Collision', collisionMessage(live, raced))
    this.name = 'CollisionError'
    this.live = live
    this.raced = raced
  }
}

/** The part of a client that applies objects. */
export interface ApplyClient {
  readonly manager: string
  keyOf(object: KubeObject): Promise<ObjectKey>
  find<T extends KubeObject>(kind: Kind<T>, key: ObjectKey, options: CallOptions): Promise<T | undefined>
  list<T extends KubeObject>(kind: Kind<T>, options: ListOptions): Promise<List<T>>
  applyRaw<T extends KubeObject>(
    object: T,
    options: ApplyOptions,
  ): Promise<{ readonly object: T; readonly created: boolean }>
}

interface UnchangedApply {
  readonly configuration: KubeObject
  readonly manager: string
  readonly subresource: string | undefined
}

/**
 * Configurations that were applied to an object and changed nothing, although its managedFields alone did not show it.
 */
const unchangedApplies = new WeakMap<KubeObject, readonly UnchangedApply[]>()

/**
 * Applies `object` if nothing of that name exists or what exists is ours. Sends nothing when it already is as stated.
 * Throws ClientError `Collision` (a {@link CollisionError}).
 */
export async function applyClaimed<T extends KubeObject>(
  client: ApplyClient,
  object: T,
  options: ApplyOptions,
): Promise<T> {
  const configuration = withoutUndefined(options.owner === undefined ? object : withOwner(object, options.owner))
  const isOurs = options.isOurs ?? ((live: KubeObject) => controllerOf(live)?.uid === options.owner?.metadata.uid)
  const live = options.cached ?? (await findLive(client, object, options))
  return live === undefined
    ? createClaimed(client, configuration, isOurs, options)
    : changeClaimed(client, configuration, live as T, isOurs, options)
}

/** Reads the object of that name; lists that one name where the client may list but not get: both show all of it. */
async function findLive<T extends KubeObject>(
  client: ApplyClient,
  object: T,
  { signal }: ApplyOptions,
): Promise<T | undefined> {
  const kind = kindOfObject(object) as Kind<T>
  const { namespace, name } = await client.keyOf(object)
  try {
    return await client.find(kind, { namespace, name }, { signal })
  } catch (error) {
    if (!isForbidden(error)) throw error
    const fieldSelector = `metadata.name=${name}`
    const listed = await client.list(kind, { namespace, fieldSelector, signal }).catch(() => undefined)
    if (listed === undefined) throw error
    return listed.items[0]
  }
}

/** The object with a controlling owner reference added. */
export function withOwner<T extends KubeObject>(object: T, owner: KubeObject): T {
  const reference: OwnerReference = ownerReferenceTo(owner, { controller: true, blockOwnerDeletion: true })
  const others = (object.metadata.ownerReferences ?? []).filter((other) => other.uid !== reference.uid)
  return { ...object, metadata: { ...object.metadata, ownerReferences: [...others, reference] } }
}

/**
 * Creates an object and damages none that appeared after the read. Nothing is forced: fields that another manager set
 * are a conflict, a second controlling owner is invalid, and both leave the object as it is.
 */
async function createClaimed<T extends KubeObject>(
  client: ApplyClient,
  configuration: T,
  isOurs: (live: KubeObject) => boolean,
  options: ApplyOptions,
): Promise<T> {
  const { object, created } = await applyUnforced(client, configuration, isOurs, options)
  // A write of our own that the read did not show: no other manager has written the object.
  if (created || options.dryRun || isOnlyBy(options.manager ?? client.manager, object)) return object
  // Another client created it first, with other fields than ours. Removing ours is all that we may do to it.
  const { name, namespace, uid } = object.metadata
  const nothing: KubeObject = {
    apiVersion: object.apiVersion,
    kind: object.kind,
    metadata: { name, ...(namespace ? { namespace } : {}), uid },
  }
  const { object: released } = await client.applyRaw(nothing, options)
  throw new CollisionError(released, true)
}

/** Applies without force. Throws CollisionError when a foreign object is why the server refused. */
async function applyUnforced<T extends KubeObject>(
  client: ApplyClient,
  configuration: T,
  isOurs: (live: KubeObject) => boolean,
  options: ApplyOptions,
): Promise<{ readonly object: T; readonly created: boolean }> {
  try {
    return await client.applyRaw(configuration, { ...options, force: false })
  } catch (error) {
    if (!isConflict(error) && !isInvalid(error)) throw error
    const live = await findLive(client, configuration, options)
    if (live === undefined || isOurs(live)) throw error
    throw new CollisionError(live, true)
  }
}

/** Returns whether no other manager owns a field of the object; status does not count. */
function isOnlyBy(manager: string, { metadata: { managedFields = [] } }: KubeObject): boolean {
  return managedFields.every((entry) => entry.manager === manager || entry.subresource !== undefined)
}

async function changeClaimed<T extends KubeObject>(
  client: ApplyClient,
  configuration: T,
  live: T,
  isOurs: (live: KubeObject) => boolean,
  options: ApplyOptions,
): Promise<T> {
  if (!isOurs(live)) throw new CollisionError(live, false)
  const manager = options.manager ?? client.manager
  if (isApplied(live, configuration, manager, options.subresource)) return live
  const others: UnchangedApply[] = []
  for (const one of unchangedApplies.get(live) ?? []) {
    if (one.manager !== manager || one.subresource !== options.subresource) others.push(one)
    else if (jsonEqual(asJson(one.configuration), asJson(configuration))) return live
  }
  const { object } = await client.applyRaw(
    { ...configuration, metadata: { ...configuration.metadata, uid: live.metadata.uid } },
    options,
  )
  if (object.metadata.resourceVersion === live.metadata.resourceVersion && !options.dryRun) {
    unchangedApplies.set(live, [...others, { configuration, manager, subresource: options.subresource }])
  }
  return object
}

function collisionMessage(live: KubeObject, raced: boolean): string {
  const what = `${live.kind} ${formatKey({ namespace: live.metadata.namespace ?? '', name: live.metadata.name ?? '' })}`
  const owner = controllerOf(live)
  const whose = owner === undefined ? 'is not owned by this controller' : `belongs to ${owner.kind} ${owner.name}`
  const when = raced ? 'was created by someone else in the same instant and ' : 'exists already and '
  return `${what} ${when}${whose}; it was left as it is. Rename one of the two, or delete it`
}
