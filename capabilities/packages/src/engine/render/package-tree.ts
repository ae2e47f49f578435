// The packages in a folder: which files are whose, and which of them hold resources.
import type { PackageFiles } from '../package-files.ts'
import { isResourceFile } from '../yaml/yaml-file.ts'
import { parseKrmIgnore } from './krm-ignore.ts'

/** One package: the root, or a folder below it with a Kptfile. */
export interface PackageFolder {
  /** The folder below the root package; empty for the root. */
  readonly path: string
  /** The files below that folder which hold resources, paths below the folder, in the order of a file walk. */
  readonly resourceFiles: readonly string[]
  /** Packages directly below, in alphabetical order. */
  readonly subpackages: readonly PackageFolder[]
}

/** Returns the tree of packages. Each `.krmignore` covers the files of its own package only. */
export function packageTree(files: PackageFiles): PackageFolder {
  const folders = [...files.keys()]
    .filter((path) => path.endsWith('/Kptfile') && !path.split('/').includes('.git'))
    .map((path) => path.slice(0, -'/Kptfile'.length))
  const own = new Map<string, string[]>([['', []], ...folders.map((folder): [string, string[]] => [folder, []])])
  for (const path of files.keys()) {
    const folder = packageOf(path, own)
    own.get(folder)?.push(folder === '' ? path : path.slice(folder.length + 1))
  }
  return treeOf('', own, files)
}

function treeOf(folder: string, own: ReadonlyMap<string, readonly string[]>, files: PackageFiles): PackageFolder {
  const subpackages = [...own.keys()]
    .filter((path) => path !== '' && path !== folder && packageOf(path, own) === folder)
    .toSorted(byCodePoint)
  const ignore = files.get(joinPath(folder, '.krmignore'))
  const isIgnored = typeof ignore === 'string' ? parseKrmIgnore(ignore) : () => false
  return {
    path: folder,
    resourceFiles: (own.get(folder) ?? [])
      .filter(
        (path) => isResourceFile(path) && !isIgnored(path, false) && !foldersOf(path).some((f) => isIgnored(f, true)),
      )
      .toSorted(byWalkOrder),
    subpackages: subpackages.map((path) => treeOf(path, own, files)),
  }
}

/** Returns the deepest package above a path, which may be a package's folder itself. */
function packageOf(path: string, packages: ReadonlyMap<string, unknown>): string {
  let folder = path
  do folder = folder.slice(0, Math.max(0, folder.lastIndexOf('/')))
  while (!packages.has(folder))
  return folder
}

function foldersOf(path: string): string[] {
  const parts = path.split('/').slice(0, -1)
  return parts.map((_, index) => parts.slice(0, index + 1).join('/'))
}

/** Joins a package's folder with a path below it. */
export function joinPath(folder: string, path: string): string {
  return folder === '' ? path : `${folder}/${path}`
}

function byCodePoint(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

/** Orders paths as a walk of the folder meets them: the entries of each folder by name. */
function byWalkOrder(a: string, b: string): number {
  return byCodePoint(a.replaceAll('/', '\0'), b.replaceAll('/', '\0'))
}
