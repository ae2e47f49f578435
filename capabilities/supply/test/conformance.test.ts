// The suites of the conformance data, where it is there: the engine cases, the samples of cartotest. `npm run test:kuttl` plays the clusters.
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { supply } from '@fairlead/supply'
import { describe, expect, test } from 'vitest'
import { runFile } from '../../../test/conformance/cases/run.ts'

const shared = resolve(import.meta.dirname, '../../..', process.env['FAIRLEAD_SHARED'] ?? '../shared')
const cases = join(shared, 'cases', 'cartographer.json')
const samples = join(shared, 'third-party', 'cartographer', 'tests', 'templates')

describe.skipIf(!existsSync(cases))('the conformance data of supply chains (skipped without FAIRLEAD_SHARED)', () => {
  test('agrees with every engine case', async () => {
    const results = await runFile(cases)
    expect(results.filter(({ outcome }) => outcome === 'failed')).toEqual([])
    expect(results.length).toBeGreaterThan(70)
  })

  test('passes the samples of cartotest', async () => {
    const out: string[] = []
    const command = (await supply.commands!()).find(({ name }) => name === 'test')!
    const context = {
      arguments: [samples],
      options: {},
      out: (text: string) => void out.push(text),
      err: (text: string) => void out.push(text),
    }
    expect(await command.run(context as never)).toBe(0)
    expect(out.at(-1)).toMatch(/^[5-7] passed, 0 failed$/)
  })
})
