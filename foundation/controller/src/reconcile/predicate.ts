// Predicates filter changes. They are pure functions of one change.
import { jsonEqual } from '@fairlead/kube'
import type { KubeObject } from '@fairlead/kube'
import type { ObjectChange } from '../informer/informer.ts'

/** Reports whether a change enqueues objects. */
export type Predicate<T extends KubeObject = KubeObject> = (change: ObjectChange<T>) => boolean

/**
 * Passes changes of the spec (metadata.generation), creations and deletions. Changes of status and metadata do not
 * pass, nor do those of kinds without generation.
 */
export const generationChanged: Predicate = (change) =>
  change.type !== 'changed' || change.object.metadata.generation !== change.previous.metadata.generation

/** Passes changes of labels, creations and deletions. */
export const labelsChanged: Predicate = (change) =>
  change.type !== 'changed' || !jsonEqual(change.object.metadata.labels ?? {}, change.previous.metadata.labels ?? {})

/** Passes changes of annotations, creations and deletions. */
export const annotationsChanged: Predicate = (change) =>
  change.type !== 'changed' ||
  !jsonEqual(change.object.metadata.annotations ?? {}, change.previous.metadata.annotations ?? {})

/** Passes the start of a deletion, creations and deletions. */
export const deletionBegan: Predicate = (change) =>
  change.type !== 'changed' || change.object.metadata.deletionTimestamp !== change.previous.metadata.deletionTimestamp

/** Returns a predicate that passes when one of these passes. */
export function anyOf<T extends KubeObject>(...predicates: readonly Predicate<T>[]): Predicate<T> {
  return (change) => predicates.some((predicate) => predicate(change))
}

/** Returns a predicate that passes when all of these pass. */
export function allOf<T extends KubeObject>(...predicates: readonly Predicate<T>[]): Predicate<T> {
  return (change) => predicates.every((predicate) => predicate(change))
}
