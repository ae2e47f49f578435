// Where on the API pages a name is described.
import type { SourceFile } from 'typescript/unstable/ast'
import { layoutOf } from './door-layout.ts'
import type { DoorLayout } from './door-layout.ts'
import { code } from './markdown.ts'
import type { Package } from './workspace.ts'

/** A door with the page about it. */
export interface Door {
  readonly owner: Package
  /** `@fairlead/kube/cel` */
  readonly name: string
  readonly module: SourceFile
  /** `kube-cel.md` */
  readonly file: string
  readonly layout: DoorLayout
  /** Of each export on the page. */
  readonly anchors: ReadonlyMap<string, string>
}

/** The doors of the packages that others import, and links to what they offer. */
export class DoorLinks {
  readonly doors: readonly Door[]

  constructor(packages: readonly Package[]) {
    // The command has no door for others, and the doors of commands are for it alone: docs/reference/cli.md.
    this.doors = packages
      .filter(({ folder }) => !folder.startsWith('apps/'))
      .flatMap((owner) =>
        [...owner.doors]
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
    const door = this.doors.find((one) => one.owner === owner && one.anchors.has(name))
    return door === undefined ? code(name) : `[${code(name)}](api/${door.file}#${door.anchors.get(name)})`
  }

  /**
   * The link from the page of a door: to the page itself, or to that of a door from which the file imports the name.
   * Undefined for names that no page describes.
   */
  linkFrom(door: Door, name: string, imports: ReadonlyMap<string, string>): string | undefined {
    const target = door.anchors.has(name) ? door : this.doors.find((one) => one.name === imports.get(name))
    if (target === undefined || !target.anchors.has(name)) return undefined
    return `[${code(name)}](${target === door ? '' : target.file}#${target.anchors.get(name)})`
  }
}

/** As GitHub makes them from headings: in small letters, and numbered where they would be the same. */
function anchorsOf(title: string, { groups }: DoorLayout): ReadonlyMap<string, string> {
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
