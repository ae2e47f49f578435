// Packages in folders of this machine.
import { mkdir, readFile, readdir, rename, rm, rmdir, stat, writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { CommandError } from '@fairlead/offline'
import type { FileChange } from '../engine/diff/file-changes.ts'
import { PackageError } from '../engine/package-error.ts'
import type { PackageFiles } from '../engine/package-files.ts'
import { limits } from '../git/tree.ts'

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * Reads the package in a folder; `.git` is left out.
 * @throws PackageError `InvalidPackage` for symbolic links, special files, and more or larger files than a package has
 * @throws CommandError when there is no such folder
 */
export async function readPackageFolder(folder: string): Promise<PackageFiles> {
  const root = resolve(folder)
  const info = await stat(root).catch(() => undefined)
  if (info?.isDirectory() !== true) throw new CommandError(`${folder} is no folder; name the folder of a package`)
  const files = new Map<string, string | Uint8Array>()
  await readInto(files, root, '')
  return files
}

async function readInto(files: Map<string, string | Uint8Array>, root: string, below: string): Promise<void> {
  const entries = await readdir(join(root, below), { withFileTypes: true })
  for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    if (entry.name === '.git') continue
    const path = below === '' ? entry.name : `${below}/${entry.name}`
    if (entry.isDirectory()) await readInto(files, root, path)
    else if (!entry.isFile())
      throw invalid(
        path,
        entry.isSymbolicLink() ? 'symbolic links are not supported in packages' : 'not a regular file',
      )
    else files.set(path, await readOne(join(root, path), path))
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
 * Carries out changes in a folder. Each file is replaced whole; folders that become empty go.
 * @throws PackageError `InvalidPackage` for a path that leaves the folder; nothing is written then
 */
export async function writeChanges(folder: string, changes: readonly FileChange[]): Promise<void> {
  for (const { path } of changes)
    if (
      path.startsWith('/') ||
      path.split('/').some((part) => part === '' || part === '.' || part === '..' || part === '.git')
    )
      throw invalid(path, 'the path leaves the folder of the package')
  const root = resolve(folder)
  for (const { path, after } of changes) {
    if (after === undefined) continue
    const file = join(root, path)
    await mkdir(dirname(file), { recursive: true })
    const fresh = join(dirname(file), `.fairlead-${process.pid}.tmp`)
    await writeFile(fresh, after)
    await rename(fresh, file)
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
