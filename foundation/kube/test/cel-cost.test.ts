import { describe, expect, test } from 'vitest'
import type { SchemaNode } from '@fairlead/kube'
import { structuralSchema } from '@fairlead/kube'
import { compile, declarationOf, estimateCost, ruleCostLimit } from '@fairlead/kube/cel'

type Form = (limit: number | undefined) => SchemaNode

const formats: Record<string, SchemaNode> = {
  'int-or-string': { 'x-kubernetes-int-or-string': true },
  duration: { type: 'string', format: 'duration' },
  date: { type: 'string', format: 'date' },
  'date-time': { type: 'string', format: 'date-time' },
}

function scalar(type: string): SchemaNode {
  return formats[type] ?? { type }
}

function limited(
  node: SchemaNode,
  name: 'maxItems' | 'maxProperties' | 'maxLength',
  limit: number | undefined,
): SchemaNode {
  return limit === undefined ? node : { ...node, [name]: limit }
}

const arrayOf =
  (items: SchemaNode): Form =>
  (limit) =>
    limited({ type: 'array', items }, 'maxItems', limit)
const mapOf =
  (additionalProperties: SchemaNode): Form =>
  (limit) =>
    limited({ type: 'object', additionalProperties }, 'maxProperties', limit)
const text: Form = (limit) => limited({ type: 'string' }, 'maxLength', limit)
const texts: Form = (limit) => limited({ type: 'array', items: text(limit) }, 'maxItems', limit)
const bytes: Form = (limit) => limited({ type: 'string', format: 'byte' }, 'maxLength', limit)

const required: SchemaNode = { type: 'object', properties: { required: { type: 'string' } }, required: ['required'] }

function cost(node: SchemaNode, rule: string): number {
  const declaration = declarationOf(node, structuralSchema(node))!
  const program = compile(rule, { variables: { self: declaration.type, oldSelf: declaration.type } })
  return estimateCost(
    program.checked,
    new Map([
      ['self', declaration],
      ['oldSelf', declaration],
    ]),
  )
}

