import { describe, expect, test } from 'vitest'
import { fc, test as propertyTest } from '@fast-check/vitest'
import type { Condition, JsonValue } from '@fairlead/kube'
import {
  DurationError,
  QuantityError,
  RegexError,
  addQuantities,
  canonicalQuantity,
  compareQuantities,
  compileRegex,
  condition,
  controllerOf,
  findCondition,
  formatGoDuration,
  formatGoDurationNanoseconds,
  formatGoMicroTime,
  formatGoNumber,
  formatGoValue,
  formatMicroTime,
  formatQuantity,
  formatTime,
  goQuote,
  humanAge,
  isConditionTrue,
  isControlledBy,
  isQuantity,
  ownerReferenceTo,
  parseGoDuration,
  parseGoDurationNanoseconds,
  parseGoMicroTime,
  parseQuantity,
  regexError,
  setCondition,
  subtractQuantities,
} from '@fairlead/kube'

describe('quantities', () => {
  test.each([
    ['0', '0'],
    ['0.0', '0'],
    ['-0', '0'],
    ['1', '1'],
    ['+1', '+1'],
    ['0.5', '500m'],
    ['.5', '500m'],
    ['1000m', '1'],
    ['1500m', '1500m'],
    ['1000', '1k'],
    ['1024', '1024'],
    ['1024Mi', '1Gi'],
    ['1.5Gi', '1536Mi'],
    ['0.5Ki', '512'],
    ['0.0001Ki', '102400u'],
    ['1025Ki', '1025Ki'],
    ['-1Gi', '-1Gi'],
    ['12e6', '12e6'],
    ['12E6', '12E6'],
    // Decimal ones in thousands stay as they are written.
    ['+5', '+5'],
    ['01', '01'],
    ['1.', '1.'],
    ['1.100', '1.100'],
    ['1.500k', '1.500k'],
    ['1.5k', '1500'],
    ['5.000', '5'],
    ['1E3', '1E3'],
    [' 5 ', '5'],
    ['999999999999999999', '999999999999999999'],
    ['1000000000000000000', '1E'],
    ['123456789012345678.9', '123456789012345678900m'],
    ['1e2', '100'],
    ['1e-3', '1e-3'],
    ['1E', '1E'],
    ['100E', '100E'],
    ['16Ei', '9223372036854775807'],
    ['0.1n', '1n'],
    ['-0.1n', '-1n'],
    ['1.2345678901', '1234567891n'],
    ['123456789', '123456789'],
    ['5M', '5M'],
    ['1Ei', '1Ei'],
  ])('%s is %s', (text, canonical) => {
    expect(canonicalQuantity(text)).toBe(canonical)
    expect(canonicalQuantity(canonical)).toBe(canonical)
  })

  test.each([
    ['', "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"],
    ['x', "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"],
    ['1 Gi', "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"],
    ['.', "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"],
    ['1iG', "unable to parse quantity's suffix"],
    ['1K', "unable to parse quantity's suffix"],
    ['1toString', "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"],
  ])('rejects %j', (text, message) => {
    expect(() => parseQuantity(text)).toThrow(new QuantityError(message))
    expect(isQuantity(text)).toBe(false)
  })

  test('are compared and added exactly, in the format of the first', () => {
    expect(compareQuantities(parseQuantity('1Gi'), parseQuantity('1G'))).toBe(1)
    expect(compareQuantities(parseQuantity('0.1'), parseQuantity('100m'))).toBe(0)
    expect(formatQuantity(addQuantities(parseQuantity('1Gi'), parseQuantity('1024Mi')))).toBe('2Gi')
    expect(formatQuantity(addQuantities(parseQuantity('0'), parseQuantity('1Gi')))).toBe('1Gi')
    expect(formatQuantity(subtractQuantities(parseQuantity('1'), parseQuantity('100m')))).toBe('900m')
  })

  const nanos = fc.bigInt({ min: -(10n ** 20n), max: 10n ** 20n })
  propertyTest.prop([nanos, fc.constantFrom('DecimalSI', 'BinarySI', 'DecimalExponent')])(
    'no precision is lost on the way to text and back',
    (amount, format) => {
      expect(parseQuantity(formatQuantity({ nanos: amount, format })).nanos).toBe(amount)
    },
  )
})

