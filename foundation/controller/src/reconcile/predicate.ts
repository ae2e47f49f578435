// Which changes matter. Predicates look at one change and are pure.
import { jsonEqual } from '@fairlead/kube'
import type { KubeObject } from '@fairlead/kube'
import type { ObjectChange } from '../informer/informer.ts'

/** Whether a change wakes anybody. */
export type Predicate<T extends KubeObject = KubeObject> = (change: ObjectChange<T>) => boolean

/**
 * The spec changed (metadata.generation), or the object came or went. Status and metadata changes pass by; so do those
 * of kinds without generation.
 */
export const generationChanged: Predicate = (change) =>
  change.type !== 'changed' || change.object.metadata.generation !== change.previous.metadata.generation

/** Labels changed, or the object came or went. */
export const labelsChanged: Predicate = (change) =>
  change.type !== 'changed' || !jsonEqual(change.object.metadata.labels ?? {}, change.previous.metadata.labels ?? {})

/** Annotations changed, or the object came or went. */
export const annotationsChanged: Predicate = (change) =>
  change.type !== 'changed' ||
  !jsonEqual(change.object.metadata.annotations ?? {}, change.previous.metadata.annotations ?? {})

/** Deletion began, or the object came or went. */
export const deletionBegan: Predicate = (change) =>
  change.type !== 'changed' || change.object.metadata.deletionTimestamp !== change.previous.metadata.deletionTimestamp

/** At least one of them holds. */
export function anyOf<T extends KubeObject>(...predicates: readonly Predicate<T>[]): Predicate<T> {
  return (change) => predicates.some((predicate) => predicate(change))
}

/** A predicate that holds when all of these hold. */
export function allOf<T extends KubeObject>(...predicates: readonly Predicate<T>[]): Predicate<T> {
  return (change) => predicates.every((predicate) => predicate(change))
}
