// The `yaml` library, loaded on first use.
import { createRequire } from 'node:module'
import type * as Yaml from 'yaml'

let loaded: typeof Yaml | undefined

/** Returns the library. Its 70 files take 20 ms to load, and most processes read only JSON. */
export function yamlLibrary(): typeof Yaml {
  return (loaded ??= createRequire(import.meta.url)('yaml') as typeof Yaml)
}
