// Writes the resources of a render back into the files of the package.
import type { PackageFiles } from '../package-files.ts'
import { cleanPath } from './function-config.ts'
import { joinPath } from './package-tree.ts'
import type { CommentDocument } from './resource-file.ts'
import { formatFile } from './resource-file.ts'
import type { Resource } from './resource.ts'

/** The files that resources came from. */
export interface ResourceOrigin {
  /** Paths of files that held resources. */
  readonly inputFiles: ReadonlySet<string>
  /** Documents of these files that hold no resource. */
  readonly comments: ReadonlyMap<string, readonly CommentDocument[]>
}

/** Returns the file of a resource below the root package. */
export function fileOf({ location: { packagePath = '', path = '' } }: Resource): string {
  return cleanPath(joinPath(packagePath, path.replace(/^\/+/, '')))
}

/** Returns kpt's message for a resource that would lie outside the package, undefined when there is none. */
export function outsidePackage(resources: readonly Resource[]): string | undefined {
  for (const resource of resources) {
    const path = fileOf(resource)
    if (path === '..' || path.startsWith('../')) return `resource must be written under package: ${path}`
  }
  return undefined
}

/** Returns the files: those of resources written anew; with `isPruned` without those that hold none any more. */
export function writeResources(
  files: PackageFiles,
  resources: readonly Resource[],
  { inputFiles, comments }: ResourceOrigin,
  isPruned: boolean,
): PackageFiles {
  const byFile = new Map<string, Resource[]>()
  for (const resource of resources) {
    const path = fileOf(resource)
    const group = byFile.get(path)
    if (group === undefined) byFile.set(path, [resource])
    else group.push(resource)
  }
  const written = new Map(files)
  for (const [path, group] of byFile) written.set(path, formatFile(path, group, comments.get(path)))
  if (isPruned) for (const path of inputFiles) if (!byFile.has(path)) written.delete(path)
  return written
}
