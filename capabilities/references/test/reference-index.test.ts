// The reference index: who is woken by what, and which objects are in a cycle.
import type { KubeObject } from '@fairlead/kube'
import { fc, test as property } from '@fast-check/vitest'
import { describe, expect, test } from 'vitest'
import { ReferenceIndex, cyclesOf, idKey } from '../src/index.ts'
import type { Edge, Lookup, ObjectId } from '../src/index.ts'

const id = (name: string, kind = 'A'): ObjectId => ({ group: 'g', kind, namespace: 'n', name })
const edge = (to: ObjectId, waitFor: Edge['waitFor'] = 'Synced'): Edge => ({ to, waitFor, valuePath: 'status.id' })

function referent(value: string, synced: 'True' | 'False' = 'True', counter = 0): Lookup {
  const conditions = [{ type: 'ACK.ResourceSynced', status: synced, reason: '', message: '' }]
  const object: KubeObject = {
    apiVersion: 'g/v1',
    kind: 'B',
    metadata: { name: 'b', uid: 'u', generation: 1 },
    status: { id: value, counter, conditions },
  }
  return { state: 'found', object }
}

describe('a referent', () => {
  test('wakes each dependent once for each change of value or readiness', () => {
    const index = new ReferenceIndex()
    const names = Array.from({ length: 1000 }, (_, at) => `a${at}`)
    for (const name of names) index.set(id(name), [edge(id('b', 'B'))])
    const b = id('b', 'B')
    const woken = (found: Lookup): number => index.changed(b, found).length
    expect([
      woken(referent('1', 'False')),
      woken(referent('1', 'False', 1)),
      woken(referent('1')),
      woken(referent('1', 'True', 2)),
      woken(referent('2')),
      woken({ state: 'absent' }),
      woken({ state: 'absent' }),
    ]).toEqual([1000, 0, 1000, 0, 1000, 1000, 0])
  })

  test('wakes only those that see the change', () => {
    const index = new ReferenceIndex()
    const b = id('b', 'B')
    index.set(id('waits'), [edge(b)])
    index.set(id('takes'), [edge(b, 'Value')])
    index.changed(b, referent('1', 'False'))
    expect(index.changed(b, referent('1', 'True')).map(({ name }) => name)).toEqual(['waits'])
  })

  test('has no dependents after their references changed', () => {
    const index = new ReferenceIndex()
    const [b, c] = [id('b', 'B'), id('c', 'B')]
    index.set(id('a'), [edge(b), edge(b)])
    index.set(id('a'), [edge(c)])
    expect([index.dependentsOf(b), index.dependentsOf(c), index.referentsOf('g', 'B')]).toEqual([[], [id('a')], [c]])
    index.delete(id('a'))
    expect([index.dependentsOf(c), index.referentsOf('g', 'B')]).toEqual([[], []])
  })
})

const nodes = fc.constantFrom('a', 'b', 'c', 'd', 'e')
const graph = fc.array(fc.tuple(nodes, nodes), { maxLength: 12 })

/** Returns the nodes that are reachable over at least one edge. */
function reachable(edges: readonly (readonly [string, string])[], from: string): Set<string> {
  const seen = new Set<string>()
  const open = [from]
  for (let node = open.pop(); node !== undefined; node = open.pop())
    for (const [start, end] of edges)
      if (start === node && !seen.has(end)) {
        seen.add(end)
        open.push(end)
      }
  return seen
}

describe('cycles', () => {
  property.prop([graph])('are the sets of nodes that reach each other', (edges) => {
    const cycles = cyclesOf(edges)
    for (const one of ['a', 'b', 'c', 'd', 'e'])
      for (const other of ['a', 'b', 'c', 'd', 'e']) {
        const together = cycles.some((component) => component.includes(one) && component.includes(other))
        expect(together).toBe(reachable(edges, one).has(other) && reachable(edges, other).has(one))
      }
  })

  property.prop([graph, nodes, nodes])('of the index are those of its graph', (edges, from, to) => {
    const index = new ReferenceIndex()
    for (const node of new Set(edges.map(([start]) => start)))
      index.set(
        id(node),
        edges.filter(([start]) => start === node).map(([, end]) => edge(id(end))),
      )
    const expected = cyclesOf(edges).find((component) => component.includes(from) && component.includes(to))
    expect(index.cycle(id(from), id(to))?.objects.map(idKey)).toEqual(expected?.map((node) => idKey(id(node))))
  })

  property.prop([graph, graph, nodes, nodes])('follow references that change', (before, after, from, to) => {
    const index = new ReferenceIndex()
    for (const edges of [before, after])
      for (const node of ['a', 'b', 'c', 'd', 'e'])
        index.set(
          id(node),
          edges.filter(([start]) => start === node).map(([, end]) => edge(id(end))),
        )
    const expected = cyclesOf(after).find((component) => component.includes(from) && component.includes(to))
    expect(index.cycle(id(from), id(to))?.objects.map(idKey)).toEqual(expected?.map((node) => idKey(id(node))))
  })

  test('are not searched for in a long chain without one', () => {
    const index = new ReferenceIndex()
    const length = 20_000
    // A search from each object would take 200 million steps.
    for (let at = 0; at < length; at++) index.set(id(`a${at}`), [edge(id(`a${at + 1}`))])
    const found = Array.from({ length }, (_, at) => index.cycle(id(`a${at}`), id(`a${at + 1}`)))
    expect(found.every((one) => one === undefined)).toBe(true)
    index.set(id(`a${length}`), [edge(id('a0'))])
    expect(index.cycle(id('a7'), id('a8'))?.objects.length).toBe(length + 1)
  })

  test('of 100,000 objects in a row need no recursion', () => {
    const edges = Array.from({ length: 100_000 }, (_, at): readonly [string, string] => [`${at}`, `${at + 1}`])
    expect(cyclesOf([...edges, ['100000', '0']])[0]?.length).toBe(100_001)
  })
})
