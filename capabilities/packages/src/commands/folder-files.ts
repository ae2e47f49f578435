// The files of a folder on disk, for commands that change packages in place.
import { mkdir, readFile, readdir, rename, rm, rmdir, stat, writeFile } from 'node:fs/promises'
import { dirname, join, relative, sep } from 'node:path'
import { isUtf8 } from 'node:buffer'
import { CommandError } from '@fairlead/offline'
import type { PackageFiles } from '../engine/package-files.ts'

/** The bytes that one file, and the number of files that a package, may have. */
const maxFileSize = 50 * 1024 * 1024
const maxFiles = 20_000

/** Reads a folder. Symbolic links and `.git` are left out. @throws CommandError */
export async function readFolder(folder: string): Promise<PackageFiles> {
  const info = await stat(folder).catch(() => undefined)
  if (info?.isDirectory() !== true) throw new CommandError(`${folder} is no folder`)
  const files = new Map<string, string | Uint8Array>()
  for await (const path of filesBelow(folder)) {
    if (files.size === maxFiles) throw new CommandError(`${folder} has more than ${maxFiles} files`)
    const { size } = await stat(path)
    if (size > maxFileSize) throw new CommandError(`${path} is larger than 50 MiB`)
    const content = await readFile(path)
    files.set(relative(folder, path).split(sep).join('/'), isUtf8(content) ? content.toString('utf8') : content)
  }
  return files
}

async function* filesBelow(folder: string): AsyncGenerator<string> {
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    if (entry.isDirectory() && entry.name !== '.git') yield* filesBelow(path)
    else if (entry.isFile()) yield path
  }
}

/** Writes the changes: each file is replaced at once; removed files take folders that become empty with them. */
export async function writeChanges(folder: string, before: PackageFiles, after: PackageFiles): Promise<void> {
  for (const [path, content] of after) if (before.get(path) !== content) await replaceFile(join(folder, path), content)
  for (const path of before.keys())
    if (!after.has(path)) {
      await rm(join(folder, path), { force: true })
      await removeEmpty(folder, dirname(path))
    }
}

async function replaceFile(path: string, content: string | Uint8Array): Promise<void> {
  await mkdir(dirname(path), { recursive: true })
  const mode = await stat(path).then(
    (info) => info.mode,
    () => undefined,
  )
  const temporary = `${path}.fairlead`
  await writeFile(temporary, content, mode === undefined ? {} : { mode })
  await rename(temporary, path)
}

async function removeEmpty(folder: string, path: string): Promise<void> {
  if (path === '.') return
  const isRemoved = await rmdir(join(folder, path)).then(
    () => true,
    () => false,
  )
  if (isRemoved) await removeEmpty(folder, dirname(path))
}
