// Removes the finalizers of controllers that were deleted while nothing ran: no controller will ever finalize their
// parents, which could not be deleted. A finalizer is removed only when its controller does not exist on the server.
import type { Client, Kind } from '@fairlead/client'
import { CustomResourceDefinition, kind } from '@fairlead/client'
import type { Logger } from '@fairlead/controller'
import { removeFinalizer } from '@fairlead/controller'
import type { KubeObject } from '@fairlead/kube'
import { isConflict, isForbidden, isNotFound } from '@fairlead/kube'
import { formatIdentity, identityOf } from '../engine/identity.ts'

/** Dependencies of {@link removeLeftoverFinalizers}. */
export interface LeftoverFinalizers {
  readonly client: Client
  readonly log: Logger
  readonly signal: AbortSignal
  /** The kind of the controllers. */
  readonly controllers: Kind
  /** Begins the names of their finalizers; the name of the controller follows. */
  readonly prefix: string
  /** Kinds of parents beside the custom resources. */
  readonly kinds: readonly Kind[]
}

/** Removes the finalizers of deleted controllers from all custom resources and from objects of the given kinds. */
export async function removeLeftoverFinalizers(options: LeftoverFinalizers): Promise<void> {
  const { client, signal } = options
  const { items } = await client.list(CustomResourceDefinition, { signal })
  const exists = new Map<string, boolean>()
  for (const one of [...items.flatMap(customKind), ...options.kinds]) {
    try {
      for await (const { items: objects } of client.pages(one, { metadataOnly: true, signal }))
        for (const { metadata } of objects)
          await release({ apiVersion: one.apiVersion, kind: one.kind, metadata }, options, exists)
    } catch (error) {
      // A kind that may not be read, or that was deleted meanwhile, has no parents that this process ever served.
      if (!isForbidden(error) && !isNotFound(error)) throw error
    }
  }
}

async function release(
  object: KubeObject,
  { client, log, controllers, prefix }: LeftoverFinalizers,
  exists: Map<string, boolean>,
): Promise<void> {
  let left: KubeObject | undefined = object
  for (const finalizer of object.metadata.finalizers ?? []) {
    if (left === undefined || !finalizer.startsWith(prefix)) continue
    const name = finalizer.slice(prefix.length)
    if (!exists.has(name)) exists.set(name, (await client.find(controllers, name)) !== undefined)
    if (exists.get(name) === true) continue
    const facts = { object: formatIdentity(identityOf(object)), finalizer }
    try {
      left = await removeFinalizer(client, left, finalizer)
      log.info('Removed the finalizer of a deleted controller', facts)
    } catch (error) {
      // It changed or may not be written: the next start tries again.
      if (!isConflict(error) && !isForbidden(error)) throw error
      log.warn('Could not remove the finalizer of a deleted controller', { ...facts, error })
    }
  }
}

/** Returns the kind that a definition defines, in a version that is served. */
function customKind({ spec }: CustomResourceDefinition): readonly Kind[] {
  const { group, names, scope, versions } = spec
  const version = versions.find(({ served }) => served)
  if (version === undefined) return []
  return [kind(`${group}/${version.name}`, names.kind, { plural: names.plural, namespaced: scope === 'Namespaced' })]
}
