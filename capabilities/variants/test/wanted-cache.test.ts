// The downstreams of a set are computed again when an input of its expressions changes, and only then.
import { expect, test } from 'vitest'
import { WantedCache } from '../src/runtime/wanted-cache.ts'

const spec = {
  upstream: { repo: 'catalog', package: 'web' },
  targets: [
    {
      objectSelector: { apiVersion: 'v1', kind: 'ConfigMap' },
      template: { downstream: { repo: 'edge', packageExpr: 'target.name' } },
    },
  ],
} as never

const selectable = (name: string, labels: object = {}): never => ({ name, labels, annotations: {} }) as never
const upstream = (name: string): never =>
  ({ revision: selectable(name), reference: { repo: 'catalog', package: 'web' } }) as never

test('the downstreams of a set are computed again when one of their inputs changes', () => {
  const cache = new WantedCache()
  const sources = (objects: readonly string[], labels: object = {}): never =>
    ({
      repositories: [selectable('edge', labels)],
      objects: () => ({ objects: objects.map((name) => selectable(name)) }),
    }) as never
  const first = cache.get('team-a/fleet', spec, upstream('v1'), sources(['red']))
  expect(first.wanted.map((one) => one.package)).toEqual(['red'])
  expect(cache.get('team-a/fleet', spec, upstream('v1'), sources(['red']))).toBe(first)
  expect(cache.get('team-a/other', spec, upstream('v1'), sources(['red']))).not.toBe(first)
  const changes = [
    cache.get('team-a/fleet', spec, upstream('v2'), sources(['red'])),
    cache.get('team-a/fleet', spec, upstream('v2'), sources(['red'], { region: 'east' })),
    cache.get('team-a/fleet', spec, upstream('v2'), sources(['red', 'blue'])),
    cache.get(
      'team-a/fleet',
      { ...(spec as object), rollout: { pause: true } } as never,
      upstream('v2'),
      sources(['red']),
    ),
  ]
  expect(new Set([first, ...changes]).size).toBe(5)
  expect(changes[2]!.wanted.map((one) => one.package)).toEqual(['blue', 'red'])
})
