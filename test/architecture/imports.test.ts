// Holds the imports of every package's src/ against the arrows of design.md "Layout": dependencies point down only.
import { readFileSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { describe, expect, test } from 'vitest'
import { importsOf, packageFolders, root, sources } from './sources.ts'

/** Package folder -> the workspace packages it may import. */
const arrows: Readonly<Record<string, readonly string[]>> = {
  'foundation/kube': [],
  'foundation/client': ['foundation/kube'],
  'foundation/controller': ['foundation/client', 'foundation/kube'],
  'foundation/builtin-kinds': ['foundation/kube'],
  'foundation/apiserver': ['foundation/builtin-kinds', 'foundation/controller', 'foundation/client', 'foundation/kube'],
  'foundation/offline': ['foundation/client', 'foundation/kube'],
  'foundation/simulator': ['foundation/controller', 'foundation/client', 'foundation/kube'],
  'capabilities/metacontroller': [
    'foundation/controller',
    'foundation/offline',
    'foundation/client',
    'foundation/kube',
  ],
  'capabilities/supply': ['foundation/controller', 'foundation/offline', 'foundation/client', 'foundation/kube'],
  'capabilities/actions': ['foundation/controller', 'foundation/offline', 'foundation/client', 'foundation/kube'],
  'capabilities/packages': ['foundation/controller', 'foundation/offline', 'foundation/client', 'foundation/kube'],
  'capabilities/references': ['foundation/controller', 'foundation/offline', 'foundation/client', 'foundation/kube'],
  'capabilities/variants': [
    'capabilities/packages',
    'foundation/controller',
    'foundation/offline',
    'foundation/client',
    'foundation/kube',
  ],
  'capabilities/aws': [
    'capabilities/references',
    'foundation/controller',
    'foundation/offline',
    'foundation/client',
    'foundation/kube',
  ],
  'apps/cli': [
    'foundation/kube',
    'foundation/client',
    'foundation/controller',
    'foundation/apiserver',
    'foundation/offline',
    'foundation/simulator',
    'capabilities/metacontroller',
    'capabilities/actions',
    'capabilities/packages',
    'capabilities/references',
    'capabilities/supply',
    'capabilities/variants',
    'capabilities/aws',
  ],
}

/** Node modules that do I/O or know the machine: kube is pure. */
const impure = /^node:(fs|http|https|net|tls|child_process|worker_threads|os|dns|dgram|timers|process|sqlite)/

function nameOf(folder: string): string {
  return (JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8')) as { name: string }).name
}

const folders = packageFolders()
const folderOf = new Map(folders.map((folder) => [nameOf(folder), folder]))
const workspaceName = (specifier: string): string | undefined =>
  [...folderOf.keys()].find((name) => specifier === name || specifier.startsWith(`${name}/`))

describe('the arrows of design.md', () => {
  test('every package is in the table', () => {
    expect(folders.filter((folder) => arrows[folder] === undefined)).toEqual([])
  })

  test.each(folders)('%s imports only what its arrows allow, and only by its entry point', (folder) => {
    const allowed = new Set([folder, ...(arrows[folder] ?? [])])
    const wrong = sources(folder).flatMap((file) =>
      importsOf(file).flatMap((specifier) => {
        const here = relative(root, file)
        const name = workspaceName(specifier)
        if (name !== undefined && !allowed.has(folderOf.get(name) as string)) return [`${here} imports ${specifier}`]
        if (specifier.startsWith('.') && !resolve(file, '..', specifier).startsWith(join(root, folder, 'src')))
          return [`${here} leaves its src/: ${specifier}`]
        return []
      }),
    )
    expect(wrong).toEqual([])
  })

  test.each(folders)('%s declares the workspace packages it imports, and no other', (folder) => {
    const manifest = JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8')) as {
      dependencies?: Record<string, string>
    }
    const declared = Object.keys(manifest.dependencies ?? {}).filter((name) => folderOf.has(name))
    const imported = new Set(
      sources(folder)
        .flatMap(importsOf)
        .map(workspaceName)
        .filter((name) => name !== undefined && folderOf.get(name) !== folder),
    )
    expect([...declared].sort()).toEqual([...imported].sort())
  })

  test('kube does no I/O', () => {
    const wrong = sources('foundation/kube').flatMap((file) =>
      importsOf(file)
        .filter((specifier) => impure.test(specifier))
        .map((specifier) => `${relative(root, file)} imports ${specifier}`),
    )
    expect(wrong).toEqual([])
  })

  test('time comes from a Clock', () => {
    const wrong = folders.flatMap((folder) =>
      sources(folder)
        .filter((file) => !/system-clock\.ts$|\/generated\//.test(file))
        .flatMap((file) =>
          readFileSync(file, 'utf8')
            .split('\n')
            .flatMap((line, index) =>
              /(?<![\w.])(?:Date\.now\(|new Date\(\)|setTimeout\((?!\w+: )|setInterval\()/.test(
                line.replace(/\/\/.*$/, ''),
              )
                ? [`${relative(root, file)}:${index + 1}`]
                : [],
            ),
        ),
    )
    expect(wrong).toEqual([])
  })

  // Node 22 has no such globals; kube exports classes of the same names.
  test('packages that run on Node 22 import their disposable stacks', () => {
    const onNode22 = folders.filter((folder) =>
      readFileSync(join(root, folder, 'package.json'), 'utf8').includes('"node": "^22'),
    )
    const wrong = onNode22.flatMap((folder) =>
      sources(folder)
        .filter((file) => {
          const text = readFileSync(file, 'utf8')
          if (text.includes('export class DisposableStack')) return false
          return /\bnew (Async)?DisposableStack\b/.test(text) && !/import \{[^}]*DisposableStack[^}]*\} from/.test(text)
        })
        .map((file) => relative(root, file)),
    )
    expect(onNode22.length).toBeGreaterThan(4)
    expect(wrong).toEqual([])
  })
})
