// What the checker says of expressions, as recorded from a real API server.
import { describe, expect, test } from 'vitest'
import { CelCompileError, compile, listOf, mapOf, objectOf, types } from '@fairlead/kube/cel'

const self = objectOf(
  'self',
  new Map([
    ['a', types.int],
    ['s', types.string],
    ['t', types.timestamp],
    ['d', types.duration],
    ['l', listOf(types.string)],
    ['m', mapOf(types.string, types.int)],
  ]),
)

function problemsOf(text: string, mixedLiterals = false): string[] {
  try {
    compile(text, { variables: { self }, mixedLiterals })
    return []
  } catch (error) {
    if (!(error instanceof CelCompileError)) throw error
    return error.message
      .split(/^ERROR: /m)
      .slice(1)
      .map((part) => part.split('\n')[0]!.replace('<input>:', ''))
  }
}

describe('the checker', () => {
  test.each<[string, ...string[]]>([
    [
      'zz == 1 && yy == 2',
      "1:1: undeclared reference to 'zz' (in container '')",
      "1:12: undeclared reference to 'yy' (in container '')",
    ],
    [
      'foo(bar)',
      "1:4: undeclared reference to 'foo' (in container '')",
      "1:5: undeclared reference to 'bar' (in container '')",
    ],
    ['has(self.zz)', "1:4: undefined field 'zz'"],
    ['self.s && true', "1:5: expected type 'bool' but found 'string'"],
    ['self.a ? true : false', "1:8: found no matching overload for '_?_:_' applied to '(int, bool, bool)'"],
    ['self.l[self.s] == "a"', "1:7: found no matching overload for '_[_]' applied to '(list(string), string)'"],
    ['self.l[?"a"].hasValue()', "1:7: found no matching overload for '_[?_]' applied to '(list(string), string)'"],
    ['self.t > self.d', "1:8: found no matching overload for '_>_' applied to '(timestamp, duration)'"],
    ['[1, "a"] == [1]', "1:5: expected type 'int' but found 'string'"],
    ['{"a":1, 1:2} == {}', "1:9: expected type 'string' but found 'int'"],
    ['self.l.exists_one(x, 1)', "1:18: found no matching overload for '_?_:_' applied to '(int, int, int)'"],
    ['self.l.all(x.y, true)', '1:13: argument must be a simple name'],
    ['self.l.all(i, i, true)', '1:15: duplicate variable name: i'],
    ['has(self.?a)', '1:9: invalid argument to has() macro'],
    ['self.m.transformMap(k, v, v > 1, v) == {"a": 2}'],
    ['[] == self.l && {} == self.m'],
    ['optional.none() == optional.of(1)'],
  ])('%s', (text, ...problems) => {
    expect(problemsOf(text)).toEqual(problems)
  })

  test('literals of other users may be mixed', () => {
    expect(problemsOf('[1, "a"] == [1] && {"a": 1, "b": "c"} != {}', true)).toEqual([])
  })

  test('wide characters are marked with wide marks', () => {
    expect(() => compile('"é" == zz', { variables: {} })).toThrow(' | "é" == zz\n | .．.....^')
  })
})
