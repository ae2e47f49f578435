// Exact JSON: integers beyond 2^53 are BigInts, duplicate keys are reported with their path, and syntax errors have the
// messages of Go's decoder. Start with parseJson and stringifyJson.
import { isJsonObject, setOwn } from './own-property.ts'
import { goQuoteCharacter } from './go-text.ts'
import { parsePlainJson, plainKeyCount } from './plain-json.ts'
import type { JsonValue, MutableJsonObject } from './object.ts'

/**
 * The maximum depth of arrays and objects. Go allows 10,000; functions on values are recursive here, and a thousand
 * levels fit the stack.
 */
export const maxJsonDepth = 1_000

/** Options of the JSON and YAML readers. */
export interface ParseJsonOptions {
  /** The maximum depth of arrays and objects; {@link maxJsonDepth} by default. */
  readonly maxDepth?: number
  /** The maximum number of keys of all objects; JSON only. */
  readonly maxKeys?: number
  /** The maximum number of times that YAML is read again after a repair; 50 by default. YAML only. */
  readonly maxRepairs?: number
  /**
   * Called once for each repeated key with its path (`spec.ports[0].name`), and its line in YAML; the last value wins.
   */
  readonly onDuplicate?: (path: string, line?: number) => void
  /** Called for every key with its path, in the order of the source; JSON only. */
  readonly onMember?: (path: string, isRepeated: boolean) => void
}

/**
 * Thrown for JSON that cannot be read. `message` is that of Go's encoding/json. Lines and columns count from 1, offsets
 * from 0, in UTF-16 units.
 * - `InvalidJson`: the source is not JSON.
 * - `JsonTooDeep`: arrays and objects are nested deeper than {@link maxJsonDepth}.
 * - `JsonTooManyKeys`: there are more keys than `maxKeys`.
 * - `JsonNumberOutOfRange`: the number exceeds a 64-bit float.
 */
export class JsonSyntaxError extends Error {
  override readonly name = 'JsonSyntaxError'
  readonly code: 'InvalidJson' | 'JsonTooDeep' | 'JsonTooManyKeys' | 'JsonNumberOutOfRange'
  readonly offset: number
  readonly line: number
  readonly column: number

  constructor(code: JsonSyntaxError['code'], message: string, text: string, offset: number) {
    super(message)
    this.code = code
    this.offset = offset
    const before = text.slice(0, offset)
    this.line = 1 + (before.match(/\n/g)?.length ?? 0)
    this.column = offset - before.lastIndexOf('\n')
  }
}

const decoder = new TextDecoder('utf-8', { ignoreBOM: true })

/**
 * Parses one JSON value. Bytes are UTF-8; invalid sequences and lone surrogates become U+FFFD. Integers are exact:
 * those beyond 2^53 are BigInts up to int64, and doubles beyond, as in Kubernetes.
 * @throws JsonSyntaxError `InvalidJson`, `JsonTooDeep`, `JsonTooManyKeys`, `JsonNumberOutOfRange`
 */
export function parseJson(input: string | Uint8Array, options: ParseJsonOptions = {}): JsonValue {
  const text = typeof input === 'string' ? input : decoder.decode(input)
  if (options.onMember === undefined && (typeof input !== 'string' || input.isWellFormed())) {
    const keys = plainKeyCount(text, options.maxDepth ?? maxJsonDepth)
    if (keys !== undefined && keys > (options.maxKeys ?? Infinity)) throw tooManyKeys(text, 0)
    const plain = keys === undefined ? undefined : parsePlainJson(text, keys, options.onDuplicate === undefined)
    if (plain !== undefined) return plain
  }
  const scanner = new Scanner(text, options)
  return scanner.document()
}

function tooManyKeys(text: string, offset: number): JsonSyntaxError {
  return new JsonSyntaxError('JsonTooManyKeys', 'too many keys', text, offset)
}

const quote = 0x22
const backslash = 0x5c

class Scanner {
  readonly #text: string
  readonly #maxDepth: number
  readonly #onDuplicate: ParseJsonOptions['onDuplicate']
  readonly #onMember: ParseJsonOptions['onMember']
  readonly #keepsPath: boolean
  readonly #path: (string | number)[] = []
  #at = 0
  #depth = 0
  #keysLeft: number

  constructor(text: string, { maxDepth = maxJsonDepth, maxKeys = Infinity, onDuplicate, onMember }: ParseJsonOptions) {
    this.#text = text
    this.#maxDepth = maxDepth
    this.#keysLeft = maxKeys
    this.#onDuplicate = onDuplicate
    this.#onMember = onMember
    this.#keepsPath = onDuplicate !== undefined || onMember !== undefined
  }

  document(): JsonValue {
    const value = this.#value(this.#next())
    const code = this.#next()
    if (!Number.isNaN(code)) this.#unexpected('after top-level value')
    return value
  }

