// The pure functions under fuzzing: inputs for each, with the laws that hold for every input that it accepts.
import fc from 'fast-check'
import { decodeProtobuf, encodeProtobuf } from '@fairlead/apiserver'
import { builtinResources } from '@fairlead/builtin-kinds'
import {
  applyJsonPatch,
  applyMergePatch,
  applyStrategicMerge,
  canonicalQuantity,
  compareQuantities,
  compileRegex,
  formatGoDurationNanoseconds,
  isJsonObject,
  jsonEqual,
  parseColumnPath,
  parseFieldSelector,
  parseGoDurationNanoseconds,
  parseJson,
  parseJsonPath,
  parseLabelSelector,
  parseQuantity,
  parseYaml,
  stringifyJson,
  stringifyYaml,
} from '@fairlead/kube'
import type { JsonValue } from '@fairlead/kube'
import { compile, toJson, types } from '@fairlead/kube/cel'
import { cel, duration, fieldSelector, jsonPath, labelSelector, pattern, quantity } from './expressions.ts'
import type { FunctionInput } from './input.ts'
import { kubeObject } from './objects.ts'
import { json, jsonText, text } from './values.ts'

/** A pure function and what to hand to it. `play` gives what broke a law, or undefined. */
interface PureFunction {
  readonly texts: fc.Arbitrary<readonly string[]>
  play(texts: readonly string[]): string | undefined
}

const one = (texts: fc.Arbitrary<string>): fc.Arbitrary<readonly string[]> => texts.map((each) => [each])
const two = (a: fc.Arbitrary<string>, b: fc.Arbitrary<string>): fc.Arbitrary<readonly string[]> => fc.tuple(a, b)
const anyJson = json.map((value) => JSON.stringify(value))
const must = (holds: boolean, what: string): string | undefined => (holds ? undefined : what)

const environment = {
  variables: { self: types.dyn, oldSelf: types.dyn },
  now: true,
}
const podSchema = builtinResources().find(({ kind }) => kind === 'Pod')!.versions[0]!.schema!
const pod = kubeObject('v1', 'Pod', podSchema).map((value) => JSON.stringify(value))

