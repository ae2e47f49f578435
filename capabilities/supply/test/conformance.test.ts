// The conformance data: engine cases and cartotest samples. `npm run test:kuttl` runs the kuttl cases.
import { supply } from '@fairlead/supply'
import { expect, test } from 'vitest'
import { runFile } from '../../../test/conformance/cases/run.ts'
import { dataPath, describeData, readDataJson } from '../../../test/support/conformance-data.ts'

const file = ['cases', 'cartographer.json'] as const
const samples = dataPath('third-party', 'cartographer', 'tests', 'templates')
const cases = () => (readDataJson(...file) as unknown as { cases: readonly unknown[] }).cases

describeData('conformance data of supply chains', { minimum: 70, read: cases }, () => {
  test('every engine case agrees', async () => {
    const results = await runFile(dataPath(...file))
    expect(results.filter(({ outcome }) => outcome === 'failed')).toEqual([])
    expect(results.length).toBeGreaterThan(70)
  })

  test('the samples of cartotest pass', async () => {
    const out: string[] = []
    const command = (await supply.commands!()).find(({ name }) => name === 'test')!
    const context = {
      arguments: [samples],
      options: {},
      out: (text: string) => void out.push(text),
      err: (text: string) => void out.push(text),
    }
    expect(await command.run(context as never)).toBe(0)
    expect(out.at(-1)).toMatch(/^[5-7] passed, 0 failed(?:, [12] skipped)?$/)
  })
})
