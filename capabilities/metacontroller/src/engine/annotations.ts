// Annotations by which people ask controllers for something. Pure.
import type { KubeObject } from '@fairlead/kube'
import { controllerOf, isTerminating } from '@fairlead/kube'

/** A new value on a parent syncs it, on a controller all its parents; the time by convention. */
export const syncRequestedAnnotation = 'metacontroller.k8s.io/sync-requested-at'
/** `<controller>/<parent>` on an object lets that parent take it over when its hook wants an object of that name. */
export const adoptByAnnotation = 'metacontroller.k8s.io/adopt-by'

/** Returns the value with which a sync was last requested. */
export function syncRequestOf(object: KubeObject): string | undefined {
  return object.metadata.annotations?.[syncRequestedAnnotation]
}

/** Returns the value of {@link adoptByAnnotation} that names a parent. */
export function adoptByValue(controllerName: string, { metadata: { name = '' } }: KubeObject): string {
  return `${controllerName}/${name}`
}

/** Returns whether a parent may adopt an object: it names the parent, and nothing controls it. */
export function mayAdoptOnRequest(controllerName: string, parent: KubeObject, object: KubeObject): boolean {
  const { namespace } = parent.metadata
  return (
    object.metadata.annotations?.[adoptByAnnotation] === adoptByValue(controllerName, parent) &&
    (namespace === undefined || namespace === object.metadata.namespace) &&
    controllerOf(object) === undefined &&
    !isTerminating(object)
  )
}
