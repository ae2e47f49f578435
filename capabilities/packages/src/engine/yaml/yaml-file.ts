// The documents of one file of a package.
import { PackageError } from '../package-error.ts'
import { YamlDocument } from './yaml-document.ts'

const separator = /^---(?=[ \t]*(?:#.*)?$)/

/** The file holds resources: `.yaml`, `.yml`, `.json`, or a Kptfile. */
export function isResourceFile(path: string): boolean {
  return /\.(?:ya?ml|json)$/.test(path) || isKptfile(path)
}

/** The file is a Kptfile: of the package, or of a package below it. */
export function isKptfile(path: string): boolean {
  return path === 'Kptfile' || path.endsWith('/Kptfile')
}

/**
 * Splits a file at its `---` lines. Empty documents are left out; one of comments alone stays, such as a licence
 * header. Line breaks of Windows and a byte order mark are normalized.
 */
export function yamlDocuments(path: string, content: string): YamlDocument[] {
  const lines = content.replace(/^\u{feff}/u, '').split(/\r?\n/)
  const documents: YamlDocument[] = []
  let start = 0
  let hasDirectives = false
  const close = (end: number): void => {
    const atEnd = end === lines.length
    const source = lines.slice(start, end).join('\n') + (atEnd ? '' : '\n')
    if (source.trim() !== '') documents.push(new YamlDocument(path, start + 1, source))
    start = end + 1
  }
  for (const [index, line] of lines.entries()) {
    if (line.startsWith('%') && lines.slice(start, index).every((before) => before.trim() === '')) hasDirectives = true
    if (!separator.test(line)) continue
    // The separator after directives begins their document.
    if (hasDirectives) hasDirectives = false
    else close(index)
  }
  close(lines.length)
  return documents
}

/** Joins documents to the content of a file. */
export function joinDocuments(sources: readonly string[]): string {
  return sources.map((source) => (source.endsWith('\n') ? source : `${source}\n`)).join('---\n')
}

/** Returns the file as a string. @throws PackageError `InvalidYaml` for bytes that are not UTF-8 */
export function contentOf(path: string, content: string | Uint8Array): string {
  if (typeof content === 'string') return content
  throw new PackageError('InvalidYaml', 'the file is not UTF-8', { path })
}