describe('durations', () => {
  test.each([
    ['0', 0n, '0s'],
    ['1ns', 1n, '1ns'],
    ['1.5us', 1500n, '1.5µs'],
    ['250ms', 250_000_000n, '250ms'],
    ['1.5s', 1_500_000_000n, '1.5s'],
    ['90s', 90_000_000_000n, '1m30s'],
    ['1h', 3_600_000_000_000n, '1h0m0s'],
    ['1h15m30.918s', 4_530_918_000_000n, '1h15m30.918s'],
    ['-1m', -60_000_000_000n, '-1m0s'],
    ['.5h', 1_800_000_000_000n, '30m0s'],
  ])('%s is %s ns and prints %s', (text, nanoseconds, printed) => {
    expect(parseGoDurationNanoseconds(text)).toBe(nanoseconds)
    expect(formatGoDurationNanoseconds(nanoseconds)).toBe(printed)
  })

  test.each([
    ['', 'time: invalid duration ""'],
    ['x', 'time: invalid duration "x"'],
    ['3', 'time: missing unit in duration "3"'],
    ['3x', 'time: unknown unit "x" in duration "3x"'],
    ['3d', 'time: unknown unit "d" in duration "3d"'],
    ['-', 'time: invalid duration "-"'],
    ['9999999999h', 'time: invalid duration "9999999999h"'],
  ])('rejects %j', (text, message) => {
    expect(() => parseGoDuration(text)).toThrow(new DurationError(message))
  })

  test('convert to and from milliseconds', () => {
    expect([parseGoDuration('1.5s'), formatGoDuration(1500)]).toEqual([1500, '1.5s'])
  })

  propertyTest.prop([fc.bigInt({ min: -(1n << 63n) + 1n, max: (1n << 63n) - 1n })])(
    'what is printed reads back',
    (value) => {
      expect(parseGoDurationNanoseconds(formatGoDurationNanoseconds(value))).toBe(value)
    },
  )

  test.each([
    [-5_000, '<invalid>'],
    [-500, '0s'],
    [0, '0s'],
    [119_000, '119s'],
    [120_000, '2m'],
    [125_000, '2m5s'],
    [600_000, '10m'],
    [179 * 60_000, '179m'],
    [180 * 60_000, '3h'],
    [181 * 60_000, '3h1m'],
    [8 * 3_600_000, '8h'],
    [47 * 3_600_000, '47h'],
    [49 * 3_600_000, '2d1h'],
    [8 * 86_400_000, '8d'],
    [729 * 86_400_000, '729d'],
    [730 * 86_400_000, '2y'],
    [800 * 86_400_000, '2y70d'],
    [25 * 365 * 86_400_000, '25y'],
  ])('%d ms are an age of %s', (milliseconds, age) => {
    expect(humanAge(milliseconds)).toBe(age)
  })
})

describe('conditions', () => {
  const old: Condition = {
    type: 'Ready',
    status: 'True',
    lastTransitionTime: '2026-01-01T00:00:00Z',
    reason: 'Ok',
    message: '',
  }

  test('lastTransitionTime changes only with the status', () => {
    const kept = setCondition(
      [old],
      condition('Ready', true, { reason: 'Fine', message: 'm', observedGeneration: 2 }),
      '2026-02-02T00:00:00Z',
    )
    const moved = setCondition([old], condition('Ready', false, { reason: 'Bad' }), Date.UTC(2026, 1, 2))
    expect([kept, moved]).toEqual([
      [{ ...old, reason: 'Fine', message: 'm', observedGeneration: 2 }],
      [{ type: 'Ready', status: 'False', lastTransitionTime: '2026-02-02T00:00:00Z', reason: 'Bad', message: '' }],
    ])
  })

  test('a message is cut that is longer than the schema of conditions allows', () => {
    const messages = [32_768, 32_769].map(
      (length) => condition('Ready', false, { message: 'x'.repeat(length) }).message,
    )
    expect(messages).toEqual(['x'.repeat(32_768), `${'x'.repeat(32_767)}…`])
  })

  test('setCondition appends a new type and keeps the order', () => {
    const list = setCondition(setCondition(undefined, condition('A', 'Unknown'), 'now'), condition('B', true), 'now')
    expect(list.map(({ type, status, reason }) => [type, status, reason])).toEqual([
      ['A', 'Unknown', 'A'],
      ['B', 'True', 'B'],
    ])
    expect([isConditionTrue(list, 'B'), isConditionTrue(list, 'A'), isConditionTrue(undefined, 'B')]).toEqual([
      true,
      false,
      false,
    ])
    expect(findCondition(list, 'C')).toBeUndefined()
  })

  test('times are formatted with whole seconds or six decimals', () => {
    const time = Date.UTC(2026, 0, 2, 3, 4, 5, 678)
    expect([formatTime(time), formatMicroTime(time)]).toEqual(['2026-01-02T03:04:05Z', '2026-01-02T03:04:05.678000Z'])
  })

  test.each(['0001-01-01T00:00:02.000000Z', '0099-12-31T23:59:59.000000Z', '2024-02-29T00:00:00.000001Z'])(
    'the time %s keeps its year',
    (text) => {
      expect(formatGoMicroTime(parseGoMicroTime(text))).toBe(text)
    },
  )
})