/** Every function by name. */
export const pureFunctions: Readonly<Record<string, PureFunction>> = {
  json: {
    texts: one(jsonText(json)),
    play([source]) {
      const value = parseJson(source!)
      return must(jsonEqual(parseJson(stringifyJson(value)), value), 'JSON reads back as something else')
    },
  },
  yaml: {
    texts: one(
      fc.oneof(
        json.map((value) => stringifyYaml(value)),
        jsonText(json),
        fc
          .array(
            fc.oneof(
              text,
              fc.constantFrom(
                ': ',
                '- ',
                '\n',
                '  ',
                '&a ',
                '*a',
                '? ',
                '|',
                '>',
                '!!int ',
                '{',
                '}',
                '[',
                ']',
                '---\n',
                '...\n',
                '#',
                '"',
                "'",
                '<<: ',
                '0o17',
                '0x1F',
                '1_000',
                '.inf',
                '.nan',
                '~',
                'yes',
                '2024-01-01',
                '1e3',
                '@',
              ),
            ),
            { maxLength: 12 },
          )
          .map((parts) => parts.join('')),
      ),
    ),
    play([source]) {
      const value = parseYaml(source!)
      return must(jsonEqual(parseYaml(stringifyYaml(value)), value), 'YAML reads back as something else')
    },
  },
  quantity: {
    texts: two(quantity, quantity),
    play([a, b]) {
      const canonical = canonicalQuantity(a!)
      if (canonicalQuantity(canonical) !== canonical) return `the canonical form ${canonical} is none`
      return must(
        compareQuantities(parseQuantity(a!), parseQuantity(b!)) ===
          (-compareQuantities(parseQuantity(b!), parseQuantity(a!)) || 0),
        'order is not antisymmetric',
      )
    },
  },
  duration: {
    texts: one(duration),
    play([source]) {
      const value = parseGoDurationNanoseconds(source!)
      return must(
        parseGoDurationNanoseconds(formatGoDurationNanoseconds(value)) === value,
        'a duration reads back as something else',
      )
    },
  },
  jsonPath: {
    texts: two(jsonPath, anyJson),
    play([template, value]) {
      parseJsonPath(template!).execute(parseJson(value!))
      return undefined
    },
  },
  columnPath: {
    texts: two(
      jsonPath.map((path) => path.replace(/^\{/, '').replace(/\}$/, '')),
      anyJson,
    ),
    play([path, value]) {
      parseColumnPath(path!)(parseJson(value!))
      return undefined
    },
  },
  labelSelector: {
    texts: one(labelSelector),
    play([source]) {
      const selector = parseLabelSelector(source!)
      selector.matches({ a: 'b', __proto__: 'c' })
      const again = parseLabelSelector(selector.toString())
      return must(again.toString() === selector.toString(), `${selector.toString()} reads back as ${again.toString()}`)
    },
  },
  fieldSelector: {
    texts: one(fieldSelector),
    play([source]) {
      const selector = parseFieldSelector(source!)
      selector.matches(() => 'a')
      const again = parseFieldSelector(selector.toString())
      return must(again.toString() === selector.toString(), `${selector.toString()} reads back as ${again.toString()}`)
    },
  },
  cel: {
    texts: two(cel, anyJson),
    play([expression, self]) {
      const value = parseJson(self!)
      toJson(
        compile(expression!, environment).evaluate(
          { self: { a: 1, b: 'b', list: [1, 2, 3], map: { a: 1 }, any: value }, oldSelf: value },
          { budget: 1_000_000, now: 0 },
        ),
      )
      return undefined
    },
  },
  regex: {
    texts: two(pattern, fc.oneof(text, fc.constant('a'.repeat(5_000)))),
    play([source, subject]) {
      compileRegex(source!).test(subject!)
      return undefined
    },
  },
  jsonPatch: {
    texts: two(anyJson, jsonText(json)),
    play([document, patch]) {
      stringifyJson(applyJsonPatch(parseJson(document!), parseJson(patch!)))
      return undefined
    },
  },
  mergePatch: {
    texts: two(anyJson, jsonText(json)),
    play([document, patch]) {
      const [target, change] = [parseJson(document!), parseJson(patch!)]
      const once = applyMergePatch(target, change)
      // Nulls within lists go or stay by what was there before, as in the library that the server has.
      if (patch!.includes('null')) return undefined
      return must(jsonEqual(applyMergePatch(once, change), once), 'a merge patch twice is not the same as once')
    },
  },
  strategicMerge: {
    texts: two(pod, pod),
    play([document, patch]) {
      const target = parseJson(document!)
      if (isJsonObject(target)) applyStrategicMerge(target, parseJson(patch!), podSchema)
      return undefined
    },
  },
  protobuf: {
    texts: one(
      fc
        .tuple(pod, fc.nat(), fc.integer({ min: 0, max: 255 }))
        .map(([source, at, byte]) => brokenProtobuf(source, at, byte)),
    ),
    play([source]) {
      const value = decodeProtobuf(Buffer.from(source!, 'base64'))
      // Encoding writes zeros that the wire may lack, so the law holds from the second form on.
      const whole = decodeProtobuf(encodeProtobuf(value)!)
      return must(jsonEqual(decodeProtobuf(encodeProtobuf(whole)!), whole), 'protobuf reads back as something else')
    },
  },
}

function brokenProtobuf(source: string, at: number, byte: number): string {
  let bytes: Uint8Array | undefined
  try {
    const value = JSON.parse(source) as JsonValue
    bytes = isJsonObject(value) ? encodeProtobuf(value) : undefined
  } catch {
    bytes = undefined
  }
  const out = Buffer.from(bytes ?? [0x6b, 0x38, 0x73, 0])
  out[at % out.length] = byte
  return out.toString('base64')
}

/** An input for one of the functions. */
export const functionInputs: fc.Arbitrary<FunctionInput> = fc.oneof(
  ...Object.entries(pureFunctions).map(([name, { texts }]) => ({
    weight: name === 'cel' ? 5 : 1,
    arbitrary: texts.map((each) => ({ target: 'function' as const, name, texts: each })),
  })),
)
