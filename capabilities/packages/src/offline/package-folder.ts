// Packages in folders of this machine.
import { lstat, mkdir, readFile, readdir, rename, rm, rmdir, stat, writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { CommandError } from '@fairlead/offline'
import type { FileChange } from '../engine/diff/file-changes.ts'
import { PackageError } from '../engine/package-error.ts'
import type { PackageFiles } from '../engine/package-files.ts'
import { limits } from '../git/tree.ts'

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Options of {@link readPackageFolder}. */
export interface ReadOptions {
  /** Symbolic links and special files are refused, or left out as kpt does when it runs functions. */
  readonly links?: 'refuse' | 'skip'
}

/**
 * Reads the package in a folder; `.git` is left out.
 * @throws PackageError `InvalidPackage` for symbolic links, special files, and more or larger files than a package has
 * @throws CommandError when there is no such folder
 */
export async function readPackageFolder(folder: string, { links = 'refuse' }: ReadOptions = {}): Promise<PackageFiles> {
  const root = resolve(folder)
  const info = await stat(root).catch(() => undefined)
  if (info?.isDirectory() !== true) throw new CommandError(`${folder} is no folder; name the folder of a package`)
  const files = new Map<string, string | Uint8Array>()
  await readInto(files, root, '', links)
  return files
}

/** Names of files that a write which was killed leaves behind. */
const unfinished = /^\.fairlead-\d+\.tmp$/

async function readInto(
  files: Map<string, string | Uint8Array>,
  root: string,
  below: string,
  links: 'refuse' | 'skip',
): Promise<void> {
  const entries = await readdir(join(root, below), { withFileTypes: true })
  for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    if (entry.name === '.git' || unfinished.test(entry.name)) continue
    const path = below === '' ? entry.name : `${below}/${entry.name}`
    if (entry.isDirectory()) await readInto(files, root, path, links)
    else if (entry.isFile()) files.set(path, await readOne(join(root, path), path))
    else if (links === 'refuse')
      throw invalid(
        path,
        entry.isSymbolicLink() ? 'symbolic links are not supported in packages' : 'not a regular file',
      )
    if (files.size > limits.files) throw invalid(undefined, `a package has at most ${limits.files} files`)
  }
}

async function readOne(file: string, path: string): Promise<string | Uint8Array> {
  const { size } = await stat(file)
  if (size > limits.fileBytes) throw invalid(path, `the file has ${size} bytes; the limit is ${limits.fileBytes}`)
  const content = await readFile(file)
  if (content.includes(0)) return content
  try {
    return utf8.decode(content)
  } catch {
    return content
  }
}

function invalid(path: string | undefined, message: string): PackageError {
  return new PackageError('InvalidPackage', message, { path })
}

/**
 * Carries out changes in a folder. All new content is on disk before the first file is replaced; each file is replaced
 * whole, and keeps its mode. Folders that become empty go.
 * @throws PackageError `InvalidPackage` for a path that leaves the folder, also through a symbolic link; nothing is
 *   written then
 */
export async function writeChanges(folder: string, changes: readonly FileChange[]): Promise<void> {
  const root = resolve(folder)
  for (const { path } of changes) await requireInside(root, path)
  const prepared = new Map<string, string>()
  try {
    for (const [index, { path, after }] of changes.entries()) {
      if (after === undefined) continue
      const file = join(root, path)
      const fresh = join(dirname(file), `.fairlead-${process.pid}${index}.tmp`)
      await mkdir(dirname(file), { recursive: true })
      prepared.set(file, fresh)
      const mode = await stat(file).then(
        (info) => info.mode,
        () => undefined,
      )
      await writeFile(fresh, after, mode === undefined ? {} : { mode })
    }
    for (const [file, fresh] of prepared) await rename(fresh, file)
  } catch (error) {
    for (const fresh of prepared.values()) await rm(fresh, { force: true })
    throw error
  }
  for (const { path, after } of changes) {
    if (after !== undefined) continue
    await rm(join(root, path), { force: true })
    for (let parent = dirname(path); parent !== '.'; parent = dirname(parent))
      if (
        !(await rmdir(join(root, parent)).then(
          () => true,
          () => false,
        ))
      )
        break
  }
}

/** @throws PackageError `InvalidPackage` */
async function requireInside(root: string, path: string): Promise<void> {
  const parts = path.split('/')
  if (path.startsWith('/') || parts.some((part) => part === '' || part === '.' || part === '..' || part === '.git'))
    throw invalid(path, 'the path leaves the folder of the package')
  // Writing below a link would change what it points at; the link itself would be replaced.
  for (let length = 1; length <= parts.length; length++) {
    const info = await lstat(join(root, ...parts.slice(0, length))).catch(() => undefined)
    if (info === undefined) break
    if (info.isSymbolicLink()) throw invalid(path, 'a symbolic link leads out of the folder of the package')
  }
}
