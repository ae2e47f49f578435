// Where on the API pages a name is described.
import type { SourceFile } from 'typescript/unstable/ast'
import { layoutOf } from './entry-point-layout.ts'
import type { EntryPointLayout } from './entry-point-layout.ts'
import { code } from './markdown.ts'
import type { Package } from './workspace.ts'

/** An entry point with the page about it. */
export interface EntryPoint {
  readonly owner: Package
  /** `@fairlead/kube/cel` */
  readonly name: string
  readonly module: SourceFile
  /** `kube-cel.md` */
  readonly file: string
  readonly layout: EntryPointLayout
  /** Of each export on the page. */
  readonly anchors: ReadonlyMap<string, string>
}

/** The entry points of the packages that others import, and links to what they offer. */
export class EntryPointLinks {
  readonly entryPoints: readonly EntryPoint[]

  constructor(packages: readonly Package[]) {
    // The command has no entry point for others, and the entry points of commands are for it alone:
    // docs/reference/cli.md.
    this.entryPoints = packages
      .filter(({ folder }) => !folder.startsWith('apps/'))
      .flatMap((owner) =>
        [...owner.entryPoints]
          .filter(([name]) => !name.endsWith('/commands'))
          .map(([name, module]) => {
            const layout = layoutOf(owner.project, module)
            const file = `${name.replace('@fairlead/', '').replaceAll('/', '-')}.md`
            return { owner, name, module, file, layout, anchors: anchorsOf(name, layout) }
          }),
      )
  }

  /** The link from docs/reference to what the package exports under this name; code when it does not. */
  link(name: string, owner: Package): string {
    const entryPoint = this.entryPoints.find((one) => one.owner === owner && one.anchors.has(name))
    return entryPoint === undefined
      ? code(name)
      : `[${code(name)}](api/${entryPoint.file}#${entryPoint.anchors.get(name)})`
  }

  /**
   * The link from the page of an entry point: to the page itself, or to that of an entry point from which the file
   * imports the name. Undefined for names that no page describes.
   */
  linkFrom(entryPoint: EntryPoint, name: string, imports: ReadonlyMap<string, string>): string | undefined {
    const target = entryPoint.anchors.has(name)
      ? entryPoint
      : this.entryPoints.find((one) => one.name === imports.get(name))
    if (target === undefined || !target.anchors.has(name)) return undefined
    return `[${code(name)}](${target === entryPoint ? '' : target.file}#${target.anchors.get(name)})`
  }
}

/** As GitHub makes them from headings: in small letters, and numbered where they would be the same. */
function anchorsOf(title: string, { groups }: EntryPointLayout): ReadonlyMap<string, string> {
  const counts = new Map<string, number>()
  const take = (heading: string): string => {
    const plain = anchor(heading)
    const count = counts.get(plain) ?? 0
    counts.set(plain, count + 1)
    return count === 0 ? plain : `${plain}-${count}`
  }
  take(title)
  return new Map(
    groups.flatMap(({ title: heading, names }) => {
      take(heading)
      return names.map((name) => [name, take(name)] as const)
    }),
  )
}

/** The anchor of a heading that is like no other. */
export function anchor(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\w\- ]/g, '')
    .replaceAll(' ', '-')
}
