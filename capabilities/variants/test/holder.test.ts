// The variant that has a downstream package.
import { expect, test } from 'vitest'
import { holderOf } from '@fairlead/variants'

test('the oldest variant has the package; within one second the one that has made revisions of it', () => {
  const claim = (
    name: string,
    creationTimestamp: string,
    hasRevisions = false,
  ): Parameters<typeof holderOf>[0][number] => ({
    name,
    uid: name,
    creationTimestamp,
    hasRevisions,
  })
  const [early, late] = ['2026-01-01T00:00:00Z', '2026-01-01T00:00:01Z']
  expect(holderOf([claim('a', late, true), claim('b', early)])?.name).toBe('b')
  expect(holderOf([claim('a', early), claim('b', early, true)])?.name).toBe('b')
  expect(holderOf([claim('b', early), claim('a', early)])?.name).toBe('a')
  expect(holderOf([])).toBeUndefined()
})