describe('owner references', () => {
  const owner = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a', uid: 'u' } }

  test('controllerOf and isControlledBy find the controlling owner', () => {
    const reference = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      name: 'a',
      uid: 'u',
      controller: true,
      blockOwnerDeletion: true,
    }
    expect(ownerReferenceTo(owner)).toEqual(reference)
    const child = { metadata: { ownerReferences: [{ ...reference, uid: 'other', controller: false }, reference] } }
    expect(controllerOf(child)).toBe(child.metadata.ownerReferences[1])
    expect([isControlledBy(child, owner), isControlledBy({ metadata: {} }, owner)]).toEqual([true, false])
  })

  test('an owner without a uid is rejected', () => {
    expect(() => ownerReferenceTo({ ...owner, metadata: { name: 'a' } })).toThrow(/has no uid/)
  })
})

describe('regular expressions', () => {
  test('have RE2 syntax', () => {
    const regex = compileRegex('(?i)a+b')
    expect([
      regex.test('xAAbx'),
      regex.test('ba'),
      regex.find('xAab'),
      regex.findAll('ab aab AB'),
      regex.findAll('ab ab', 1),
    ]).toEqual([true, false, 'Aab', ['ab', 'aab', 'AB'], ['ab']])
    expect(compileRegex('(a)(b)').replaceAll('ab-ab', '$2$1')).toBe('ba-ba')
    expect(compileRegex('(a)|(b)-').groups('xb-a')).toEqual(['', 'b'])
    expect(compileRegex('(a)').groups('b')).toBeUndefined()
    expect(compileRegex('(?i)a+b')).toBe(regex)
  })

  test.each([
    ['[', 'error parsing regexp: missing closing ]: `[`'],
    ['(', 'error parsing regexp: missing closing ): `(`'],
    ['a**', 'error parsing regexp: invalid nested repetition operator: `**`'],
    ['(?=a)', 'error parsing regexp: invalid or unsupported Perl syntax: `(?=`'],
    ['\\', 'error parsing regexp: trailing backslash at end of expression: ``'],
  ])("rejects %s with Go's message", (pattern, message) => {
    expect(regexError(pattern)).toBe(message)
    expect(() => compileRegex(pattern)).toThrow(new RegexError(message))
  })

  test('match in linear time where backtracking is exponential', () => {
    expect(compileRegex('^(a+)+$').test('a'.repeat(20_000) + 'b')).toBe(false)
  })
})

describe('Go formatting', () => {
  test.each([
    ['plain', '"plain"'],
    ['a"b\\c', '"a\\"b\\\\c"'],
    ['\u0000\u0007\b\f\n\r\t\v\u001b\u007f', '"\\x00\\a\\b\\f\\n\\r\\t\\v\\x1b\\x7f"'],
    ['é😀', '"é😀"'],
    ['\u00a0\u200b\ufeff\u2028', '"\\u00a0\\u200b\\ufeff\\u2028"'],
    ['\u{e0001}', '"\\U000e0001"'],
  ])('%j quoted is %s', (text, quoted) => {
    expect(goQuote(text)).toBe(quoted)
  })

  test.each<[JsonValue, string]>([
    [null, '<nil>'],
    [{ b: [1, 'x', null, { c: true }], a: 1.5 }, 'map[a:1.5 b:[1 x <nil> map[c:true]]]'],
    [[], '[]'],
    [9007199254740993n, '9007199254740993'],
  ])('%o prints as %s', (value, text) => {
    expect(formatGoValue(value)).toBe(text)
  })

  test.each([
    [0, '0'],
    [-0, '0'],
    [1e20, '100000000000000000000'],
    [1e21, '1e+21'],
    [0.0001, '0.0001'],
    [0.00001, '1e-05'],
    [1.5e-7, '1.5e-07'],
    [123456.789, '123456.789'],
  ])('%d prints as %s', (value, text) => {
    expect(formatGoNumber(value)).toBe(text)
  })
})
