// The errors of the checker, as recorded from a real API server.
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

function problemsOf(text: string, kubernetes = true): string[] {
  try {
    compile(text, { variables: { self }, kubernetes })
    return []
  } catch (error) {
    if (!(error instanceof CelCompileError)) throw error
    return error.message
      .split(/^ERROR: /m)
      .slice(1)
      .map((part) => part.split('\n')[0]!.replace('<input>:', ''))
  }
}

describe('CEL type checker', () => {
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
    ["timestamp('x') > timestamp('2024-01-01T00:00:00Z')", '1:11: invalid timestamp argument'],
    ["duration('x') > duration('1s')", '1:10: invalid duration argument'],
    ["self.s.matches('(')", '1:16: invalid matches argument'],
    [
      "'%d'.format(['x']) == ''",
      '1:14: error during formatting: decimal clause can only be used on integers, was given string',
    ],
    ["'%s %s'.format(['x']) == ''", '1:15: index 1 out of range'],
    ["'%q'.format(['x']) == ''", '1:12: could not parse formatting clause: unrecognized formatting clause "q"'],
    ["'%s %d'.format(['x', 1]) == ''"],
    [
      '[[1,[2]],[3]].size() == 1',
      "1:5: expected type 'int' but found 'list(int)'",
      "1:10: expected type 'list(dyn)' but found 'list(int)'",
    ],
    [
      'math.abs(1) == 1',
      "1:1: undeclared reference to 'math' (in container '')",
      "1:9: undeclared reference to 'abs' (in container '')",
    ],
    [
      'cel.bind(x, 1, x) == 1',
      "1:1: undeclared reference to 'cel' (in container '')",
      "1:9: undeclared reference to 'bind' (in container '')",
      "1:10: undeclared reference to 'x' (in container '')",
      "1:16: undeclared reference to 'x' (in container '')",
    ],
    ['[] == self.l && {} == self.m'],
    ['optional.none() == optional.of(1)'],
  ])('%s', (text, ...problems) => {
    expect(problemsOf(text)).toEqual(problems)
  })

  test("literals of mixed types are accepted outside of Kubernetes' environment", () => {
    expect(problemsOf('[1, "a"] == [1] && {"a": 1, "b": "c"} != {}', false)).toEqual([])
  })

  test('marks wide characters with wide marks', () => {
    expect(() => compile('"é" == zz', { variables: {} })).toThrow(' | "é" == zz\n | .．.....^')
  })
})
