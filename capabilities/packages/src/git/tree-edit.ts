// New trees: a tree in which the content of one folder is replaced. Only the trees on the path to it are read.
import type { PackageFiles } from '../engine/package-files.ts'
import { GitError } from './git-error.ts'
import type { ObjectReader } from './object-reader.ts'
import type { ObjectWriter } from './object-writer.ts'

/** A change of one folder. */
export interface TreeChange {
  /** Hash of the tree to change; undefined for an empty one. */
  readonly base: string | undefined
  /** Names of the folders from the root to the one that is replaced. */
  readonly path: readonly string[]
  /** The files of the folder, the hash of its tree, or undefined to remove it. */
  readonly content: PackageFiles | { readonly tree: string } | undefined
  /** Paths of files that can be executed, beside those of the folder that could before. */
  readonly executables?: ReadonlySet<string> | undefined
}

/** An entry with its mode as git writes it. */
interface Entry {
  readonly mode: string
  readonly hash: string
}

const fileMode = '100644'
const executableMode = '100755'
const folderMode = '40000'

/** Writes the trees of a change; returns the hash of the root, undefined without files. @throws GitError `Corrupt` */
export async function writeTree(
  reader: ObjectReader,
  writer: ObjectWriter,
  { base, path, content, executables }: TreeChange,
): Promise<string | undefined> {
  const [name, ...rest] = path
  if (name === undefined) {
    if (content === undefined) return undefined
    if ('tree' in content) return content.tree
    const before: Below = { hashes: [], executables: new Set([...(executables ?? [])].map(keyOf)) }
    if (base !== undefined) await collectBelow(reader, base, '', before)
    writer.keep(before.hashes)
    return addFiles(writer, content, '', before.executables)
  }
  const entries = base === undefined ? new Map<string, Entry>() : await entriesOf(reader, base)
  const key = keyOf(name)
  const before = entries.get(key)
  const folder = before?.mode === folderMode ? before.hash : undefined
  const hash = await writeTree(reader, writer, { base: folder, path: rest, content, executables })
  if (hash === undefined) entries.delete(key)
  else entries.set(key, { mode: folderMode, hash })
  return addTree(writer, entries)
}

/** Returns the bytes of a name, one a character: names that others committed stay as they are, UTF-8 or not. */
function keyOf(name: string): string {
  return Buffer.from(name).toString('latin1')
}

/** Content below a tree. */
interface Below {
  readonly hashes: string[]
  /** Paths of the files that may be executed, by the bytes of their names. */
  readonly executables: Set<string>
}

async function collectBelow(reader: ObjectReader, tree: string, folder: string, below: Below): Promise<void> {
  below.hashes.push(tree)
  for (const [name, { mode, hash }] of await entriesOf(reader, tree)) {
    if (mode === folderMode) await collectBelow(reader, hash, `${folder}${name}/`, below)
    else below.hashes.push(hash)
    if (mode === executableMode) below.executables.add(folder + name)
  }
}

/** Adds files and the trees above them; undefined for no files. A file that could be executed before still can be. */
function addFiles(
  writer: ObjectWriter,
  files: PackageFiles,
  above: string,
  executables: ReadonlySet<string>,
): string | undefined {
  const entries = new Map<string, Entry>()
  const folders = new Map<string, Map<string, string | Uint8Array>>()
  for (const [path, content] of files) {
    const slash = path.indexOf('/')
    if (slash < 0) {
      const key = keyOf(path)
      const mode = executables.has(above + key) ? executableMode : fileMode
      entries.set(key, { mode, hash: writer.add('blob', Buffer.from(content as string)) })
    } else {
      const name = path.slice(0, slash)
      const folder = folders.get(name) ?? new Map<string, string | Uint8Array>()
      folders.set(name, folder.set(path.slice(slash + 1), content))
    }
  }
  for (const [name, folder] of folders) {
    const key = keyOf(name)
    entries.set(key, { mode: folderMode, hash: addFiles(writer, folder, `${above}${key}/`, executables)! })
  }
  return addTree(writer, entries)
}

function addTree(writer: ObjectWriter, entries: ReadonlyMap<string, Entry>): string | undefined {
  if (entries.size === 0) return undefined
  const rows = [...entries].map(([name, { mode, hash }]) => ({
    // Git sorts by bytes, folders as if their names ended in a slash.
    order: Buffer.from(mode === folderMode ? `${name}/` : name, 'latin1'),
    bytes: Buffer.concat([Buffer.from(`${mode} ${name}\0`, 'latin1'), Buffer.from(hash, 'hex')]),
  }))
  rows.sort((a, b) => Buffer.compare(a.order, b.order))
  return writer.add('tree', Buffer.concat(rows.map(({ bytes }) => bytes)))
}

/** Returns the entries of a tree by the bytes of their names ({@link keyOf}). */
async function entriesOf(reader: ObjectReader, tree: string): Promise<Map<string, Entry>> {
  const object = await reader.read(tree)
  if (object?.type !== 'tree') throw new GitError('Corrupt', `the tree ${tree} is missing`)
  const { content } = object
  const entries = new Map<string, Entry>()
  for (let at = 0; at < content.length;) {
    const space = content.indexOf(32, at)
    const end = content.indexOf(0, space)
    const name = content.toString('latin1', space + 1, end)
    entries.set(name, { mode: content.toString('latin1', at, space), hash: content.toString('hex', end + 1, end + 21) })
    at = end + 21
  }
  return entries
}
