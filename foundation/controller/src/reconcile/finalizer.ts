// Finalizers: added before anything that needs cleanup is created, removed only after the cleanup has succeeded.
import { formatKey, isTerminating, keyOf } from '@fairlead/kube'
import type { KubeObject } from '@fairlead/kube'
import { isObjectNotFound, kindOfObject } from '@fairlead/client'
import type { Client } from '@fairlead/client'

/** Reports whether the object has the finalizer. */
export function hasFinalizer(object: KubeObject, name: string): boolean {
  return object.metadata.finalizers?.includes(name) ?? false
}

/**
 * Adds a finalizer (`<group>/<what>`); returns the object with it. Throws StatusError 409 when the object changed
 * meanwhile.
 */
export async function addFinalizer<T extends KubeObject>(client: Client, object: T, name: string): Promise<T> {
  if (hasFinalizer(object, name) || isTerminating(object)) return object
  return setFinalizers(client, object, [...(object.metadata.finalizers ?? []), name])
}

/**
 * Removes a finalizer; returns the object without it, or undefined when that completed its deletion. Throws StatusError
 * 409 when the object changed meanwhile.
 */
export async function removeFinalizer<T extends KubeObject>(
  client: Client,
  object: T,
  name: string,
): Promise<T | undefined> {
  if (!hasFinalizer(object, name)) return object
  const left = (object.metadata.finalizers ?? []).filter((one) => one !== name)
  try {
    return await setFinalizers(client, object, left)
  } catch (error) {
    if (isObjectNotFound(error)) return undefined
    throw error
  }
}

/** Replaces the whole list, so the resourceVersion that was read must still be the newest. */
function setFinalizers<T extends KubeObject>(client: Client, object: T, finalizers: readonly string[]): Promise<T> {
  const { uid, resourceVersion } = object.metadata
  const merge = {
    metadata: {
      uid: uid ?? null,
      resourceVersion: resourceVersion ?? null,
      finalizers: finalizers.length === 0 ? null : finalizers,
    },
  }
  return client.patch<T>(kindOfObject(object), formatKey(keyOf(object)), { merge })
}
