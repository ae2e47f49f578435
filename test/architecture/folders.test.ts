// Checks the imports among the folders of each src/, type imports included: no cycles, and floors in the API server.
// A file directly in src/ counts as a folder of its own.
import { join, relative, resolve, sep } from 'node:path'
import { describe, expect, test } from 'vitest'
import { importsOf, packageFolders, root, sources } from './sources.ts'

/** One import that leaves its folder. */
interface FolderImport {
  readonly from: string
  readonly to: string
  /** `http/upgrade.ts imports ../handler.ts` */
  readonly line: string
}

/** The floors of the API server, lowest first: a folder imports only from those before it. */
const apiServerFloors: readonly string[] = [
  'server-version.ts',
  'identity',
  'storage',
  'registry',
  'http',
  'objects',
  'webhooks',
  'protobuf',
  'custom',
  'auth',
  'views',
  'request',
  'audit',
  'response',
  'admission',
  'handlers',
  'metrics',
  'discovery',
  'routes',
  'resource-storage',
  'handler.ts',
  'controllers',
  'backup',
  'extension-server',
  'aggregator',
  'in-process',
  'kubernetes-service.ts',
  'startup',
  'server.ts',
  'index.ts',
]

function folderImports(packageFolder: string): readonly FolderImport[] {
  const src = join(root, packageFolder, 'src')
  const folderOf = (file: string): string => relative(src, file).split(sep)[0]!
  return sources(packageFolder).flatMap((file) =>
    importsOf(file)
      .filter((specifier) => specifier.startsWith('.'))
      .map((specifier) => ({
        from: folderOf(file),
        to: folderOf(resolve(file, '..', specifier)),
        line: `${relative(src, file)} imports ${specifier}`,
      }))
      .filter(({ from, to }) => from !== to),
  )
}

/** Returns the strongly connected components of more than one folder (Tarjan). */
function cyclesOf(imports: readonly FolderImport[]): readonly (readonly string[])[] {
  const edges = Map.groupBy(imports, ({ from }) => from)
  const order = new Map<string, number>()
  const lowest = new Map<string, number>()
  const stack: string[] = []
  const cycles: string[][] = []
  const visit = (folder: string): void => {
    order.set(folder, order.size)
    lowest.set(folder, order.get(folder)!)
    stack.push(folder)
    for (const { to } of edges.get(folder) ?? []) {
      if (!order.has(to)) visit(to)
      if (stack.includes(to)) lowest.set(folder, Math.min(lowest.get(folder)!, lowest.get(to)!))
    }
    if (lowest.get(folder) !== order.get(folder)) return
    const component = stack.splice(stack.indexOf(folder))
    if (component.length > 1) cycles.push(component.toSorted())
  }
  for (const folder of edges.keys()) if (!order.has(folder)) visit(folder)
  return cycles
}

describe('the folders of src/', () => {
  test.each(packageFolders())('%s has no import cycle among its folders', (packageFolder) => {
    const cycles = cyclesOf(folderImports(packageFolder))
    expect(cycles).toEqual([])
  })

  test('finds a cycle of three folders and none in a chain', () => {
    const arrow = ([from, to]: string): FolderImport => ({ from: from!, to: to!, line: '' })
    expect(cyclesOf(['ab', 'bc', 'ca', 'cd'].map(arrow))).toEqual([['a', 'b', 'c']])
    expect(cyclesOf(['ab', 'bc', 'ac'].map(arrow))).toEqual([])
  })

  test('every folder of the API server has a floor', () => {
    const src = join(root, 'foundation/apiserver/src')
    const folders = new Set(sources('foundation/apiserver').map((file) => relative(src, file).split(sep)[0]!))
    expect([...folders].toSorted()).toEqual(apiServerFloors.toSorted())
  })

  test('no folder of the API server imports from a floor above its own', () => {
    const floorOf = (folder: string): number => apiServerFloors.indexOf(folder)
    const upward = folderImports('foundation/apiserver').filter(({ from, to }) => floorOf(to) >= floorOf(from))
    expect(upward.map(({ line }) => line)).toEqual([])
  })
})
