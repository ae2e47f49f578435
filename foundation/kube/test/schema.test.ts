// Structural schemas: pruning, defaults, validation, list types, embedded objects, unknown fields.
import { fc, test as property } from '@fast-check/vitest'
import { describe, expect, test } from 'vitest'
import type { JsonValue, SchemaNode } from '@fairlead/kube'
import {
  applySchemaDefaults,
  coerceEmbeddedMetadata,
  decodeObjectMeta,
  deepFreeze,
  EmbeddedObjectError,
  formatCheck,
  formatFieldError,
  ObjectMetaError,
  prune,
  structuralSchema,
  unknownFields,
  validateEmbedded,
  validateListTypes,
  validateListTypesOnUpdate,
  validateValue,
} from '@fairlead/kube'

const text: SchemaNode = { type: 'string' }
const object = (properties: Record<string, SchemaNode>, more: Partial<SchemaNode> = {}): SchemaNode => ({
  type: 'object',
  properties,
  ...more,
})
const list = (items: SchemaNode, more: Partial<SchemaNode> = {}): SchemaNode => ({ type: 'array', items, ...more })
const keep = { 'x-kubernetes-preserve-unknown-fields': true } as const

/** Formats the errors of a value that is a whole object. */
function errorsOf(value: JsonValue, schema: SchemaNode, old?: JsonValue): string[] {
  return validateValue(value, structuralSchema(schema), old === undefined ? {} : { old }).map(formatFieldError)
}

describe('prune', () => {
  test.each<[string, SchemaNode, JsonValue, JsonValue, string[]]>([
    ['drops unspecified fields', object({ a: text }), { a: 'x', b: 1 }, { a: 'x' }, ['b']],
    [
      'reports paths in lists',
      object({ l: list(object({ a: text })) }),
      { l: [{ a: 'x' }, { b: 1 }] },
      { l: [{ a: 'x' }, {}] },
      ['l[1].b'],
    ],
    [
      'keeps apiVersion, kind and metadata of the root',
      object({}),
      { apiVersion: 'v1', kind: 'K', metadata: { x: 1 } },
      { apiVersion: 'v1', kind: 'K', metadata: { x: 1 } },
      [],
    ],
    [
      'preserves unknown fields with x-kubernetes-preserve-unknown-fields, prunes specified ones below',
      object({ s: object({ t: object({ a: text }) }, keep) }),
      { s: { u: { v: 1 }, t: { a: 'x', b: 1 } } },
      { s: { u: { v: 1 }, t: { a: 'x' } } },
      ['s.t.b'],
    ],
    [
      'passes preservation on to items of a list',
      object({ l: list(object({ a: text }), keep) }),
      { l: [{ a: 'x', b: 1 }] },
      { l: [{ a: 'x', b: 1 }] },
      [],
    ],
    [
      'prunes the values of maps',
      object({ m: { type: 'object', additionalProperties: object({ a: text }) } }),
      { m: { k: { a: 'x', b: 1 } } },
      { m: { k: { a: 'x' } } },
      ['m.k.b'],
    ],
    [
      'empties objects under additionalProperties: true',
      object({ m: { type: 'object', additionalProperties: true } }),
      { m: { k: { a: 1 }, s: 'x' } },
      { m: { k: {}, s: 'x' } },
      ['m.k.a'],
    ],
    [
      'keeps apiVersion, kind and metadata of embedded objects',
      object({ e: object({}, { 'x-kubernetes-embedded-resource': true }) }),
      { e: { kind: 'K', metadata: {}, spec: 1 } },
      { e: { kind: 'K', metadata: {} } },
      ['e.spec'],
    ],
    ['treats __proto__ as any name', object({}), JSON.parse('{"__proto__":{"a":1}}') as JsonValue, {}, ['__proto__']],
  ])('%s', (_, schema, value, expected, pruned) => {
    expect(prune(deepFreeze(value), structuralSchema(schema))).toEqual({ value: expected, pruned })
  })

  test('returns the same value when nothing is pruned', () => {
    const value = deepFreeze({ a: 'x', l: [{ b: 'y' }] })
    expect(prune(value, structuralSchema(object({ a: text, l: list(object({ b: text })) }))).value).toBe(value)
  })

  property.prop([fc.jsonValue()])('is idempotent and never changes its input', (value) => {
    const schema = structuralSchema(object({ a: object({ b: text }, keep), c: list(object({ a: text })) }))
    const once = prune(deepFreeze(value as JsonValue), schema).value
    expect(prune(once, schema)).toEqual({ value: once, pruned: [] })
  })
})

