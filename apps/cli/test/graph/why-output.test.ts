// What `fairlead why` says: the way to each cause, the next step, and never that something is ready that is not known to
// be.
import { findCauses } from '@fairlead/controller'
import type { StateName } from '@fairlead/controller'
import { describe, expect, test } from 'vitest'
import { objectGraph } from '../../../../test/support/object-graph.ts'
import { verdictOf } from '../../src/graph/verdict.ts'
import { whyLines } from '../../src/graph/why-text.ts'

const forbidden = { reason: 'Forbidden', verb: 'list', resource: 'things.test.dev', message: 'no' } as const

async function why(
  root: string,
  lines: readonly string[],
  states: Readonly<Record<string, StateName>> = {},
  { isFull = false, unreadable = false }: { readonly isFull?: boolean; readonly unreadable?: boolean } = {},
) {
  const { lookup, object } = objectGraph(lines, states)
  const causes = await findCauses(object(root), lookup)
  return {
    lines: whyLines(causes, new Map(), isFull),
    verdict: verdictOf(causes, unreadable ? [forbidden] : []),
  }
}

describe('why', () => {
  test('leads to the first causes, with what to do next', async () => {
    const lines = [
      'Thing/made made-from Thing/a',
      'Thing/made refers-to Thing/gone',
      'Thing/a refers-to Thing/secret',
      'Package/up upstream-of Thing/a',
      'Thing/a input-of Controller/c',
    ]
    const states = {
      'Thing/a': 'NotReady',
      'Thing/made': 'Waiting',
      'Thing/gone': 'Missing',
      'Thing/secret': 'Unknown',
      'Package/up': 'Waiting',
      'Controller/c': 'NotReady',
    } as const
    expect(await why('Thing/a', lines, states)).toEqual({
      lines: [
        '✗ Thing/a in team is not ready: Because: Thing/a says so',
        '',
        'It waits for:',
        '├─ follows … Package/up  Waiting',
        '│    Because: Package/up says so',
        '├─ read by ✗ Controller/c  Not ready',
        '│    Because: Controller/c says so',
        '├─ makes … Thing/made  Waiting, Because: Thing/made says so',
        '│  └─ refers to ∅ Thing/gone  Missing',
        '│       next: create the Thing gone in namespace team, or correct what names it',
        '└─ refers to ? Thing/secret  Cannot be read',
        '     Forbidden: ann may not get things.test.dev',
        '     next: have the right to get things.test.dev granted',
      ],
      verdict: 'NotReady',
    })
  })

  test('names the objects of a cycle', async () => {
    const states = { 'Thing/a': 'Waiting', 'Thing/b': 'Waiting' } as const
    expect((await why('Thing/a', ['Thing/a refers-to Thing/b', 'Thing/b refers-to Thing/a'], states)).lines).toEqual([
      '… Thing/a in team is not ready yet: Because: Thing/a says so',
      '  it waits for Thing/b, which waits for Thing/a: a cycle',
    ])
  })

  test('counts causes that differ in their names only', async () => {
    const names = Array.from({ length: 500 }, (_one, index) => `Part/${index}`)
    const states = Object.fromEntries([['Thing/a', 'NotReady'], ...names.map((name) => [name, 'Waiting'])]) as Readonly<
      Record<string, StateName>
    >
    const lines = names.map((name) => `${name} made-from Thing/a`)
    const { lines: counted } = await why('Thing/a', lines, states)
    expect(counted.slice(2)).toEqual([
      'It waits for:',
      '├─ makes … Part/0  Waiting',
      '│    Because: Part/0 says so',
      '├─ makes … Part/1  Waiting',
      '│    Because: Part/1 says so',
      '└─ makes … Part/2  Waiting',
      '     Because: Part/2 says so',
      '     and 497 more parts like this (--all shows each)',
    ])
    expect((await why('Thing/a', lines, states, { isFull: true })).lines.length).toBe(3 + 1000)
  })

  test('does not call what cannot be read not ready', async () => {
    const states = { 'Thing/a': 'Exists', 'Thing/b': 'Unknown' } as const
    expect((await why('Thing/a', ['Thing/a refers-to Thing/b'], states)).lines.slice(0, 4)).toEqual([
      '· Thing/a in team exists; nothing of its kind says whether it is ready',
      '',
      'It depends on this, which cannot be read:',
      '└─ refers to ? Thing/b  Cannot be read',
    ])
  })

  test('says of a ready object what it depends on that is not', async () => {
    expect(await why('Thing/a', ['Thing/a refers-to Thing/b'], { 'Thing/b': 'NotReady' })).toEqual({
      lines: [
        '✓ Thing/a in team is ready',
        '',
        'It is ready all the same, though this is not:',
        '└─ refers to ✗ Thing/b  Not ready',
        '     Because: Thing/b says so',
      ],
      verdict: 'Ready',
    })
  })

  test.each<[string, Readonly<Record<string, StateName>>, boolean, string]>([
    ['ready by its own state, whatever cannot be read', {}, true, 'Ready'],
    ['ready when nothing of its kind says so and nothing is waited for', { 'Thing/a': 'Exists' }, false, 'Ready'],
    ['unknown when nothing of its kind says so and a list cannot be read', { 'Thing/a': 'Exists' }, true, 'Unknown'],
    [
      'unknown when nothing of its kind says so and what it names cannot be read',
      { 'Thing/a': 'Exists', 'Thing/b': 'Unknown' },
      false,
      'Unknown',
    ],
    [
      'not ready when nothing of its kind says so and what it names is missing',
      { 'Thing/a': 'Exists', 'Thing/b': 'Missing' },
      true,
      'NotReady',
    ],
    ['not ready while it is being deleted', { 'Thing/a': 'Terminating' }, false, 'NotReady'],
  ])('an object is %s', async (_title, states, unreadable, verdict) => {
    expect((await why('Thing/a', ['Thing/a refers-to Thing/b'], states, { unreadable })).verdict).toBe(verdict)
  })
})
