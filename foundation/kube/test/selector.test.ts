import { describe, expect, test } from 'vitest'
import {
  SelectorError,
  escapeFieldValue,
  everything,
  fieldSelector,
  nothing,
  parseFieldSelector,
  parseLabelSelector,
  selectorFrom,
} from '@fairlead/kube'
import { describeData, recordings } from '../../../test/support/conformance-data.ts'

const labelValueText =
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
const namePartText =
  "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"

describe('parseLabelSelector', () => {
  test.each<[string, Record<string, string>, boolean]>([
    ['', { a: 'b' }, true],
    ['a', { a: '' }, true],
    ['a', {}, false],
    ['!a', {}, true],
    ['!a', { a: '1' }, false],
    ['a=b', { a: 'b' }, true],
    ['a==b', { a: 'c' }, false],
    ['a=', { a: '' }, true],
    ['a!=b', {}, true],
    ['a!=b', { a: 'b' }, false],
    ['a in (x,y)', { a: 'y' }, true],
    ['a in (x,y)', {}, false],
    ['a notin (x,y)', {}, true],
    ['a notin (x,y)', { a: 'x' }, false],
    ['a in (,x)', { a: '' }, true],
    ['a in ()', { a: '' }, true],
    ['a in ()', {}, false],
    ['a>5', { a: '6' }, true],
    ['a>5', { a: 'six' }, false],
    ['a<5', { a: '4' }, true],
    ['a>5', {}, false],
    ['a=b , c in ( d , e ), !f', { a: 'b', c: 'e' }, true],
    ['a=b,c', { a: 'b' }, false],
    ['in', { in: '1' }, true],
    ['notin in (in, notin)', { notin: 'in' }, true],
    ['constructor', {}, false],
    ['example.com/a=b', { 'example.com/a': 'b' }, true],
  ])('%j matches %o: %s', (text, labels, expected) => {
    expect(parseLabelSelector(text).matches(labels)).toBe(expected)
  })

  test.each([
    ['a=b,c!=d,e,!f,g in (i,h),j notin (k),l>1,m<2', 'a=b,c!=d,e,!f,g in (h,i),j notin (k),l>1,m<2'],
    ['b,a', 'a,b'],
    ['a==b', 'a==b'],
    ['x in (b,a,b)', 'x in (a,b)'],
    ['x in (a,,b)', 'x in (,a,b)'],
    ['x in (,)', 'x in ()'],
  ])('%j prints as %j, which parses to an equal selector', (text, printed) => {
    expect(parseLabelSelector(text).toString()).toBe(printed)
    expect(parseLabelSelector(printed.replace('in ()', 'in (,)')).toString()).toBe(printed)
  })

  test.each([
    ['a=b=c', "found '=', expected: ',' or 'end of string'"],
    ['=x', "found '=', expected: !, identifier, or 'end of string'"],
    ['a,', "found '', expected: identifier after ','"],
    ['a,,b', "found ',', expected: identifier after ','"],
    ['!', "unable to parse requirement: found '', expected: identifier"],
    ['a b', "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"],
    ['a in', "unable to parse requirement: found '' expected: '('"],
    ['a in (=)', "unable to parse requirement: found '=', expected: ',', ')' or identifier"],
    ['a in (x y)', "unable to parse requirement: found 'y', expected: ',' or ')'"],
    ['a==(', "unable to parse requirement: found '(', expected: identifier"],
    [
      'a>b',
      `unable to parse requirement: values[0]: Invalid value: "b": for 'Gt', 'Lt' operators, the value must be an integer`,
    ],
    ['a=/x', `unable to parse requirement: values[0][a]: Invalid value: "/x": ${labelValueText}`],
    ['-a', `unable to parse requirement: <nil>: Invalid value: "-a": ${namePartText}`],
  ])('rejects %j', (text, message) => {
    expect(() => parseLabelSelector(text)).toThrow(expect.objectContaining({ code: 'InvalidSelector', message }))
  })
})

const recordedSelectors = () => {
  const requests = ['list/label-selectors-bad', 'list/field-selectors'].flatMap((name) =>
    recordings('list')
      .filter((recording) => recording.name === name)
      .flatMap((recording) => recording.steps),
  )
  return requests.flatMap(({ request, response }) => {
    const query = new URL(request?.path ?? '/', 'http://server').searchParams
    const text = query.get('labelSelector') ?? query.get('fieldSelector')
    if (text === null || response === undefined) return []
    const parse = query.has('labelSelector') ? parseLabelSelector : parseFieldSelector
    return [{ text, parse, status: response.status, message: response.body?.['message'] }]
  })
}