describe('applySchemaDefaults', () => {
  test.each<[string, SchemaNode, JsonValue, JsonValue]>([
    ['sets missing fields', object({ a: { ...text, default: 'd' } }), {}, { a: 'd' }],
    [
      'sets defaults below defaults',
      object({ o: object({ a: { ...text, default: 'd' } }, { default: {} }) }),
      {},
      { o: { a: 'd' } },
    ],
    ['does not create parents', object({ o: object({ a: { ...text, default: 'd' } }) }), {}, {}],
    [
      'sets defaults in lists',
      object({ l: list(object({ a: { ...text, default: 'd' } })) }),
      { l: [{}, { a: 'x' }] },
      { l: [{ a: 'd' }, { a: 'x' }] },
    ],
    [
      'sets defaults in maps',
      object({ m: { type: 'object', additionalProperties: object({ a: { ...text, default: 'd' } }) } }),
      { m: { k: {} } },
      { m: { k: { a: 'd' } } },
    ],
    ['replaces a null that is not nullable', object({ a: { ...text, default: 'd' } }), { a: null }, { a: 'd' }],
    ['keeps a nullable null', object({ a: { ...text, nullable: true, default: 'd' } }), { a: null }, { a: null }],
    ['drops a null that is neither nullable nor defaulted', object({ a: text }), { a: null }, {}],
    ['keeps a null in a list', object({ l: list(text) }), { l: [null] }, { l: [null] }],
    [
      'replaces a null item by the default of items',
      object({ l: list({ ...text, default: 'd' }) }),
      { l: [null] },
      { l: ['d'] },
    ],
    ['keeps nulls of unknown fields', object({}, keep), { x: null }, { x: null }],
  ])('%s', (_, schema, value, expected) => {
    expect(applySchemaDefaults(deepFreeze(value), structuralSchema(schema))).toEqual(expected)
  })

  property.prop([fc.jsonValue()])('is idempotent', (value) => {
    const schema = structuralSchema(
      object({
        a: { ...text, default: 'd' },
        b: object({ c: { type: 'integer', default: 1 } }, { default: {} }),
        l: list(text),
      }),
    )
    const once = applySchemaDefaults(deepFreeze(value as JsonValue), schema)
    expect(applySchemaDefaults(once, schema)).toBe(once)
  })
})

