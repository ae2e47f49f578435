// The packages of the repository, as the pages of the reference need them: their entry points and their sources, read
// by the compiler.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { API } from 'typescript/unstable/sync'
import type { Project, Symbol as NamedSymbol } from 'typescript/unstable/sync'
import type { SourceFile } from 'typescript/unstable/ast'

/** One package. */
export interface Package {
  /** As in imports. */
  readonly name: string
  /** `foundation/kube`. */
  readonly folder: string
  readonly description: string
  readonly project: Project
  readonly sources: readonly SourceFile[]
  /** Specifier (`@fairlead/kube/cel`) to the module behind it. */
  readonly entryPoints: ReadonlyMap<string, SourceFile>
}

interface Manifest {
  readonly name: string
  readonly description: string
  readonly exports?: Readonly<Record<string, { readonly '@fairlead/source'?: string }>>
}

/** Reads every package; the compiler runs until the workspace is disposed. */
export class Workspace implements Disposable {
  readonly packages: readonly Package[]
  readonly #api: API

  constructor(root: string) {
    this.#api = new API({ cwd: root })
    const folders = ['foundation', 'capabilities', 'apps'].flatMap((group) =>
      readdirSync(join(root, group))
        .toSorted()
        .map((name) => `${group}/${name}`)
        .filter((folder) => existsSync(join(root, folder, 'tsconfig.json'))),
    )
    const configs = folders.map((folder) => join(root, folder, 'tsconfig.json'))
    const snapshot = this.#api.updateSnapshot({ openProjects: configs })
    this.packages = folders.map((folder, index) => {
      const project = snapshot.getProject(configs[index]!)
      if (project === undefined) throw new Error(`the compiler does not open ${configs[index]}`)
      return read(root, folder, project)
    })
  }

  [Symbol.dispose](): void {
    this.#api.close()
  }
}

function read(root: string, folder: string, project: Project): Package {
  const manifest = JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8')) as Manifest
  const source = (path: string): SourceFile => {
    const file = project.program.getSourceFile(path)
    if (file === undefined) throw new Error(`the compiler does not know ${path}`)
    return file
  }
  const entryPoints = Object.entries(manifest.exports ?? {}).flatMap(([path, { '@fairlead/source': file }]) =>
    file?.endsWith('.ts') ? [[join(manifest.name, path), source(join(root, folder, file))] as const] : [],
  )
  const inside = join(root, folder, 'src/')
  return {
    name: manifest.name,
    folder,
    description: manifest.description,
    project,
    sources: project.program
      .getSourceFileNames()
      .filter((name) => name.startsWith(inside) && !name.includes('/generated/'))
      .toSorted()
      .map(source),
    entryPoints: new Map(entryPoints),
  }
}

/** The exports of a module by name, wherever they are declared. */
export function exportsOf({ checker }: Project, module: SourceFile): readonly NamedSymbol[] {
  const symbol = checker.getSymbolAtLocation(module)
  return symbol === undefined
    ? []
    : [...checker.getExportsOfModule(symbol)].toSorted((left, right) => (left.name < right.name ? -1 : 1))
}
