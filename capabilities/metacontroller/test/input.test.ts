import type { KubeObject } from '@fairlead/kube'
import { everything } from '@fairlead/kube'
import { describe, expect, test } from 'vitest'
import { inputFilter, inputRole, parentSelector } from '../src/engine/input.ts'
import type { InputKind } from '../src/engine/resource.ts'
import { claim, claims, namespaces, parent } from './objects.ts'

const noNamespaces = (): undefined => undefined

function role(
  input: KubeObject,
  owner: KubeObject,
  kind: InputKind = claims,
  labelsOf: (namespace: string) => Record<string, string> | undefined = noNamespaces,
): string {
  const selector = parentSelector(owner)
  if (!selector.valid) throw new Error(selector.message)
  return inputRole(input, inputFilter(kind), owner, selector.selector, labelsOf)
}

describe('parentSelector', () => {
  test.each([undefined, null, {}, { matchLabels: {} }, { matchExpressions: [] }])(
    '%j selects everything',
    (selector) => {
      const read = parentSelector(parent({ spec: { selector } }))
      expect(read.valid && read.selector.matches({ any: 'thing' })).toBe(true)
    },
  )

  test('matches everything for a parent without spec', () => {
    expect(parentSelector({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' } })).toEqual({
      valid: true,
      selector: everything,
      matchLabels: {},
    })
  })

  test.each([
    ['app=web', 'must be a label selector, not a string'],
    [[], 'must be a label selector, not a list'],
    [{ matchLabel: { app: 'web' } }, 'has the field matchLabel'],
    [{ matchLabels: { app: 1 } }, 'matchLabels.app must be a string'],
    [{ matchExpressions: [{ key: 'app' }] }, 'must be a list of objects with key, operator and values'],
    [{ matchExpressions: [{ key: 'app', operator: 'In' }] }, 'is invalid'],
    [{ matchExpressions: [{ key: 'app', operator: 'Near', values: ['x'] }] }, 'is invalid'],
    [{ matchLabels: { 'not a key': 'x' } }, 'is invalid'],
  ])('refuses %j, and never reads it as "matches nothing"', (selector, message) => {
    const read = parentSelector(parent({ spec: { selector } }))
    expect(read).toEqual({ valid: false, message: expect.stringContaining(message) })
  })
})

describe('inputRole', () => {
  const owned = (uid: string, controls = true): object => ({
    ownerReferences: [{ apiVersion: 'x/v1', kind: 'X', name: 'x', uid, controller: controls }],
  })

  test.each<[string, KubeObject, KubeObject, InputKind, string]>([
    ['matches', claim('a'), parent(), claims, 'input'],
    ['has other labels', claim('a', { labels: { app: 'other' } }), parent(), claims, 'none'],
    ['has no labels', claim('a', { labels: undefined }), parent(), claims, 'none'],
    ['lives in another namespace', claim('a', { namespace: 'other' }), parent(), claims, 'none'],
    [
      'lives in any namespace, under a cluster-scoped parent',
      claim('a', { namespace: 'other' }),
      parent({ namespace: undefined }),
      claims,
      'input',
    ],
    [
      'is cluster-scoped',
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'n', labels: { app: 'my-app' } } },
      parent(),
      namespaces,
      'input',
    ],
    ['is being deleted', claim('a', { deletionTimestamp: '2026-01-01T00:00:00Z' }), parent(), claims, 'input'],
    ['is controlled by this parent', claim('a', owned('parent-uid')), parent(), claims, 'none'],
    ['is controlled by another parent', claim('a', owned('other-uid')), parent(), claims, 'input'],
    ['is owned, not controlled, by this parent', claim('a', owned('parent-uid', false)), parent(), claims, 'input'],
    [
      'is narrowed out by the input resource',
      claim('a'),
      parent(),
      { ...claims, spec: { ...claims.spec, labelSelector: { matchLabels: { tier: 'gold' } } } },
      'none',
    ],
    [
      'was made by seven maps',
      claim('a', { annotations: { 'metacontroller.k8s.io/map-hops': '7' } }),
      parent(),
      claims,
      'input',
    ],
    [
      'was made by eight maps',
      claim('a', { annotations: { 'metacontroller.k8s.io/map-hops': '8' } }),
      parent(),
      claims,
      'stopped',
    ],
    [
      'has a hop count that is no number',
      claim('a', { annotations: { 'metacontroller.k8s.io/map-hops': 'many' } }),
      parent(),
      claims,
      'input',
    ],
  ])('of an object that %s', (_title, input, owner, kind, expected) => {
    expect(role(input, owner, kind)).toBe(expected)
  })

  test('matches the labels of the namespace when the input resource has a namespaceSelector', () => {
    const gold: InputKind = {
      ...claims,
      spec: { ...claims.spec, namespaceSelector: { matchLabels: { tier: 'gold' } } },
    }
    const labelsOf = (namespace: string): Record<string, string> | undefined =>
      ({ app: { tier: 'gold' }, other: { tier: 'tin' } })[namespace]
    const everywhere = parent({ namespace: undefined })
    expect(
      ['app', 'other', 'unknown'].map((namespace) => role(claim('a', { namespace }), everywhere, gold, labelsOf)),
    ).toEqual(['input', 'none', 'none'])
  })
})
