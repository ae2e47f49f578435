// Updates of a package from its upstream. Start with updatePackage.
import type { PackageFiles } from '../package-files.ts'
import { PackageError } from '../package-error.ts'
import { withoutOwnFields } from '../kptfile/upstream.ts'
import type { ConflictPolicy, MergeConflict } from '../merge3/conflict.ts'
import { refuseConflicts } from '../merge3/conflict.ts'
import { mergeKptfile } from './kptfile-update.ts'
import { addMergeComments } from './merge-comments.ts'
import type { MergeContext, PackageVersions } from './resource-merge.ts'
import { mergeContext } from './resource-merge.ts'
import { changedFiles, mergeWithSubpackages } from './subpackages.ts'

/** Strategies of `upstream.updateStrategy`. */
export type UpdateStrategy = 'resource-merge' | 'fast-forward' | 'force-delete-replace' | 'copy-merge'

/** Strategies in the order of kpt's documentation. */
export const updateStrategies: readonly UpdateStrategy[] = [
  'resource-merge',
  'fast-forward',
  'force-delete-replace',
  'copy-merge',
]

/** The three versions of a package, and how they are brought together. */
export interface PackageUpdate {
  /** The upstream content that the local package was made from. */
  readonly base: PackageFiles
  readonly upstream: PackageFiles
  readonly local: PackageFiles
  readonly strategy: UpdateStrategy
  /** `upstream` unless given. */
  readonly onConflict?: ConflictPolicy | undefined
  /** Write the annotation `internal.kpt.dev/upstream-identifier` beside the merge comments, as kpt does. */
  readonly annotate?: boolean
}

/** The updated package with the conflicts that the policy decided. */
export interface UpdatedPackage {
  readonly files: PackageFiles
  readonly conflicts: readonly MergeConflict[]
}

/**
 * Brings the changes of upstream since the base into the local package. In every strategy the Kptfile is merged; its
 * name, upstream and lock stay, for the caller to set. Files that the update leaves alone stay byte for byte, except
 * for a merge comment that a resource lacks.
 * @throws PackageError `LocalChanges` (fast-forward), `MergeConflict` (policy `fail`, one package added on both sides),
 *   `DuplicateResource`, `InvalidKptfile`, `InvalidYaml`
 */
export function updatePackage(update: PackageUpdate): UpdatedPackage {
  const { base, upstream, local, strategy, onConflict = 'upstream', annotate } = update
  const versions: PackageVersions = { base, upstream, local }
  const context = mergeContext(versions, onConflict)
  const files = updated(strategy, versions, context)
  refuseConflicts(context.conflicts, onConflict)
  return { files: addMergeComments(files, { annotate }), conflicts: context.conflicts }
}

function updated(strategy: UpdateStrategy, versions: PackageVersions, context: MergeContext): PackageFiles {
  switch (strategy) {
    case 'resource-merge':
      return mergeWithSubpackages(versions, context)
    case 'fast-forward':
      refuseLocalChanges(versions)
      return withKptfile(versions.upstream, versions, context)
    case 'force-delete-replace':
      return withKptfile(versions.upstream, versions, context)
    case 'copy-merge': {
      const { base, upstream, local } = versions
      const kept = [...local].filter(([path]) => !base.has(path) || upstream.has(path))
      return withKptfile(new Map([...kept, ...upstream]), versions, context)
    }
    default:
      throw new Error(`unknown update strategy ${String(strategy satisfies never)}`)
  }
}

/** Returns the files with the merged Kptfile of the package in place of upstream's. */
function withKptfile(
  files: PackageFiles,
  { base, upstream, local }: PackageVersions,
  context: MergeContext,
): PackageFiles {
  const path = 'Kptfile'
  const contents = { base: base.get(path), upstream: upstream.get(path), local: local.get(path) }
  const kptfile = mergeKptfile(path, contents, context, true)
  return kptfile === undefined ? files : new Map([...files, [path, kptfile]])
}

/** @throws PackageError `LocalChanges` when a local file differs from the base */
function refuseLocalChanges({ base, local }: PackageVersions): void {
  const ours = withoutBookkeeping(local)
  // `pkg get` gives a Kptfile to an upstream that has none.
  if (!base.has('Kptfile')) ours.delete('Kptfile')
  const changed = changedFiles(withoutBookkeeping(base), ours)
  if (changed.length === 0) return
  const message = `local package files have been modified: ${changed.join(', ')}; use another --strategy to update`
  throw new PackageError('LocalChanges', message)
}

/** Returns the files with the Kptfile less the fields that a package does not share with its upstream. */
function withoutBookkeeping(files: PackageFiles): Map<string, string | Uint8Array> {
  const kptfile = files.get('Kptfile')
  if (typeof kptfile !== 'string') return new Map(files)
  return new Map([...files, ['Kptfile', withoutOwnFields(kptfile)]])
}
