// A commit to make, and the object of git that it becomes. Start with writeCommit.
import type { PackageFiles } from '../engine/package-files.ts'
import { GitError } from './git-error.ts'
import type { ObjectReader } from './object-reader.ts'
import type { ObjectWriter } from './object-writer.ts'
import { checkAttributes, checkPath, checkSize } from './tree.ts'
import { writeTree } from './tree-edit.ts'

/** The author or committer of a commit, with the time. */
export interface Signature {
  readonly name: string
  readonly email: string
  /** Seconds since the epoch. */
  readonly seconds: number
}

/** A change of the tree: the content of a folder is replaced. */
export interface FolderChange {
  /** '' for the root. */
  readonly path: string
  /** Files, the hash of an existing tree, or undefined to remove the folder. */
  readonly content: PackageFiles | { readonly tree: string } | undefined
  /** Paths of files that can be executed, beside those of the folder that could before. */
  readonly executables?: ReadonlySet<string> | undefined
}

/** A commit to make. */
export interface NewCommit {
  readonly message: string
  readonly author: Signature
  readonly committer: Signature
  /** Hashes; the tree of the first one is the base of the changes. */
  readonly parents: readonly string[]
  readonly changes: readonly FolderChange[]
}

/** Writes the objects of a commit and returns its hash. @throws GitError `InvalidContent`, `TooLarge`, `Corrupt` */
export async function writeCommit(reader: ObjectReader, writer: ObjectWriter, commit: NewCommit): Promise<string> {
  const { message, author, committer, parents, changes } = commit
  const [base] = parents
  let tree = base === undefined ? undefined : await treeOf(reader, base)
  for (const { path, content, executables } of changes) {
    if (path !== '') checkPath(path)
    if (content !== undefined && !('tree' in content)) checkFiles(content)
    tree = await writeTree(reader, writer, {
      base: tree,
      path: path === '' ? [] : path.split('/'),
      content,
      executables,
    })
  }
  const lines = [
    `tree ${tree ?? writer.add('tree', Buffer.alloc(0))}`,
    ...parents.map((parent) => `parent ${parent}`),
    `author ${signature(author)}`,
    `committer ${signature(committer)}`,
    '',
    message,
  ]
  return writer.add('commit', Buffer.from(lines.join('\n')))
}

async function treeOf(reader: ObjectReader, commit: string): Promise<string> {
  const tree = await reader.read(`${commit}^{tree}`)
  if (tree === undefined) throw new GitError('Corrupt', `the commit ${commit} or its tree is missing`)
  return tree.hash
}

/** Throws for paths that are unsafe, a file and a folder at once, and more than can be read. */
function checkFiles(files: PackageFiles): void {
  checkSize(files)
  for (const [path, content] of files) {
    checkPath(path)
    checkAttributes(path, content)
    for (let slash = path.indexOf('/'); slash >= 0; slash = path.indexOf('/', slash + 1))
      if (files.has(path.slice(0, slash)))
        throw new GitError('InvalidContent', `${path.slice(0, slash)} is a file and cannot be a folder of ${path}`)
  }
}

function signature({ name, email, seconds }: Signature): string {
  return `${cleaned(name)} <${cleaned(email)}> ${seconds} +0000`
}

function cleaned(value: string): string {
  return value.replace(/[<>\n\0]/g, '').trim()
}
