// The graph of what an object comes from and what comes of it, over objects in memory.
import { exploreGraph } from '@fairlead/controller'
import type { GraphOptions, StateName } from '@fairlead/controller'
import { describe, expect, test } from 'vitest'
import { objectGraph } from '../../../test/support/object-graph.ts'

/** Returns names of nodes with the states that are not Ready, and edges. */
async function explored(
  root: string,
  lines: readonly string[],
  options: GraphOptions & { readonly states?: Readonly<Record<string, StateName>> } = {},
) {
  const { lookup, object } = objectGraph(lines, options.states)
  const { nodes, edges, leftOut } = await exploreGraph(object(root), lookup, options)
  const nameOf = ({ kind, name }: { readonly kind: string; readonly name: string }): string => `${kind}/${name}`
  return {
    nodes: [...nodes.values()].map(
      ({ reference, state }) => nameOf(reference) + (state === 'Ready' ? '' : ` ${state}`),
    ),
    edges: edges.map(({ type, from, to }) => `${nameOf(from)} ${type} ${nameOf(to)}`),
    leftOut,
  }
}

const chain = [
  'Thing/made made-from Thing/input',
  'Thing/made made-from Parent/one',
  'Thing/made2 made-from Parent/one',
  'Parent/one refers-to Controller/c',
  'Thing/input input-of Controller/c',
]

describe('the graph of an object', () => {
  test('has what it comes from, up to the controllers, and not what else comes of them', async () => {
    expect(await explored('Thing/made', chain)).toEqual({
      nodes: ['Thing/made', 'Thing/input', 'Parent/one', 'Controller/c'],
      edges: [
        'Thing/made made-from Thing/input',
        'Thing/made made-from Parent/one',
        'Thing/input input-of Controller/c',
        'Parent/one refers-to Controller/c',
      ],
      leftOut: 0,
    })
  })

  test('has everything that comes of a controller', async () => {
    const { nodes } = await explored('Controller/c', chain)
    expect(nodes).toEqual(['Controller/c', 'Parent/one', 'Thing/input', 'Thing/made', 'Thing/made2'])
  })

  test('goes one way and as many steps as it is limited to', async () => {
    expect((await explored('Parent/one', chain, { direction: 'up' })).nodes).toEqual(['Parent/one', 'Controller/c'])
    expect((await explored('Controller/c', chain, { direction: 'down', depth: 1 })).nodes).toEqual([
      'Controller/c',
      'Parent/one',
      'Thing/input',
    ])
  })

  test('ends at objects that are missing or cannot be read', async () => {
    const states = { 'Thing/gone': 'Missing', 'Thing/secret': 'Unknown' } as const
    const lines = [
      'Thing/a refers-to Thing/gone',
      'Thing/a refers-to Thing/secret',
      'Thing/gone refers-to Thing/b',
      'Thing/secret refers-to Thing/b',
    ]
    const { nodes } = await explored('Thing/a', lines, { states })
    expect(nodes).toEqual(['Thing/a', 'Thing/gone Missing', 'Thing/secret Unknown'])
  })

  test('ends in a cycle, and looks up each object once', async () => {
    const lines = ['Thing/a refers-to Thing/b', 'Thing/b refers-to Thing/c', 'Thing/c refers-to Thing/a']
    const { lookup, object, visited } = objectGraph(lines)
    const { edges } = await exploreGraph(object('Thing/a'), lookup)
    expect(edges.length).toBe(3)
    expect(visited.toSorted()).toEqual(['Thing/a', 'Thing/b', 'Thing/c'])
  })

  test('leaves out what is beyond the number of objects, and counts it', async () => {
    const lines = Array.from({ length: 20 }, (_one, index) => `Thing/${index} made-from Parent/one`)
    const { nodes, edges, leftOut } = await explored('Parent/one', lines, { maxObjects: 5 })
    expect([nodes.length, edges.length, leftOut]).toEqual([5, 4, 16])
  })

  test('follows the content of packages, and the inputs of namespaced readers', async () => {
    const lines = [
      'Package/up upstream-of Variant/v',
      'Thing/input input-of Variant/v',
      'Package/down made-from Variant/v',
    ]
    expect((await explored('Variant/v', lines, { direction: 'up' })).nodes).toEqual([
      'Variant/v',
      'Package/up',
      'Thing/input',
    ])
    expect((await explored('Package/up', lines, { direction: 'down' })).nodes).toEqual([
      'Package/up',
      'Variant/v',
      'Package/down',
    ])
  })
})
