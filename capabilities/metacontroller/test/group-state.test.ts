// Groups that wait until every kind is known.
import { FakeClock } from '@fairlead/kube'
import { expect, test } from 'vitest'
import { GroupState } from '../src/runtime/group-state.ts'

const group = { parent: 'uid-1', mapKey: 'a' }
const other = { parent: 'uid-1', mapKey: 'b' }
const groupState = (): GroupState => new GroupState(new FakeClock(), () => undefined)

test('a group that waits is released once, when everything is known', () => {
  const state = groupState()
  expect(state.setHeld(group, true, state.releases)).toBe(true)
  expect(state.releaseHeld()).toEqual([group])
  expect(state.releaseHeld()).toEqual([])
})

test('a group is not left waiting by a decision that began before the last kind was known', () => {
  const state = groupState()
  const { releases } = state
  expect(state.setHeld(other, true, releases)).toBe(true)
  expect(state.releaseHeld()).toEqual([other])
  expect(state.setHeld(group, true, releases)).toBe(false)
  expect(state.releaseHeld()).toEqual([])
})

test('a group that need not wait is not enqueued again when others were released meanwhile', () => {
  const state = groupState()
  const { releases } = state
  state.releaseHeld()
  expect(state.setHeld(group, false, releases)).toBe(true)
})
