import { parseYaml, setYamlStrings } from '@fairlead/kube'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'

const source = `# mine
users:
  - name: other
  - name: me   # a comment
    user:
      auth-provider:
        config:
          client-id: "x"
          id-token: old.token
          refresh-token: |-
            long
            old
        name: oidc
current-context: a
`
const config = ['users', 1, 'user', 'auth-provider', 'config']

describe('setYamlStrings', () => {
  test('leaves everything else unchanged', () => {
    const edited = setYamlStrings(source, [
      { path: [...config, 'id-token'], value: 'new: "token"' },
      { path: [...config, 'refresh-token'], value: 'yes' },
    ])
    const begin = source.indexOf('old.token')
    expect(edited).toBe(`${source.slice(0, begin)}"new: \\"token\\""
          refresh-token: "yes"
        name: oidc
current-context: a
`)
  })

  test.each([
    ['a block map', 'a:\n  b: 1\n  c: 2\n', 'a:\n  "x": "1"\n  b: 1\n  c: 2\n'],
    ['a map in a list', 'a:\n- b: 1\n', undefined],
    ['a flow map', 'a: {b: 1}\n', 'a: {"x": "1", b: 1}\n'],
    ['JSON', '{"a": {"b": 1}}', '{"a": {"x": "1", "b": 1}}'],
  ])('adds a missing key to %s', (_, before, after) => {
    expect(setYamlStrings(before, [{ path: ['a', 'x'], value: '1' }])).toBe(after)
  })

  test.each([
    ['no map on the path', 'a: 1\n'],
    ['an empty map', 'a: {}\n'],
    ['an alias', 'b: &b {x: "0"}\na: *b\n'],
    ['a map in place of the string', 'a: {x: {}}\n'],
  ])('returns undefined for %s', (_, before) => {
    expect(setYamlStrings(before, [{ path: ['a', 'x'], value: '1' }])).toBe(undefined)
  })

  test('parsing returns the string that was set', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.constantFrom('id-token', 'added'), (value, key) => {
        const edited = setYamlStrings(source, [{ path: [...config, key], value }])!
        const read = parseYaml(edited) as {
          users: { user?: { 'auth-provider': { config: Record<string, string> } } }[]
        }
        expect(read.users[1]!.user!['auth-provider'].config).toEqual({
          'client-id': 'x',
          'id-token': 'old.token',
          'refresh-token': 'long\nold',
          [key]: value,
        })
      }),
    )
  })
})
