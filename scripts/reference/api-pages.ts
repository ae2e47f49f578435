// docs/reference/api/*.md: the exports of each entry point, in the order and under the headings of its module.
import type { Symbol } from 'typescript/unstable/sync'
import type { Node } from 'typescript/unstable/ast'
import type { GeneratedFile } from '../generate/generated-file.ts'
import { commentOf, commentText, declarationText, namesIn } from './declaration.ts'
import { declarationsOf } from './entry-point-layout.ts'
import { anchor } from './entry-point-links.ts'
import type { EntryPoint, EntryPointLinks } from './entry-point-links.ts'
import { block, page, prose } from './markdown.ts'
import { exportsOf } from './workspace.ts'

interface Entry {
  readonly name: string
  readonly comment: string
  readonly text: string
  /** Links to what the text names. */
  readonly types: readonly string[]
}

/** A page per entry point, and one that lists them. */
export function apiPages(links: EntryPointLinks): GeneratedFile[] {
  const index = page(
    'Packages',
    "the comments of the packages' entry points",
    links.entryPoints.map(({ owner, name, file }) => `- [${name}](${file}): ${owner.description}`).join('\n'),
  )
  return [
    { name: 'api/README.md', text: index },
    ...links.entryPoints.map((entryPoint) => ({
      name: `api/${entryPoint.file}`,
      text: entryPointPage(entryPoint, links),
    })),
  ]
}

function entryPointPage(entryPoint: EntryPoint, links: EntryPointLinks): string {
  const { owner, name, module, layout, anchors } = entryPoint
  const entries = new Map(
    exportsOf(owner.project, module).flatMap((symbol) =>
      entryOf(entryPoint, symbol, links).map((entry) => [entry.name, entry]),
    ),
  )
  const { intro, groups } = layout
  const sections = groups.map(({ title, names }) => ({
    title,
    members: names.flatMap((one) => entries.get(one) ?? []),
  }))
  const contents = sections.map(
    ({ title, members }) =>
      `- [${title}](#${anchor(title)}): ${members.map((entry) => `[${entry.name}](#${anchors.get(entry.name)})`).join(', ')}`,
  )
  return page(
    name,
    `the sources of ${owner.folder}`,
    `${owner.description}.${intro === '' ? '' : ` ${prose(intro)}`}`,
    contents.join('\n'),
    ...sections.flatMap(({ title, members }) => [`## ${title}`, ...members.map(section)]),
  )
}

function section({ name, comment, text, types }: Entry): string {
  return [
    `### ${name}`,
    ...(comment === '' ? [] : [prose(comment)]),
    block('ts', text),
    ...(types.length === 0 ? [] : [`See ${types.join(', ')}.`]),
  ].join('\n\n')
}

function entryOf(entryPoint: EntryPoint, exported: Symbol, links: EntryPointLinks): Entry[] {
  const { project } = entryPoint.owner
  const nodes = declarationsOf(project, exported)
  const [node] = nodes
  if (node === undefined) return []
  const comment = nodes.map(commentOf).find((text) => text !== '') ?? ''
  if (comment === '')
    throw new Error(`${entryPoint.name} exports ${exported.name} without a comment: say what it is for`)
  const text = nodes.map(declarationText).join('\n')
  const imports = importsOf(node)
  return [
    {
      name: exported.name,
      comment: readable(comment),
      text,
      types: [...new Set(namesIn(text))]
        .filter((name) => name !== exported.name)
        .flatMap((name) => links.linkFrom(entryPoint, name, imports) ?? []),
    },
  ]
}

/** Names that the file of a declaration imports, and from where. */
function importsOf(node: Node): ReadonlyMap<string, string> {
  const { text } = node.getSourceFile()
  return new Map(
    [...text.matchAll(/^import (?:type )?\{([^}]*)\} from '([^']+)'/gm)].flatMap(([, names, from]) =>
      names!.split(',').map((name) => [name.replace(/^\s*type /, '').trim(), from!] as const),
    ),
  )
}

/** A comment as prose: what is thrown and taken in sentences of their own. */
function readable(comment: string): string {
  return commentText(comment)
    .replaceAll(/^@internal.*$/gm, '')
    .replaceAll(/^@param (\w+) /gm, '\n`$1`: ')
    .replaceAll(/^@returns /gm, '\nReturns ')
    .replaceAll(/^@throws (.*?)\.?$/gm, '\nThrows $1.')
    .trim()
}
