// The upstream revision of a set.
import type { PackageRevision } from '@fairlead/packages'
import { observedRevision } from '../engine/observed-revision.ts'
import type { SetUpstream } from '../engine/set/downstreams.ts'
import { selectable } from '../engine/set/spec.ts'
import type { SetSpec } from '../engine/set/spec.ts'
import { isFollowed, selectUpstream } from '../engine/variant/upstream.ts'

/** Returns the upstream of a set among the revisions of its package; a message when there is none. */
export function upstreamOf(
  { upstream, rollout }: SetSpec,
  revisions: readonly PackageRevision[],
): SetUpstream | string {
  const selection = selectUpstream(upstream, revisions.map(observedRevision))
  if (selection.revision === undefined) return selection.problem
  const { name, revision } = selection.revision
  const pinned = { repo: upstream.repo, package: upstream.package, revision }
  const found = revisions.find(({ metadata }) => metadata.name === name)!
  return { revision: selectable(found), reference: rollout !== undefined && isFollowed(upstream) ? pinned : upstream }
}