describe('validateValue', () => {
  test.each<[string, SchemaNode, JsonValue, string[]]>([
    [
      'type',
      object({ a: { type: 'integer' } }),
      { a: 1.5 },
      ['a: Invalid value: "number": a in body must be of type integer: "number"'],
    ],
    ['an integer is a number', object({ a: { type: 'number' } }), { a: 1 }, []],
    [
      'integers beyond 2^53',
      object({ a: { type: 'integer', maximum: 5 } }),
      { a: 9223372036854775807n },
      ['a: Invalid value: 9223372036854775807: a in body should be less than or equal to 5'],
    ],
    [
      'a double beyond int64 is not an integer',
      object({ a: { type: 'integer' } }),
      { a: 1e30 },
      ['a: Invalid value: "number": a in body must be of type integer: "number"'],
    ],
    [
      'int or string',
      object({ a: { 'x-kubernetes-int-or-string': true } }),
      { a: true },
      ['a: Invalid value: "boolean": a in body must be of type integer,string: "boolean"'],
    ],
    ['length in code points', object({ a: { ...text, maxLength: 2, minLength: 2 } }), { a: '😀😀' }, []],
    [
      'too long',
      object({ a: { ...text, maxLength: 2 } }),
      { a: '😀😀😀' },
      ['a: Too long: may not be more than 2 bytes'],
    ],
    [
      'pattern',
      object({ a: { ...text, pattern: '^a+$' } }),
      { a: 'b' },
      ['a: Invalid value: "b": a in body should match \'^a+$\''],
    ],
    [
      'reports only the first of length and pattern',
      object({ a: { ...text, minLength: 3, pattern: '^a' } }),
      { a: 'b' },
      ['a: Invalid value: "b": a in body should be at least 3 chars long'],
    ],
    [
      'bounds beside a float',
      object({ a: { type: 'number', maximum: 1_000_000 } }),
      { a: 1_000_000.5 },
      ['a: Invalid value: 1000000.5: a in body should be less than or equal to 1e+06'],
    ],
    [
      'multiples of a fraction',
      object({ a: { type: 'number', multipleOf: 0.5 } }),
      { a: 0.7 },
      ['a: Invalid value: 0.7: a in body should be a multiple of 0.5'],
    ],
    [
      'rejects multipleOf zero',
      object({ a: { type: 'number', multipleOf: 0 } }),
      { a: 1 },
      ['a: Invalid value: 0: factor MultipleOf declared for a must be positive: 0'],
    ],
    [
      'enum with other types',
      object({ a: { enum: ['x', 1, null] } }),
      { a: 'y' },
      ['a: Unsupported value: "y": supported values: "x", "1", "null"'],
    ],
    [
      'null is not in an enum',
      object({ a: { ...text, nullable: true, enum: ['x', null] } }),
      { a: null },
      ['a: Unsupported value: null: supported values: "x", "null"'],
    ],
    ['required', object({ a: text }, { required: ['a', 'b'] }), { a: 'x' }, ['b: Required value']],
    [
      'forbidden property',
      object({ o: { type: 'object', additionalProperties: false } }),
      { o: { x: 1 } },
      ['o: Invalid value: "x": o.x in body is a forbidden property'],
    ],
    [
      'allOf',
      object({ a: { ...text, allOf: [{ minLength: 2 }, { pattern: '^b' }] } }),
      { a: 'c' },
      [
        'a: Invalid value: "c": a in body should be at least 2 chars long',
        'a: Invalid value: "c": a in body should match \'^b\'',
        '<nil>: Invalid value: "": "a" must validate all the schemas (allOf). None validated',
      ],
    ],
    [
      'reports the best matching alternative',
      object({
        a: object(
          { x: text, y: text },
          { anyOf: [{ required: ['z'] }, { properties: { x: { minLength: 1 } }, required: ['y'] }] },
        ),
      }),
      { a: { x: 'k' } },
      ['<nil>: Invalid value: "": "a" must validate at least one schema (anyOf)', 'a.y: Required value'],
    ],
  ])('%s', (_, schema, value, expected) => {
    expect(errorsOf(value, schema)).toEqual(expected)
  })

  test('prefixes fields with the path of the value, and keeps messages relative to it', () => {
    const errors = validateValue({ a: 1 }, structuralSchema(object({ a: text })), { path: 'spec.default' })
    expect(errors.map(formatFieldError)).toEqual([
      'spec.default.a: Invalid value: "integer": a in body must be of type string: "integer"',
    ])
  })
})

describe('ratcheting of schema validation', () => {
  const short = { ...text, maxLength: 1 }
  const map = object({
    l: list(object({ k: text, v: short }), { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['k'] }),
  })

  test.each<[string, SchemaNode, JsonValue, JsonValue, number]>([
    [
      'tolerates unchanged invalid values',
      object({ a: short, b: text }),
      { a: 'long', b: 'x' },
      { a: 'long', b: 'y' },
      0,
    ],
    ['rejects changed invalid values', object({ a: short }), { a: 'long' }, { a: 'other' }, 1],
    [
      'correlates items of a map list by key',
      map,
      { l: [{ k: 'a', v: 'long' }] },
      {
        l: [
          { k: 'b', v: 'x' },
          { k: 'a', v: 'long' },
        ],
      },
      0,
    ],
    [
      'rejects a new invalid item of a map list',
      map,
      { l: [{ k: 'a', v: 'long' }] },
      { l: [{ k: 'b', v: 'long' }] },
      1,
    ],
    [
      'does not correlate items of other lists',
      object({ l: list(short), b: text }),
      { l: ['long'], b: 'x' },
      { l: ['long', 'x'], b: 'x' },
      1,
    ],
    [
      'tolerates an unchanged list',
      object({ l: list(short), b: text }),
      { l: ['long'], b: 'x' },
      { l: ['long'], b: 'y' },
      0,
    ],
    ['rejects a new invalid value', object({ a: short }), {}, { a: 'long' }, 1],
    [
      'does not ratchet apiVersion and kind',
      object({ kind: { ...text, enum: ['A'] }, a: text }),
      { kind: 'B', a: 'x' },
      { kind: 'B', a: 'y' },
      1,
    ],
  ])('%s', (_, schema, old, value, count) => {
    expect(errorsOf(value, schema, old)).toHaveLength(count)
  })

  property.prop([fc.jsonValue()])('accepts every unchanged object', (value) => {
    const schema = object({ a: short, b: list(short, { maxItems: 1 }) }, { required: ['a'], minProperties: 1 })
    expect(errorsOf(value as JsonValue, schema, value as JsonValue)).toEqual([])
  })
})

