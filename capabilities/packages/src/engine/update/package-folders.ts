// Folders with a Kptfile: the package and the packages below it.
import type { PackageFiles } from '../package-files.ts'
import { isKptfile } from '../yaml/yaml-file.ts'

/** Returns the folders of the packages below the root, in alphabetical order. */
export function subpackageFolders(...versions: readonly PackageFiles[]): string[] {
  const folders = new Set<string>()
  for (const files of versions)
    for (const path of files.keys())
      if (isKptfile(path) && path !== 'Kptfile') folders.add(path.slice(0, -'/Kptfile'.length))
  return [...folders].toSorted()
}

/** Returns the folder in `folders` that a file belongs to: the deepest one above it, or the root, ''. */
export function packageOf(path: string, folders: ReadonlySet<string>): string {
  for (let slash = path.lastIndexOf('/'); slash > 0; slash = path.lastIndexOf('/', slash - 1))
    if (folders.has(path.slice(0, slash))) return path.slice(0, slash)
  return ''
}

/** Returns the files of a folder with everything below it. */
export function filesBelow(files: PackageFiles, folder: string): Map<string, string | Uint8Array> {
  return new Map([...files].filter(([path]) => folder === '' || path.startsWith(`${folder}/`)))
}
