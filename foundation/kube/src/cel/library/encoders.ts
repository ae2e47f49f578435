// Encodings of values as strings: cel-go's base64, and JSON and YAML, for expressions that build objects. Rules of
// Kubernetes do not have them.
import { parseYamlDocuments } from '../../yaml/reader.ts'
import { stringifyYaml } from '../../yaml/writer.ts'
import { parseJson, stringifyJson } from '../../json.ts'
import { traversal } from '../call-cost.ts'
import type { CallCost } from '../call-cost.ts'
import { CelError } from '../errors.ts'
import { Library } from '../library.ts'
import { fromJson, toJson } from '../values.ts'
import type { CelValue } from '../values.ts'

/** The size of a nested value is unknown before it is traversed: half a thousand of these calls exceed the budget. */
const ofNestedValue: CallCost = () => 2000

/** Names of the functions, none of which Kubernetes has. */
export const encoderNames: readonly string[] = [
  'base64.encode',
  'base64.decode',
  'json.marshal',
  'json.unmarshal',
  'yaml.marshal',
  'yaml.unmarshal',
]

/** Returns the functions. */
export function encodersLibrary(): Library {
  return new Library()
    .define('base64.encode(bytes): string', (bytes: Uint8Array) => Buffer.from(bytes).toString('base64'), traversal)
    .define('base64.decode(string): bytes', decodeBase64, traversal)
    .define('json.marshal(dyn): string', (value: CelValue) => stringifyJson(toJson(value) as object), ofNestedValue)
    .define('json.unmarshal(string): dyn', (text: string) => parsed(() => parseJson(text)), traversal)
    .define('yaml.marshal(dyn): string', (value: CelValue) => stringifyYaml(toJson(value)), ofNestedValue)
    .define(
      'yaml.unmarshal(string): dyn',
      (text: string) => parsed(() => parseYamlDocuments(text)[0] ?? null),
      traversal,
    )
}

/** Padding is optional, as in cel-go. */
function decodeBase64(text: string): Uint8Array {
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(text) || text.replace(/=+$/, '').length % 4 === 1)
    throw new CelError('illegal base64 data')
  return new Uint8Array(Buffer.from(text, 'base64'))
}

function parsed(parse: () => Parameters<typeof fromJson>[0]): CelValue {
  try {
    return fromJson(parse())
  } catch (error) {
    if (!(error instanceof Error)) throw error
    throw new CelError(error.message.split('\n')[0]!)
  }
}