describe('validateListTypes', () => {
  const set = structuralSchema(object({ s: list(text, { 'x-kubernetes-list-type': 'set' }) }))
  const map = structuralSchema(
    object({
      m: list(object({ k: text, n: { type: 'integer' } }), {
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['k', 'n'],
      }),
    }),
  )

  test('reports each duplicate item once', () => {
    expect(validateListTypes({ s: ['a', 'b', 'a', 'a', 'b'] }, set).map(formatFieldError)).toEqual([
      's[2]: Duplicate value: "a"',
      's[4]: Duplicate value: "b"',
    ])
  })

  test('compares items of list maps by all keys', () => {
    const value: JsonValue = { m: [{ k: 'a', n: 1 }, { k: 'a', n: 2 }, { k: 'a', n: 1 }, {}, {}] }
    expect(validateListTypes(value, map).map(formatFieldError)).toEqual([
      'm[2]: Duplicate value: {"k":"a","n":1}',
      'm[4]: Duplicate value: {}',
    ])
  })

  test('tolerates duplicates in lists that had some before', () => {
    expect(validateListTypesOnUpdate({ s: ['b', 'b'] }, { s: ['a', 'a'] }, set)).toEqual([])
    expect(validateListTypesOnUpdate({ s: ['b', 'b'] }, { s: ['a'] }, set)).toHaveLength(1)
  })
})

describe('embedded objects', () => {
  const schema = structuralSchema(object({ e: object({}, { 'x-kubernetes-embedded-resource': true, ...keep }) }))

  test('lose unknown metadata', () => {
    const value = { e: { apiVersion: 'v1', kind: 'K', metadata: { name: 'n', odd: 1, creationTimestamp: null } } }
    expect(coerceEmbeddedMetadata(value, schema)).toEqual({
      value: { e: { apiVersion: 'v1', kind: 'K', metadata: { name: 'n' } } },
      unknown: ['e.metadata.odd'],
    })
  })

  test('are rejected with metadata of a wrong type', () => {
    expect(() => coerceEmbeddedMetadata({ e: { metadata: 'x' } }, schema)).toThrow(EmbeddedObjectError)
  })

  test('require a type and valid metadata', () => {
    const value = { e: { apiVersion: 'a/b/c', kind: 'No_', metadata: { labels: { 'bad key': 'x' } } } }
    expect(validateEmbedded(value, schema).map((error) => error.field)).toEqual([
      'e.apiVersion',
      'e.kind',
      'e.metadata.labels',
    ])
    expect(validateEmbedded({ e: {} }, schema).map(formatFieldError)).toEqual([
      'e.apiVersion: Required value',
      'e.kind: Required value',
    ])
  })
})

describe('decodeObjectMeta', () => {
  test('drops empty values and unknown fields, and formats times in UTC', () => {
    const value = {
      name: 'n',
      labels: {},
      finalizers: [],
      generation: 0,
      creationTimestamp: '2026-01-01T01:00:00.5+01:00',
      ownerReferences: [{ name: 'o', odd: 1 }],
    }
    expect(decodeObjectMeta(value)).toEqual({
      metadata: {
        name: 'n',
        creationTimestamp: '2026-01-01T00:00:00Z',
        ownerReferences: [{ apiVersion: '', kind: '', name: 'o', uid: '' }],
      },
      unknown: ['metadata.ownerReferences[0].odd'],
    })
  })

  test.each<[JsonValue, string]>([
    [[], 'json: cannot unmarshal array into Go value of type v1.ObjectMeta'],
    [{ labels: { a: 1 } }, 'json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string'],
    [
      { ownerReferences: [{ controller: 'x' }] },
      'json: cannot unmarshal string into Go struct field OwnerReference.ownerReferences.controller of type bool',
    ],
    [{ generation: 1.5 }, 'json: cannot unmarshal number 1.5 into Go struct field ObjectMeta.generation of type int64'],
  ])('rejects %j', (value, message) => {
    expect(() => decodeObjectMeta(value)).toThrow(new ObjectMetaError(message))
  })
})

