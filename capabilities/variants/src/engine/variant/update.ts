// Plans for one downstream revision when something has moved (spec variants §2.1).
import type { Task } from '@fairlead/packages'
import type { PackageVariantSpec } from '../../api.ts'
import type { ObservedRevision, RevisionLock } from '../observed-revision.ts'

/** A step for the content of one downstream revision, with its reason. */
export type UpdatePlan = { readonly reason: string } & (
  | { readonly op: 'keep' }
  /** A new draft by a task. */
  | { readonly op: 'create'; readonly task: Task }
  /** The draft is merged with the new upstream in place. */
  | { readonly op: 'rebase'; readonly task: Task }
  /** The draft is written in place. */
  | { readonly op: 'save' }
  /** A proposed revision is out of date, and stays as it is. */
  | { readonly op: 'wait' }
)

/** The input of {@link planUpdate}. */
export interface UpdateInput {
  readonly spec: Pick<PackageVariantSpec, 'onProposed' | 'onConflict'>
  readonly upstream: ObservedRevision
  readonly target: ObservedRevision
  /** Revisions of the upstream package, by which the former upstream is found. */
  readonly upstreams: readonly ObservedRevision[]
  /** The content differs from what the variant makes of it. Looked at while the upstream is the same. */
  readonly isChanged: boolean
}

/** Plans the update of a target. One whose deletion is proposed is planned as if it were published. */
export function planUpdate(input: UpdateInput): UpdatePlan {
  const { target, upstream, isChanged, spec } = input
  const isMoved = isOutOfDate(target, upstream)
  if (!isMoved && !isChanged) return { op: 'keep', reason: 'nothing has changed' }
  const reason = isMoved ? `the upstream is ${upstream.name} now` : 'the variant changes the package'
  switch (target.lifecycle) {
    case 'Proposed':
      if (spec.onProposed === 'keep') return { op: 'wait', reason: `${target.name} is Proposed, and ${reason}` }
      return isMoved ? { op: 'rebase', task: upgradeTask(input), reason } : { op: 'save', reason }
    case 'Draft':
      return isMoved ? { op: 'rebase', task: upgradeTask(input), reason } : { op: 'save', reason }
    case 'Published':
    case 'DeletionProposed':
      return { op: 'create', task: isMoved ? upgradeTask(input) : editTask(target), reason }
    default:
      throw new Error(`unknown lifecycle ${String(target.lifecycle satisfies never)}`)
  }
}

/**
 * Reports whether a revision was made from other content than that of the upstream: commits are compared, so that a
 * moved tag is noticed. A package without a lock has no upstream to follow.
 */
export function isOutOfDate({ upstreamLock }: ObservedRevision, upstream: ObservedRevision): boolean {
  return upstreamLock?.commit !== undefined && upstreamLock.commit !== upstream.commit
}

/** Returns the task of a first draft. */
export function cloneTask({ name }: ObservedRevision): Task {
  return { type: 'clone', clone: { upstreamRef: { upstreamRef: { name } } } }
}

function editTask({ name }: ObservedRevision): Task {
  return { type: 'edit', edit: { sourceRef: { name } } }
}

function upgradeTask({ target, upstream, upstreams, spec }: UpdateInput): Task {
  // The server takes the base from the lock; the name is for people, and for content that is in no repository any more.
  const old = formerUpstream(target.upstreamLock, upstreams) ?? upstream
  return {
    type: 'upgrade',
    upgrade: {
      oldUpstreamRef: { name: old.name },
      newUpstreamRef: { name: upstream.name },
      localPackageRevisionRef: { name: target.name },
      strategy: 'resource-merge',
      // Conflicts under `fail` are reported by the caller, which sees them all.
      ...(spec.onConflict === 'local' && { onConflict: 'local' }),
    },
  }
}

/** Returns the upstream revision that a lock names: by commit, else by the tag. */
export function formerUpstream(
  lock: RevisionLock | undefined,
  upstreams: readonly ObservedRevision[],
): ObservedRevision | undefined {
  const numbered = upstreams.filter(({ revision }) => revision > 0)
  return (
    numbered.find(({ commit }) => commit !== undefined && commit === lock?.commit) ??
    numbered.find(({ ref }) => ref !== undefined && ref === lock?.ref)
  )
}
