// The actions on the children of one parent, as data: the controller carries them out.
import { yieldToEventLoop } from '@fairlead/client'
import type { KubeObject } from '@fairlead/kube'
import { isTerminating } from '@fairlead/kube'
import type { Child, ChildKind } from './child.ts'
import { childKey } from './child.ts'
import type { ApplyStrategy } from './apply-strategy.ts'
import { dynamicApply } from './apply-strategy.ts'

/** One action on a child, with its reason. */
export type ChildAction =
  | { readonly op: 'create'; readonly kind: ChildKind; readonly object: KubeObject; readonly reason: 'Missing' }
  | {
      readonly op: 'update'
      readonly kind: ChildKind
      readonly observed: KubeObject
      /** The whole object as it is written; the configuration for a server-side apply. */
      readonly object: KubeObject
      readonly reason: 'Changed'
    }
  | {
      readonly op: 'delete'
      readonly kind: ChildKind
      readonly observed: KubeObject
      /** `Recreate`: it differs; it is created again after its removal. */
      readonly reason: 'NotWanted' | 'Recreate'
      /** The object to check first: a child is not recreated when writing it would change nothing. */
      readonly unless?: KubeObject
    }
  /** Its kind is not deleted: it stays without an owner, and may be taken over again. */
  | { readonly op: 'release'; readonly kind: ChildKind; readonly observed: KubeObject; readonly reason: 'NotWanted' }
  | {
      readonly op: 'keep'
      readonly kind: ChildKind
      readonly observed: KubeObject
      /** `Drift`: it differs, and OnDelete leaves it as it is. */
      readonly reason: 'Unchanged' | 'Drift' | 'Terminating'
    }

/** Comparisons between two turns of the event loop, in a plan for many. */
const planned = 32

/**
 * Makes the plan of {@link planChildren} in steps, for responses with thousands of children. `unchanged` has observed
 * children that are known to be as desired: they are not compared.
 */
export async function planChildrenInSteps(
  parent: KubeObject,
  observed: readonly Child[],
  desired: readonly Child[],
  strategy: ApplyStrategy,
  unchanged: ReadonlySet<KubeObject> = new Set(),
): Promise<readonly ChildAction[]> {
  const { removals, pairs } = paired(observed, desired)
  const plan = [...removals]
  let compared = 0
  for (const [before, child] of pairs) {
    if (before !== undefined && unchanged.has(before)) {
      plan.push({ op: 'keep', kind: child.kind, observed: before, reason: 'Unchanged' })
      continue
    }
    if (++compared % planned === 0) await yieldToEventLoop()
    plan.push(change(parent, before, child, strategy))
  }
  return plan
}

/**
 * Returns the plan that turns the observed children of a parent into the desired ones: deletes and releases, then all
 * others. Throws LastAppliedError.
 */
export function planChildren(
  parent: KubeObject,
  observed: readonly Child[],
  desired: readonly Child[],
  strategy: ApplyStrategy = dynamicApply,
): readonly ChildAction[] {
  const { removals, pairs } = paired(observed, desired)
  return [...removals, ...pairs.map(([before, child]) => change(parent, before, child, strategy))]
}

/** Returns the removals of children that are not desired, and the observed object, if any, of each desired child. */
function paired(
  observed: readonly Child[],
  desired: readonly Child[],
): {
  readonly removals: readonly ChildAction[]
  readonly pairs: readonly (readonly [observed: KubeObject | undefined, desired: Child])[]
} {
  const wanted = new Map(desired.map((child) => [childKey(child), child]))
  const existing = new Map<string, KubeObject>()
  const removals: ChildAction[] = []
  for (const child of observed) {
    const key = childKey(child)
    if (wanted.has(key)) existing.set(key, child.object)
    else removals.push(removal(child))
  }
  return { removals, pairs: [...wanted].map(([key, child]) => [existing.get(key), child]) }
}

function removal({ kind, object }: Child): ChildAction {
  return isTerminating(object)
    ? { op: 'keep', kind, observed: object, reason: 'Terminating' }
    : { op: kind.deletionPolicy === 'Orphan' ? 'release' : 'delete', kind, observed: object, reason: 'NotWanted' }
}

/** Returns whether an action ends what a child is to its parent. */
export function isRemoval({ op }: ChildAction): boolean {
  return op === 'delete' || op === 'release'
}

function change(
  parent: KubeObject,
  observed: KubeObject | undefined,
  { kind, object }: Child,
  strategy: ApplyStrategy,
): ChildAction {
  if (observed === undefined) return { op: 'create', kind, object: strategy.created(parent, object), reason: 'Missing' }
  const updated = strategy.updated(parent, observed, object)
  if (updated === observed) return { op: 'keep', kind, observed, reason: 'Unchanged' }
  if (isTerminating(observed)) return { op: 'keep', kind, observed, reason: 'Terminating' }
  switch (kind.method) {
    case 'OnDelete':
      return { op: 'keep', kind, observed, reason: 'Drift' }
    case 'Recreate':
    case 'RollingRecreate':
      return {
        op: 'delete',
        kind,
        observed,
        reason: 'Recreate',
        unless: updated,
      }
    case 'InPlace':
    case 'RollingInPlace':
      return { op: 'update', kind, observed, object: updated, reason: 'Changed' }
  }
}
