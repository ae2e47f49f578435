// The layout of an entry point's page: comments between the exports of its module are the headings.
import { isExportDeclaration, isNamedExports } from 'typescript/unstable/ast/is'
import type { SourceFile } from 'typescript/unstable/ast'
import { SymbolFlags } from 'typescript/unstable/sync'
import type { Project, Symbol } from 'typescript/unstable/sync'
import type { Node } from 'typescript/unstable/ast'
import { kindOf } from './declaration.ts'
import type { DeclarationKind } from './declaration.ts'
import { exportsOf } from './workspace.ts'

/** The layout that an entry point's module declares. */
export interface EntryPointLayout {
  /** Its opening comment after `Public API of X`. */
  readonly intro: string
  readonly groups: readonly { readonly title: string; readonly names: readonly string[] }[]
}

const order: readonly DeclarationKind[] = ['class', 'function', 'constant', 'type']

/** Exports before the first comment are what to start with. */
export function layoutOf(project: Project, module: SourceFile): EntryPointLayout {
  const { checker } = project
  const kinds = new Map(exportsOf(project, module).map((symbol) => [symbol.name, kindOfSymbol(project, symbol)]))
  const groups: { title: string; names: string[] }[] = []
  let known = new Set<string>()
  const { text } = module
  for (const statement of module.statements) {
    if (!isExportDeclaration(statement)) continue
    const before = text.slice(statement.pos, statement.getStart())
    const comment = /(?:^|\n\n)((?:\/\/ [^\n]*\n)+)$/.exec(before)?.[1]
    const heading = comment === undefined || opening.test(comment) ? undefined : proseOf(comment)
    if (groups.length === 0 || heading !== undefined)
      groups.push({ title: capitalized(heading ?? 'Start here'), names: [] })
    const clause = statement.exportClause
    const source =
      statement.moduleSpecifier === undefined ? undefined : checker.getSymbolAtLocation(statement.moduleSpecifier)
    const names =
      clause !== undefined && isNamedExports(clause)
        ? clause.elements.map(({ name }) => name.getText())
        : source === undefined
          ? []
          : checker.getExportsOfModule(source).map(({ name }) => name)
    groups.at(-1)!.names.push(...names.filter((name) => !known.has(name)))
    known = known.union(new Set(names))
  }
  const intro = proseOf(/^(?:\/\/ [^\n]*\n)+/.exec(text)?.[0] ?? '').replace(
    /^(?:The p|P)ublic API of [^:.]+[:.] ?/,
    '',
  )
  return {
    intro: intro === '' ? '' : capitalized(intro.replace(/\.?$/, '.')),
    groups: groups.map(({ title, names }) => ({
      title,
      names: names
        .filter((name) => kinds.get(name) !== undefined)
        .toSorted((left, right) => order.indexOf(kinds.get(left)!) - order.indexOf(kinds.get(right)!)),
    })),
  }
}

const opening = /^\/\/ (?:The p|P)ublic API of /

/** The text of a comment of one or more lines. */
function proseOf(comment: string): string {
  return comment
    .replaceAll(/^\/\/ /gm, '')
    .replaceAll('\n', ' ')
    .trim()
}

function capitalized(text: string): string {
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`
}

/** Where an exported name is declared. */
export function declarationsOf(project: Project, exported: Symbol): readonly Node[] {
  const isAlias = (exported.flags & SymbolFlags.Alias) !== 0
  const symbol = isAlias ? project.checker.getAliasedSymbol(exported) : exported
  return symbol.declarations.flatMap((handle) => handle.resolve(project) ?? [])
}

function kindOfSymbol(project: Project, symbol: Symbol): DeclarationKind | undefined {
  const [node] = declarationsOf(project, symbol)
  return node === undefined ? undefined : kindOf(node)
}
