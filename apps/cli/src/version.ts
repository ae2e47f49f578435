// The package of the command: its folder and its version.
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** The folder of this package: sources and bundle are both one level below it. */
export const packageFolder: string = dirname(import.meta.dirname)

/** Returns the version in package.json. */
export function version(): string {
  return (JSON.parse(readFileSync(join(packageFolder, 'package.json'), 'utf8')) as { version: string }).version
}
