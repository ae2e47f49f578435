// The port through which storages render and update packages.
import type { RenderReport } from '../api.ts'
import type { PackageFiles } from '../engine/package-files.ts'
import type { RenderedUpdate } from '../engine/update/rendered-update.ts'
import type { PackageUpdate } from '../engine/update/update-package.ts'

/** The outcome of a render. */
export interface RenderedPackage {
  /** The files afterwards. After a failure they are those to keep where the user asks for it. */
  readonly files: PackageFiles
  readonly report: RenderReport
  /** The message of a failure. */
  readonly failure: string | undefined
}

/** Renders and updates packages. */
export interface PackageEngine {
  /** Runs the pipeline of a package. Never throws for a function that fails. */
  render(files: PackageFiles, signal: AbortSignal): Promise<RenderedPackage>
  /** Merges the versions, rendered alike. @throws PackageError `MergeConflict`, `LocalChanges` */
  update(update: PackageUpdate, signal: AbortSignal): Promise<RenderedUpdate>
}
