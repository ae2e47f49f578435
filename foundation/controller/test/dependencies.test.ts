import { Dependencies } from '@fairlead/controller'
import type { Read } from '@fairlead/controller'
import { kind } from '@fairlead/client'
import { everything, nothing, parseLabelSelector } from '@fairlead/kube'
import type { KubeObject } from '@fairlead/kube'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'

const ConfigMap = kind('v1', 'ConfigMap')
const Secret = kind('v1', 'Secret')

function object(namespace: string, name: string, labels: Record<string, string> = {}): KubeObject {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace, name, labels } }
}
const key = (namespace: string, name: string): Read => ({ kind: ConfigMap, key: { namespace, name } })
const select = (text: string, namespace?: string): Read => ({
  kind: ConfigMap,
  namespace,
  selector: text === '-' ? nothing : parseLabelSelector(text),
})

describe('dependencies', () => {
  test.each<[string, Read, KubeObject, KubeObject | undefined, boolean]>([
    ['the key itself', key('a', 'x'), object('a', 'x'), undefined, true],
    ['another name', key('a', 'x'), object('a', 'y'), undefined, false],
    ['another namespace', key('a', 'x'), object('b', 'x'), undefined, false],
    ['a selector that matches', select('app=web'), object('a', 'x', { app: 'web' }), undefined, true],
    ['a selector that does not match', select('app=web'), object('a', 'x', { app: 'db' }), undefined, false],
    [
      'an object that left the selector',
      select('app=web'),
      object('a', 'x', { app: 'db' }),
      object('a', 'x', { app: 'web' }),
      true,
    ],
    [
      'an object that entered the selector',
      select('app=web'),
      object('a', 'x', { app: 'web' }),
      object('a', 'x', {}),
      true,
    ],
    ['a selector in one namespace', select('app=web', 'a'), object('b', 'x', { app: 'web' }), undefined, false],
    ['a selector without equality', select('!app'), object('a', 'x'), undefined, true],
    ['a set of one', select('app in (web)'), object('a', 'x', { app: 'web' }), undefined, true],
    ['a set of two', select('app in (web,db)'), object('a', 'x', { app: 'db' }), undefined, true],
    ['everything', { kind: ConfigMap, namespace: undefined, selector: everything }, object('a', 'x'), undefined, true],
    ['the selector of nothing', select('-'), object('a', 'x'), undefined, false],
  ])('%s', (_name, read, now, before, wakes) => {
    const dependencies = new Dependencies()
    dependencies.replace('item', [read])
    expect([...dependencies.readers(ConfigMap, now, before)]).toEqual(wakes ? ['item'] : [])
    expect([...dependencies.readers(Secret, now, before)]).toEqual([])
  })

  test('replace drops earlier reads, and a kind is read as long as one item reads it', () => {
    const dependencies = new Dependencies()
    const read = (): string[] => [ConfigMap, Secret].filter((of) => dependencies.isRead(of)).map((of) => of.kind)
    dependencies.replace('one', [key('a', 'x'), { kind: Secret, key: { namespace: 'a', name: 's' } }])
    dependencies.replace('two', [key('a', 'x')])
    expect(read()).toEqual(['ConfigMap', 'Secret'])
    dependencies.replace('one', [key('a', 'y')])
    expect([...dependencies.readers(ConfigMap, object('a', 'x'), undefined)]).toEqual(['two'])
    expect([...dependencies.readersOfKind(ConfigMap)].toSorted()).toEqual(['one', 'two'])
    expect(read()).toEqual(['ConfigMap'])
    dependencies.replace('two', [])
    expect(read()).toEqual(['ConfigMap'])
    dependencies.replace('one', [])
    expect(read()).toEqual([])
  })

  const read = fc.oneof(
    fc.record({
      kind: fc.constant(ConfigMap),
      key: fc.record({ namespace: fc.constantFrom('a', 'b'), name: fc.constantFrom('x', 'y') }),
    }),
    fc.record({
      kind: fc.constant(ConfigMap),
      namespace: fc.constantFrom(undefined, 'a', 'b'),
      selector: fc
        .constantFrom('', 'l=1', 'l=2', 'l!=1', 'l in (1,2)', 'l=1,m=1')
        .map((text) => parseLabelSelector(text)),
    }),
  )
  const labels = fc.dictionary(fc.constantFrom('l', 'm'), fc.constantFrom('1', '2'))

  test('finds the same readers as a scan over all items', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.constantFrom('i', 'j', 'k'), fc.array(read, { maxLength: 4 })), { maxLength: 10 }),
        fc.tuple(fc.constantFrom('a', 'b'), fc.constantFrom('x', 'y'), labels, fc.option(labels)),
        (replacements, [namespace, name, now, before]) => {
          const dependencies = new Dependencies()
          const model = new Map<string, readonly Read[]>()
          for (const [item, reads] of replacements) {
            dependencies.replace(item, reads)
            model.set(item, reads)
          }
          const matches = (one: Read): boolean =>
            'key' in one
              ? one.key.namespace === namespace && one.key.name === name
              : (one.namespace ?? namespace) === namespace &&
                (one.selector.matches(now) || (before !== null && one.selector.matches(before)))
          const expected = [...model].filter(([, reads]) => reads.some(matches)).map(([item]) => item)
          const previous = before === null ? undefined : object(namespace, name, before)
          expect([...dependencies.readers(ConfigMap, object(namespace, name, now), previous)].toSorted()).toEqual(
            expected.toSorted(),
          )
        },
      ),
    )
  })
})
