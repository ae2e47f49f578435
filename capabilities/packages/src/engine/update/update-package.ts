// Updates of a package from its upstream.
import type { PackageFiles } from '../package-files.ts'

/** Strategies of `upstream.updateStrategy`. */
export type UpdateStrategy = 'resource-merge' | 'fast-forward' | 'force-delete-replace' | 'copy-merge'

/** The side that decides where both changed one thing; `fail` makes every conflict an error. */
export type ConflictPolicy = 'upstream' | 'local' | 'fail'

/** One thing that upstream and the local package changed in different ways. */
export interface MergeConflict {
  /** File of the local package. */
  readonly file: string
  /** The resource: `apps/Deployment/default/web`; absent for a file that is no resource. */
  readonly resource?: string
  /** Path of the field: `spec.template.spec.containers[name=app].image`; absent for a whole resource or file. */
  readonly path?: string
  /** YAML of the three values; undefined where the value is absent. */
  readonly base: string | undefined
  readonly ours: string | undefined
  readonly theirs: string | undefined
}

/** The three versions of a package, and how they are brought together. */
export interface PackageUpdate {
  /** The upstream content that the local package was made from. */
  readonly base: PackageFiles
  readonly upstream: PackageFiles
  readonly local: PackageFiles
  readonly strategy: UpdateStrategy
  /** `upstream` unless given. */
  readonly onConflict?: ConflictPolicy
}

/** The updated package with the conflicts that the policy decided. */
export interface UpdatedPackage {
  readonly files: PackageFiles
  readonly conflicts: readonly MergeConflict[]
}