  /** Skips white space and returns the next character code; NaN at the end. */
  #next(): number {
    const text = this.#text
    let at = this.#at
    let code = text.charCodeAt(at)
    while (code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09) code = text.charCodeAt(++at)
    this.#at = at
    return code
  }

  #value(code: number): JsonValue {
    switch (code) {
      case quote:
        return this.#string()
      case 0x7b:
        return this.#object()
      case 0x5b:
        return this.#array()
      case 0x74:
        this.#literal('true')
        return true
      case 0x66:
        this.#literal('false')
        return false
      case 0x6e:
        this.#literal('null')
        return null
      default:
        if (code === 0x2d || (code >= 0x30 && code <= 0x39)) return this.#number()
        return this.#unexpected('looking for beginning of value')
    }
  }

  #object(): JsonValue {
    this.#enter()
    const out: MutableJsonObject = {}
    let code = this.#next()
    if (code === 0x7d) return this.#leave(out)
    for (;;) {
      if (code !== quote) this.#unexpected('looking for beginning of object key string')
      if (--this.#keysLeft < 0) throw tooManyKeys(this.#text, this.#at)
      const key = this.#string()
      if (this.#next() !== 0x3a) this.#unexpected('after object key')
      this.#at++
      if (!this.#keepsPath) {
        setOwn(out, key, this.#value(this.#next()))
      } else {
        this.#path.push(key)
        const isRepeated = Object.hasOwn(out, key)
        if (isRepeated) this.#onDuplicate?.(formatJsonPath(this.#path))
        this.#onMember?.(formatJsonPath(this.#path), isRepeated)
        setOwn(out, key, this.#value(this.#next()))
        this.#path.pop()
      }
      code = this.#next()
      if (code === 0x7d) return this.#leave(out)
      if (code !== 0x2c) this.#unexpected('after object key:value pair')
      this.#at++
      code = this.#next()
    }
  }

  #array(): JsonValue {
    this.#enter()
    const out: JsonValue[] = []
    let code = this.#next()
    if (code === 0x5d) return this.#leave(out)
    for (;;) {
      if (!this.#keepsPath) {
        out.push(this.#value(code))
      } else {
        this.#path.push(out.length)
        out.push(this.#value(code))
        this.#path.pop()
      }
      code = this.#next()
      if (code === 0x5d) return this.#leave(out)
      if (code !== 0x2c) this.#unexpected('after array element')
      this.#at++
      code = this.#next()
    }
  }

  #enter(): void {
    if (++this.#depth > this.#maxDepth)
      throw new JsonSyntaxError(
        'JsonTooDeep',
        `invalid character '${this.#text[this.#at]}' exceeded max depth`,
        this.#text,
        this.#at,
      )
    this.#at++
  }

  #leave<T>(value: T): T {
    this.#depth--
    this.#at++
    return value
  }

  #literal(word: string): void {
    for (let i = 1; i < word.length; i++) {
      this.#at++
      if (this.#text.charCodeAt(this.#at) !== word.charCodeAt(i)) {
        this.#unexpected(`in literal ${word} (expecting '${word[i]}')`)
      }
    }
    this.#at++
  }

  #number(): number | bigint {
    const text = this.#text
    const start = this.#at
    let at = start
    let code = text.charCodeAt(at)
    if (code === 0x2d) {
      code = text.charCodeAt(++at)
      if (!isDigit(code)) this.#unexpected('in numeric literal', at)
    }
    if (code === 0x30) code = text.charCodeAt(++at)
    else while (isDigit(code)) code = text.charCodeAt(++at)
    const integral = code !== 0x2e && code !== 0x65 && code !== 0x45
    if (code === 0x2e) {
      code = text.charCodeAt(++at)
      if (!isDigit(code)) this.#unexpected('after decimal point in numeric literal', at)
      while (isDigit(code)) code = text.charCodeAt(++at)
    }
    if (code === 0x65 || code === 0x45) {
      code = text.charCodeAt(++at)
      if (code === 0x2b || code === 0x2d) code = text.charCodeAt(++at)
      if (!isDigit(code)) this.#unexpected('in exponent of numeric literal', at)
      while (isDigit(code)) code = text.charCodeAt(++at)
    }
    this.#at = at
    const literal = text.slice(start, at)
    const value = Number(literal)
    if (integral && !Number.isSafeInteger(value) && literal.length <= 20) return exactInteger(literal, value)
    if (!Number.isFinite(value)) {
      const message = `json: cannot unmarshal number ${literal} into Go value of type float64`
      throw new JsonSyntaxError('JsonNumberOutOfRange', message, text, start)
    }
    return value
  }

  #string(): string {
    const text = this.#text
    const start = this.#at + 1
    let at = start
    let code = text.charCodeAt(at)
    while (code !== quote) {
      if (code === backslash) return this.#escapedString(start, at)
      if (!(code >= 0x20)) this.#unexpected('in string literal', at)
      code = text.charCodeAt(++at)
    }
    this.#at = at + 1
    const value = text.slice(start, at)
    return value.isWellFormed() ? value : value.toWellFormed()
  }

  /** Parses a string from its first escape on; native JSON.parse decodes it once its syntax is checked. */
  #escapedString(start: number, firstEscape: number): string {
    const text = this.#text
    let at = firstEscape
    for (let code = backslash; code !== quote; code = text.charCodeAt(++at)) {
      if (code === backslash) {
        code = text.charCodeAt(++at)
        if (code === 0x75) {
          for (let i = 0; i < 4; i++) {
            if (!isHexDigit(text.charCodeAt(++at))) this.#unexpected('in \\u hexadecimal character escape', at)
          }
        } else if (Number.isNaN(code) || !'"\\/bfnrt'.includes(text[at]!)) {
          this.#unexpected('in string escape code', at)
        }
      } else if (!(code >= 0x20)) {
        this.#unexpected('in string literal', at)
      }
    }
    this.#at = at + 1
    return (JSON.parse(text.slice(start - 1, at + 1)) as string).toWellFormed()
  }

  #unexpected(context: string, at: number = this.#at): never {
    const text = this.#text
    if (at >= text.length) throw new JsonSyntaxError('InvalidJson', 'unexpected end of JSON input', text, text.length)
    const firstByte = new TextEncoder().encode(String.fromCodePoint(text.codePointAt(at)!))[0]!
    throw new JsonSyntaxError('InvalidJson', `invalid character ${goQuoteCharacter(firstByte)} ${context}`, text, at)
  }
}

