// Indexes that find the variants that a revision, a Repository or another variant concerns, so that an event wakes no
// others (spec variants §2.10).
import type { Informer } from '@fairlead/controller'
import { formatKey, keyOf } from '@fairlead/kube'
import type { KubeObject } from '@fairlead/kube'
import type { PackageRevision } from '@fairlead/packages'
import type { PackageVariant } from '../api.ts'
import { observedRevision } from '../engine/observed-revision.ts'
import type { ObservedRevision } from '../engine/observed-revision.ts'

const byPackage = 'packages of variants'
const byDownstream = 'downstream of variants'
const byRepository = 'repositories of variants'
const revisionsByPackage = 'package'
const revisionsByOwner = 'owner'

const packageKey = (namespace: string | undefined, repo: string, name: string): string =>
  `${namespace ?? ''}/${repo}:${name}`

function packagesOf({ metadata, spec }: PackageVariant): readonly string[] {
  return [spec.upstream, spec.downstream].map((one) => packageKey(metadata.namespace, one.repo, one.package))
}

function downstreamOf({ metadata, spec }: PackageVariant): readonly string[] {
  return [packageKey(metadata.namespace, spec.downstream.repo, spec.downstream.package)]
}

function repositoriesOf({ metadata, spec }: PackageVariant): readonly string[] {
  return [...new Set([spec.upstream.repo, spec.downstream.repo])].map((repo) => `${metadata.namespace}/${repo}`)
}

function packageOf({ metadata, spec }: PackageRevision): readonly string[] {
  return [packageKey(metadata.namespace, spec.repository, spec.packageName)]
}

function ownersOf({ metadata }: PackageRevision): readonly string[] {
  return (metadata.ownerReferences ?? []).map(({ uid }) => uid)
}

/** The indexes over the caches of variants and revisions. */
export class VariantIndex {
  readonly #variants: Informer<PackageVariant>
  readonly #revisions: Informer<PackageRevision>

  constructor(variants: Informer<PackageVariant>, revisions: Informer<PackageRevision>) {
    this.#variants = variants
    this.#revisions = revisions
    variants.lastKnown.addIndex(byPackage, packagesOf)
    variants.lastKnown.addIndex(byDownstream, downstreamOf)
    variants.lastKnown.addIndex(byRepository, repositoriesOf)
    revisions.lastKnown.addIndex(revisionsByPackage, packageOf)
    revisions.lastKnown.addIndex(revisionsByOwner, ownersOf)
  }

  /** Keys of the variants that a revision concerns: those of its package, upstream or downstream, and its owners. */
  *keysOfRevision(revision: PackageRevision): Generator<string> {
    for (const key of packageOf(revision)) yield* this.#variants.lastKnown.index(byPackage).keys(key)
    for (const { kind, name } of revision.metadata.ownerReferences ?? [])
      if (kind === 'PackageVariant') yield `${revision.metadata.namespace}/${name}`
  }

  /** Keys of the variants that name a Repository. */
  *keysOfRepository(repository: KubeObject): Generator<string> {
    yield* this.#variants.lastKnown.index(byRepository).keys(formatKey(keyOf(repository)))
  }

  /** Keys of all variants with the downstream package of a variant. */
  *keysOfDownstream(variant: PackageVariant): Generator<string> {
    for (const key of downstreamOf(variant)) yield* this.#variants.lastKnown.index(byDownstream).keys(key)
  }

  /** Returns the variants with the downstream package of a variant. @throws KindUnavailable */
  claims(variant: PackageVariant): readonly PackageVariant[] {
    const known = this.#variants.read()
    if (!known.known) throw known.reason
    return downstreamOf(variant).flatMap((key) => known.objects.byIndex(byDownstream, key))
  }

  /**
   * Returns the revisions that a variant is concerned with: of its upstream, of its downstream, and all that it owns.
   * @throws KindUnavailable
   */
  revisions(variant: PackageVariant): readonly PackageRevision[] {
    const known = this.#revisions.read()
    if (!known.known) throw known.reason
    const found = new Map<string, PackageRevision>()
    const add = (revisions: readonly PackageRevision[]): void => {
      for (const revision of revisions) found.set(revision.metadata.name!, revision)
    }
    for (const key of packagesOf(variant)) add(known.objects.byIndex(revisionsByPackage, key))
    add(
      known.objects
        .byIndex(revisionsByOwner, variant.metadata.uid!)
        .filter(({ metadata }) => metadata.namespace === variant.metadata.namespace),
    )
    return [...found.values()]
  }

  /** Returns what the engine sees of {@link revisions}. */
  observed(variant: PackageVariant): readonly ObservedRevision[] {
    return this.revisions(variant).map((revision) => observedRevision(revision))
  }
}
