import { describe, expect, test } from 'vitest'
import type { JsonValue } from '@fairlead/kube'
import type { MapValue } from '@fairlead/kube/cel'
import {
  CelBudgetError,
  CelCompileError,
  CelError,
  compile,
  fromJson,
  listOf,
  mapOf,
  objectOf,
  toJson,
  types,
} from '@fairlead/kube/cel'

const variables = { x: types.dyn, s: types.string, n: types.int, o: objectOf('O', new Map([['a', types.int]])) }
const values: Record<string, JsonValue> = {
  x: { a: 1, b: [3, 1, 2], c: 'héllo😀', d: { e: 2.5, f: null }, 'odd-name': true, big: 9007199254740993n },
  s: 'abc',
  n: 7n,
  o: { a: 5 },
}

function run(text: string): JsonValue {
  return toJson(compile(text, { variables, now: true }).evaluate(values, { now: Date.UTC(2026, 0, 2) }))
}

describe('CEL evaluation', () => {
  test.each<[string, JsonValue]>([
    ['x.a + n', 8],
    ['base64.encode(bytes(x.c))', 'aMOpbGxv8J+YgA=='],
    ["string(base64.decode('aGVsbG8')) + string(base64.decode('aGVsbG8='))", 'hellohello'],
    ['json.marshal({"a": x.b, "n": x.big})', '{"a":[3,1,2],"n":9007199254740993}'],
    ['json.unmarshal(\'{"a": [1, 9007199254740993]}\').a[1]', 9007199254740993n],
    ["yaml.marshal({'a': {'b': ['yes', 1]}})", 'a:\n  b:\n  - "yes"\n  - 1\n'],
    ["yaml.unmarshal('a: {b: [yes, 1]}').a.b[1]", 1],
    ['x.big + 1', 9007199254740994n],
    ['x.d.e * 2.0', 5],
    ['x.d.f == null', true],
    ["x['odd-name']", true],
    ['o.a', 5],
    ['has(x.a) && !has(x.zz) && has(x.d.f)', true],
    ['x.b.map(i, i * 2)', [6, 2, 4]],
    ['x.b.map(i, i > 1, i)', [3, 2]],
    ['x.b.filter(i, i > 1)', [3, 2]],
    ['x.b.all(i, i > 0)', true],
    ['x.b.exists(i, i == 3)', true],
    ['x.b.exists_one(i, i > 2)', true],
    ['x.b.existsOne(i, v, v > 2 && i == 0)', true],
    ['x.b.all(i, v, i < 3 && v > 0)', true],
    ['{"a": 1, "b": 2}.exists(k, v, k == "b" && v == 2)', true],
    ['x.b.transformList(i, v, v > 1, i + v)', [3, 4]],
    ['{"a": 1}.transformMap(k, v, v + 1)', { a: 2 }],
    ['{"a": 1}.transformMap(k, v, v > 1, v)', {}],
    ['["a", "b"].transformMapEntry(i, v, {v: i})', { a: 0, b: 1 }],
    ['{1: "a", true: "b", "c": 2u}[1]', 'a'],
    ['cel.bind(y, x.a + 1, y * y)', 4],
    ['x.?a.orValue(0) + x.?zz.orValue(10)', 11],
    ['x.?d.?e.hasValue() && !x.?d.?nope.hasValue()', true],
    ['x.b[?5].orValue(9)', 9],
    ['optional.of(3).optMap(v, v + 1).value()', 4],
    ['optional.none().optFlatMap(v, optional.of(v)).hasValue()', false],
    ['optional.ofNonZeroValue("").or(optional.of("z")).value()', 'z'],
    ['[optional.of(1), optional.none()].unwrapOpt()', [1]],
    ['1 / 0 == 1 || true', true],
    ['false && 1 / 0 == 1', false],
    ['[0, 1].exists(i, 1 / i == 1)', true],
    ['x.a == 1.0 && 1 in x.b', true],
    ['type(x.a) == int && type(x.c) == string', true],
    ['now == timestamp("2026-01-02T00:00:00Z")', true],
    ['n > 5 ? "many" : "few"', 'many'],
    ['dyn(1) < 1.5', true],
  ])('%s', (text, expected) => {
    expect(run(text)).toEqual(expected)
  })

  test.each<[string, JsonValue]>([
    ['x.c.size()', 6],
    ['x.c.charAt(5)', '😀'],
    ['x.c.substring(1, 4)', 'éll'],
    ['x.c.indexOf("😀")', 5],
    ['"a-b-c".lastIndexOf("-")', 3],
    ['"a-b-c".split("-", 2)', ['a', 'b-c']],
    ['["a", "b"].join("+")', 'a+b'],
    ['"aaa".replace("a", "b", 2)', 'bba'],
    ['" x ".trim()', 'x'],
    ['"Ab".lowerAscii() + "Ab".upperAscii()', 'abAB'],
    ['"abc".reverse()', 'cba'],
    ['strings.quote("a\\"b\\n")', '"a\\"b\\n"'],
    ['"%s|%d|%.2f|%x|%b|%%".format(["a", 42, 1.5, 255, 5])', 'a|42|1.50|ff|101|%'],
    ['"%s".format([{"b": [1, true], "a": null}])', '{"a":null, "b":[1, true]}'],
    ['"abc 123".find("[0-9]+")', '123'],
    ['"a1 b2 c3".findAll("[a-z][0-9]", 2)', ['a1', 'b2']],
    ['s.matches("^[a-c]+$")', true],
    ['[1, 2, 2].isSorted() && ![2, 1].isSorted()', true],
    ['[1, 2, 3].sum() + [3, 1].min() + [3, 1].max()', 10],
    ['[duration("1h"), duration("30m")].sum()', '5400s'],
    ['[1, 2, 1].indexOf(1) + [1, 2, 1].lastIndexOf(1)', 2],
    ['[3, 1, 2].sort()', [1, 2, 3]],
    ['[1, [2, [3]]].flatten(2)', [1, 2, 3]],
    ['[1, 2, 1].distinct()', [1, 2]],
    ['[1, 2, 3, 4].slice(1, 3).reverse()', [3, 2]],
    ['lists.range(3)', [0, 1, 2]],
    ['sets.equivalent([1, 2], [2, 1, 1]) && sets.intersects([1], [1, 2]) && !sets.contains([1], [2])', true],
    ['math.greatest([1, 5, 3]) + math.least(4, 2)', 7],
    ['math.round(2.5) + math.ceil(0.1) + math.abs(-1.0)', 5],
    ['math.bitShiftLeft(1, 4)', 16],
    ['quantity("1Gi").isGreaterThan(quantity("1G")) && quantity("1000m") == quantity("1")', true],
    ['string(quantity("100Mi").add(quantity("28Mi")))', '128Mi'],
    ['quantity("1.5k").asInteger()', 1500],
    ['isQuantity("1x")', false],
    ['url("https://u@h.example:8443/a%20b?q=1&q=2").getQuery()["q"]', ['1', '2']],
    ['url("https://[::1]:80/a").getHostname()', '::1'],
    ['isURL("nope") || isURL("/ok")', true],
    ['ip("10.0.0.1").family() == 4 && ip("fe80::1").isLinkLocalUnicast() && !isIP("1.2.3")', true],
    ['string(ip("2001:DB8:0:0:0:0:0:1"))', '2001:db8::1'],
    ['ip.isCanonical("2001:db8::1")', true],
    ['cidr("10.0.0.0/8").containsIP("10.1.2.3") && cidr("10.0.0.0/8").containsCIDR("10.1.0.0/16")', true],
    ['string(cidr("10.1.2.3/16").masked())', '10.1.0.0/16'],
    ['semver("1.10.0").isGreaterThan(semver("1.9.9")) && semver("1.0.0-rc.1").isLessThan(semver("1.0.0"))', true],
    ['isSemver("v1.2") || semver("v1.2", true).minor() == 2', true],
    ['!format.dns1123Label().validate("my-name").hasValue()', true],
    ['format.named("dns1123Label").value().validate("A").value().size()', 1],
    ['timestamp("2024-03-10T12:00:00Z").getHours("America/New_York")', 8],
    ['timestamp("2024-01-01T00:00:00Z") + duration("36h") > timestamp("2024-01-02T00:00:00Z")', true],
    ['duration("90m").getHours()', 1],
    ['string(b"abc") + string(bytes("d"))', 'abcd'],
    ['int("42") + int(3.9) + int(2u)', 47],
  ])('%s', (text, expected) => {
    expect(run(text)).toEqual(expected)
  })

  test.each([
    ['x.nope', 'no such key: nope'],
    ['x.b[7]', 'index out of bounds: 7'],
    ['x.b[-1]', 'index out of bounds: -1'],
    ['1 / (n - 7)', 'division by zero'],
    ['n % (n - 7)', 'modulus by zero'],
    ['9223372036854775807 + n', 'integer overflow'],
    ['x.c + x.a == 1', 'no such overload'],
    ['x.b.join()', 'no such overload'],
    ['ip("::ffff:1.2.3.4").family() == 4', 'IPv4-mapped IPv6 address "::ffff:1.2.3.4" is not allowed'],
    ['ip("::1%e").family() == 4', 'IP address "::1%e" with zone value is not allowed'],
    ['int(x.c)', "type conversion error from 'string' to 'int'"],
    ['optional.none().value()', 'optional.none() dereference'],
    ['s.matches("(")', 'error parsing regexp: missing closing ): `(`'],
    ['quantity(s)', "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"],
    ['"abc".charAt(4)', 'index out of range: 4'],
    ['x.constructor', 'no such key: constructor'],
    ['x.__proto__', 'no such key: __proto__'],
  ])('%s fails: %s', (text, message) => {
    expect(() => run(text)).toThrow(new CelError(message))
  })
})

