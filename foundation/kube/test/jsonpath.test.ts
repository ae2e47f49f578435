import { describe, expect, test } from 'vitest'
import type { JsonValue } from '@fairlead/kube'
import { JsonPathError, parseColumnPath, parseJsonPath, relaxedJsonPath } from '@fairlead/kube'

const pods: JsonValue = {
  kind: 'List',
  items: [
    {
      kind: 'Pod',
      metadata: { name: 'a', labels: { 'app.kubernetes.io/name': 'x', tier: 'f' } },
      status: {
        ready: true,
        restarts: 3,
        ratio: 0.5,
        conditions: [
          { type: 'Ready', status: 'True' },
          { type: 'Odd', status: 'False' },
        ],
      },
    },
    {
      kind: 'Pod',
      metadata: { name: 'b', labels: { tier: 'b' } },
      status: { ready: false, restarts: 0, conditions: [] },
    },
    { kind: 'Pod', metadata: { name: 'c' }, status: { ready: false, restarts: 12 } },
  ],
  none: null,
}

describe('JSONPath templates', () => {
  test.each([
    ['plain text', 'plain text'],
    ['{.kind}', 'List'],
    ['{$.kind}', 'List'],
    ['{@.kind}', 'List'],
    ['kind: {.kind}!', 'kind: List!'],
    ['{.items[*].metadata.name}', 'a b c'],
    ['{.items[0].metadata.name}', 'a'],
    ['{.items[-1].metadata.name}', 'c'],
    ['{.items[0:2].metadata.name}', 'a b'],
    ['{.items[1:].metadata.name}', 'b c'],
    ['{.items[:1].metadata.name}', 'a'],
    ['{.items[-2:].metadata.name}', 'b c'],
    ['{.items[::2].metadata.name}', 'a c'],
    ['{.items[0,2].metadata.name}', 'a c'],
    ["{.items[0]['metadata.name','kind']}", 'a Pod'],
    ['{.items[0].metadata.labels.app\\.kubernetes\\.io/name}', 'x'],
    ["{.items[0].metadata.labels['app\\.kubernetes\\.io/name']}", 'x'],
    ['{.items[0].metadata.labels}', '{"app.kubernetes.io/name":"x","tier":"f"}'],
    ['{.items[0].metadata.labels.*}', 'x f'],
    ['{.items[?(@.metadata.name=="b")].status.restarts}', '0'],
    ['{.items[?(@.status.restarts>2)].metadata.name}', 'a c'],
    ['{.items[?(@.status.restarts<=3)].metadata.name}', 'a b'],
    ['{.items[?(@.status.ready==true)].metadata.name}', 'a'],
    ["{.items[?(@.metadata.name!='a')].metadata.name}", 'b c'],
    ['{.items[?(@.metadata.labels)].metadata.name}', 'a b'],
    ['{.items[0].status.conditions[?(@.type=="Ready")].status}', 'True'],
    ['{range .items[*]}{.metadata.name}{"\\t"}{.status.ready}{"\\n"}{end}', 'a\ttrue\nb\tfalse\nc\tfalse\n'],
    ['{range .items[0:1]}{range .status.conditions[*]}{.type}={.status},{end};{end}done', 'Ready=True,Odd=False,;done'],
    ['{range .items[*]}[{.metadata.name}]', '[a][b][c]'],
    ['{..name}', 'a b c'],
    ['{.items[*].status.ratio}', '0.5'],
    ['{"it\\"s"}', 'it"s'],
    ['{.none}', 'null'],
    ['{.items[5:5]}', ''],
    ['{ .kind }', 'List'],
    ['{.items[0].status.conditions[*].type}', 'Ready Odd'],
  ])('%s prints %j', (template, output) => {
    expect(parseJsonPath(template).execute(pods)).toBe(output)
  })

  test.each([
    ['{.kind', 'unclosed action'],
    ['{.items[0}', 'unterminated array'],
    ['{.items[x]}', 'invalid array index x'],
    ['{.items[?(@.a]}', 'unterminated filter'],
    ['{"a}', 'unterminated quoted string'],
    ['{#}', "unrecognized character in action: U+0023 '#'"],
    ['{foo}', 'unrecognized identifier foo'],
    ['{end}', 'not in range, nothing to end'],
  ])('rejects %s', (template, message) => {
    expect(() => parseJsonPath(template)).toThrow(expect.objectContaining({ code: 'InvalidJsonPath', message }))
  })

  test.each([
    ['{.nope}', 'JsonPathNotFound', 'nope is not found'],
    ['{.items[9]}', 'JsonPathNotFound', 'array index out of bounds: index 9, length 3'],
    ['{.items[2:1]}', 'JsonPathNotFound', 'starting index 2 is greater than ending index 1'],
    ['{.kind[0]}', 'JsonPathNotFound', 'List is not array or slice'],
    ['{.items[?(@.kind>1)]}', 'InvalidJsonPath', 'incompatible types for comparison'],
    ['{.toString}', 'JsonPathNotFound', 'toString is not found'],
  ])('%s fails on the value', (template, code, message) => {
    expect(() => parseJsonPath(template).execute(pods)).toThrow(expect.objectContaining({ code, message }))
  })

  test('prints nothing for missing fields when they are allowed', () => {
    expect(parseJsonPath('{.nope.x}|{.kind}', { allowMissingKeys: true }).execute(pods)).toBe('|List')
  })

  test('find returns the values', () => {
    expect(parseJsonPath('{.items[*].status.restarts}{"x"}').find(pods)).toEqual([[3, 0, 12], ['x']])
  })

  test.each([
    ['.metadata.name', '{.metadata.name}'],
    ['metadata.name', '{.metadata.name}'],
    ['{.metadata.name}', '{.metadata.name}'],
    ['{metadata.name}', '{.metadata.name}'],
    ['[0]', '{[0]}'],
  ])('relaxedJsonPath of %s is %s', (path, template) => {
    expect(relaxedJsonPath(path)).toBe(template)
  })
})

