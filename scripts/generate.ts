// `npm run generate`: writes every generated file from its source. The built-in tables come from the facts beside the
// repository (`../shared` or FAIRLEAD_SHARED), the CRD modules of the capabilities from their own YAML, the chart from
// the manifests of `fairlead install`, docs/reference from the sources. Running it twice gives identical files. With
// `--check` nothing is written; it fails when a file is out of date.
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { awsKinds, awsModels, hasAwsModels } from './generate/aws-models.ts'
import { builtinTables, offlineTables } from './generate/builtin-tables.ts'
import { crdModules } from './generate/crd-module.ts'
import { outdated, writeGenerated } from './generate/generated-file.ts'
import { mergeKeyTable } from './generate/merge-keys.ts'
import { validationSchemas } from './generate/validation-schemas.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const shared = resolve(root, process.env['FAIRLEAD_SHARED'] ?? '../shared')
const isCheck = process.argv.includes('--check')
const take = isCheck ? outdated : writeGenerated

const factsArePresent = existsSync(join(shared, 'kubernetes', 'schemas.json'))
const aws = join(root, 'capabilities/aws')
const changed = hasAwsModels(shared) ? take(join(aws, 'src/generated'), awsModels(shared)) : []
// CRDs are made from the shapes that have just been written, and the modules of all CRDs from those.
for (const { folder, files } of await awsKinds(aws)) changed.push(...take(folder, files))
changed.push(
  ...crdModules(join(root, 'capabilities')).flatMap((module) => take(module.folder, module.files)),
  ...(factsArePresent
    ? [
        ...take(join(root, 'foundation/builtin-kinds/src/generated'), builtinTables(join(shared, 'kubernetes'))),
        ...take(join(root, 'foundation/offline/src/generated'), offlineTables(join(shared, 'kubernetes'))),
        ...take(
          join(root, 'capabilities/packages/src/engine/merge3/generated'),
          mergeKeyTable(join(shared, 'kubernetes')),
        ),
        ...take(
          join(root, 'capabilities/packages/src/functions/generated'),
          validationSchemas(join(shared, 'kubernetes')),
        ),
      ]
    : []),
)
// The charts and the pages read the modules that have just been written.
const { charts } = await import('./generate/chart.ts')
changed.push(...take(join(root, 'charts'), await charts()))
const { referencePages } = await import('./reference/index.ts')
changed.push(...take(join(root, 'docs/reference'), await referencePages(root)))
for (const path of changed) console.log(`generate: ${isCheck ? 'out of date:' : 'wrote'} ${path.slice(root.length)}`)

if (changed.length === 0) console.log('generate: everything is up to date')
if (!factsArePresent)
  console.error(
    `generate: built-in tables left as they are, no facts at ${shared}; set FAIRLEAD_SHARED to the folder that holds kubernetes/schemas.json`,
  )
if (isCheck) process.exitCode = changed.length === 0 ? 0 : 1
else if (!factsArePresent) process.exitCode = 2
