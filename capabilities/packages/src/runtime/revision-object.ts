// PackageRevision and PackageRevisionResources objects of a revision.
import { formatTime } from '@fairlead/kube'
import type { ObjectMeta } from '@fairlead/kube'
import { latestLabel, porchGroup, upstreamMergedCondition } from '../api.ts'
import type { Lock, PackageRevision, PackageRevisionResources } from '../api.ts'
import { isPublished } from '../engine/lifecycle.ts'
import { conflictMessage } from '../engine/merge3/conflict-report.ts'
import type { Kptfile } from '../engine/kptfile/kptfile.ts'
import { stableUid } from '../engine/names.ts'
import type { PackageFiles } from '../engine/package-files.ts'
import { shortRef } from '../git/package-layout.ts'
import type { PackageRepository } from './package-repository.ts'
import type { RepositorySettings } from './repository-settings.ts'
import type { Revision } from './revision.ts'
import type { KeptMetadata, RevisionState } from './revision-states.ts'

const apiVersion = `${porchGroup}/v1alpha1`

/** Returns the Kptfile of a revision; undefined for one that is not valid, or damaged. @throws GitError */
export function kptfileOf({ kptfiles }: PackageRepository, revision: Revision): Promise<Kptfile | undefined> {
  return kptfiles.read(revision.kptfile)
}

/** Returns the PackageRevision of a revision. @throws GitError */
export async function packageRevisionObject(
  repository: PackageRepository,
  revision: Revision,
  state: RevisionState,
): Promise<PackageRevision> {
  const { settings } = repository
  const kptfile = await kptfileOf(repository, revision)
  const { labels, annotations } = kptfile?.metadata ?? {}
  const isFinal = isPublished(revision.lifecycle)
  return {
    apiVersion,
    kind: 'PackageRevision',
    metadata: metadataOf(repository, revision, state.metadata, revision.isLatest),
    // In the order of stored objects, whose parts are then these and no copies.
    spec: {
      lifecycle: revision.lifecycle,
      packageMetadata: { ...(annotations !== undefined && { annotations }), ...(labels !== undefined && { labels }) },
      packageName: revision.packageName,
      ...(kptfile?.info?.readinessGates !== undefined && { readinessGates: kptfile.info.readinessGates }),
      repository: settings.repository,
      ...(revision.revision !== 0 && { revision: revision.revision }),
      ...(revision.task !== undefined && { tasks: [revision.task] }),
      workspaceName: revision.workspace,
    },
    status: {
      ...conditionsOf(kptfile, state),
      ...(settings.deployment && { deployment: true }),
      ...(isFinal && { publishTimestamp: formatTime(revision.updatedAt * 1000), publishedBy: revision.updatedBy }),
      selfLock: selfLock(repository, revision),
      ...(kptfile?.upstreamLock?.git !== undefined && { upstreamLock: kptfile.upstreamLock }),
    },
  }
}

/** Returns the conditions of the Kptfile and that of the merge with upstream, which is no part of the package. */
function conditionsOf(
  kptfile: Kptfile | undefined,
  { merge }: RevisionState,
): Pick<NonNullable<PackageRevision['status']>, 'conditions' | 'conflicts'> {
  const { conditions } = kptfile?.status ?? {}
  if (merge === undefined) return conditions === undefined ? {} : { conditions }
  const { conflicts } = merge
  const merged = {
    type: upstreamMergedCondition,
    status: conflicts.length === 0 ? 'True' : 'False',
    reason: conflicts.length === 0 ? 'NoConflicts' : 'Conflicts',
    message: conflictMessage(merge),
  }
  return { conditions: [...(conditions ?? []), merged], ...(conflicts.length > 0 && { conflicts }) }
}

/** Returns the place of a revision in git. */
export function selfLock({ settings }: PackageRepository, revision: Revision): Lock {
  const { path, ref, commit } = revision
  return {
    git: { commit, directory: path, ref: shortRef(ref), repo: repositoryAddress(settings) },
    type: 'git',
  }
}

/** Returns the address of a repository in locks; a managed repository has none of its own. */
export function repositoryAddress({ namespace, repository, url }: RepositorySettings): string {
  return url ?? `fairlead://${namespace}/${repository}`
}

/** Returns the PackageRevisionResources of a revision; files that are no UTF-8 are left out. */
export function resourcesObject(
  repository: PackageRepository,
  revision: Revision,
  files: PackageFiles,
  state: RevisionState,
): PackageRevisionResources {
  const texts = [...files].filter((entry): entry is [string, string] => typeof entry[1] === 'string')
  return {
    apiVersion,
    kind: 'PackageRevisionResources',
    metadata: metadataOf(repository, revision, state.resourcesMetadata ?? {}, false),
    spec: {
      packageName: revision.packageName,
      repository: repository.settings.repository,
      workspaceName: revision.workspace,
      ...(revision.revision !== 0 && { revision: revision.revision }),
      resources: Object.fromEntries(texts.sort(([a], [b]) => (a < b ? -1 : 1))),
    },
    ...(state.renderStatus !== undefined && { status: { renderStatus: state.renderStatus } }),
  }
}

function metadataOf(
  { settings: { namespace } }: PackageRepository,
  { name, createdAt }: Revision,
  kept: KeptMetadata,
  isLatest: boolean,
): ObjectMeta {
  const labels = isLatest ? { ...kept.labels, [latestLabel]: 'true' } : kept.labels
  return {
    ...kept,
    name,
    namespace,
    uid: revisionUid(namespace, name),
    generation: kept.generation ?? 1,
    creationTimestamp: formatTime(createdAt * 1000),
    ...(labels !== undefined && { labels }),
  }
}

/** Returns the uid of a revision's objects: the same whenever it comes back, as in Porch. */
export function revisionUid(namespace: string, name: string): string {
  return stableUid('packagerevision:', namespace, name)
}

/** Returns the part of an object's metadata that git does not hold. */
export function keptMetadata(metadata: ObjectMeta): KeptMetadata {
  const { labels, annotations, finalizers, ownerReferences, managedFields } = metadata
  const { generation, deletionTimestamp, deletionGracePeriodSeconds } = metadata
  const { [latestLabel]: _computed, ...own } = labels ?? {}
  return withoutEmpty({
    ...(Object.keys(own).length > 0 && { labels: own }),
    annotations,
    finalizers,
    ownerReferences,
    managedFields,
    generation,
    deletionTimestamp,
    deletionGracePeriodSeconds,
  })
}

function withoutEmpty(metadata: KeptMetadata): KeptMetadata {
  return Object.fromEntries(Object.entries(metadata).filter(([, value]) => value !== undefined)) as KeptMetadata
}