// The figures of Kubernetes' own tests (TestCostEstimation): without a limit, and with one.
describe('estimateCost of a rule', () => {
  test.each<[string, Form, string, number | 'too much', number, number]>([
    ['numbers', arrayOf(scalar('number')), 'self.all(x, true)', 4718591, 10, 32],
    ['strings', arrayOf(scalar('string')), 'self.all(x, true)', 3145727, 20, 62],
    ['booleans', arrayOf(scalar('boolean')), 'self.all(x, true)', 1887437, 5, 17],
    ['lists of numbers', arrayOf({ type: 'array', items: scalar('number') }), 'self.all(x, true)', 3145727, 100, 302],
    ['objects', arrayOf(required), 'self.all(x, true)', 555128, 50, 152],
    ['map of numbers', mapOf(scalar('number')), 'self.all(x, true)', 1348169, 10, 32],
    ['map of strings', mapOf(scalar('string')), 'self.all(x, true)', 1179647, 3, 11],
    ['map of booleans', mapOf(scalar('boolean')), 'self.all(x, true)', 943718, 100, 302],
    ['contains', text, "self.contains('test')", 314574, 10, 5],
    ['startsWith', text, "self.startsWith('test')", 2, 15, 2],
    ['endsWith', text, "self.endsWith('test')", 2, 30, 2],
    ['concatenation', text, 'size(self + "hello") > size("hello")', 314578, 4, 7],
    ['index of numbers', arrayOf(scalar('number')), 'self[1] == 0.0', 2, 5000, 2],
    ['index of strings', arrayOf(scalar('string')), 'self[1] == self[1]', 314577, 8, 314577],
    ['squared loop', arrayOf(scalar('number')), 'self.all(x, self.all(y, true))', 'too much', 10, 352],
    ['cubed loop', arrayOf(scalar('number')), 'self.all(x, self.all(y, self.all(z, true)))', 'too much', 10, 3552],
    ['matches', text, 'self.matches("x")', 314574, 50, 22],
    ['matches of the empty string', text, '"".matches("(((((((((())))))))))[0-9]")', 7, 10, 7],
    ['matches by the empty expression', text, 'self.matches("")', 1, 100, 1],
    ['string of length zero', text, 'self == "x"', 2, 0, 1],
    ['bytes of length zero', bytes, 'self == b"x"', 2, 0, 1],
    [
      'limit beyond the size of a request',
      arrayOf(scalar('number')),
      'self.all(x, x == 0.0)',
      6291454,
      3 * 1024 * 2048,
      25165826,
    ],
    ['int-or-strings', arrayOf(scalar('int-or-string')), 'self.all(x, true)', 4718591, 10, 32],
    ['index of int-or-strings', arrayOf(scalar('int-or-string')), 'self[0] == 5', 3, 10, 3],
    ['index of booleans', arrayOf(scalar('boolean')), 'self[0] == false', 2, 25, 2],
    ['index of objects', arrayOf(required), 'self[0] == null', 2, 422, 2],
    ['index of lists', arrayOf({ type: 'array', items: scalar('number') }), 'self[0][0] == -1.0', 3, 51, 3],
    [
      'field of maps',
      arrayOf({ type: 'object', additionalProperties: scalar('number') }),
      'self.all(x, x.y == 25.2)',
      6291452,
      12,
      74,
    ],
    [
      'index of maps',
      arrayOf({ type: 'object', additionalProperties: scalar('number') }),
      'self[0].x > 2.0',
      4,
      3000,
      4,
    ],
    ['durations', arrayOf(scalar('duration')), 'self.all(x, true)', 2359295, 5, 17],
    ['index of durations', arrayOf(scalar('duration')), 'self[0].getHours() == 2', 4, 525, 4],
    ['dates', arrayOf(scalar('date')), 'self.all(x, true)', 725936, 15, 47],
    ['index of dates', arrayOf(scalar('date')), 'self[2].getDayOfMonth() == 13', 4, 42, 4],
    ['date-times', arrayOf(scalar('date-time')), 'self.all(x, true)', 428963, 25, 77],
    ['map of durations', mapOf(scalar('duration')), 'self.all(x, true)', 1048577, 5, 17],
    ['map of dates', mapOf(scalar('date')), 'self.all(x, true)', 524288, 10, 32],
    ['map of date-times', mapOf(scalar('date-time')), 'self.all(x, true)', 349526, 25, 77],
    ['map of keys', mapOf(scalar('string')), 'self.all(x, x.contains(self[x]))', 2752507, 10, 72],
    ['find', text, "self.find('[0-9]+') == ''", 629147, 10, 11],
    ['join', texts, "self.join(' ') == 'aa bb'", 329853068905, 10, 43],
    ['isSorted', texts, 'self.isSorted() == true', 329854432052, 10, 52],
    ['lowerAscii', text, "self.lowerAscii() == 'lower!'", 314575, 10, 6],
    [
      'split',
      (limit) => ({ type: 'object', properties: { str: text(limit), separator: text(limit) } }),
      'self.str.split(self.separator) == []',
      629160,
      10,
      22,
    ],
    [
      'replace',
      (limit) => ({ type: 'object', properties: { str: text(limit), before: text(2), after: text(4) } }),
      "self.str.replace(self.before, self.after) == 'does not matter'",
      629154,
      4,
      12,
    ],
    ['size', mapOf(scalar('integer')), 'oldSelf.size() == self.size()', 5, 10, 5],
    ['times', mapOf(scalar('date-time')), 'self["a"] == self["b"]', 8, 7, 8],
    ['spans of time', mapOf(scalar('duration')), 'self["c"] == self["d"]', 8, 42, 8],
  ])('%s', (_name, form, rule, unlimited, limit, withLimit) => {
    const worst = cost(form(undefined), rule)
    expect([unlimited === 'too much' && worst > ruleCostLimit ? unlimited : worst, cost(form(limit), rule)]).toEqual([
      unlimited,
      withLimit,
    ])
  })
})

describe('estimateCost of a function result', () => {
  const two: Form = (limit) => ({ type: 'object', properties: { a: text(limit), list: arrayOf(text(limit))(limit) } })
  // A real server accepts these rules; it takes the size of `self` for elements without a path in the schema.
  test.each([
    "self.list.all(x, self.list.exists_one(y, x.split('/')[0] == y.split('/')[0]))",
    "self.list.all(x, x.split(',').all(s, s.contains(self.a)))",
    "self.list.all(x, x.findAll('a+')[0].contains(self.a))",
  ])('takes the size of self for elements: %s', (rule) => {
    expect(cost(two(100), rule)).toBeLessThan(ruleCostLimit)
  })
})
