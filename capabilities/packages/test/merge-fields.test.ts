// Fields of one resource in a three-way merge, to the byte: order, comments, styles and explicit nulls. Expected texts
// are those that kpt 1.0.0-beta.56 leaves for the same data.
import { parseYaml } from '@fairlead/kube'
import { updatePackage } from '@fairlead/packages'
import { describe, expect, test } from 'vitest'

function merged(base: string, upstream: string, local: string): string {
  const file = (text: string): Map<string, string> => new Map([['a.yaml', text]])
  const { files } = updatePackage({
    base: file(base),
    upstream: file(upstream),
    local: file(local),
    strategy: 'resource-merge',
  })
  return String(files.get('a.yaml'))
}

const widget = (spec: string, top = ''): string =>
  `${top}apiVersion: example.org/v1\nkind: Widget\nmetadata:\n  name: w\n${spec}`
const mine = (spec: string, top = ''): string =>
  widget(spec, top).replace('metadata:\n', () => 'metadata: # kpt-merge: /w\n')

function expectMerge(base: string, upstream: string, local: string, result: string): void {
  expect(merged(widget(base), widget(upstream), mine(local))).toBe(mine(result))
}

describe('fields that upstream adds', () => {
  test('come behind the local ones in alphabetical order, at every depth', () => {
    const added = 'spec:\n  z: 1\n  k: v\n  m:\n    y: 1\n    b:\n    - q: 1\n      a: 2\nbatch: 1\n'
    const result = 'spec:\n  k: v\n  m:\n    b:\n    - q: 1\n      a: 2\n    y: 1\n  z: 1\nbatch: 1\n'
    expectMerge('spec:\n  k: v\n', added, 'spec:\n  k: v\n', result)
  })

  test('come in that order also in the elements of a list that merges by key', () => {
    const pod = (containers: string, note = ''): string =>
      `apiVersion: v1\nkind: Pod\nmetadata:${note}\n  name: p\nspec:\n  containers:\n${containers}`
    const [app, side] = ['  - name: app\n    image: a:1\n', '  - name: side\n    image: s:1\n    args: [x, b]\n']
    const local = pod(app, ' # kpt-merge: /p')
    const result = pod(`${app}  - args: [x, b]\n    image: s:1\n    name: side\n`, ' # kpt-merge: /p')
    expect(merged(pod(app), pod(app + side), local)).toBe(result)
  })
})

describe('comments', () => {
  test.each([
    ['of upstream are taken where the local one is that of the base', '# b', '# u', '# b', '# u'],
    ['that were changed locally stay', '# b', '# u', '# m', '# m'],
    ['that upstream removed go', '# b', '', '# b', ''],
    ['that were removed locally stay away', '# b', '# u', '', ''],
    ['that were added locally stay', '', '', '# m', '# m'],
  ])('%s: in front of a field, behind the key of a map, at the top and at the end', (_, ...comments) => {
    for (const value of ['1', '2']) {
      const [base, upstream, local, result] = comments.map((comment, version) => {
        const line = comment === '' ? '' : `${comment}\n`
        const note = comment === '' ? '' : ` ${comment}`
        const k = version === 1 || version === 3 ? value : '1'
        const spec = `spec:${note}\n  a: 1\n${line && `  ${line}`}  k: ${k}\n  # other\n  z: 1\n${line}`
        return (version < 2 ? widget : mine)(spec, line)
      })
      expect(merged(base!, upstream!, local!)).toBe(result)
    }
  })

  test('behind a value go with the value', () => {
    const spec = (k: string): string => `spec:\n  k: ${k}\n  z: 1\n`
    expectMerge(spec('1 # b'), spec('2 # u'), spec('1 # m'), spec('2 # u'))
    expectMerge(spec('1'), spec('2'), spec('1 # m'), spec('2'))
    expectMerge(spec('1 # b'), spec('1 # u'), spec('3 # b'), spec('3 # b'))
    expectMerge(spec('1'), spec('1 # u'), spec('1'), spec('1 # u'))
    expectMerge(spec('1 # b'), spec('1 # u'), spec('1 # m'), spec('1 # m'))
  })

  test('that name the upstream of a resource always stay', () => {
    const [base, upstream] = [mine('spec:\n  k: 1\n'), widget('spec:\n  k: 2\n')]
    expect(merged(base, upstream, base)).toBe(mine('spec:\n  k: 2\n'))
  })
})

test.each([
  ['"one"', "'two'", '"one"', '"two"'],
  ['one', '"two"', 'one', 'two'],
  ['one', '"2"', 'one', '"2"'],
  ['"one"', '|\n    two\n    x', '"one"', '"two\\nx\\n"'],
  ['|\n    one', '"two\\n"', '|\n    one', '|\n    two'],
  ['[a, b]', '\n  - a\n  - c', '[a, b]', '[a, c]'],
  ['{}', '\n    a: 1', '{}', '{a: 1}'],
])('a value of upstream is written in the local style: %j, %j, %j', (base, upstream, local, result) => {
  const spec = (k: string): string => `spec:\n  k: ${k}\n`.replace(': \n', () => ':\n')
  expectMerge(spec(base), spec(upstream), spec(local), spec(result))
})

test('base64 that no side changed is no conflict', () => {
  const spec = (z: string): string => `spec:\n  k: !!binary aGVsbG8=\n  z: ${z}\n`
  expectMerge(spec('1'), spec('2'), spec('1'), spec('2'))
})

describe('an explicit null', () => {
  const spec = (k: string): string => `spec:${k === '' ? '' : `\n  k: ${k}`}\n  z: 1\n`
  const merge = (base: string, upstream: string, local: string): unknown => {
    const z = (text: string): string => text.replace('z: 1', () => 'z: 2')
    return (parseYaml(merged(widget(spec(base)), widget(z(spec(upstream))), mine(spec(local)))) as { spec: unknown })
      .spec
  }

  test.each([
    ['of the local package', '1', '1', 'null', { z: 2 }],
    ['of the local package, beside a change', '1', '2', '~', { z: 2 }],
    ['of the local package for a map that upstream changed', '{a: 1}', '{a: 2}', 'null', { z: 2 }],
    ['that the local package added', '', '', 'null', { z: 2 }],
    ['of upstream', '1', 'null', '1', { z: 2 }],
    ['of upstream for a map with local fields', '{a: 1}', 'null', '{a: 1, b: 2}', { z: 2 }],
    ['that upstream added', '', 'null', '', { z: 2 }],
  ])('%s removes the field', (_, base, upstream, local, result) => {
    expect(merge(base, upstream, local)).toEqual(result)
  })

  test.each([
    ['null', 'null', 'null', { k: null, z: 2 }],
    ['null', 'null', '1', { k: 1, z: 2 }],
    ['null', '1', 'null', { k: 1, z: 2 }],
  ])('that the base has too is a value as any other: %s, %s, %s', (base, upstream, local, result) => {
    expect(merge(base, upstream, local)).toEqual(result)
  })
})
