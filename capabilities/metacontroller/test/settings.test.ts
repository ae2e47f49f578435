// The flags of Metacontroller.
import { expect, test } from 'vitest'
import { SettingError } from '@fairlead/controller'
import { parseSettings } from '../src/sync/settings.ts'

test('flags of Metacontroller are taken, also those without effect', () => {
  const settings = parseSettings(
    new Map([
      ['target-label-selector', 'berth in (east)'],
      ['workers', '3'],
      ['discovery-interval', '20s'],
      ['cache-flush-interval', '30m'],
      ['events-qps', '0.1'],
      ['events-burst', '5'],
      ['apply-strategy', 'server-side-apply'],
    ]),
  )
  const { workers, targets, applyManager } = settings
  expect([workers, targets.matches({ berth: 'east' }), targets.matches({}), applyManager]).toEqual([
    3,
    true,
    false,
    'metacontroller',
  ])
})

test.each([
  ['workers', '0', 'workers 0 is no number from 1 to 256'],
  ['target-label-selector', '!!', 'target-label-selector !! is no label selector'],
  ['allow-hook-hosts', 'a.example,http://b', 'allow-hook-hosts http://b is no host: write names'],
  ['apply-strategy', 'merge', 'apply-strategy merge is unknown; there are dynamic-apply and server-side-apply'],
  ['apply-strategy-ssa-field-manager', '', 'apply-strategy-ssa-field-manager must have 1 to 128 characters'],
  ['colour', 'red', 'There is no setting colour; there are target-label-selector, workers'],
])('the setting %s=%s is refused', (name, value, message) => {
  expect(() => parseSettings(new Map([[name, value]]))).toThrow(SettingError)
  expect(() => parseSettings(new Map([[name, value]]))).toThrow(message)
})