const int64Range = 1n << 63n

function exactInteger(literal: string, value: number): number | bigint {
  const exact = BigInt(literal)
  return exact < int64Range && exact >= -int64Range ? exact : value
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39
}

function isHexDigit(code: number): boolean {
  return isDigit(code) || (code >= 0x41 && code <= 0x46) || (code >= 0x61 && code <= 0x66)
}

/** Formats a path as strict decoding errors do: `spec.ports[0].name`. */
export function formatJsonPath(path: readonly (string | number)[]): string {
  let out = ''
  for (const step of path) out += typeof step === 'number' ? `[${step}]` : out === '' ? step : `.${step}`
  return out
}

const rawJson = (text: string): unknown => (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON(text)

/** Writes a value as compact JSON; BigInts in full. Undefined fields are left out. */
export function stringifyJson(value: JsonValue | object): string {
  try {
    return JSON.stringify(value)
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    return JSON.stringify(value, (_key, member: unknown) =>
      typeof member === 'bigint' ? rawJson(member.toString()) : member,
    )
  }
}

/** Compares two values as JSON: the order of keys is ignored, the order of lists is not, 1 and 1n are equal. */
export function jsonEqual(a: unknown, b: unknown): boolean {
  if (a === b) return true
  if (typeof a === 'bigint') return typeof b === 'number' && Number.isInteger(b) && BigInt(b) === a
  if (typeof b === 'bigint') return jsonEqual(b, a)
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false
  if (Array.isArray(a)) {
    return Array.isArray(b) && a.length === b.length && a.every((item, i) => jsonEqual(item, b[i]))
  }
  if (Array.isArray(b)) return false
  const left = a as Readonly<Record<string, unknown>>
  const right = b as Readonly<Record<string, unknown>>
  const keys = Object.keys(left)
  if (keys.length !== Object.keys(right).length) return false
  for (const key of keys) {
    if (!Object.hasOwn(right, key) || !jsonEqual(left[key], right[key])) return false
  }
  return true
}

/** Freezes a value deeply, in place, and returns it. Frozen parts are taken to be deeply frozen. */
export function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  if (Array.isArray(value)) {
    for (const item of value) deepFreeze(item)
  } else {
    for (const key of Object.keys(value)) deepFreeze((value as Record<string, unknown>)[key])
  }
  return Object.freeze(value)
}

/** A JSON type that is mutable at every level. */
export type Mutable<T> = T extends readonly (infer Item)[]
  ? Mutable<Item>[]
  : T extends object
    ? { -readonly [K in keyof T]: Mutable<T[K]> }
    : T

/** Returns the type of a value as Go's JSON decoder names it: null, bool, number, string, array or object. */
export function jsonTypeName(value: JsonValue): 'null' | 'bool' | 'number' | 'string' | 'array' | 'object' {
  switch (typeof value) {
    case 'boolean':
      return 'bool'
    case 'number':
    case 'bigint':
      return 'number'
    case 'string':
      return 'string'
    default:
      return value === null ? 'null' : Array.isArray(value) ? 'array' : 'object'
  }
}

/** Returns a deep, mutable copy. */
export function cloneJson<T>(value: T): Mutable<T> {
  if (Array.isArray(value)) return value.map((item) => cloneJson(item as unknown)) as Mutable<T>
  if (!isJsonObject(value)) return value as Mutable<T>
  const out: MutableJsonObject = {}
  for (const key of Object.keys(value)) setOwn(out, key, cloneJson(value[key] as JsonValue) as JsonValue)
  return out as Mutable<T>
}