describe('CEL compilation', () => {
  test.each([
    ['nope', "undeclared reference to 'nope' (in container '')", 1],
    ['o.b', "undefined field 'b'", 2],
    ['s + n', "found no matching overload for '_+_' applied to '(string, int)'", 3],
    ['s.startsWith(n)', "found no matching overload for 'startsWith' applied to 'string.(int)'", 13],
    [
      'n.all(i, true)',
      "expression of type 'int' cannot be range of a comprehension (must be list, map, or dynamic)",
      1,
    ],
    ['x.nope()', "undeclared reference to 'nope' (in container '')", 7],
    ['[1].map(2, 3)', 'argument must be a simple name', 9],
    ['s.a', "type 'string' does not support field selection", 2],
  ])('rejects %s: %s', (text, summary, column) => {
    expect(() => compile(text, { variables })).toThrow(
      expect.objectContaining({ name: 'CelCompileError', summary, column }),
    )
  })

  const anExpression =
    "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}"
  // Recorded from kube-apiserver 1.35.4.
  test.each([
    ['1 +', [`1:4: Syntax error: mismatched input '<EOF>' expecting ${anExpression}`]],
    ['in s', [`1:1: Syntax error: extraneous input 'in' expecting ${anExpression}`]],
    ['{"a": }', [`1:7: Syntax error: mismatched input '}' expecting ${anExpression}`]],
    ['!', [`1:2: Syntax error: extraneous input '<EOF>' expecting ${anExpression}`]],
    ['n > 1)', ["1:6: Syntax error: extraneous input ')' expecting <EOF>"]],
    ['(n', ["1:3: Syntax error: missing ')' at '<EOF>'"]],
    ['has(o.a', ["1:8: Syntax error: missing ')' at '<EOF>'"]],
    ['s[1', ["1:4: Syntax error: missing ']' at '<EOF>'"]],
    ['[1, 2', ["1:6: Syntax error: mismatched input '<EOF>' expecting {']', ','}"]],
    ['{1 2}', ["1:4: Syntax error: missing ':' at '2'"]],
    ['n ? 1', ["1:6: Syntax error: mismatched input '<EOF>' expecting ':'"]],
    ['o..a', ["1:3: Syntax error: no viable alternative at input '..'"]],
    ['o.', ["1:3: Syntax error: no viable alternative at input '.'"]],
    [
      's == "\\q"',
      [
        `1:6: Syntax error: token recognition error at: '"\\q'`,
        `1:9: Syntax error: token recognition error at: '"'`,
        `1:10: Syntax error: mismatched input '<EOF>' expecting ${anExpression}`,
      ],
    ],
    ['$s', ["1:1: Syntax error: token recognition error at: '$'"]],
    [
      'n = 1',
      [
        "1:3: Syntax error: token recognition error at: '= '",
        "1:5: Syntax error: extraneous input '1' expecting <EOF>",
      ],
    ],
    [
      "'abc",
      [
        "1:1: Syntax error: token recognition error at: ''abc'",
        `1:5: Syntax error: mismatched input '<EOF>' expecting ${anExpression}`,
      ],
    ],
  ])('reports the syntax of %j as Kubernetes does', (text, errors) => {
    let message = ''
    try {
      compile(text, { variables })
    } catch (error) {
      message = (error as Error).message
    }
    expect([...message.matchAll(/^ERROR: <input>:(.*)$/gm)].map(([, line]) => line)).toEqual(errors)
  })

  test('error messages mark the position', () => {
    expect(() => compile('true &&\n  o.b == 1', { variables })).toThrow(
      "ERROR: <input>:2:4: undefined field 'b'\n |   o.b == 1\n | ...^",
    )
  })

  test('rejects a result of another type than requested', () => {
    expect(() => compile('1', { variables: {} }, types.bool)).toThrow(CelCompileError)
    expect(compile('[1].map(i, string(i))', { variables: {} }, listOf(types.string)).type).toEqual(listOf(types.string))
    expect(compile('{"a": 1}', { variables: {} }).type).toEqual(mapOf(types.string, types.int))
  })

  test.each(['', '1 +', 'a b', '"', '(', `${'('.repeat(5000)}1`, 'x'.repeat(200_000), `1${'+1'.repeat(40_000)}`])(
    '%j is no expression',
    (text) => {
      expect(() => compile(text, { variables })).toThrow(expect.objectContaining({ code: 'CelSyntax' }))
    },
  )

  test('an expression that is too deep is no expression on a stack that is partly used either', () => {
    const onUsedStack = (frames: number, run: () => unknown): unknown =>
      frames === 0 ? run() : onUsedStack(frames - 1, run)
    for (let frames = 0; frames < 6_000; frames += 1_000)
      expect(() => onUsedStack(frames, () => compile(`1${'+1'.repeat(2_000)}`, { variables }))).toThrow(
        expect.objectContaining({ code: 'CelSyntax' }),
      )
  })

  test('accepts long chains of operators', () => {
    expect(compile(`1${'+1'.repeat(900)}`, { variables: {} }).evaluate({})).toBe(901n)
  })

  test('now is undeclared unless the environment declares it', () => {
    expect(() => compile('now', { variables: {} })).toThrow("undeclared reference to 'now'")
  })
})