test('unknownFields follows references and ignores free-form objects', () => {
  const nodes: Record<string, SchemaNode> = { Meta: object({ name: text }), Free: { type: 'object' } }
  const schema = {
    root: object({ m: { $ref: 'Meta' }, f: { $ref: 'Free' }, l: list({ $ref: 'Meta' }) }),
    resolve: (name: string) => nodes[name],
  }
  expect(unknownFields({ z: 1, m: { name: 'x', q: 1 }, f: { any: 1 }, l: [{ p: 1 }] }, schema)).toEqual([
    'z',
    'm.q',
    'l[0].p',
  ])
})

describe('formats', () => {
  test.each<[string, readonly string[], readonly string[]]>([
    [
      'date-time',
      ['2001-01-01T00:00:00Z', '2001-01-01t23:59:59.5+01:00'],
      ['2001-01-01', '2001-01-01T24:00:00Z', '2001-02-29T00:00:00Z'],
    ],
    ['date', ['2000-02-29'], ['1900-02-29', '2001-1-1', '2001-13-01']],
    ['duration', ['1h30m', '1.5s', '0', 'P1D', '22 ns', '3 weeks'], ['', 'xx', '1 fortnight']],
    ['byte', ['YQ==', 'YWJj'], ['', '!!', 'YQ=']],
    ['email', ['a@b.c', 'A B <a@b>', '"a b"@c', 'a@[1.2.3.4]', 'a@b (comment)'], ['a', 'a@', '@b', 'a@b c', '<a@b']],
    ['hostname', ['a', 'example.com', 'münchen.de'], ['a.b', '-a', 'a_b', `${'a'.repeat(64)}.com`]],
    ['ipv4', ['1.2.3.4', '01.2.3.4'], ['1.2.3', '1.2.3.256', '::1']],
    [
      'ipv6',
      ['::', '::1', 'fe80::1:2', '::ffff:1.2.3.4', '1:2:3:4:5:6:7:8'],
      ['x', '1.2.3.4', '1::2::3', '1:2:3:4:5:6:7', '1:2:3:4:5:6:7:8:9', '12345::'],
    ],
    ['cidr', ['10.0.0.0/8', '::/0', 'fd00::1/128'], ['10.0.0.0', '10.0.0.0/33', '::/129', '1.2.3/8']],
    [
      'uri',
      ['http://x', 'https://user@host:1/p?q', '/path', 'mailto:a@b', 'http://[::1]:80/'],
      ['', 'no uri', 'path', '://x', 'http://a b/', 'http://x/%zz'],
    ],
    ['uuid4', ['11111111-2222-4333-8444-555555555555'], ['11111111-2222-3333-4444-555555555555']],
    [
      'mac',
      ['00:11:22:33:44:55', '00-11-22-33-44-55', '0011.2233.4455', '00:11:22:33:44:55:66:77'],
      ['z', '00:11:22:33:44', '00:11-22:33:44:55'],
    ],
    ['isbn', ['0321751043', '978-0321751041'], ['x', '0321751044']],
    ['creditcard', ['4111 1111 1111 1111'], ['4111 1111 1111 1112']],
    ['ssn', ['111-22-3333'], ['111223333', '11-22-3333']],
    ['hexcolor', ['#fff', 'A0B1C2'], ['zz', '#ffff']],
    ['rgbcolor', ['rgb(0, 10,255)'], ['rgb(0,10,256)']],
    ['k8s-short-name', ['a-b'], ['Bad_', 'a.b']],
    ['k8s-long-name', ['a.b-c'], ['A.b']],
    ['password', ['anything'], []],
  ])('%s', (format, good, bad) => {
    const check = formatCheck(format)!
    expect(good.filter((value) => !check(value))).toEqual([])
    expect(bad.filter((value) => check(value))).toEqual([])
  })

  test('are ignored when unknown', () => {
    expect([formatCheck('int32'), formatCheck('unheard-of')]).toEqual([undefined, undefined])
  })
})
