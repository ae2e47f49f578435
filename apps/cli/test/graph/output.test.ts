// The forms of a graph: a tree with counts, cycles and what is shown above, and diagrams.
import { exploreGraph } from '@fairlead/controller'
import type { GraphDirection, StateName } from '@fairlead/controller'
import { describe, expect, test } from 'vitest'
import { objectGraph } from '../../../../test/support/object-graph.ts'
import { dotText, mermaidText } from '../../src/graph/diagram.ts'
import { graphData } from '../../src/graph/graph-data.ts'
import { treeLines } from '../../src/graph/tree.ts'

interface Options {
  readonly states?: Readonly<Record<string, StateName>>
  readonly direction?: GraphDirection
  readonly isFull?: boolean
}

async function graphOf(root: string, lines: readonly string[], { states, direction }: Options = {}) {
  const { lookup, object } = objectGraph(lines, states)
  return exploreGraph(object(root), lookup, { direction })
}

async function tree(root: string, lines: readonly string[], options: Options = {}): Promise<readonly string[]> {
  const { direction = 'both', isFull = false } = options
  return treeLines(await graphOf(root, lines, options), direction, isFull)
}

describe('a tree', () => {
  test('has what an object comes from, and what comes of it, each with its state', async () => {
    const lines = [
      'Thing/a made-from Thing/input',
      'Thing/a made-from Parent/one',
      'Parent/one refers-to Controller/c',
      'Thing/a refers-to Thing/gone',
      'Thing/a refers-to Thing/secret',
      'Variant/v made-from Thing/a',
      'Thing/a upstream-of Variant/w',
    ]
    const states = {
      'Thing/a': 'NotReady',
      'Thing/input': 'Exists',
      'Thing/gone': 'Missing',
      'Thing/secret': 'Unknown',
      'Variant/v': 'Terminating',
      'Variant/w': 'Waiting',
    } as const
    expect(await tree('Thing/a', lines, { states })).toEqual([
      '✗ Thing/a in team  Not ready, Because: Thing/a says so',
      '',
      'Comes from',
      '├─ refers to ∅ Thing/gone  Missing',
      '├─ refers to ? Thing/secret  Cannot be read, Forbidden: ann may not get things.test.dev',
      '├─ made from ✓ Parent/one  Ready',
      '│  └─ refers to ✓ Controller/c  Ready',
      '└─ made from · Thing/input',
      '',
      'Leads to',
      '├─ followed by … Variant/w  Waiting, Because: Variant/w says so',
      '└─ makes ⊘ Variant/v  Being deleted, Because: Variant/v says so',
    ])
  })

  test('cuts cycles, and shows what is below an object once', async () => {
    const lines = [
      'Thing/b refers-to Thing/a',
      'Thing/c refers-to Thing/b',
      'Thing/a refers-to Thing/c',
      'Thing/d refers-to Thing/a',
      'Thing/d refers-to Thing/b',
    ]
    expect(await tree('Thing/d', lines, { direction: 'up' })).toEqual([
      '✓ Thing/d in team  Ready',
      '',
      'Comes from',
      '├─ refers to ✓ Thing/a  Ready',
      '│  └─ refers to ✓ Thing/c  Ready',
      '│     └─ refers to ✓ Thing/b  Ready',
      '│        └─ refers to ✓ Thing/a  Ready  (a cycle: see above)',
      '└─ refers to ✓ Thing/b  Ready  (see above)',
    ])
  })

  test('counts many equal objects, and names those that differ', async () => {
    const inputs = Array.from({ length: 1000 }, (_one, index) => index)
    const lines = inputs.flatMap((index) => [
      `Thing/input-${index} input-of Controller/c`,
      `Output/made-${index} made-from Thing/input-${index}`,
    ])
    const states = { 'Output/made-7': 'NotReady' } as const
    expect(await tree('Controller/c', lines, { states })).toEqual([
      '✓ Controller/c  Ready',
      '',
      'Leads to',
      '├─ reads ✓ 999 things  Ready, each with 1 below (--all shows each)',
      '└─ reads ✓ Thing/input-7 in team  Ready',
      '   └─ makes ✗ Output/made-7 in team  Not ready, Because: Output/made-7 says so',
    ])
    const full = await tree('Controller/c', lines, { states, isFull: true })
    expect(full.length).toBe(3 + 2000)
  })

  test('says what a relation waits for whose ends are fine', async () => {
    expect(await tree('Thing/a', ['Thing/a refers-to Thing/b waits', 'Thing/a refers-to Thing/c holds'])).toEqual([
      '✓ Thing/a in team  Ready',
      '',
      'Comes from',
      '├─ refers to ✓ Thing/b  Ready  (waits: ValueMissing: it has no value)',
      '└─ refers to ✓ Thing/c  Ready',
    ])
  })

  test('says that nothing is known', async () => {
    expect(await tree('Thing/a', [])).toEqual([
      '✓ Thing/a in team  Ready',
      '',
      'It comes from nothing that is known, and nothing comes of it.',
    ])
  })

  test('prints no control characters of messages', async () => {
    const { lookup, object } = objectGraph([], { 'Thing/a': 'NotReady' })
    const one = { ...object('Thing/a'), metadata: { ...object('Thing/a').metadata, name: 'a\u001b[2J' } }
    const graph = await exploreGraph(one, lookup)
    expect(treeLines(graph, 'both', false)[0]).toContain(String.raw`Thing/a\u001b[2J in team`)
  })
})

