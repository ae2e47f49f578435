// JSON values and strings that are likely to hurt: names of prototypes, numbers at the edges, broken Unicode, and what
// real objects hold.
import fc from 'fast-check'
import type { JsonValue } from '@fairlead/kube'

const spiteful = [
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'hasOwnProperty',
  'valueOf',
  '',
  ' ',
  '.',
  '..',
  '/',
  '~',
  '~0',
  '~1',
  '-',
  '*',
  '\u0000',
  '\ud800',
  '\u202e',
  'é',
  '💥',
  'a'.repeat(64),
  'a'.repeat(254),
  'Ab_C',
  '-a',
  'a-',
  'a..b',
  'a/b/c',
  '%',
  '%2f',
  '\n',
  '"',
  "'",
  '\\',
  '{',
  '${}',
  '$patch',
  '$retainKeys',
  'null',
  'true',
  'NaN',
  '-0',
  '0x10',
  '1e999',
  '9007199254740993',
  '-9223372036854775809',
  '18446744073709551616',
]
const plausible = [
  'a',
  'b',
  'web',
  'default',
  'kube-system',
  'v1',
  'apps/v1',
  'Pod',
  'ConfigMap',
  'TCP',
  'UDP',
  'http',
  '80',
  '8080',
  '50%',
  '1Gi',
  '500m',
  '1e3',
  '10.0.0.1',
  '::1',
  '10.0.0.0/8',
  'fd00::/8',
  'a.example.com',
  '*.example.com',
  'example.com/key',
  '/path',
  'nginx:1',
  'app=web',
  'key in (a,b)',
  '2024-01-01T00:00:00Z',
  '2024-01-01T00:00:00.123456Z',
  '0001-01-01T00:00:00Z',
  '1h0m0s',
  '*/5 * * * *',
  'Always',
  'Never',
  'OnFailure',
  'ClusterIP',
  'NodePort',
  'LoadBalancer',
  'None',
  'ExternalName',
  'Recreate',
  'RollingUpdate',
  'ReadWriteOnce',
  'kubernetes.io/tls',
  'Opaque',
  'YQ==',
  '{.a}',
  '.spec.a',
  'self.a > 1',
  '^a+$',
  '(a+)+$',
  'Merge',
  'get',
  'ORPHAN',
]
const numbers = [
  0,
  -0,
  1,
  -1,
  2,
  80,
  65_535,
  65_536,
  2 ** 31,
  -(2 ** 31) - 1,
  2 ** 53,
  2 ** 53 + 2,
  -(2 ** 63),
  1.5,
  1e21,
  1e-7,
  5e-324,
  Number.MAX_VALUE,
]

/** Strings: common ones, dangerous ones, and arbitrary ones. */
export const text: fc.Arbitrary<string> = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...plausible) },
  { weight: 2, arbitrary: fc.constantFrom(...spiteful) },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 12 }) },
)

/** Keys of objects. */
export const key: fc.Arbitrary<string> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.constantFrom(
      'a',
      'b',
      'name',
      'metadata',
      'spec',
      'status',
      'labels',
      'kind',
      'apiVersion',
      'items',
      'data',
      'finalizers',
      'f:a',
      'k:{"a":1}',
      'v:1',
      'i:0',
      '.',
    ),
  },
  { weight: 1, arbitrary: text },
)

/** Numbers: small, at the edges of int32, int64 and doubles. */
export const number: fc.Arbitrary<number> = fc.oneof(
  { weight: 2, arbitrary: fc.integer({ min: -2, max: 300 }) },
  { weight: 1, arbitrary: fc.constantFrom(...numbers) },
)

/** Any JSON value, a few levels deep. Own keys only, `__proto__` among them. */
export const json: fc.Arbitrary<JsonValue> = fc.letrec<{ value: JsonValue }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true, maxDepth: 4 },
    { weight: 2, arbitrary: fc.constantFrom<JsonValue>(null, true, false) },
    { weight: 2, arbitrary: number },
    { weight: 4, arbitrary: text },
    { weight: 2, arbitrary: fc.array(tie('value'), { maxLength: 4 }) },
    {
      weight: 4,
      arbitrary: fc.array(fc.tuple(key, tie('value')), { maxLength: 4 }).map((entries) => ownObject(entries)),
    },
  ),
})).value

/** An object with own properties of any name. */
export function ownObject(entries: Iterable<readonly [string, JsonValue]>): { [key: string]: JsonValue } {
  const out: { [key: string]: JsonValue } = {}
  for (const [name, value] of entries)
    Object.defineProperty(out, name, { value, enumerable: true, configurable: true, writable: true })
  return out
}

/** JSON text, sometimes hurt in one place: a byte changed, cut off, doubled, or nested beyond all measure. */
export function jsonText(value: fc.Arbitrary<JsonValue>): fc.Arbitrary<string> {
  return fc.oneof(
    { weight: 12, arbitrary: value.map((each) => JSON.stringify(each)) },
    {
      weight: 2,
      arbitrary: fc
        .tuple(
          value,
          fc.nat(),
          fc.constantFrom(
            '',
            ',',
            '{',
            ']',
            '"',
            '\\',
            '\u0000',
            '-',
            '9'.repeat(400),
            'é',
            '"a":1,"a":2,',
            '[',
            ': ',
            '&a ',
            '*a',
            '!!binary ',
            '\t',
          ),
        )
        .map(([each, at, piece]) => hurt(JSON.stringify(each), at, piece)),
    },
    {
      weight: 1,
      arbitrary: fc
        .tuple(fc.constantFrom('[', '{"a":', '{"metadata":'), fc.integer({ min: 10, max: 12_000 }))
        .map(([open, times]) => open.repeat(times)),
    },
  )
}

/** Puts a piece in the place of one character. */
export function hurt(whole: string, at: number, piece: string): string {
  const place = whole.length === 0 ? 0 : at % whole.length
  return whole.slice(0, place) + piece + whole.slice(place + 1)
}
