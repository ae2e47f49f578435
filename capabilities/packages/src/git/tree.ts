// Trees of git: their entries, and the files below one.
import type { PackageFiles } from '../engine/package-files.ts'
import { GitError } from './git-error.ts'
import type { ObjectReader } from './object-reader.ts'

/** An entry of a tree. */
export interface TreeEntry {
  readonly name: string
  readonly kind: 'file' | 'folder' | 'link' | 'submodule'
  readonly hash: string
  /** True for a file that can be executed. */
  readonly isExecutable: boolean
}

/** Limits of one package: what a request can carry, and what memory allows. */
export const limits: Readonly<Record<'files' | 'fileBytes' | 'totalBytes', number>> = {
  files: 50_000,
  fileBytes: 10 * 1024 * 1024,
  totalBytes: 64 * 1024 * 1024,
}

const kinds: Readonly<Record<string, TreeEntry['kind']>> = {
  '40000': 'folder',
  '040000': 'folder',
  '120000': 'link',
  '160000': 'submodule',
}

/** Parses the content of a tree object. */
export function treeEntries(content: Buffer): readonly TreeEntry[] {
  const entries: TreeEntry[] = []
  for (let at = 0; at < content.length;) {
    const space = content.indexOf(32, at)
    const end = content.indexOf(0, space)
    const mode = content.toString('latin1', at, space)
    entries.push({
      name: content.toString('utf8', space + 1, end),
      kind: kinds[mode] ?? 'file',
      hash: content.toString('hex', end + 1, end + 21),
      isExecutable: mode === '100755',
    })
    at = end + 21
  }
  return entries
}

/**
 * Returns the files below a tree.
 * @throws GitError `InvalidContent` for links, submodules and unsafe names, `TooLarge`, `Corrupt`
 */
export async function filesOf(reader: ObjectReader, tree: string): Promise<PackageFiles> {
  const found: { readonly path: string; readonly hash: string }[] = []
  await collect(reader, tree, '', found)
  let total = 0
  const contents = await Promise.all(
    found.map(async ({ path, hash }) => {
      const object = await reader.read(hash)
      if (object === undefined) throw new GitError('Corrupt', `the content of ${path} (${hash}) is missing`)
      const { length } = object.content
      if (length > limits.fileBytes)
        throw tooLarge(`the file ${path} has ${length} bytes, which`, `${limits.fileBytes}`)
      total += length
      if (total > limits.totalBytes) throw tooLarge('the package', `${limits.totalBytes} bytes`)
      return [path, decoded(object.content)] as const
    }),
  )
  return new Map(contents)
}

async function collect(
  reader: ObjectReader,
  tree: string,
  folder: string,
  found: { path: string; hash: string }[],
): Promise<void> {
  const object = await reader.read(tree)
  if (object?.type !== 'tree') throw new GitError('Corrupt', `the folder ${folder || '/'} (${tree}) is missing`)
  for (const { name, kind, hash } of treeEntries(object.content)) {
    const path = folder + name
    if (isUnsafe(name)) throw new GitError('InvalidContent', `the path ${JSON.stringify(path)} is not allowed`)
    if (name.includes('\ufffd'))
      throw new GitError('InvalidContent', `the name of ${JSON.stringify(path)} is not UTF-8; rename it`)
    if (kind === 'link')
      throw new GitError('InvalidContent', `${path} is a symbolic link; replace it by the file that it names`)
    if (kind === 'submodule')
      throw new GitError('InvalidContent', `${path} is a submodule; copy its files into the package`)
    if (kind === 'folder') await collect(reader, hash, `${path}/`, found)
    else found.push({ path, hash })
    if (found.length > limits.files) throw tooLarge('the package', `${limits.files} files`)
  }
}

/** Returns the paths of the files below a tree that can be executed. @throws GitError `Corrupt` */
export async function executablesOf(reader: ObjectReader, tree: string): Promise<ReadonlySet<string>> {
  const found = new Set<string>()
  const collectBelow = async (hash: string, folder: string): Promise<void> => {
    const object = await reader.read(hash)
    if (object?.type !== 'tree') throw new GitError('Corrupt', `the folder ${folder || '/'} (${hash}) is missing`)
    for (const { name, kind, hash: below, isExecutable } of treeEntries(object.content)) {
      if (kind === 'folder') await collectBelow(below, `${folder}${name}/`)
      else if (isExecutable) found.add(folder + name)
    }
  }
  await collectBelow(tree, '')
  return found
}

/** Refuses a path that is absolute, leaves the package or has a meaning for git. @throws GitError `InvalidContent` */
export function checkPath(path: string): void {
  const names = path.split('/')
  if (path === '' || path.includes('\0') || path.includes('\n') || names.some(isUnsafe))
    throw new GitError(
      'InvalidContent',
      `the path ${JSON.stringify(path)} is not allowed: paths are relative and stay inside the package`,
    )
  if (names.some(isReserved))
    throw new GitError(
      'InvalidContent',
      `the path ${JSON.stringify(path)} is not allowed: git reserves .git and .gitmodules in all their spellings`,
    )
}

/** Code points that the file system of macOS leaves out of names. */
const ignored = /[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]/g

/** `.git` and `.gitmodules` with their short names on Windows, which drops spaces and dots at the end of a name. */
const reserved = /^(?:\.git|git~1|\.gitmodules|gitmod~[1-4]|g(?:i(?:7(?:e(?:ba?)?)?)?)?~\d+)[ .]*(?::|$)/

/**
 * Reports whether some system takes a name for one of git's own. Clones that check objects (`transfer.fsckObjects`, as
 * ours do and git hosts) refuse the whole repository for one such name.
 */
function isReserved(name: string): boolean {
  return reserved.test(name.replace(ignored, '').toLowerCase())
}

/** Longest line of a `.gitattributes` that git accepts, in bytes. */
const attributesLine = 2048

/** Refuses a `.gitattributes` for which clones refuse the whole repository. @throws GitError `InvalidContent` */
export function checkAttributes(path: string, content: string | Uint8Array): void {
  if (!/(?:^|\/)(?:\.gitattributes|gitatt~\d|g[^/]*~\d+)[ .]*$/.test(path.replace(ignored, '').toLowerCase())) return
  const lines = Buffer.from(content).toString('latin1').split('\n')
  if (lines.some(({ length }) => length >= attributesLine))
    throw new GitError(
      'InvalidContent',
      `${path} has a line of more than ${attributesLine - 1} bytes, which git refuses`,
    )
}

function isUnsafe(name: string): boolean {
  return name === '' || name === '.' || name === '..' || name.toLowerCase() === '.git' || /[\\/\0]/.test(name)
}

/** Refuses files that could not be read again. @throws GitError `TooLarge` */
export function checkSize(files: PackageFiles): void {
  if (files.size > limits.files) throw tooLarge(`the package has ${files.size} files, which`, `${limits.files} files`)
  let total = 0
  for (const [path, content] of files) {
    const length = Buffer.byteLength(content)
    if (length > limits.fileBytes) throw tooLarge(`the file ${path} has ${length} bytes, which`, `${limits.fileBytes}`)
    total += length
  }
  if (total > limits.totalBytes) throw tooLarge(`the package has ${total} bytes, which`, `${limits.totalBytes}`)
}

function tooLarge(what: string, limit: string): GitError {
  return new GitError('TooLarge', `${what} exceeds the limit of ${limit}`)
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function decoded(content: Buffer): string | Uint8Array {
  if (content.includes(0)) return content
  try {
    return utf8.decode(content)
  } catch {
    return content
  }
}
