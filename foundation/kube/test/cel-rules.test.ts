import { describe, expect, test } from 'vitest'
import type { FieldError, JsonObject, JsonValue, SchemaNode, TypeSchema } from '@fairlead/kube'
import { applyMergePatch, fieldErrorBody, structuralSchema } from '@fairlead/kube'
import { compileRules, escapeFieldName, hasRules, validateRules } from '@fairlead/kube/cel'
import { describeData, recordings } from '../../../test/support/conformance-data.ts'

interface Cause {
  readonly reason: string
  readonly message: string
  readonly field: string
}

function causesOf(errors: readonly FieldError[]): Cause[] {
  return errors.map((error) => ({ reason: error.type, message: fieldErrorBody(error), field: error.field }))
}

function causesIn(body: JsonObject | undefined): readonly Cause[] {
  return (body?.['details'] as { causes?: readonly Cause[] } | undefined)?.causes ?? []
}

const byText = (a: Cause, b: Cause): number => JSON.stringify(a).localeCompare(JSON.stringify(b))

const recordedRules = () =>
  recordings('cel').flatMap(({ name, steps }) => {
    let schema: TypeSchema | undefined
    let live: JsonObject | undefined
    return steps.flatMap(({ request, response }, i) => {
      const body = request?.body as JsonObject | undefined
      if (request === undefined || response === undefined || body === undefined) return []
      const { status } = response
      if (body['kind'] === 'CustomResourceDefinition') {
        const { versions } = body['spec'] as unknown as {
          versions: readonly { schema: { openAPIV3Schema: SchemaNode } }[]
        }
        schema = structuralSchema(versions[0]!.schema.openAPIV3Schema)
        const run = compileRules
        const definition = schema
        return [
          {
            name: `${name} ${i}`,
            errors: () => run(definition, 'spec.validation.openAPIV3Schema'),
            causes: causesIn(status === 422 ? response.body : undefined),
          },
        ]
      }
      if (schema === undefined) return []
      const before = request.method === 'PATCH' ? live : undefined
      const value = before === undefined ? body : (applyMergePatch(before, body) as JsonObject)
      if (status < 300 && !request.path.includes('dryRun')) live = response.body
      const causes = causesIn(status === 422 ? response.body : undefined)
      // Rules are not evaluated on objects that violate the schema.
      if (causes.some(({ reason }) => reason === 'FieldValueTypeInvalid')) return []
      const definition = schema
      return [{ name: `${name} ${i}`, errors: () => validateRules(value, definition, { old: before }), causes }]
    })
  })

describeData('recorded CEL rules', { minimum: 45, read: recordedRules }, (cases) => {
  test.each(cases)('$name', ({ errors, causes }) => {
    expect(causesOf(errors()).sort(byText)).toEqual([...causes].sort(byText))
  })
})

function schemaOf(root: SchemaNode): TypeSchema {
  return structuralSchema({ type: 'object', properties: { spec: root } })
}

function ruled(
  node: SchemaNode,
  ...rules: readonly ({ rule: string } & Partial<Record<string, unknown>>)[]
): SchemaNode {
  return { ...node, 'x-kubernetes-validations': rules }
}

const integer: SchemaNode = { type: 'integer' }
const text: SchemaNode = { type: 'string', maxLength: 20 }

