import { describe, expect, test } from 'vitest'
import { fc, test as propertyTest } from '@fast-check/vitest'
import type { JsonValue } from '@fairlead/kube'
import {
  JsonSyntaxError,
  YamlSyntaxError,
  decodeBody,
  jsonEqual,
  parseYaml,
  locateYamlDocuments,
  parseYamlDocuments,
  stringifyYaml,
  stringifyYamlDocuments,
} from '@fairlead/kube'

describe('parseYaml', () => {
  test.each<[string, JsonValue]>([
    ['yes', true],
    ['on', true],
    ['NO', false],
    ['Off', false],
    ['"yes"', 'yes'],
    ['0777', 511],
    ['010', 8],
    ['0o17', 15],
    ['08', 8],
    ['0x1F', 31],
    ['0b101', 5],
    ['1_000', 1000],
    ['.', '.'],
    ['e3', 'e3'],
    ['1e999', '1e999'],
    ['-1e999', '-1e999'],
    ['9'.repeat(400), '9'.repeat(400)],
    ['-e5', '-e5'],
    ['.e3', '.e3'],
    ['._5', '._5'],
    ['0x_', '0x_'],
    ['0_', 0],
    ['+.5', 0.5],
    ['1.5', 1.5],
    ['1e3', 1000],
    ['.5', 0.5],
    ['12:30', '12:30'],
    ['1:30:15', '1:30:15'],
    ['2001-01-01', '2001-01-01'],
    ['2001-01-01T00:00:00Z', '2001-01-01T00:00:00Z'],
    ['9007199254740993', 9007199254740993n],
    ['18446744073709551616', 18446744073709552000],
    ['~', null],
    ['', null],
    ['# nothing', null],
    ['a:', { a: null }],
    ['n: 1', { false: 1 }],
    ['1: one', { 1: 'one' }],
    ['!!str 12', '12'],
    ['!!binary aGVsbG8=', 'hello'],
    ['!!omap [a: 1, b: 2]', [{ a: 1 }, { b: 2 }]],
    ['!!pairs [a: 1, a: 2]', [{ a: 1 }, { a: 2 }]],
    ['|-\n  a\n  b\n', 'a\nb'],
    ['|\n  a\n  b\n', 'a\nb\n'],
    ['>-\n  a\n  b', 'a b'],
    ['[a, {b: c}]', ['a', { b: 'c' }]],
    ['a: &x {p: 1}\nb: *x', { a: { p: 1 }, b: { p: 1 } }],
    ['a: &x {p: 1, q: 2}\nb:\n  <<: *x\n  q: 3', { a: { p: 1, q: 2 }, b: { q: 3, p: 1 } }],
    ['b:\n  <<: [{p: 1}, {p: 2, q: 2}]', { b: { p: 1, q: 2 } }],
    ['"<<": 1', { '<<': 1 }],
    ['a: 1\na: 2', { a: 2 }],
    ['--- 1\n--- 2', 1],
  ])('reads %j as kubectl does', (text, value) => {
    expect(parseYaml(text)).toEqual(value)
  })

  test.each([
    ['a: [1', "yaml: line 1: did not find expected ',' or ']'"],
    ['a: b: c', 'yaml: mapping values are not allowed in this context'],
    ['a: 1\nb: c: d', 'yaml: line 2: mapping values are not allowed in this context'],
    ['a: *nope', "yaml: unknown anchor 'nope' referenced"],
    ['a: &a [*a]', "yaml: anchor 'a' value contains itself"],
    ['x: 1\na: .inf', 'yaml: line 2: json: unsupported value: +Inf'],
    ['? [1, 2]\n: x', 'yaml: line 1: unsupported map key'],
    ['a: "x', 'yaml: line 1: found unexpected end of stream'],
    ['a: {b: c', "yaml: line 1: did not find expected ',' or '}'"],
  ])('rejects %j', (text, message) => {
    expect(() => parseYaml(text)).toThrow(
      expect.objectContaining({ name: 'YamlSyntaxError', code: 'InvalidYaml', message }),
    )
  })

  test('rejects excessive aliases and nesting', () => {
    let bomb = 'a: &a [x,x,x,x,x,x,x,x,x]\n'
    for (const [name, previous] of ['ba', 'cb', 'dc', 'ed', 'fe', 'gf', 'hg']) {
      bomb += `${name}: &${name} [${Array<string>(9).fill(`*${previous}`).join(',')}]\n`
    }
    expect(() => parseYaml(bomb)).toThrow(expect.objectContaining({ code: 'YamlAliases' }))
    expect(() => parseYaml('['.repeat(20_000))).toThrow(YamlSyntaxError)
    expect(() => parseYaml('['.repeat(1_200) + ']'.repeat(1_200))).toThrow(
      expect.objectContaining({ code: 'YamlTooDeep' }),
    )
  })

  test('reads __proto__ as an ordinary key and reports duplicate keys', () => {
    const seen: string[] = []
    const value = parseYaml('__proto__: {polluted: true}\nl:\n- a: 1\n  a: 2', {
      onDuplicate: (path) => seen.push(path),
    })
    expect(JSON.stringify(value)).toBe('{"__proto__":{"polluted":true},"l":[{"a":2}]}')
    expect(seen).toEqual(['l[0].a'])
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined()
  })

  test('reads every document that is not empty', () => {
    expect(parseYamlDocuments('# head\n---\na: 1\n---\n# nothing\n---\n\n---\nb: 2\n...\n')).toEqual([
      { a: 1 },
      { b: 2 },
    ])
  })
})

