// docs/reference/api/*.md: what the door of each package offers, with its comments.
import { SymbolFlags } from 'typescript/unstable/sync'
import type { Project, Symbol } from 'typescript/unstable/sync'
import type { Node, SourceFile } from 'typescript/unstable/ast'
import type { GeneratedFile } from '../generate/generated-file.ts'
import { commentOf, declarationText, kindOf } from './declaration.ts'
import type { DeclarationKind } from './declaration.ts'
import { block, page, prose } from './markdown.ts'
import { exportsOf } from './workspace.ts'
import type { Package } from './workspace.ts'

interface Entry {
  readonly name: string
  readonly kind: DeclarationKind
  readonly comment: string
  readonly text: string
}

const headings: Readonly<Record<DeclarationKind, string>> = {
  class: 'Classes',
  function: 'Functions',
  constant: 'Constants',
  type: 'Types',
}

/** A page per door, and one that lists them. The command has no door for others. */
export function apiPages(packages: readonly Package[]): GeneratedFile[] {
  const doors = packages
    .filter(({ folder }) => !folder.startsWith('apps/'))
    .flatMap((owner) =>
      [...owner.doors].map(([name, module]) => ({
        owner,
        name,
        module,
        file: `${name.replace('@fairlead/', '').replaceAll('/', '-')}.md`,
      })),
    )
  const index = page(
    'Packages',
    "the comments of the packages' doors",
    doors.map(({ owner, name, file }) => `- [${name}](${file}): ${owner.description}`).join('\n'),
  )
  return [
    { name: 'api/README.md', text: index },
    ...doors.map(({ owner, name, module, file }) => ({ name: `api/${file}`, text: doorPage(owner, name, module) })),
  ]
}

function doorPage({ folder, project, description }: Package, name: string, module: SourceFile): string {
  const entries = exportsOf(project, module).flatMap((symbol) => entryOf(project, symbol))
  const sections = (Object.keys(headings) as DeclarationKind[]).flatMap((kind) => {
    const members = entries.filter((entry) => entry.kind === kind)
    return members.length === 0 ? [] : [`## ${headings[kind]}`, ...members.map(section)]
  })
  return page(name, `the sources of ${folder}`, `${description}.`, ...sections)
}

function section({ name, comment, text }: Entry): string {
  return [`### ${name}`, ...(comment === '' ? [] : [prose(comment)]), block('ts', text)].join('\n\n')
}

function entryOf(project: Project, exported: Symbol): Entry[] {
  const { checker } = project
  const symbol = (exported.flags & SymbolFlags.Alias) === 0 ? exported : checker.getAliasedSymbol(exported)
  const nodes = symbol.declarations.flatMap((handle): Node[] => {
    const node = handle.resolve(project)
    return node === undefined ? [] : [node]
  })
  const [node] = nodes
  if (node === undefined) return []
  return [
    {
      name: exported.name,
      kind: kindOf(node),
      comment: plain(commentOf(node)),
      text: nodes.map(declarationText).join('\n'),
    },
  ]
}

/** A comment without its stars and tags. */
function plain(comment: string): string {
  return comment
    .replace(/^\/\*\*\s*/, '')
    .replace(/\s*\*\/$/, '')
    .replaceAll(/\n\s*\* ?/g, '\n')
    .replaceAll(/\{@link ([^}]+)\}/g, '`$1`')
    .replaceAll(/^@throws (.*?)\.?$/gm, '\nThrows $1.')
    .trim()
}