describe('validateRules', () => {
  function problems(spec: SchemaNode, value: JsonValue, old?: JsonValue): string[] {
    const tolerate = (): void => {}
    const errors = validateRules(
      { spec: value },
      schemaOf(spec),
      old === undefined ? {} : { old: { spec: old }, tolerate },
    )
    return errors.map((error) => `${error.field}: ${fieldErrorBody(error)}`)
  }

  test.each<[string, SchemaNode, JsonValue, JsonValue | undefined, string[]]>([
    [
      'an error of a scalar has its value',
      ruled(integer, { rule: 'self > 1', message: 'small' }),
      1,
      undefined,
      ['spec: Invalid value: 1: small'],
    ],
    [
      'an error of an object has no value',
      ruled({ type: 'object', properties: { a: integer } }, { rule: 'self.a > 1' }),
      { a: 1 },
      undefined,
      ['spec: Invalid value: failed rule: self.a > 1'],
    ],
    [
      'messageExpression',
      ruled(integer, { rule: 'self > 1', messageExpression: "'got ' + string(self)" }),
      1,
      undefined,
      ['spec: Invalid value: 1: got 1'],
    ],
    [
      'message is used when messageExpression fails',
      ruled(integer, { rule: 'self > 1', message: 'small', messageExpression: "'x' + string(1 / 0)" }),
      1,
      undefined,
      ['spec: Invalid value: 1: small'],
    ],
    [
      'message is used when messageExpression has several lines',
      ruled(integer, { rule: 'self > 1', messageExpression: "'a\\nb'" }),
      1,
      undefined,
      ['spec: Invalid value: 1: failed rule: self > 1'],
    ],
    [
      'reason',
      ruled(integer, { rule: 'self > 1', message: 'm', reason: 'FieldValueForbidden' }),
      1,
      undefined,
      ['spec: Forbidden: m'],
    ],
    [
      'fieldPath',
      ruled(
        { type: 'object', properties: { a: { type: 'object', properties: { b: integer } } } },
        { rule: 'self.a.b > 1', message: 'm', fieldPath: '.a.b' },
      ),
      { a: { b: 1 } },
      undefined,
      ['spec.a.b: Invalid value: m'],
    ],
    [
      'transition rules are skipped on create',
      ruled(integer, { rule: 'self == oldSelf', message: 'immutable' }),
      1,
      undefined,
      [],
    ],
    [
      'transition rules run on update',
      ruled(integer, { rule: 'self == oldSelf', message: 'immutable' }),
      1,
      2,
      ['spec: Invalid value: 1: immutable'],
    ],
    [
      'optionalOldSelf rules run on create',
      ruled(integer, { rule: 'oldSelf.hasValue() || self == 0', optionalOldSelf: true, message: 'm' }),
      1,
      undefined,
      ['spec: Invalid value: 1: m'],
    ],
    ['an unchanged value is not an error on update', ruled(integer, { rule: 'self > 1', message: 'm' }), 1, 1, []],
    [
      'a changed value is an error on update',
      ruled(integer, { rule: 'self > 1', message: 'm' }),
      1,
      0,
      ['spec: Invalid value: 1: m'],
    ],
    [
      'items of map lists correlate by key',
      {
        type: 'array',
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['k'],
        items: ruled(
          { type: 'object', properties: { k: text, v: integer } },
          { rule: 'self.v >= oldSelf.v', message: 'shrunk' },
        ),
      },
      [
        { k: 'b', v: 1 },
        { k: 'a', v: 1 },
      ],
      [
        { k: 'a', v: 2 },
        { k: 'b', v: 1 },
      ],
      ['spec[1]: Invalid value: shrunk'],
    ],
    ['null is not validated', ruled({ ...integer, nullable: true }, { rule: 'self > 1' }), null, undefined, []],
    [
      'rules of the parent can read null',
      ruled(
        { type: 'object', properties: { a: { type: 'object', nullable: true } } },
        { rule: 'self.a != null', message: 'm' },
      ),
      { a: null },
      undefined,
      ['spec: Invalid value: m'],
    ],
    [
      'a rule that does not compile is an error',
      ruled(integer, { rule: 'nope' }),
      1,
      undefined,
      [
        "spec: Invalid value: \"integer\": rule compile error: compilation failed: ERROR: <input>:1:1: undeclared reference to 'nope' (in container '')\n | nope\n | ^",
      ],
    ],
    [
      'errors name the rule',
      ruled({ type: 'array', items: integer }, { rule: 'self[3] == 1' }),
      [1],
      undefined,
      ['spec: Invalid value: "array": index out of bounds: 3 evaluating rule: self[3] == 1'],
    ],
    [
      'errors name unknown overloads',
      ruled({ 'x-kubernetes-int-or-string': true }, { rule: 'self > 1', message: 'm' }),
      'x',
      undefined,
      [
        'spec: Invalid value: "": \'no such overload\': call arguments did not match a supported operator, function or macro signature for rule: m',
      ],
    ],
    [
      'rules escape field names',
      ruled(
        { type: 'object', properties: { 'a-b': integer, namespace: integer, 'x.y/z': integer, a__b: integer } },
        {
          rule: 'self.a__dash__b + self.__namespace__ + self.x__dot__y__slash__z + self.a__underscores__b > 10',
          message: 'm',
        },
      ),
      { 'a-b': 1, namespace: 2, 'x.y/z': 3, a__b: 4 },
      undefined,
      ['spec: Invalid value: m'],
    ],
    [
      'integers are exact in rules',
      ruled(integer, { rule: 'self == 9007199254740993', message: 'm' }),
      9007199254740993n,
      undefined,
      [],
    ],
    ['a number is a double', ruled({ type: 'number' }, { rule: 'self / 2.0 == 1.5', message: 'm' }), 3, undefined, []],
    ['bytes', ruled({ type: 'string', format: 'byte' }, { rule: "self == b'abc'" }), 'YWJj', undefined, []],
    [
      'sets compare without order',
      ruled(
        { type: 'array', 'x-kubernetes-list-type': 'set', items: text },
        { rule: "self + ['a'] == ['b', 'a']", message: 'm' },
      ),
      ['a', 'b'],
      undefined,
      [],
    ],
  ])('%s', (_name, spec, value, old, expected) => {
    expect(problems(spec, value, old)).toEqual(expected)
  })

  test('rules of resources can read metadata.name', () => {
    const schema = structuralSchema(
      ruled({ type: 'object', properties: {} }, { rule: "self.metadata.name == 'a'", message: 'm' }),
    )
    const object = (name: string): JsonValue => ({ apiVersion: 'v1', kind: 'K', metadata: { name, labels: {} } })
    expect(validateRules(object('a'), schema)).toEqual([])
    expect(validateRules(object('b'), schema).map(({ field, detail }) => [field, detail])).toEqual([['<nil>', 'm']])
  })

  test('stops evaluating rules when their shared budget is exceeded', () => {
    const items = ruled(integer, { rule: '[1, 2, 3].all(i, i > 0) && self < 0', message: 'm' })
    const spec = { type: 'array', items } as const
    const value = { spec: Array.from({ length: 50 }, () => 1) }
    const errors = validateRules(value, schemaOf(spec), { budget: 400 })
    expect(errors.length).toBeLessThan(50)
    expect(errors.at(-1)?.detail).toBe(
      'validation failed due to running out of cost budget, no further validation rules will be run',
    )
  })

  test('names the rule that exceeds its budget', () => {
    const spec = ruled(
      { type: 'array', items: integer },
      { rule: 'self.all(a, self.all(b, self.all(c, a + b + c > 0)))' },
    )
    const errors = validateRules({ spec: Array.from({ length: 200 }, () => 1) }, schemaOf(spec))
    expect(errors.map(({ detail }) => detail)).toEqual([
      "'operation cancelled: actual cost limit exceeded': no further validation rules will be run due to call cost exceeds limit for rule: self.all(a, self.all(b, self.all(c, a + b + c > 0)))",
    ])
  })

  test('hasRules is false for schemas without rules', () => {
    expect([hasRules(schemaOf(integer)), hasRules(schemaOf(ruled(integer, { rule: 'true' })))]).toEqual([false, true])
  })
})

