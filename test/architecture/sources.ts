// The sources of the workspace packages and their imports, for the architecture tests.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

/** The repository. */
export const root: string = resolve(import.meta.dirname, '../..')

/** Returns the folders of all packages: `foundation/kube`. */
export function packageFolders(): string[] {
  return ['foundation', 'capabilities', 'apps']
    .flatMap((group) =>
      existsSync(join(root, group)) ? readdirSync(join(root, group)).map((name) => `${group}/${name}`) : [],
    )
    .filter((folder) => existsSync(join(root, folder, 'package.json')))
}

/** Returns the paths of the sources of a package. */
export function sources(folder: string): string[] {
  return readdirSync(join(root, folder, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') || file.endsWith('.tsx'))
    .map((file) => join(root, folder, 'src', file))
}

/** Returns the specifiers that a file imports or re-exports, type imports and dynamic imports included. */
export function importsOf(file: string): string[] {
  const text = readFileSync(file, 'utf8')
  const found = text.matchAll(
    /(?:^|\n)\s*(?:import|export)\s[^'"]*?from\s+['"]([^'"]+)['"]|import\(\s*['"]([^'"]+)['"]\s*\)|(?:^|\n)import\s+['"]([^'"]+)['"]/g,
  )
  return [...found].map((match) => (match[1] ?? match[2] ?? match[3]) as string)
}
