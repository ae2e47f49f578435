// The step of a parent of a CompositeController or an object of a DecoratorController.
import type { KubeObject } from '@fairlead/kube'
import { isTerminating } from '@fairlead/kube'

/** The state that decides on the step of a parent. */
export interface ParentFacts {
  readonly parent: KubeObject
  /** Labels and annotations match the selectors of the controller. */
  readonly isSelected: boolean
  readonly finalizer: string
  readonly hasFinalizeHook: boolean
}

/** The next step of a parent. */
export type ParentStep =
  /** The controller has nothing to do with it. */
  | 'ignore'
  /** The finalizer comes before anything that needs a cleanup. */
  | 'addFinalizer'
  /** The controller has no finalize hook any more. */
  | 'removeFinalizer'
  | 'sync'
  | 'finalize'

/** Returns the next step of a parent. */
export function parentStep({ parent, isSelected, finalizer, hasFinalizeHook }: ParentFacts): ParentStep {
  const hasFinalizer = parent.metadata.finalizers?.includes(finalizer) === true
  if (!isSelected && !hasFinalizer) return 'ignore'
  if (hasFinalizer && !hasFinalizeHook) return 'removeFinalizer'
  if (!hasFinalizer && hasFinalizeHook && !isTerminating(parent)) return 'addFinalizer'
  return hasFinalizeHook && (isTerminating(parent) || !isSelected) ? 'finalize' : 'sync'
}

const garbageCollection: ReadonlySet<string> = new Set(['foregroundDeletion', 'orphan'])

/**
 * Returns whether the children of a parent are managed: those of a parent that is being deleted only until it is
 * finalized, and not while the garbage collector deletes or orphans them.
 */
export function managesChildren({ parent, finalizer, hasFinalizeHook }: Omit<ParentFacts, 'isSelected'>): boolean {
  if (!isTerminating(parent)) return true
  const { finalizers = [] } = parent.metadata
  return hasFinalizeHook && finalizers.includes(finalizer) && !finalizers.some((one) => garbageCollection.has(one))
}
