import { labelValue } from '@fairlead/kube'
import { fc, test as property } from '@fast-check/vitest'
import { describe, expect, test } from 'vitest'
import type { Identity } from '../src/engine/identity.ts'
import { formatIdentity, parseIdentity } from '../src/engine/identity.ts'
import { fractionOf, mapKeyOf } from '../src/engine/map-key.ts'

const text = fc.stringMatching(/^[a-z0-9]([a-z0-9.-]{0,250}[a-z0-9])?$/)
const identity: fc.Arbitrary<Identity> = fc.record({
  group: fc.oneof(fc.constant(''), text),
  kind: fc.stringMatching(/^[A-Z][A-Za-z0-9]{0,62}$/),
  namespace: fc.oneof(fc.constant(''), text),
  name: fc.oneof(text, fc.constantFrom('system:node', 'UPPER', '---', ':', 'a'.repeat(253))),
})

describe('mapKeyOf', () => {
  property.prop([identity])('returns a valid label value of at most 63 characters', (input) => {
    const key = mapKeyOf(input)
    expect(labelValue(key)).toEqual([])
    expect(key.length).toBeLessThanOrEqual(63)
  })

  property.prop([identity, identity])(
    'returns the same key for the same input and different keys for any two',
    (a, b) => {
      expect(mapKeyOf(a) === mapKeyOf(b)).toBe(formatIdentity(a) === formatIdentity(b))
    },
  )

  test('returns different keys when namespace and name, or kind and group, are split differently', () => {
    const inputs: Identity[] = [
      { group: '', kind: 'A', namespace: 'b', name: 'c' },
      { group: '', kind: 'A', namespace: '', name: 'b-c' },
      { group: 'b', kind: 'A', namespace: '', name: 'c' },
      { group: 'b', kind: 'A', namespace: 'b', name: 'c' },
      { group: '', kind: 'A', namespace: 'c', name: 'b' },
    ]
    expect(new Set(inputs.map(mapKeyOf)).size).toBe(inputs.length)
  })

  property.prop([identity])('maps every key to a fraction in [0, 1)', (input) => {
    expect(fractionOf(mapKeyOf(input))).toBeGreaterThanOrEqual(0)
    expect(fractionOf(mapKeyOf(input))).toBeLessThan(1)
  })
})

describe('formatIdentity', () => {
  property.prop([identity.filter(({ name }) => !name.includes('/'))])('is the inverse of parseIdentity', (input) => {
    expect(parseIdentity(formatIdentity(input))).toEqual(input)
  })

  test.each(['', 'ConfigMap', 'ConfigMap/', '/a', 'ConfigMap/a/', 'ConfigMap/a/b/c'])(
    'parseIdentity refuses %j',
    (wrong) => {
      expect(parseIdentity(wrong)).toBeUndefined()
    },
  )
})
