// Updates of random packages beside the installed kpt. `test/long/kpt-updates.ts` tries many more.
import { describe, expect, test } from 'vitest'
import { patience } from '../../../test/support/until.ts'
import { compareUpdates, kptVersion } from './kpt-comparison.ts'
import { countRules } from './kpt-rules.ts'

const version = kptVersion()
if (version === undefined) console.log('skipped: package updates beside kpt: kpt is not installed')

describe.runIf(version !== undefined)('updates beside kpt', () => {
  test('differ from it only by the named rules', { timeout: 3 * patience }, () => {
    expect(countRules(compareUpdates(40, 1, [0, 40])).unexplained).toEqual([])
  })
})
