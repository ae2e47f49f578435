import { MappingIndex, makeTarget, parseMapping, targetOf } from '@fairlead/actions'
import type { Target } from '@fairlead/actions'
import type { JsonObject, KubeObject } from '@fairlead/kube'
import { fc, test as property } from '@fast-check/vitest'
import { describe, expect, test } from 'vitest'
import { catalog, kam, map, trader } from './objects.ts'

const target = (more: Partial<Target> = {}): Target =>
  makeTarget({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    subkind: '',
    name: 'trader',
    namespace: 'stocktrader',
    owners: [],
    ...more,
  })

function names(rules: readonly JsonObject[], of: Target = target()): readonly string[] {
  return new MappingIndex([parseMapping(kam('k', rules, { namespace: 'n' }))])
    .candidates(of)
    .candidates.map(({ name, namespace }) => `${name}@${namespace}`)
}

const rule = (more: JsonObject): JsonObject => ({ apiVersion: '*/*', kind: '*', mapname: 'm', ...more })

describe('a rule', () => {
  test.each([
    ['apps/v1', 'apps/v1', true],
    ['apps/v1', '*/*', true],
    ['apps/v1', 'apps/*', true],
    ['apps/v1', '*/v1', true],
    ['apps/v1', '/apps/v1', true],
    ['apps/v1', '*/v2', false],
    ['apps/v1', '*', false],
    ['apps/v1', 'app*/v1', false],
    ['apps/v1', 'apps/v1/x', false],
    ['v1', '*', true],
    ['v1', 'v1', true],
    ['v1', '/v1', true],
    ['/v1', 'v1', true],
    ['v1', '*/*', false],
    ['v1', '*/v1', false],
    ['v1', 'core/v1', false],
    ['v1', 'v*', false],
  ])('for apiVersion %s with pattern %s matches: %s', (apiVersion, pattern, fits) => {
    expect(names([rule({ apiVersion: pattern })], target({ apiVersion, kind: 'Service' })).length === 1).toBe(fits)
  })

  test.each([
    ['Liberty', 'liberty', true],
    ['LIBERTY', 'Liberty', true],
    ['*', 'anything', true],
    ['*', '', false],
    ['Lib*', 'liberty', false],
    ['Node', 'liberty', false],
  ])('with subkind %s matches a resource with subkind "%s": %s', (subkind, has, fits) => {
    expect(names([rule({ subkind })], target({ subkind: has })).length === 1).toBe(fits)
  })

  const owners = [
    { apiVersion: 'a.io/v1', kind: 'A', uid: '1' },
    { apiVersion: 'b.io/v1', kind: 'A', uid: '2' },
  ]
  test.each([
    [{ kind: 'A' }, true],
    [{ kind: 'A', uid: '2' }, true],
    [{ kind: 'A', apiVersion: 'b.io/v1', uid: '2' }, true],
    [{ kind: 'A', apiVersion: 'a.io/v1', uid: '2' }, false],
    [{ uid: '1' }, true],
    [{ kind: '*', uid: '3' }, false],
    [{ kind: 'a' }, false],
    [{}, true],
  ])('with owner %j matches: %s', (owner, fits) => {
    expect(names([rule({ owner })], target({ owners })).length === 1).toBe(fits)
  })

  test('with owner criteria does not match a resource without owners', () => {
    expect(names([rule({ owner: { kind: '*' } })])).toEqual([])
  })

  test('substitutes the owner that satisfied the criteria', () => {
    expect(
      names(
        [rule({ owner: { uid: '2' }, mapname: 'x.${owner.kind}.${owner.apiVersion}.${owner.uid}' })],
        target({ owners }),
      ),
    ).toEqual(['x.a.b.io-v1.2@n'])
  })

  test.each([
    ['${group}.${namespace}.${kind}.${name}', 'apps.stocktrader.deployment.trader@stocktrader'],
    ['a${name}b-${kind}', 'atraderb-deployment@stocktrader'],
    ['${kind}-${subkind}', undefined],
    ['${owner.kind}', undefined],
    ['${unknown}', undefined],
    ['$name', undefined],
    ['Upper', undefined],
    ['${name', undefined],
    ['../etc', undefined],
  ])('with mapname %s gives %s', (mapname, name) => {
    expect(names([rule({ name: '*', mapname })])).toEqual(name === undefined ? [] : [name])
  })
})

