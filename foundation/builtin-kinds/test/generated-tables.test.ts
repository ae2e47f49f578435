// The generated tables of built-in kinds are up to date.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { builtinTables } from '../../../scripts/generate/builtin-tables.ts'
import { dataPath, describeData } from '../../../test/support/conformance-data.ts'

const root = fileURLToPath(new URL('../../..', import.meta.url))

const tables = () => builtinTables(dataPath('kubernetes'))

describeData('generated tables of built-in kinds', { minimum: 4, read: tables }, (generated) => {
  test.each(generated)("$name equals the generator's output", ({ name, text }) => {
    expect(readFileSync(join(root, 'foundation/builtin-kinds/src/generated', name), 'utf8') === text).toBe(true)
  })
})
