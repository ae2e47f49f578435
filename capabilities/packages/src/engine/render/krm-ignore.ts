// `.krmignore`: files and folders of a package that are no resources, in kpt's subset of gitignore's format.
import { compileRegex } from '@fairlead/kube'
import type { Regex } from '@fairlead/kube'

/** Reports whether a path below the package's folder is ignored. */
export type IgnoreMatcher = (path: string, isFolder: boolean) => boolean

interface Pattern {
  readonly expression: Regex
  readonly isNegated: boolean
  readonly isFolderOnly: boolean
}

/** Parses a `.krmignore` file. Later patterns win, `!` includes again. */
export function parseKrmIgnore(content: string): IgnoreMatcher {
  const patterns = content.split(/\r?\n/).flatMap((line) => patternOf(line))
  return (path, isFolder) => {
    let isIgnored = false
    for (const { expression, isNegated, isFolderOnly } of patterns)
      if ((isFolder || !isFolderOnly) && expression.test(path)) isIgnored = !isNegated
    return isIgnored
  }
}

function patternOf(line: string): Pattern[] {
  let pattern = line.trimEnd()
  if (pattern === '' || pattern.startsWith('#')) return []
  const isNegated = pattern.startsWith('!')
  if (isNegated) pattern = pattern.slice(1)
  if (pattern.startsWith('\\')) pattern = pattern.slice(1)
  const isFolderOnly = pattern.endsWith('/')
  if (isFolderOnly) pattern = pattern.slice(0, -1)
  const isAnchored = pattern.includes('/')
  if (pattern.startsWith('/')) pattern = pattern.slice(1)
  const body = globExpression(pattern)
  return [{ expression: compileRegex(`^(?s:${isAnchored ? body : `(?:.*/)?${body}`})$`), isNegated, isFolderOnly }]
}

/** Returns a glob as a regular expression: `*` and `?` stay within a folder, `**` crosses folders. */
export function globExpression(glob: string): string {
  let expression = ''
  for (let index = 0; index < glob.length; index += 1) {
    const rest = glob.slice(index)
    if (rest.startsWith('**/')) {
      expression += '(?:.*/)?'
      index += 2
    } else if (rest.startsWith('**')) {
      expression += '.*'
      index += 1
    } else if (rest.startsWith('*')) expression += '[^/]*'
    else if (rest.startsWith('?')) expression += '[^/]'
    else expression += rest.charAt(0).replaceAll(/[\\^$.|+()[\]{}]/g, String.raw`\$&`)
  }
  return expression
}