const diagramLines = [
  'Thing/a made-from Parent/one',
  'Parent/one refers-to Controller/c',
  ...Array.from({ length: 12 }, (_one, index) => `Part/${index} made-from Thing/a`),
]

test('a Mermaid diagram has a box for each object or group, and arrows from what comes first', async () => {
  const text = mermaidText(await graphOf('Thing/a', diagramLines, { states: { 'Thing/a': 'NotReady' } }), 'both', false)
  expect(text.split('\n')).toEqual([
    'flowchart LR',
    '  n0["Thing/a<br/>✗ Not ready"]:::NotReady',
    '  n1["Parent/one<br/>✓ Ready"]:::Ready',
    '  n2["Controller/c<br/>✓ Ready"]:::Ready',
    '  n3["12 parts<br/>✓ Ready"]:::Ready',
    '  n1 -->|makes| n0',
    '  n2 -->|named by| n1',
    '  n0 -->|makes| n3',
    '  classDef Ready stroke:#2e7d32',
    '  classDef NotReady stroke:#c62828,stroke-width:3px',
  ])
})

test('a Graphviz diagram has the same boxes and arrows', async () => {
  const text = dotText(
    await graphOf('Thing/a', diagramLines.slice(0, 1), { states: { 'Thing/a': 'Waiting' } }),
    'both',
    false,
  )
  expect(text.split('\n')).toEqual([
    'digraph relations {',
    '  rankdir=LR',
    '  node [shape=box]',
    String.raw`  n0 [label="Thing/a\n… Waiting", color="#f9a825", penwidth=2]`,
    String.raw`  n1 [label="Parent/one\n✓ Ready", color="#2e7d32"]`,
    '  n1 -> n0 [label="makes"]',
    '}',
  ])
})

test('JSON has every object once, in a stable order', async () => {
  const lines = ['Thing/b made-from Thing/a', 'Thing/b refers-to Thing/gone']
  const graph = await graphOf('Thing/b', lines, { states: { 'Thing/gone': 'Missing' } })
  const node = (name: string, state: string, reason = '', message = '') => ({
    id: `test.dev/Thing/team/${name}`,
    apiVersion: 'test.dev/v1',
    kind: 'Thing',
    namespace: 'team',
    name,
    state,
    reason,
    message,
  })
  expect(graphData(graph, [])).toEqual({
    root: 'test.dev/Thing/team/b',
    nodes: [
      node('a', 'Ready'),
      node('b', 'Ready'),
      {
        ...node('gone', 'Missing', 'NotFound', 'it does not exist'),
        next: 'create the Thing gone in namespace team, or correct what names it',
      },
    ],
    edges: [
      { type: 'made-from', from: 'test.dev/Thing/team/b', to: 'test.dev/Thing/team/a' },
      { type: 'refers-to', from: 'test.dev/Thing/team/b', to: 'test.dev/Thing/team/gone' },
    ],
    unreadable: [],
    leftOut: 0,
  })
})
