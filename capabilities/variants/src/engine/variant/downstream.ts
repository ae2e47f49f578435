// The downstream revisions that a variant works on, and what it does with the others (spec variants §2.6).
import type { PackageVariantSpec } from '../../api.ts'
import { isOf, isPublished } from '../observed-revision.ts'
import type { ObservedRevision } from '../observed-revision.ts'

/** A change of a revision beside its content, with its reason. */
export type RevisionAction = { readonly name: string; readonly reason: string } & (
  | { readonly op: 'delete' }
  | { readonly op: 'setLifecycle'; readonly to: 'Draft' | 'Published' | 'DeletionProposed' }
  | { readonly op: 'removeOwnerReference' }
  | { readonly op: 'adopt' }
)

/** The plan of a variant for the revisions of its namespace. */
export interface DownstreamPlan {
  /** The revisions whose content the variant keeps up to date: all drafts, else the newest published one. */
  readonly targets: readonly ObservedRevision[]
  readonly actions: readonly RevisionAction[]
}

/** The variant, as far as revisions are concerned. */
export interface DownstreamOwner {
  readonly uid: string
  readonly spec: Pick<PackageVariantSpec, 'downstream' | 'adoptionPolicy' | 'deletionPolicy'>
}

/** Plans what a variant does with the revisions of its namespace. */
export function planDownstream({ uid, spec }: DownstreamOwner, revisions: readonly ObservedRevision[]): DownstreamPlan {
  const actions: RevisionAction[] = []
  const own: ObservedRevision[] = []
  for (const revision of revisions) {
    const isOwned = revision.owners.includes(uid)
    if (!isOf(revision, spec.downstream)) {
      if (isOwned) actions.push(...cleanupOf(revision, spec.deletionPolicy, 'spec.downstream names another package'))
    } else if (isOwned) own.push(revision)
    else if (spec.adoptionPolicy === 'adoptExisting' && isAdoptable(revision)) {
      actions.push({ op: 'adopt', name: revision.name, reason: 'spec.adoptionPolicy is adoptExisting' })
      own.push(revision)
    }
  }
  const drafts = own.filter((revision) => !isPublished(revision))
  const published = own
    .filter((revision) => isPublished(revision) && revision.revision > 0)
    .sort((a, b) => b.revision - a.revision)
  return { targets: drafts.length > 0 ? drafts : published.slice(0, 1), actions }
}

/** The content of a branch is no revision to work on, and revisions of other controllers stay theirs. */
function isAdoptable({ revision, controller }: ObservedRevision): boolean {
  return revision !== -1 && controller === undefined
}

function cleanupOf(
  { name, lifecycle }: ObservedRevision,
  policy: PackageVariantSpec['deletionPolicy'],
  reason: string,
): readonly RevisionAction[] {
  if (policy === 'orphan') return [{ op: 'removeOwnerReference', name, reason }]
  if (lifecycle === 'Published') return [{ op: 'setLifecycle', to: 'DeletionProposed', name, reason }]
  return lifecycle === 'DeletionProposed' ? [] : [{ op: 'delete', name, reason }]
}

/**
 * Plans what becomes of a revision when its variant is deleted. A published one loses its owner as well: garbage
 * collection would delete it unapproved.
 */
export function planRevisionCleanup(
  revision: ObservedRevision,
  policy: PackageVariantSpec['deletionPolicy'],
): readonly RevisionAction[] {
  const reason = 'the PackageVariant is deleted'
  const actions = cleanupOf(revision, policy, reason)
  return policy === 'delete' && isPublished(revision)
    ? [...actions, { op: 'removeOwnerReference', name: revision.name, reason }]
    : actions
}

/** A variant that names a downstream package. */
export interface Claim {
  readonly name: string
  readonly uid: string
  readonly creationTimestamp: string
  /** It controls a revision of the downstream package. */
  readonly hasRevisions: boolean
}

/**
 * Returns the variant that has the downstream package: the oldest one that names it. Of those that were created in one
 * second, the one that controls a revision of it.
 */
export function holderOf(claims: readonly Claim[]): Claim | undefined {
  return claims.toSorted(
    (a, b) =>
      compare(a.creationTimestamp, b.creationTimestamp) ||
      Number(b.hasRevisions) - Number(a.hasRevisions) ||
      compare(a.uid, b.uid),
  )[0]
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