describeData('recorded selectors', { minimum: 25, read: recordedSelectors }, (cases) => {
  test.each(cases)('$text', ({ text, parse, status, message }) => {
    if (status === 200 || String(message).includes('is not a known field selector')) {
      expect(() => parse(text)).not.toThrow()
    } else {
      expect(() => parse(text)).toThrow(new SelectorError(String(message)))
    }
  })
})

describe('selectorFrom', () => {
  test('combines matchLabels and matchExpressions', () => {
    const selector = selectorFrom({
      matchLabels: { app: 'x' },
      matchExpressions: [
        { key: 'tier', operator: 'In', values: ['b', 'a'] },
        { key: 'old', operator: 'DoesNotExist' },
        { key: 'new', operator: 'Exists' },
        { key: 'env', operator: 'NotIn', values: ['dev'] },
      ],
    })
    expect(selector.toString()).toBe('app=x,env notin (dev),new,!old,tier in (a,b)')
    expect(selector.matches({ app: 'x', new: '', tier: 'a' })).toBe(true)
    expect(selector.matches({ app: 'x', new: '', tier: 'a', old: '' })).toBe(false)
  })

  test('undefined selects nothing, an empty selector everything', () => {
    expect([selectorFrom(undefined), selectorFrom(null), selectorFrom({})]).toEqual([nothing, nothing, everything])
    expect([nothing.matches({}), everything.matches(undefined), nothing.isEmpty, everything.isEmpty]).toEqual([
      false,
      true,
      false,
      true,
    ])
  })

  test.each([
    [{ key: 'a', operator: 'Like' }, '"Like" is not a valid label selector operator'],
    [{ key: 'a', operator: 'constructor' }, '"constructor" is not a valid label selector operator'],
    [{ key: 'a', operator: 'In' }, "values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty"],
    [
      { key: 'a', operator: 'Exists', values: ['x'] },
      'values: Invalid value: ["x"]: values set must be empty for exists and does not exist',
    ],
    [
      { key: '', operator: 'Exists' },
      `[key: Invalid value: "": name part must be non-empty; ${namePartText}]`.slice(1, -1),
    ],
  ])('rejects %o', (expression, message) => {
    expect(() => selectorFrom({ matchExpressions: [expression] })).toThrow(
      expect.objectContaining({ code: 'InvalidSelector', message }),
    )
  })
})

describe('parseFieldSelector', () => {
  test('parses, prints and matches', () => {
    const selector = parseFieldSelector('b==2,a!=1,,c=x\\,y\\=z\\\\')
    expect(selector.requirements).toEqual([
      { field: 'a', operator: '!=', value: '1' },
      { field: 'b', operator: '=', value: '2' },
      { field: 'c', operator: '=', value: 'x,y=z\\' },
    ])
    expect(selector.toString()).toBe('a!=1,b=2,c=x\\,y\\=z\\\\')
    expect(parseFieldSelector(selector.toString()).requirements).toEqual(selector.requirements)
    const values: Record<string, string> = { b: '2', c: 'x,y=z\\' }
    expect(selector.matches((field) => values[field] ?? '')).toBe(true)
    expect(selector.matches((field) => (field === 'a' ? '1' : (values[field] ?? '')))).toBe(false)
  })

  test.each([
    ['a', "invalid selector: 'a'; can't understand 'a'"],
    ['a=b=c', 'invalid field selector: unescaped character in value: 61'],
    ['a=b\\c', 'invalid field selector: invalid escape sequence: \\c'],
    ['a=b\\', 'invalid field selector: invalid escape sequence: \\'],
  ])('rejects %j', (text, message) => {
    expect(() => parseFieldSelector(text)).toThrow(new SelectorError(message))
  })

  test('an empty field selector matches everything', () => {
    expect(parseFieldSelector('').isEmpty).toBe(true)
    expect(fieldSelector([]).matches(() => '')).toBe(true)
    expect(escapeFieldValue('a,b')).toBe('a\\,b')
  })
})
