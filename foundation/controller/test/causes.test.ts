// The first causes of an object that is not ready, over objects in memory.
import { findCauses } from '@fairlead/controller'
import type { StateName } from '@fairlead/controller'
import { describe, expect, test } from 'vitest'
import { objectGraph } from '../../../test/support/object-graph.ts'

/** Returns the ways to the causes: `Thing/a > Thing/b`, with the state of the last. */
async function causesOf(
  root: string,
  lines: readonly string[],
  states: Readonly<Record<string, StateName>>,
): Promise<readonly string[]> {
  const { lookup, object } = objectGraph(lines, states)
  const { causes } = await findCauses(object(root), lookup)
  return causes.map(({ steps, cycle }) => {
    const names = steps.map(({ node: { reference } }) => `${reference.kind}/${reference.name}`)
    return `${names.join(' > ')} ${steps.at(-1)!.node.state}${cycle === undefined ? '' : ` (and back over ${cycle.length})`}`
  })
}

describe('the causes of an object', () => {
  test('are none when it is ready', async () => {
    expect(await causesOf('Thing/a', ['Thing/a refers-to Thing/b'], {})).toEqual([])
  })

  test('are its own state when all that it waits for is ready', async () => {
    expect(await causesOf('Thing/a', ['Thing/a refers-to Thing/b'], { 'Thing/a': 'NotReady' })).toEqual([
      'Thing/a NotReady',
    ])
  })

  test('are the ends of the ways along what it refers to, follows and made', async () => {
    const lines = [
      'Thing/a refers-to Thing/b',
      'Thing/b refers-to Thing/missing',
      'Thing/up upstream-of Thing/a',
      'Thing/made made-from Thing/a',
      'Thing/a input-of Controller/c',
    ]
    const states = {
      'Thing/a': 'Waiting',
      'Thing/b': 'Waiting',
      'Thing/missing': 'Missing',
      'Thing/up': 'Waiting',
      'Thing/made': 'NotReady',
      'Controller/c': 'NotReady',
    } as const
    expect((await causesOf('Thing/a', lines, states)).toSorted()).toEqual([
      'Thing/a > Controller/c NotReady',
      'Thing/a > Thing/b > Thing/missing Missing',
      'Thing/a > Thing/made NotReady',
      'Thing/a > Thing/up Waiting',
    ])
  })

  test('are not among the siblings of an object, nor what it was made from', async () => {
    const lines = ['Thing/a made-from Parent/p', 'Thing/sibling made-from Parent/p', 'Other/o refers-to Thing/a']
    const states = {
      'Thing/a': 'Waiting',
      'Parent/p': 'Waiting',
      'Thing/sibling': 'NotReady',
      'Other/o': 'NotReady',
    } as const
    expect(await causesOf('Thing/a', lines, states)).toEqual(['Thing/a Waiting'])
  })

  test('of a ready object are those that it depends on all the same', async () => {
    const lines = ['Thing/a refers-to Thing/b']
    expect(await causesOf('Thing/a', lines, { 'Thing/b': 'NotReady' })).toEqual(['Thing/a > Thing/b NotReady'])
  })

  test('end at a ready object', async () => {
    const lines = ['Thing/a refers-to Thing/b', 'Thing/b refers-to Thing/c']
    expect(await causesOf('Thing/a', lines, { 'Thing/a': 'Waiting', 'Thing/c': 'NotReady' })).toEqual([
      'Thing/a Waiting',
    ])
  })

  test('are not along a relation that holds, whatever the state of its end', async () => {
    const lines = ['Thing/a refers-to Thing/b holds', 'Thing/a refers-to Thing/c']
    expect(await causesOf('Thing/a', lines, { 'Thing/a': 'Waiting', 'Thing/b': 'NotReady' })).toEqual([
      'Thing/a Waiting',
    ])
  })

  test('are at the end of a relation that waits, even where that is fine', async () => {
    expect(await causesOf('Thing/a', ['Thing/a refers-to Thing/b waits'], { 'Thing/b': 'Exists' })).toEqual([
      'Thing/a > Thing/b Exists',
    ])
  })

  test('include an object that cannot be explained by what cannot be read', async () => {
    const lines = ['Thing/a refers-to Thing/b', 'Thing/b refers-to Thing/secret']
    const states = { 'Thing/a': 'Waiting', 'Thing/b': 'Waiting', 'Thing/secret': 'Unknown' } as const
    expect(await causesOf('Thing/a', lines, states)).toEqual([
      'Thing/a > Thing/b Waiting',
      'Thing/a > Thing/b > Thing/secret Unknown',
    ])
  })

  test('that cannot be read come last and are not ready', async () => {
    const lines = ['Thing/a refers-to Thing/b', 'Thing/a refers-to Thing/c']
    const states = { 'Thing/a': 'Waiting', 'Thing/b': 'Unknown', 'Thing/c': 'NotReady' } as const
    expect(await causesOf('Thing/a', lines, states)).toEqual([
      'Thing/a > Thing/c NotReady',
      'Thing/a > Thing/b Unknown',
    ])
  })

  test('of objects that wait for each other are the cycle', async () => {
    const lines = ['Thing/a refers-to Thing/b', 'Thing/b refers-to Thing/c', 'Thing/c refers-to Thing/b']
    const states = { 'Thing/a': 'Waiting', 'Thing/b': 'Waiting', 'Thing/c': 'Waiting' } as const
    expect(await causesOf('Thing/a', lines, states)).toEqual(['Thing/a > Thing/b Waiting (and back over 2)'])
  })
})