describe('ratcheting of CEL rules', () => {
  const bad = { rule: "self != 'bad'", message: 'bad' }
  const schema = schemaOf({
    type: 'object',
    properties: {
      list: { type: 'array', items: { type: 'string', 'x-kubernetes-validations': [bad] } },
      text: { type: 'string', 'x-kubernetes-validations': [bad, { rule: 'self == oldSelf', message: 'changed' }] },
      error: { type: 'integer', 'x-kubernetes-validations': [{ rule: '1 / self > 0' }] },
    },
  } as SchemaNode)

  test.each<[string, JsonValue, JsonValue, string[], string[]]>([
    ['an unchanged part', { text: 'bad' }, { text: 'bad' }, [], ['spec.text']],
    ['a part that changed', { text: 'bad' }, { text: 'ok' }, ['spec.text', 'spec.text'], []],
    ['items of an unchanged list', { list: ['bad'], text: 'a' }, { list: ['bad'], text: 'a' }, [], ['spec.list[0]']],
    ['items of a changed list', { list: ['ok', 'bad'] }, { list: ['bad'] }, ['spec.list[1]'], []],
    ['rules that fail on a value', { error: 0 }, { error: 0 }, ['spec.error'], []],
  ])('%s', (_name, value, old, refused, tolerated) => {
    const ratcheted: string[] = []
    const errors = validateRules({ spec: value }, schema, {
      old: { spec: old },
      tolerate: ({ field }) => ratcheted.push(field),
    })
    expect([errors.map(({ field }) => field), ratcheted]).toEqual([refused, tolerated])
  })
})