describe('CEL cost budget', () => {
  const long = { x: { b: Array.from({ length: 300 }, (_, i) => i + 1) } }

  test.each([
    'x.b.all(i, x.b.all(j, x.b.all(k, i + j + k > 0)))',
    'x.b.exists(i, x.b.exists(j, x.b.exists(k, i + j + k < 0))) || true',
    'x.b.map(i, x.b.map(j, x.b.map(k, k))).size() >= 0',
  ])('ends %s, and the expression cannot catch it', (text) => {
    const program = compile(text, { variables: { x: types.dyn } })
    expect(() => program.evaluate(long)).toThrow(CelBudgetError)
  })

  test.each([
    '"x".replace("", s)',
    's.replace("", s)',
    '([""] + lists.range(5000).map(i, s)).join()',
    '"%s%s%s%s%s%s%s%s%s%s%s%s".format([s, s, s, s, s, s, s, s, s, s, s, s])',
    '"%.1000f".format([1.0])',
    'lists.range(1000000000).size()',
  ])('fails a call whose result is too large: %s', (text) => {
    const program = compile(text, { variables: { s: types.string } })
    let failure: unknown
    try {
      failure = program.evaluate({ s: 'x'.repeat(1_000_000) })
    } catch (error) {
      failure = error
    }
    const isSmall = typeof failure === 'string' && failure.length < 11_000_000
    expect(isSmall || failure instanceof CelError || failure instanceof CelBudgetError).toBe(true)
  })

  test('returns the cost of an evaluation', () => {
    const program = compile('x.b.all(i, i > 0)', { variables: { x: types.dyn } })
    const { cost } = program.run(long)
    expect(cost).toBeGreaterThan(300)
    expect(() => program.evaluate(long, { budget: cost - 1 })).toThrow(CelBudgetError)
    expect(program.evaluate(long, { budget: cost })).toBe(true)
  })

  test('strings cost by their length', () => {
    const program = compile('s.contains("x") || s.matches("a+b")', { variables: { s: types.string } })
    expect(program.run({ s: 'a'.repeat(10_000) }).cost).toBeGreaterThan(1_000)
  })
})

