// The resources of a package as a tree of folders and packages.
import type { PackageFiles } from './package-files.ts'
import { mergeIdentity } from './merge3/identity.ts'
import { PackageError } from './package-error.ts'
import type { YamlDocument } from './yaml/yaml-document.ts'
import { isResourceFile, yamlDocuments } from './yaml/yaml-file.ts'

interface Branch {
  readonly title: string
  readonly children: Branch[]
}

/** Returns the lines of the tree as `kpt pkg tree` prints it; files that hold no resources are left out. */
export function packageTree(name: string, files: PackageFiles): string[] {
  const root: Branch = { title: `Package "${name}"`, children: [] }
  const folders = new Map<string, Branch>([['', root]])
  const folder = (path: string): Branch => {
    const known = folders.get(path)
    if (known !== undefined) return known
    const base = path.slice(path.lastIndexOf('/') + 1)
    const branch: Branch = { title: files.has(`${path}/Kptfile`) ? `Package "${base}"` : base, children: [] }
    folders.set(path, branch)
    folder(parentOf(path)).children.push(branch)
    return branch
  }
  for (const path of [...files.keys()].toSorted(byFolder)) {
    const content = files.get(path)!
    if (typeof content !== 'string' || !isResourceFile(path)) continue
    for (const document of yamlDocuments(path, content)) {
      const label = labelOf(document)
      if (label === undefined) continue
      const file = path.slice(path.lastIndexOf('/') + 1)
      folder(parentOf(path)).children.push({ title: `[${file}]  ${label}`, children: [] })
    }
  }
  return [root.title, ...linesBelow(root, '')]
}

function labelOf(document: YamlDocument): string | undefined {
  try {
    const identity = mergeIdentity(document)
    const metadata = identity && (document.toJson() as { metadata?: { name?: string; namespace?: string } }).metadata
    if (identity === undefined) return undefined
    const { name = '', namespace } = metadata ?? {}
    return `${identity.kind} ${namespace === undefined || namespace === '' ? '' : `${namespace}/`}${name}`
  } catch (error) {
    if (error instanceof PackageError) return `(${error.message.replace(/^.*?:\d+: /, 'no valid YAML: ')})`
    throw error
  }
}

function linesBelow({ children }: Branch, indent: string): string[] {
  return children.flatMap((child, index) => {
    const isLast = index === children.length - 1
    return [
      `${indent}${isLast ? '└── ' : '├── '}${child.title}`,
      ...linesBelow(child, `${indent}${isLast ? '    ' : '│   '}`),
    ]
  })
}

function parentOf(path: string): string {
  return path.includes('/') ? path.slice(0, path.lastIndexOf('/')) : ''
}

/** The files of a folder before those of the folders in it. */
function byFolder(a: string, b: string): number {
  const [left, right] = [parentOf(a), parentOf(b)]
  if (left === right) return a < b ? -1 : 1
  return left < right ? -1 : 1
}
