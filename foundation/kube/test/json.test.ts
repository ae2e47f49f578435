import { describe, expect, test } from 'vitest'
import { fc, test as propertyTest } from '@fast-check/vitest'
import type { JsonValue } from '@fairlead/kube'
import {
  JsonSyntaxError,
  cloneJson,
  deepFreeze,
  jsonEqual,
  marshalGoJson,
  maxJsonDepth,
  ownValue,
  parseJson,
  setOwn,
  sortKeys,
  stringifyJson,
} from '@fairlead/kube'

function refusal(text: string | Uint8Array): {
  code: string
  message: string
  line: number
  column: number
  offset: number
} {
  try {
    parseJson(text)
  } catch (error) {
    if (error instanceof JsonSyntaxError) {
      const { code, message, line, column, offset } = error
      return { code, message, line, column, offset }
    }
    throw error
  }
  throw new Error(`${String(text)} was accepted`)
}

describe('parseJson', () => {
  test.each<[string, JsonValue]>([
    ['null', null],
    [' true ', true],
    ['false', false],
    ['"a"', 'a'],
    ['0', 0],
    ['-0', -0],
    ['-12', -12],
    ['1.5', 1.5],
    ['1e3', 1000],
    ['1E-2', 0.01],
    ['9007199254740991', 9007199254740991],
    ['9007199254740992', 9007199254740992n],
    ['9007199254740993', 9007199254740993n],
    ['-9223372036854775808', -9223372036854775808n],
    ['9223372036854775807', 9223372036854775807n],
    ['9223372036854775808', 9223372036854775808],
    ['123456789012345678901234567890', 1.2345678901234568e29],
    ['9007199254740993.0', 9007199254740992],
    ['[]', []],
    ['{}', {}],
    ['[1,[2,[]],{"a":[]}]', [1, [2, []], { a: [] }]],
    ['{"a":{"b":null},"c":"d"}', { a: { b: null }, c: 'd' }],
    [String.raw`"\"\\\/\b\f\n\r\t\u0041\ud83d\ude00"`, '"\\/\b\f\n\r\tA😀'],
    [String.raw`"\ud800x"`, '\ufffdx'],
    ['"\ud800"', '\ufffd'],
    ['"\u007f\u2028"', '\u007f\u2028'],
  ])('reads %s', (text, value) => {
    expect(parseJson(text)).toEqual(value)
  })

  test.each([
    ['', 'unexpected end of JSON input'],
    ['{"apiVersion":"v1",', 'unexpected end of JSON input'],
    ['[1', 'unexpected end of JSON input'],
    ['"a', 'unexpected end of JSON input'],
    ['"a\\', 'unexpected end of JSON input'],
    ['tru', 'unexpected end of JSON input'],
    ['-', 'unexpected end of JSON input'],
    ['not json', "invalid character 'o' in literal null (expecting 'u')"],
    ['bad', "invalid character 'b' looking for beginning of value"],
    ['{bad', "invalid character 'b' looking for beginning of object key string"],
    ['{"a":1,}', "invalid character '}' looking for beginning of object key string"],
    ['{"a" 1}', "invalid character '1' after object key"],
    ['{"a":1 "b"}', `invalid character '"' after object key:value pair`],
    ['[1 2]', "invalid character '2' after array element"],
    ['[1,]', "invalid character ']' looking for beginning of value"],
    ['{} trailing', "invalid character 't' after top-level value"],
    ['01', "invalid character '1' after top-level value"],
    ['-a', "invalid character 'a' in numeric literal"],
    ['1.x', "invalid character 'x' after decimal point in numeric literal"],
    ['1ex', "invalid character 'x' in exponent of numeric literal"],
    ['"a\nb"', "invalid character '\\n' in string literal"],
    ['"\\q"', "invalid character 'q' in string escape code"],
    ['"\\u00g0"', "invalid character 'g' in \\u hexadecimal character escape"],
    ["'a'", "invalid character '\\'' looking for beginning of value"],
    ['é', "invalid character 'Ã' looking for beginning of value"],
    ['\u0000', "invalid character '\\x00' looking for beginning of value"],
    ['\ufeff{}', "invalid character 'ï' looking for beginning of value"],
    ['NaN', "invalid character 'N' looking for beginning of value"],
  ])('rejects %j as Go does', (text, message) => {
    expect(refusal(text)).toMatchObject({ code: 'InvalidJson', message })
  })

  test('reports line and column of a syntax error', () => {
    expect(refusal('{\n  "a": [1,\n  x]}')).toEqual({
      code: 'InvalidJson',
      message: "invalid character 'x' looking for beginning of value",
      line: 3,
      column: 3,
      offset: 15,
    })
  })

  test('rejects numbers beyond a double', () => {
    expect(refusal('[1e400]')).toMatchObject({
      code: 'JsonNumberOutOfRange',
      message: 'json: cannot unmarshal number 1e400 into Go value of type float64',
    })
  })

  test('rejects objects and lists nested deeper than the limit', () => {
    const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth)
    expect(() => parseJson(nested(maxJsonDepth))).not.toThrow()
    expect(refusal(nested(maxJsonDepth + 1))).toMatchObject({
      code: 'JsonTooDeep',
      message: "invalid character '[' exceeded max depth",
    })
    expect(refusal('{"a":'.repeat(100_000))).toMatchObject({ code: 'JsonTooDeep' })
    expect(() => parseJson('[[[]]]', { maxDepth: 2 })).toThrow(JsonSyntaxError)
  })

  test('reads `constructor` and the like as ordinary keys', () => {
    const value = parseJson('{"__proto__":{"polluted":true},"constructor":1,"toString":2}') as Record<string, JsonValue>
    expect(Object.keys(value)).toEqual(['__proto__', 'constructor', 'toString'])
    expect(ownValue(value, '__proto__')).toEqual({ polluted: true })
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype)
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined()
  })

  test('reports each duplicate key with its path; the last value wins', () => {
    const seen: string[] = []
    const value = parseJson('{"a":1,"a":2,"l":[{"x":1,"x":{"y":1,"y":2}}],"__proto__":1,"__proto__":2}', {
      onDuplicate: (path) => seen.push(path),
    })
    expect(seen).toEqual(['a', 'l[0].x', 'l[0].x.y', '__proto__'])
    expect(stringifyJson(value)).toBe('{"a":2,"l":[{"x":{"y":2}}],"__proto__":2}')
  })

  test('reads bytes as UTF-8 and replaces invalid sequences', () => {
    expect(parseJson(new TextEncoder().encode('{"ä":"😀"}'))).toEqual({ ä: '😀' })
    expect(parseJson(Uint8Array.of(0x22, 0xff, 0x22))).toBe('\ufffd')
  })

  propertyTest.prop([fc.jsonValue()])('parses the output of JSON.stringify', (value) => {
    // Compared as strings, because integers beyond 2^53 are BigInts.
    expect(stringifyJson(parseJson(JSON.stringify(value)))).toBe(JSON.stringify(value))
  })

  propertyTest.prop([fc.string({ unit: 'binary' })])('accepts the same input as JSON.parse', (text) => {
    const accepts = (parse: (text: string) => unknown): boolean => {
      try {
        parse(text)
        return true
      } catch {
        return false
      }
    }
    expect(accepts((input) => parseJson(input))).toBe(accepts(JSON.parse))
  })

  propertyTest.prop([fc.bigInt({ min: -(1n << 63n), max: (1n << 63n) - 1n })])('reads every int64 exactly', (value) => {
    expect(stringifyJson({ value: parseJson(String(value)) })).toBe(`{"value":${value}}`)
  })
})