describe('CEL values', () => {
  test('declared types decide the conversion of numbers and strings', () => {
    const declared = { d: types.double, t: types.timestamp, l: listOf(types.duration), u: types.uint }
    const program = compile('d / 2.0 == 1.5 && t.getHours() == 5 && l[0] == duration("1h") && u == 3u', {
      variables: declared,
    })
    expect(program.evaluate({ d: 3, t: '2026-01-01T05:00:00Z', l: ['60m'], u: 3 })).toBe(true)
  })

  test('accepts results of one expression as variables of another', () => {
    const first = compile('[1.0, 2.0]', { variables: {} }).evaluate({})
    expect(
      compile('type(x[0]) == double', { variables: { x: types.dyn } }).evaluate({}, { values: { x: first } }),
    ).toBe(true)
  })

  test('round-trips JSON', () => {
    const json: JsonValue = { a: [1, 2.5, 'x', null, true], big: 9007199254740993n, __proto__x: {} }
    expect(toJson(fromJson(json))).toEqual(json)
  })

  test('maps have `constructor` and the like as ordinary keys', () => {
    const map = fromJson(JSON.parse('{"__proto__": 1}') as JsonValue) as MapValue
    expect([map.get('__proto__'), map.get('toString'), map.size]).toEqual([1n, undefined, 1])
    expect(JSON.stringify(toJson(map))).toBe('{"__proto__":1}')
  })
})
