// Selection of the upstream revision (spec variants §2.1).
import type { PackageVariantSpec } from '../../api.ts'
import { isOf, isPublished, versionLabel } from '../observed-revision.ts'
import type { ObservedRevision } from '../observed-revision.ts'
import { revisionNumber, tagError } from './spec-errors.ts'
import { compareVersions, isInRange, parseVersion, rangeError } from './version-range.ts'

type UpstreamSpec = PackageVariantSpec['upstream']

/** The selected upstream, or why there is none. */
export type UpstreamSelection =
  | { readonly revision: ObservedRevision; readonly warnings: readonly string[] }
  | { readonly revision: undefined; readonly warnings: readonly string[]; readonly problem: string }

/** Selects the upstream revision of a variant among all revisions that are known. */
export function selectUpstream(upstream: UpstreamSpec, known: readonly ObservedRevision[]): UpstreamSelection {
  const revisions = known.filter((revision) => isOf(revision, upstream))
  const warnings =
    upstream.revision !== undefined && revisionNumber(upstream.revision) === -1
      ? ['spec.upstream.revision -1 follows the newest published revision; write spec.upstream.follow.latest instead']
      : []
  const found = find(upstream, revisions)
  return typeof found === 'string' ? { revision: undefined, warnings, problem: found } : { revision: found, warnings }
}

/** Reports whether the selected revision may change without a change of the reference. */
export function isFollowed({ revision, workspaceName }: UpstreamSpec): boolean {
  return workspaceName === undefined && (revision === undefined || revisionNumber(revision) === -1)
}

function find(upstream: UpstreamSpec, revisions: readonly ObservedRevision[]): ObservedRevision | string {
  const { follow, revision, workspaceName } = upstream
  const name = `${upstream.repo}/${upstream.package}`
  if (follow?.tag !== undefined) return taggedRevision(follow.tag, revisions, name)
  if (follow?.label !== undefined) {
    const { key, value } = follow.label
    return (
      newest(revisions.filter(({ labels }) => labels[key] === value)) ??
      missing(`revision of ${name} with the label ${key}=${value}`)
    )
  }
  if (follow?.range !== undefined) return newestVersion(follow.range, revisions, name)
  const number = revision === undefined ? -1 : revisionNumber(revision)
  if (workspaceName === undefined)
    return number === -1
      ? (newest(revisions) ?? missing(`revision of ${name}`))
      : (revisions.find((one) => one.revision === number && isPublished(one)) ??
          missing(`revision ${number} of ${name}`))
  const named = revisions.find((one) => one.workspaceName === workspaceName)
  if (named !== undefined && !isPublished(named))
    return `the upstream ${named.name} is a ${named.lifecycle}; only published revisions can be upstreams`
  if (named === undefined || named.revision <= 0)
    return missing(`revision of ${name} with the workspace ${workspaceName}`)
  return number === -1 || named.revision === number
    ? named
    : `the workspace ${workspaceName} of ${name} has revision ${named.revision}, not ${number}`
}

function missing(what: string): string {
  return `could not find a published ${what}`
}

/** Returns the newest revision; one whose deletion is proposed is not followed. */
function newest(revisions: readonly ObservedRevision[]): ObservedRevision | undefined {
  return revisions
    .filter(({ revision, lifecycle }) => revision > 0 && lifecycle === 'Published')
    .reduce<ObservedRevision | undefined>((best, one) => (best && best.revision > one.revision ? best : one), undefined)
}

/** Returns the revision with the highest version in a range; of those with one version, the newest. */
function newestVersion(range: string, revisions: readonly ObservedRevision[], name: string): ObservedRevision | string {
  // The spec of a set is checked by its schema alone.
  const invalid = rangeError(range)
  if (invalid !== undefined) return invalid
  const candidates = revisions.filter(({ revision, lifecycle }) => revision > 0 && lifecycle === 'Published')
  const versions = candidates.flatMap((revision) => {
    const version = revision.version === undefined ? undefined : parseVersion(revision.version)
    return version === undefined ? [] : [{ revision, version }]
  })
  const [best] = versions
    .filter(({ version }) => isInRange(version, range))
    .sort((a, b) => compareVersions(b.version, a.version) || b.revision.revision - a.revision.revision)
  if (best !== undefined) return best.revision
  const known = [...new Set(versions.map(({ version }) => version))].sort(compareVersions)
  const reason =
    known.length === 0
      ? `no published revision has a version in the label ${versionLabel}, its own or that of its Kptfile`
      : `the versions are ${known.slice(-5).join(', ')}`
  return `${missing(`revision of ${name} with a version in ${JSON.stringify(range)}`)}; ${reason}`
}

/** Returns the published revision at the commit of a tag, which is a revision of its own without a number. */
function taggedRevision(tag: string, revisions: readonly ObservedRevision[], name: string): ObservedRevision | string {
  // The spec of a set is checked by its schema alone.
  const invalid = tagError(tag)
  if (invalid !== undefined) return invalid
  const tagged = revisions.find(
    (one) => one.revision === -1 && one.workspaceName === tag && one.ref?.endsWith(`/${tag}`) === true,
  )
  if (tagged === undefined) return `the repository has no tag ${name.slice(name.indexOf('/') + 1)}/${tag}`
  const numbered = revisions.filter(({ revision, commit }) => revision > 0 && commit === tagged.commit)
  return newest(numbered) ?? `the tag ${tag} of ${name} is on no published revision`
}
