// The files that a variant makes where it has no draft: the content of a draft that no user has edited.
import type { Client } from '@fairlead/client'
import type { Reader } from '@fairlead/controller'
import type { PackageRevision } from '@fairlead/packages'
import type { PackageVariant } from '../api.ts'
import { isOf, isPublished, observedRevision } from '../engine/observed-revision.ts'
import type { ObservedRevision } from '../engine/observed-revision.ts'
import type { PackageText } from '../engine/mutation/package-text.ts'
import { InjectionReader } from './injection-reader.ts'
import { PackageClient } from './package-client.ts'
import { PlannedPackages } from './planned-packages.ts'
import { VariantPass } from './variant-pass.ts'

/** The variant, and what it is made from. */
export interface MadeFilesInput {
  readonly variant: PackageVariant
  readonly upstream: ObservedRevision
  /** All revisions that concern the variant. */
  readonly revisions: readonly PackageRevision[]
  readonly client: Client
  readonly read: Reader
}

/**
 * Returns the files of the draft that a variant would make from what is published, its drafts left aside; undefined
 * when it would make none. Writes nothing. @throws StatusError, KindUnavailable: what a later call may resolve
 */
export async function madeFiles({
  variant,
  upstream,
  revisions,
  client,
  read,
}: MadeFilesInput): Promise<PackageText | undefined> {
  const { spec, metadata } = variant
  const published = revisions.filter((revision) => {
    const observed = observedRevision(revision)
    return isPublished(observed) || !isOf(observed, spec.downstream)
  })
  const packages = new PlannedPackages(new PackageClient(client, variant), variant)
  const injection = new InjectionReader({ read, client }, metadata.namespace!, spec)
  const context = { object: variant, packages, injection, events: { normal: (): void => undefined } }
  await new VariantPass(context, { spec, upstream, revisions: published, former: undefined }).run()
  const [draft] = packages.drafts
  return draft === undefined || draft.failure !== undefined ? undefined : draft.after
}