describe('compileRules', () => {
  const base = 'spec.validation.openAPIV3Schema'
  const at = `${base}.properties[spec].x-kubernetes-validations[0]`

  function problems(spec: SchemaNode): string[] {
    return compileRules(schemaOf(spec), base).map((error) => `${error.field}: ${fieldErrorBody(error)}`)
  }

  test('accepts rules that compile', () => {
    expect(
      problems(
        ruled(
          { type: 'object', properties: { a: integer } },
          { rule: 'self.a > 1', messageExpression: "self.a > 0 ? 'a is one' : 'a is ' + 'less'" },
        ),
      ),
    ).toEqual([])
  })

  test('rejects messages of unbounded length as too expensive', () => {
    const rule = { rule: 'self.a > 1', messageExpression: "'a is ' + string(self.a)" }
    const [first] = problems(ruled({ type: 'object', properties: { a: integer } }, rule))
    expect(first).toContain(
      'messageExpression: Forbidden: estimated messageExpression cost exceeds budget by factor of more than 100x',
    )
  })

  test("rejects rules that do not compile with cel-go's messages", () => {
    expect(problems(ruled({ type: 'object', properties: { a: integer } }, { rule: 'self.b > 1' }))).toEqual([
      `${at}.rule: Invalid value: {"Rule":"self.b \\u003e 1","Message":"","MessageExpression":"","Reason":null,"FieldPath":"","OptionalOldSelf":null}: compilation failed: ERROR: <input>:1:5: undefined field 'b'\n | self.b > 1\n | ....^`,
    ])
  })

  test.each<[string, SchemaNode, string]>([
    ['a rule that is not a bool', ruled(integer, { rule: 'self + 1' }), 'cel expression must evaluate to a bool'],
    [
      'a messageExpression that is not a string',
      ruled(integer, { rule: 'self > 1', messageExpression: 'self' }),
      'messageExpression must evaluate to a string',
    ],
    [
      'optionalOldSelf without oldSelf',
      ruled(integer, { rule: 'self > 1', optionalOldSelf: false }),
      'may not be set if oldSelf is not used in rule',
    ],
    [
      'oldSelf below a list',
      { type: 'array', maxItems: 3, items: ruled(integer, { rule: 'self == oldSelf' }) },
      `oldSelf cannot be used on the uncorrelatable portion of the schema within ${base}.properties[spec]`,
    ],
  ])('rejects %s', (_name, spec, detail) => {
    expect(compileRules(schemaOf(spec), base).map((error) => error.detail)).toEqual([detail])
  })

  test('accepts an expensive rule when the schema limits sizes', () => {
    const list = (maxItems?: number): SchemaNode =>
      ruled(
        { type: 'array', items: text, ...(maxItems === undefined ? {} : { maxItems }) },
        { rule: 'self.all(a, self.exists(b, a == b))' },
      )
    expect(problems(list(100))).toEqual([])
    expect(problems(list())[0]).toContain('estimated rule cost exceeds budget by factor of more than 100x')
  })

  test('tolerates rules that exceeded the limit before the update', () => {
    const schema = schemaOf({ type: 'array', items: ruled({ type: 'string' }, { rule: "self.contains('x')" }) })
    const details = compileRules(schema, base, schema).map(({ detail }) => detail)
    expect(details.some((detail) => detail.startsWith('estimated rule cost'))).toBe(false)
  })

  test.each([
    ['a', 'a'],
    ['a.b', 'a__dot__b'],
    ['a-b/c', 'a__dash__b__slash__c'],
    ['a__b', 'a__underscores__b'],
    ['in', '__in__'],
    ['1a', undefined],
    ['ä', undefined],
  ])('escapes field name %s as %s', (name, escaped) => {
    expect(escapeFieldName(name)).toBe(escaped)
  })
})