test('decodeBody reads a body that begins with a brace as JSON first, then as YAML', () => {
  expect(decodeBody('{"a": "yes"}')).toEqual({ a: 'yes' })
  expect(decodeBody('{a: yes}')).toEqual({ a: true })
  expect(decodeBody('a: 1')).toEqual({ a: 1 })
  expect(() => decodeBody('{"a": ')).toThrow(JsonSyntaxError)
  expect(() => decodeBody('a: [')).toThrow(YamlSyntaxError)
})

test('locateYamlDocuments returns the line where the content of each document begins', () => {
  expect(locateYamlDocuments('# head\n---\na: 1\n---\n# nothing\n---\n\n---\n# comment\nb: 2\n...\n')).toEqual([
    { value: { a: 1 }, line: 3 },
    { value: { b: 2 }, line: 10 },
  ])
})

describe('stringifyYaml', () => {
  test('writes as kubectl -o yaml does', () => {
    expect(
      stringifyYaml({
        metadata: { name: 'a', labels: {}, finalizers: [] },
        kind: 'ConfigMap',
        spec: {
          list: [{ b: 1, a: [1, [2, 3], { d: 4 }] }, [], {}, 'x'],
          text: 'two\nlines\n',
          open: 'two\nlines',
          quoted: ['', 'true', 'yes', '1.5', '0x1', '12:30', '2001-01-01', 'null', '~', 'n'],
          single: ['a: b', '# x', '- x', '*x', '@x', "it's: x", 'x ', ' x', 'a #b', '{', 'a:'],
          plain: ["it's", 'a:b', 'a#b', '-x', 'a,b', 'http://x/y?z=1', 'é', '.x'],
          double: ['tab\there', 'bell\u0007', ' lead\nline'],
          big: 9007199254740993n,
          none: null,
        },
      }),
    ).toBe(`kind: ConfigMap
metadata:
  finalizers: []
  labels: {}
  name: a
spec:
  big: 9007199254740993
  double:
  - "tab\\there"
  - "bell\\a"
  - " lead\\nline"
  list:
  - a:
    - 1
    - - 2
      - 3
    - d: 4
    b: 1
  - []
  - {}
  - x
  none: null
  open: |-
    two
    lines
  plain:
  - it's
  - a:b
  - a#b
  - -x
  - a,b
  - http://x/y?z=1
  - é
  - .x
  quoted:
  - ""
  - "true"
  - "yes"
  - "1.5"
  - "0x1"
  - "12:30"
  - "2001-01-01"
  - "null"
  - "~"
  - "n"
  single:
  - 'a: b'
  - '# x'
  - '- x'
  - '*x'
  - '@x'
  - 'it''s: x'
  - 'x '
  - ' x'
  - 'a #b'
  - '{'
  - 'a:'
  text: |
    two
    lines
`)
  })

  test('separates documents', () => {
    expect(stringifyYamlDocuments([{ a: 1 }, { b: 2 }])).toBe('a: 1\n---\nb: 2\n')
  })

  propertyTest.prop([
    fc.letrec<{ value: JsonValue }>((tie) => ({
      value: fc.oneof(
        { depthSize: 'small' },
        fc.constant(null),
        fc.boolean(),
        fc.integer(),
        // Integers between 2^53 and 2^63 are read as BigInts.
        fc
          .double({ noNaN: true, noDefaultInfinity: true })
          .filter((x) => !Number.isInteger(x) || Number.isSafeInteger(x) || Math.abs(x) >= 2 ** 63)
          .map((x) => (Object.is(x, -0) ? 0 : x)),
        fc.string({ unit: 'grapheme' }),
        fc.constantFrom(
          'yes',
          '0o7',
          '1_0',
          '- a',
          'a\n b\n',
          '\n',
          'x\n\n',
          ' a\nb',
          'a:\nb',
          '#',
          '<<',
          '=',
          '1e3',
          '...',
          '---',
        ),
        fc.array(tie('value')),
        fc.dictionary(fc.string({ unit: 'grapheme' }), tie('value')),
      ),
    })).value,
  ])('round-trips through parseYaml', (value) => {
    const text = stringifyYaml(value)
    const back = parseYaml(text)
    expect(jsonEqual(back, value), text).toBe(true)
  })
})
