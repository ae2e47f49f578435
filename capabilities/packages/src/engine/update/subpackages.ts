// Which packages below a package an update merges, copies, keeps or drops (kpt's table).
import type { PackageFiles } from '../package-files.ts'
import { PackageError } from '../package-error.ts'
import { parseKptfile } from '../kptfile/kptfile.ts'
import { isResourceFile, yamlDocuments } from '../yaml/yaml-file.ts'
import { sameDocument } from './merge-comments.ts'
import type { Content } from './opaque-file.ts'
import { sameContent } from './opaque-file.ts'
import { filesBelow, packageOf, subpackageFolders } from './package-folders.ts'
import type { MergeContext, PackageVersions } from './resource-merge.ts'
import { mergePackage } from './resource-merge.ts'
import { isDeepStrictEqual } from 'node:util'

/** Merges a package with those below it. @throws PackageError */
export function mergeWithSubpackages(
  versions: PackageVersions,
  context: MergeContext,
): Map<string, string | Uint8Array> {
  const folders = subpackageFolders(versions.base, versions.upstream, versions.local)
  const all = new Set(folders)
  const out = new Map<string, string | Uint8Array>()
  const add = (files: PackageFiles): void => {
    for (const [path, content] of files) out.set(path, content)
  }
  const own = (folder: string): PackageVersions => {
    const part = (files: PackageFiles): PackageFiles =>
      new Map([...files].filter(([path]) => packageOf(path, all) === folder))
    return { base: part(versions.base), upstream: part(versions.upstream), local: part(versions.local) }
  }
  add(mergePackage(own(''), context, true))
  let settled: string | undefined
  for (const folder of folders) {
    if (settled !== undefined && folder.startsWith(`${settled}/`)) continue
    const whole = wholeSubpackage(folder, versions, context)
    if (whole === 'merge') add(mergePackage(own(folder), context, false))
    else {
      settled = folder
      add(whole)
    }
  }
  return out
}

/** Returns the files of a package below with all under it where these are taken as a whole, or `merge`. */
function wholeSubpackage(folder: string, versions: PackageVersions, context: MergeContext): PackageFiles | 'merge' {
  const base = filesBelow(versions.base, folder)
  const upstream = filesBelow(versions.upstream, folder)
  const local = filesBelow(versions.local, folder)
  if (base.size === 0 && local.size > 0 && upstream.size > 0) {
    if (sameFiles(local, upstream)) return local
    throw new PackageError('MergeConflict', `subpackage "${folder}" added in both upstream and local`, { path: folder })
  }
  if (base.size === 0) return local.size > 0 ? local : upstream
  if (local.size === 0) return local
  if (upstream.size === 0) {
    if (sameFiles(base, local)) return upstream
    const conflict = { file: folder, base: '(package)', ours: '(package)', theirs: undefined, taken: 'local' } as const
    context.conflicts.push(conflict)
    return local
  }
  return hasOwnUpstream(folder, versions) ? local : 'merge'
}

/** The local package took another upstream than its base: it was updated by itself. */
function hasOwnUpstream(folder: string, { base, local }: PackageVersions): boolean {
  const path = `${folder}/Kptfile`
  const upstreamOf = (content: Content): unknown =>
    typeof content === 'string' ? parseKptfile(content, path).upstream : undefined
  return !isDeepStrictEqual(upstreamOf(base.get(path)), upstreamOf(local.get(path)))
}

/** The files say the same: resources by value, all others by their bytes. */
export function sameFiles(a: PackageFiles, b: PackageFiles): boolean {
  return a.size === b.size && changedFiles(a, b).length === 0
}

/** Returns the paths whose content differs between two versions, bookkeeping and layout aside. */
export function changedFiles(before: PackageFiles, after: PackageFiles): string[] {
  const paths = [...new Set([...before.keys(), ...after.keys()])].toSorted()
  return paths.filter((path) => !isSameFile(path, before.get(path), after.get(path)))
}

/** Two contents of a file say the same; also where the file exists in neither version. */
export function isSameFile(path: string, a: Content, b: Content): boolean {
  if (sameContent(a, b)) return true
  if (typeof a !== 'string' || typeof b !== 'string' || !isResourceFile(path)) return false
  const [ours, theirs] = [yamlDocuments(path, a), yamlDocuments(path, b)]
  return ours.length === theirs.length && ours.every((document, index) => sameDocument(document, theirs[index]!))
}
