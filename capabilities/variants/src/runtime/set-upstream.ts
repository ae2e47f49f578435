// The upstream revision of a set.
import type { PackageRevision } from '@fairlead/packages'
import { selectable } from '../engine/set/spec.ts'
import type { SetUpstream } from '../engine/set/downstreams.ts'
import type { SetSpec } from '../engine/set/spec.ts'

/** Returns the upstream of a set among the revisions of its package; a message when there is none. */
export function upstreamOf(
  { upstream, rollout }: SetSpec,
  revisions: readonly PackageRevision[],
): SetUpstream | string {
  const { revision, workspaceName, follow } = upstream
  const published = revisions
    .filter(({ spec }) => spec.lifecycle === 'Published' && Number(spec.revision) > 0)
    .toSorted((a, b) => Number(b.spec.revision) - Number(a.spec.revision))
  const number = revision === undefined ? undefined : Number(String(revision).replace(/^v/, ''))
  const isFollowed = (number === undefined && workspaceName === undefined) || number === -1
  const { label } = follow ?? {}
  const found = published.find(
    ({ metadata, spec }) =>
      (isFollowed || number === undefined || Number(spec.revision) === number) &&
      (workspaceName === undefined || spec.workspaceName === workspaceName) &&
      (label === undefined || metadata.labels?.[label.key] === label.value),
  )
  if (found === undefined) return `no published revision of package ${upstream.package} in repository ${upstream.repo}`
  const pinned = { repo: upstream.repo, package: upstream.package, revision: Number(found.spec.revision) }
  return { revision: selectable(found), reference: rollout !== undefined && isFollowed ? pinned : upstream }
}
