// The names of the examples of `fairlead up --example NAME`.
import { existsSync, readdirSync } from 'node:fs'
import { findPackageJSON } from 'node:module'
import { basename, dirname, join } from 'node:path'

/** Folder of the examples: at the top of the repository in development, beside this package's code when published. */
export function examplesFolder(): string | undefined {
  // This file has different depths in its source, compiled and bundled forms.
  const root = dirname(findPackageJSON(import.meta.url)!)
  const inRepository = existsSync(join(root, 'src/main.ts'))
  const folder = inRepository ? join(root, '../../examples') : join(root, 'examples')
  return existsSync(folder) ? folder : undefined
}

/** Returns the names of the examples. */
export function exampleNames(): string[] {
  const folder = examplesFolder()
  return folder === undefined
    ? []
    : readdirSync(folder, { recursive: true, encoding: 'utf8' })
        .filter((path) => basename(path) === 'example.yaml')
        .map((path) => dirname(path).replaceAll('\\', '/'))
        .sort()
}
