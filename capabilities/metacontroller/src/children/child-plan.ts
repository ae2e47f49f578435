// The actions on the children of one parent, as data: the controller carries them out.
import type { KubeObject } from '@fairlead/kube'
import { isTerminating, ownerReferenceTo } from '@fairlead/kube'
import type { Child, ChildKind } from './child.ts'
import { childKey } from './child.ts'
import { updatedChild, withLastApplied } from './merge.ts'

/** One action on a child, with its reason. */
export type ChildAction =
  | { readonly op: 'create'; readonly kind: ChildKind; readonly object: KubeObject; readonly reason: 'Missing' }
  | {
      readonly op: 'update'
      readonly kind: ChildKind
      readonly observed: KubeObject
      /** The whole object as it is written. */
      readonly object: KubeObject
      readonly reason: 'Changed'
    }
  | {
      readonly op: 'delete'
      readonly kind: ChildKind
      readonly observed: KubeObject
      /** `Recreate`: it differs; it is created again after its removal. */
      readonly reason: 'NotWanted' | 'Recreate'
    }
  | {
      readonly op: 'keep'
      readonly kind: ChildKind
      readonly observed: KubeObject
      /** `Drift`: it differs, and OnDelete leaves it as it is. */
      readonly reason: 'Unchanged' | 'Drift' | 'Terminating'
    }

/**
 * Returns the plan that turns the observed children of a parent into the desired ones: deletes, then all others. Throws
 * LastAppliedError.
 */
export function planChildren(
  parent: KubeObject,
  observed: readonly Child[],
  desired: readonly Child[],
): readonly ChildAction[] {
  const wanted = new Map(desired.map((child) => [childKey(child), child]))
  const existing = new Map(observed.map((child) => [childKey(child), child]))
  const deletes = observed
    .filter((child) => !wanted.has(childKey(child)))
    .map(({ kind, object }): ChildAction =>
      isTerminating(object)
        ? { op: 'keep', kind, observed: object, reason: 'Terminating' }
        : { op: 'delete', kind, observed: object, reason: 'NotWanted' },
    )
  const others = [...wanted].map(([key, child]) => change(parent, existing.get(key)?.object, child))
  return [...deletes, ...others]
}

function change(parent: KubeObject, observed: KubeObject | undefined, { kind, object }: Child): ChildAction {
  if (observed === undefined)
    return { op: 'create', kind, object: owned(withLastApplied(object), parent), reason: 'Missing' }
  const updated = updatedChild(observed, object)
  if (updated === observed) return { op: 'keep', kind, observed, reason: 'Unchanged' }
  if (isTerminating(observed)) return { op: 'keep', kind, observed, reason: 'Terminating' }
  switch (kind.method) {
    case 'OnDelete':
      return { op: 'keep', kind, observed, reason: 'Drift' }
    case 'Recreate':
    case 'RollingRecreate':
      return { op: 'delete', kind, observed, reason: 'Recreate' }
    case 'InPlace':
    case 'RollingInPlace':
      return { op: 'update', kind, observed, object: updated, reason: 'Changed' }
  }
}

function owned(object: KubeObject, parent: KubeObject): KubeObject {
  const { ownerReferences = [] } = object.metadata
  if (ownerReferences.some(({ uid }) => uid === parent.metadata.uid)) return object
  return {
    ...object,
    metadata: { ...object.metadata, ownerReferences: [...ownerReferences, ownerReferenceTo(parent)] },
  }
}