describe('the order of candidates', () => {
  property.prop([
    fc.array(
      fc.record({
        precedence: fc.integer({ min: 1, max: 9 }),
        rules: fc.array(
          fc.record({
            kind: fc.constantFrom('*', 'Deployment'),
            name: fc.constantFrom('', '*', 'trader'),
            mapname: fc.constantFrom('a', 'b', 'c', 'd', 'e'),
          }),
          { maxLength: 6 },
        ),
      }),
      { maxLength: 6 },
    ),
    fc.infiniteStream(fc.nat()),
  ])('is level, precedence, exactness, mapping, rule, for any order of the mappings', (given, random) => {
    const mappings = given.map(({ precedence, rules }, index) =>
      kam(`k${index}`, rules.map(rule), { precedence, namespace: 'n' }),
    )
    const shuffled = mappings.map((one) => ({ one, at: random.next().value })).toSorted((a, b) => a.at - b.at)
    const candidatesOf = (all: readonly KubeObject[]): readonly string[] =>
      new MappingIndex(all.map(parseMapping))
        .candidates(target())
        .candidates.map(({ name, namespace }) => `${name}@${namespace}`)
    const found = new MappingIndex(mappings.map(parseMapping)).candidates(target()).candidates
    const place = ({ rule: { name, kind }, mapping }: (typeof found)[number]): readonly number[] => [
      name === '' ? 1 : 0,
      -mapping.precedence,
      name === '*' || kind === '*' ? 1 : 0,
    ]
    for (const [index, one] of found.entries())
      if (index > 0) expect(compare(place(found[index - 1]!), place(one))).toBeLessThanOrEqual(0)
    expect(new Set(found.map(({ name, namespace }) => `${name}@${namespace}`)).size).toBe(found.length)
    expect(candidatesOf(shuffled.map(({ one }) => one))).toEqual(candidatesOf(mappings))
  })
})

describe('mapping, lookup and merge', () => {
  test('give each action its provenance, overrides and cuts', () => {
    const found = catalog(
      [
        kam('k', [
          rule({ mapname: 'first' }),
          rule({ mapname: 'absent' }),
          rule({ mapname: 'second' }),
          rule({ mapname: 'third' }),
        ]),
      ],
      [
        map('first', { 'url-actions': [{ name: 'a' }], snippets: { s: 'first' } }),
        map(
          'second',
          { 'url-actions': [{ name: 'a' }, { name: 'b' }], snippets: { s: 'second', t: 'second' } },
          { replace: true },
        ),
        map('third', { 'url-actions': [{ name: 'c' }], snippets: { u: 'third' } }),
      ],
    ).resolve(trader)
    expect(
      found.merged.actions.map(({ name, from, overrides }) => [
        name,
        from.map.name,
        overrides.map((one) => one.map.name),
      ]),
    ).toEqual([
      ['a', 'first', ['second']],
      ['b', 'second', []],
    ])
    expect([found.merged.found.length, found.merged.used]).toEqual([3, 2])
    expect(found.merged.parts.snippets).toEqual({ s: 'first', t: 'second' })
  })

  test('look a map up again only after it changed', () => {
    let lookups = 0
    const maps = [map('m', { 'url-actions': [{ name: 'a' }] })]
    const all = catalog(
      [kam('k', [rule({})])],
      new Proxy(maps, {
        get: (of, key) => (key === 'find' ? ((lookups += 1), of.find.bind(of)) : Reflect.get(of, key)),
      }),
    )
    for (let count = 0; count < 5; count++) all.resolve(trader)
    expect(lookups).toBe(1)
    all.mapChanged('kappnav', 'other')
    all.resolve(trader)
    expect(lookups).toBe(1)
    all.mapChanged('kappnav', 'm')
    all.resolve(trader)
    expect(lookups).toBe(2)
  })

  test('accept objects with invalid metadata', () => {
    expect(
      targetOf({
        apiVersion: 'v1',
        kind: 'X',
        metadata: { annotations: 'no', ownerReferences: [null, 5] },
      } as unknown as KubeObject),
    ).toMatchObject({ subkind: '', owners: [] })
    expect(names([rule({})], targetOf({ kind: 'X', metadata: {} } as unknown as KubeObject))).toEqual([])
  })
})

function compare(a: readonly number[], b: readonly number[]): number {
  const index = a.findIndex((value, at) => value !== b[at])
  return index < 0 ? 0 : a[index]! - b[index]!
}
