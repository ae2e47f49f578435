// The stream of `git fast-import` for one commit. The commit is made on a temporary ref that the same stream removes:
// refs of the repository change only by transactions.
import type { PackageFiles } from '../engine/package-files.ts'
import { GitError } from './git-error.ts'
import { checkPath } from './tree.ts'

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

/** Returns the input for `git fast-import`, which prints the hash of the commit. @throws GitError `InvalidContent` */
export function fastImport(commit: NewCommit, temporaryRef: string): readonly Uint8Array[] {
  const stream: Uint8Array[] = []
  const line = (text: string): void => void stream.push(Buffer.from(`${text}\n`))
  const data = (content: string | Uint8Array): void => {
    const bytes = typeof content === 'string' ? Buffer.from(content) : content
    line(`data ${bytes.length}`)
    stream.push(bytes, newline)
  }
  line(`commit ${temporaryRef}`)
  line('mark :1')
  line(`author ${signature(commit.author)}`)
  line(`committer ${signature(commit.committer)}`)
  data(commit.message)
  const [base, ...merged] = commit.parents
  if (base !== undefined) line(`from ${base}`)
  for (const parent of merged) line(`merge ${parent}`)
  for (const { path, content } of commit.changes) {
    if (path !== '') checkPath(path)
    line(path === '' ? 'deleteall' : `D ${quoted(path)}`)
    if (content === undefined) continue
    if ('tree' in content) {
      line(`M 040000 ${content.tree} ${quoted(path)}`)
      continue
    }
    checkFiles(content)
    for (const [name, file] of content) {
      line(`M 100644 inline ${quoted(path === '' ? name : `${path}/${name}`)}`)
      data(file)
    }
  }
  line('')
  line('get-mark :1')
  line(`reset ${temporaryRef}`)
  line(`from ${'0'.repeat(40)}`)
  line('')
  line('done')
  return stream
}

/** Throws for paths that are unsafe, or a file and a folder at once. */
function checkFiles(files: PackageFiles): void {
  for (const path of files.keys()) {
    checkPath(path)
    for (let slash = path.indexOf('/'); slash >= 0; slash = path.indexOf('/', slash + 1))
      if (files.has(path.slice(0, slash)))
        throw new GitError('InvalidContent', `${path.slice(0, slash)} is a file and cannot be a folder of ${path}`)
  }
}

const newline = Buffer.from('\n')

function signature({ name, email, seconds }: Signature): string {
  return `${cleaned(name)} <${cleaned(email)}> ${seconds} +0000`
}

function cleaned(value: string): string {
  return value.replace(/[<>\n\0]/g, '').trim()
}

function quoted(path: string): string {
  return `"${path.replace(/["\\\n]/g, (character) => (character === '\n' ? '\\n' : `\\${character}`))}"`
}
