// `npm run generate`: writes every generated folder from its source. The built-in tables come from the facts beside the repository
// (`../shared` or FAIRLEAD_SHARED), the CRD modules of the capabilities from their own YAML. Running it twice gives identical files.
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { builtinTables } from './generate/builtin-tables.ts'
import { crdModules } from './generate/crd-module.ts'
import { writeGenerated } from './generate/generated-file.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const shared = resolve(root, process.env['FAIRLEAD_SHARED'] ?? '../shared')

const factsArePresent = existsSync(join(shared, 'kubernetes', 'schemas.json'))
const written = [
  ...crdModules(join(root, 'capabilities')).flatMap((module) => writeGenerated(module.folder, module.files)),
  ...(factsArePresent
    ? writeGenerated(join(root, 'foundation/apiserver/src/generated'), builtinTables(join(shared, 'kubernetes')))
    : []),
]
for (const path of written) console.log(`generate: wrote ${path.slice(root.length)}`)

if (!factsArePresent) {
  console.error(
    `generate: built-in tables left as they are, no facts at ${shared}; set FAIRLEAD_SHARED to the folder that holds kubernetes/schemas.json`,
  )
  process.exit(2)
}
if (written.length === 0) console.log('generate: everything is up to date')
