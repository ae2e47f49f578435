// Default classes of objects without a class (StorageClass, IngressClass).
import type { KubeObject } from '@fairlead/kube'
import type { WriteContext } from './definition/strategy.ts'
import { mapAt } from './fields.ts'

/** Returns the classes that one of the annotations marks as default. */
export function defaultClasses(
  context: WriteContext,
  resource: string,
  annotations: readonly string[],
): readonly KubeObject[] {
  return [...(context.list?.(resource) ?? [])].filter((item) =>
    annotations.some((annotation) => mapAt(item, 'metadata', 'annotations')[annotation] === 'true'),
  )
}

/**
 * Returns the name of the newest default class, the first by name among equally new ones; undefined when there is none.
 */
export function defaultClass(
  context: WriteContext,
  resource: string,
  annotations: readonly string[],
): string | undefined {
  return defaultClasses(context, resource, annotations).toSorted(
    (a, b) =>
      (b.metadata.creationTimestamp ?? '').localeCompare(a.metadata.creationTimestamp ?? '') ||
      (a.metadata.name ?? '').localeCompare(b.metadata.name ?? ''),
  )[0]?.metadata.name
}