describe('JSON values', () => {
  test('writes BigInts in full', () => {
    expect(stringifyJson({ a: 9007199254740993n, b: [1, '2', null, { c: undefined }] })).toBe(
      '{"a":9007199254740993,"b":[1,"2",null,{}]}',
    )
  })

  test.each<[JsonValue, JsonValue, boolean]>([
    [{ a: 1, b: 2 }, { b: 2, a: 1 }, true],
    [[1, 2], [2, 1], false],
    [1, 1n, true],
    [9007199254740993n, 9007199254740992, false],
    [1, '1', false],
    [null, {}, false],
    [[], {}, false],
    [{ a: null }, {}, false],
    [{ a: 1 }, { toString: 1 }, false],
    [{ a: [{ b: 'c' }] }, { a: [{ b: 'c' }] }, true],
  ])('%o and %o are the same JSON: %s', (a, b, same) => {
    expect([jsonEqual(a, b), jsonEqual(b, a)]).toEqual([same, same])
  })

  test('freezes deeply and clones to mutable values', () => {
    const value = deepFreeze({ a: [{ b: 1 }], c: { d: 'e' } })
    expect([Object.isFrozen(value), Object.isFrozen(value.a[0]), Object.isFrozen(value.c)]).toEqual([true, true, true])
    const copy = cloneJson(value)
    copy.a[0]!.b = 2
    copy.a.push({ b: 3 })
    expect([value, copy]).toEqual([
      { a: [{ b: 1 }], c: { d: 'e' } },
      { a: [{ b: 2 }, { b: 3 }], c: { d: 'e' } },
    ])
  })

  test('marshals as Go does: sorted keys, escaped angle brackets', () => {
    expect(marshalGoJson({ b: '<a&b>', a: [{ d: 1, c: 9007199254740993n }] })).toBe(
      '{"a":[{"c":9007199254740993,"d":1}],"b":"\\u003ca\\u0026b\\u003e"}',
    )
    expect(Object.keys(sortKeys({ b: 1, a: 2 }) as object)).toEqual(['a', 'b'])
  })

  test('setOwn never changes a prototype', () => {
    const object: Record<string, JsonValue> = {}
    setOwn(object, '__proto__', { evil: true })
    expect(Object.getPrototypeOf(object)).toBe(Object.prototype)
    expect(JSON.stringify(object)).toBe('{"__proto__":{"evil":true}}')
    expect(ownValue({}, 'constructor')).toBeUndefined()
  })
})

