import { expect, test } from 'vitest'
import {
  CelBudgetError,
  CelCompileError,
  CelError,
  Duration,
  MapValue,
  Timestamp,
  TypeValue,
  Uint,
  compile,
  types,
} from '@fairlead/kube/cel'
import type { CelValue } from '@fairlead/kube/cel'
import { describeData, readData } from '../../../test/support/conformance-data.ts'
import { celEquals } from '../src/cel/values.ts'
import { knownDifference, knownReasons } from './support/cel-known-differences.ts'
import type { Field, Message } from './support/textproto.ts'
import { parseTextProto } from './support/textproto.ts'

// The files that apply to Kubernetes' rules: without protobuf messages and enums.
const files = [
  'basic',
  'comparisons',
  'conversions',
  'fields',
  'fp_math',
  'integer_math',
  'lists',
  'logic',
  'macros',
  'macros2',
  'math_ext',
  'network_ext',
  'optionals',
  'parse',
  'plumbing',
  'string',
  'string_ext',
  'timestamps',
  'bindings_ext',
]

function messageOf(field: Field | undefined): Message {
  return field?.kind === 'message' ? field.message : new Map()
}

function all(message: Message, name: string): readonly Field[] {
  return message.get(name) ?? []
}

function stringOf(field: Field | undefined): string {
  return field === undefined || field.kind === 'message' ? '' : field.text
}

/** Converts a value of the cases; throws for protobuf messages, which are not supported. */
function valueOf(message: Message): CelValue {
  const [entry] = [...message.entries()]
  if (entry === undefined) return null
  const [kind, [field]] = entry
  switch (kind) {
    case 'null_value':
      return null
    case 'bool_value':
      return stringOf(field) === 'true'
    case 'int64_value':
      return BigInt(stringOf(field))
    case 'uint64_value':
      return new Uint(BigInt(stringOf(field)))
    case 'double_value':
      return doubleOf(stringOf(field))
    case 'string_value':
      return stringOf(field)
    case 'bytes_value':
      return field?.kind === 'string' ? field.bytes : new Uint8Array()
    case 'type_value':
      return new TypeValue(stringOf(field))
    case 'list_value':
      return all(messageOf(field), 'values').map((item) => valueOf(messageOf(item)))
    case 'map_value':
      return MapValue.of(
        all(messageOf(field), 'entries').map((item) => {
          const part = messageOf(item)
          return [valueOf(messageOf(all(part, 'key')[0])), valueOf(messageOf(all(part, 'value')[0]))] as const
        }),
      )
    case 'object_value':
      return wellKnown(messageOf(field))
    default:
      throw new Error(`no ${kind}`)
  }
}

function doubleOf(text: string): number {
  const special: Record<string, number> = {
    inf: Infinity,
    infinity: Infinity,
    '-inf': -Infinity,
    '-infinity': -Infinity,
    nan: NaN,
  }
  return special[text.toLowerCase()] ?? Number(text)
}

function wellKnown(message: Message): CelValue {
  const [entry] = [...message.entries()]
  const [type, [field]] = entry!
  const part = (name: string): bigint => BigInt(stringOf(all(messageOf(field), name)[0]) || '0')
  const nanos = part('seconds') * 1_000_000_000n + part('nanos')
  if (type.endsWith('Timestamp]')) return new Timestamp(nanos)
  if (type.endsWith('Duration]')) return new Duration(nanos)
  throw new Error(`no ${type}`)
}

interface Case {
  readonly name: string
  readonly expression: string
  readonly bindings: () => Record<string, CelValue>
  readonly declared: readonly string[]
  readonly fails: boolean
  readonly checkOnly: boolean
  readonly unchecked: boolean
  readonly value: () => CelValue
}

interface Outcome {
  readonly file: string
  readonly item: Case
  readonly outcome: string
  readonly reason: string | undefined
}

function casesOf(file: string): Case[] {
  const root = parseTextProto(
    readData('third-party', 'kubernetes-merge', 'cel-spec', 'tests', 'simple', 'testdata', `${file}.textproto`),
  )
  return all(root, 'section').flatMap((sectionField) => {
    const section = messageOf(sectionField)
    return all(section, 'test').flatMap((testField): Case[] => {
      const message = messageOf(testField)
      const has = (name: string): boolean => message.has(name)
      // Kubernetes has no partial values and no expressions without macros.
      if (has('unknown') || has('any_unknowns') || has('disable_macros') || has('container')) return []
      const expected = has('typed_result')
        ? messageOf(all(messageOf(all(message, 'typed_result')[0]), 'result')[0])
        : messageOf(all(message, 'value')[0])
      return [
        {
          name: `${file}/${stringOf(all(section, 'name')[0])}/${stringOf(all(message, 'name')[0])}`,
          expression: stringOf(all(message, 'expr')[0]),
          bindings: () =>
            Object.fromEntries(
              all(message, 'bindings').map((field) => {
                const binding = messageOf(field)
                const value = messageOf(all(messageOf(all(binding, 'value')[0]), 'value')[0])
                return [stringOf(all(binding, 'key')[0]), valueOf(value)]
              }),
            ),
          declared: all(message, 'type_env').map((field) => stringOf(all(messageOf(field), 'name')[0])),
          fails: has('eval_error') || has('any_eval_errors'),
          checkOnly: has('check_only'),
          unchecked: has('disable_check'),
          value: () => (has('value') || has('typed_result') ? valueOf(expected) : true),
        },
      ]
    })
  })
}

/** Compares like `==`, but types too, and NaN equals itself. */
function isSame(actual: CelValue, expected: CelValue): boolean {
  if (typeof expected === 'number' && Number.isNaN(expected)) return Number.isNaN(actual)
  return typeof actual === typeof expected && celEquals(actual, expected)
}

function outcome({ expression, bindings, declared, fails, checkOnly, value }: Case): 'agrees' | string {
  try {
    const values = bindings()
    const names = [...new Set([...Object.keys(values), ...declared])]
    const program = compile(expression, { variables: Object.fromEntries(names.map((name) => [name, types.dyn])) })
    if (checkOnly) return 'agrees'
    const actual = program.evaluate({}, { values })
    if (fails) return `no error but ${String(actual)}`
    return isSame(actual, value()) ? 'agrees' : `another value`
  } catch (error) {
    if (fails && (error instanceof CelError || error instanceof CelCompileError || error instanceof CelBudgetError))
      return 'agrees'
    return String(error)
  }
}

const outcomesOf = (file: string): readonly Outcome[] =>
  casesOf(file).map((item) => ({ file, item, outcome: outcome(item), reason: knownDifference(item) }))

describeData('CEL conformance cases', { minimum: 1700, read: () => files.flatMap(outcomesOf) }, (outcomes) => {
  test.each(files)('%s agrees except for known differences', (file) => {
    const disagreeing = outcomes.filter(
      (entry) => entry.file === file && entry.outcome !== 'agrees' && entry.reason === undefined,
    )
    expect(
      disagreeing.map(({ item, outcome: result }) => ({ name: item.name, expression: item.expression, result })),
    ).toEqual([])
  })

  test('every known difference still differs', () => {
    const needed = new Set(outcomes.filter((entry) => entry.outcome !== 'agrees').map(({ reason }) => reason))
    expect(knownReasons.filter((reason) => !needed.has(reason))).toEqual([])
  })

  test('at least the known number agree', () => {
    const agreeing = outcomes.filter((entry) => entry.outcome === 'agrees').length
    console.log(`CEL conformance: ${agreeing} of ${outcomes.length} cases agree`)
    expect(agreeing / outcomes.length).toBeGreaterThan(0.93)
  })
})