describe('JSONPath of printer columns', () => {
  test.each<[string, JsonValue[]]>([
    ['.items[0].metadata.name', ['a']],
    ['.items[*].metadata.name', ['a', 'b', 'c']],
    ['.items[0].status.conditions[?(@.type=="Ready")].status', ['True']],
    ['.nope', []],
    ['.nope.deeper', []],
    ['.items[9].name', []],
    ['.kind[0]', []],
    ['.none', [null]],
    ['.__proto__', []],
  ])('%s', (path, values) => {
    expect(parseColumnPath(path)(pods)).toEqual(values)
  })

  test('rejects an invalid path', () => {
    expect(() => parseColumnPath('.a[')).toThrow(JsonPathError)
  })
})

test('a template over the limit of values throws, a column is empty', () => {
  const deep = { a: { a: { a: { a: { b: 1 } } } } }
  expect(() => parseJsonPath(`{${'..'.repeat(400)}}`).find(deep)).toThrowError(
    expect.objectContaining({ code: 'JsonPathTooMany' }),
  )
  expect(() => parseJsonPath(`{${"['a','a']".repeat(30)}}`).find({ a: deepOf(30) })).toThrowError(
    expect.objectContaining({ code: 'JsonPathTooMany' }),
  )
  expect(parseColumnPath('..'.repeat(400))(deep)).toEqual([])
})

test('a template that prints a value too often throws before the string is built', () => {
  const value = { a: { b: 'x'.repeat(1000) }, list: Array.from({ length: 1000 }, () => 1) }
  const thrown = expect.objectContaining({ code: 'JsonPathTooMany' }) as Error
  expect(() => parseJsonPath('{.a}'.repeat(100), { maxLength: 50_000 }).execute(value)).toThrowError(thrown)
  expect(() => parseJsonPath('{.a}'.repeat(20_000)).execute(value)).toThrowError(thrown)
  expect(() => parseJsonPath(`{range .list[*]}${'x{@}'.repeat(1100)}{end}`).execute(value)).toThrowError(thrown)
  expect(parseJsonPath('{.a.b}', { maxLength: 1000 }).execute(value)).toHaveLength(1000)
})

function deepOf(levels: number): { readonly [key: string]: JsonValue } {
  return levels === 0 ? { a: 1 } : { a: deepOf(levels - 1) }
}
