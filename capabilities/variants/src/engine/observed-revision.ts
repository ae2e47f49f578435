// A package revision as the engine sees it.
import type { PackageRevision } from '@fairlead/packages'

/** The part of a PackageRevision that decisions need. */
export interface ObservedRevision {
  readonly name: string
  readonly repository: string
  readonly packageName: string
  readonly workspaceName: string
  /** 0 before publication, -1 for the content of a branch or tag. */
  readonly revision: number
  readonly lifecycle: 'Draft' | 'Proposed' | 'Published' | 'DeletionProposed'
  readonly labels: Readonly<Record<string, string>>
  /** Value of {@link versionLabel}: of the revision, else of its Kptfile. */
  readonly version: string | undefined
  /** UIDs of its owners. */
  readonly owners: readonly string[]
  /** UID of the owner with `controller: true`. */
  readonly controller: string | undefined
  /** Branch or tag, and commit of its content. */
  readonly ref: string | undefined
  readonly commit: string | undefined
  /** Place and commit of the upstream content that it was made from. */
  readonly upstreamLock: RevisionLock | undefined
}

/** A place in a git repository. */
export interface RevisionLock {
  readonly repo?: string
  readonly directory?: string
  readonly ref?: string
  readonly commit?: string
}

/** Kubernetes' recommended label for versions, by which `follow.range` selects. */
export const versionLabel = 'app.kubernetes.io/version'

/** Returns a revision as the engine sees it. */
export function observedRevision({ metadata, spec, status }: PackageRevision): ObservedRevision {
  const owners = metadata.ownerReferences ?? []
  return {
    name: metadata.name!,
    repository: spec.repository,
    packageName: spec.packageName,
    workspaceName: spec.workspaceName,
    revision: Number(String(spec.revision ?? 0).replace(/^v/, '')),
    lifecycle: spec.lifecycle ?? 'Draft',
    labels: metadata.labels ?? {},
    version: metadata.labels?.[versionLabel] ?? spec.packageMetadata?.labels?.[versionLabel],
    owners: owners.map(({ uid }) => uid),
    controller: owners.find(({ controller }) => controller === true)?.uid,
    ref: status?.selfLock?.git?.ref,
    commit: status?.selfLock?.git?.commit,
    upstreamLock: status?.upstreamLock?.git,
  }
}

/** Reports whether the content of a revision never changes again. */
export function isPublished({ lifecycle }: Pick<ObservedRevision, 'lifecycle'>): boolean {
  return lifecycle === 'Published' || lifecycle === 'DeletionProposed'
}

/** Reports whether a revision belongs to a package. */
export function isOf(
  { repository, packageName }: Pick<ObservedRevision, 'repository' | 'packageName'>,
  target: { readonly repo: string; readonly package: string },
): boolean {
  return repository === target.repo && packageName === target.package
}