describe('plain JSON, which is parsed natively', () => {
  // With `onMember`, the exact parser reads everything.
  const exact = (text: string): JsonValue => parseJson(text, { onMember: () => undefined })

  propertyTest.prop([fc.jsonValue({ maxDepth: 6 })])('is read as the exact parser reads it', (value) => {
    const text = JSON.stringify(value)
    expect(parseJson(text)).toEqual(exact(text))
  })

  test.each([
    '{"a":1,"a":2}',
    '{"a":{"b":1,"c":2,"b":3},"d":":"}',
    '{"__proto__":{"x":1},"y":"\\""}',
    '{"a":"\\ud800","b":"\\\\ud800"}',
    '{"a":1e2,"e":9007199254740993,"E5":true}',
    '[123456789012345.5,-0,0.1]',
  ])('reports the same keys and values of %s', (text) => {
    const paths: string[] = []
    const repeated: string[] = []
    const value = parseJson(text, { onDuplicate: (path) => void paths.push(path) })
    expect(value).toEqual(parseJson(text, { onMember: (path, isRepeated) => void (isRepeated && repeated.push(path)) }))
    expect(paths).toEqual(repeated)
  })

  test.each(['{"a":1,"b":{"c":1}}', '{"a":1e1,"b":{"c":1}}'])('refuses %s where two keys are allowed', (text) => {
    expect(parseJson(text, { maxKeys: 3 })).toEqual(exact(text))
    expect(() => parseJson(text, { maxKeys: 2 })).toThrow(expect.objectContaining({ code: 'JsonTooManyKeys' }) as Error)
  })
})
