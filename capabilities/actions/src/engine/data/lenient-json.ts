// The JSON dialect of action maps (originals/kappnav.md §1.2). Deviations from strict JSON are accepted and reported.
import { JsonSyntaxError, parseJson, setOwn } from '@fairlead/kube'
import type { JsonValue, MutableJsonObject } from '@fairlead/kube'

/** A value and its deviations from strict JSON: one clause per kind of deviation, with the line of the first. */
export interface LenientJson {
  readonly value: JsonValue
  readonly deviations: readonly string[]
}

/** A string that is not even lenient JSON. `line` and `column` count from 1. */
export class LenientJsonError extends Error {
  override readonly name = 'LenientJsonError'
  readonly code = 'InvalidJson'
  readonly line: number
  readonly column: number

  constructor(message: string, line: number, column: number) {
    super(`line ${line}, column ${column}: ${message}`)
    this.line = line
    this.column = column
  }
}

/** Maximum nesting: no map needs more, and the stack of the parser is bounded. */
const maxDepth = 100

/** Parses a string; strict JSON takes the fast path. Throws LenientJsonError. */
export function parseLenientJson(text: string): LenientJson {
  try {
    return { value: parseJson(text, { maxDepth }), deviations: [] }
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error
    return new Parser(text).parse()
  }
}

const endOfUnquoted = /[/\\;#={}[\]:,\s]/

class Parser {
  readonly #text: string
  readonly #deviations = new Map<string, number>()
  #at = 0
  #depth = 0

  constructor(text: string) {
    this.#text = text
  }

  parse(): LenientJson {
    const value = this.#value()
    this.#skipBlanks()
    if (this.#at < this.#text.length) this.#fail('text after the value')
    return { value, deviations: [...this.#deviations].map(([what, line]) => `${what} (line ${line})`) }
  }

  #value(): JsonValue {
    this.#skipBlanks()
    const char = this.#text[this.#at]
    if (char === undefined) this.#fail('the data ends where a value must be')
    if (char === '{') return this.#nested(() => this.#object())
    if (char === '[') return this.#nested(() => this.#array())
    if (char === '"' || char === "'") return this.#string(char)
    const text = this.#unquoted('value')
    try {
      return literal(text, (what) => this.#note(what))
    } catch (error) {
      if (!(error instanceof JsonSyntaxError)) throw error
      this.#fail(`the number ${text.slice(0, 50)} is out of range`)
    }
  }

  #object(): JsonValue {
    const object: MutableJsonObject = {}
    this.#skipBlanks()
    if (this.#take('}')) return object
    for (;;) {
      this.#skipBlanks()
      const name = this.#name()
      this.#skipBlanks()
      if (!this.#take(':')) {
        if (!this.#take('=')) this.#fail(`":" must follow the name "${name}"`)
        this.#take('>')
        this.#note('"=" instead of ":"')
      }
      setOwn(object, name, this.#value())
      this.#skipBlanks()
      if (this.#take('}')) return object
      if (!this.#separator()) this.#fail('"," or "}" must follow a field of an object')
    }
  }

  #array(): JsonValue {
    const items: JsonValue[] = []
    this.#skipBlanks()
    if (this.#take(']')) return items
    for (;;) {
      this.#skipBlanks()
      if (this.#text[this.#at] === ']' || this.#text[this.#at] === ',' || this.#text[this.#at] === ';') {
        this.#note('a comma without a value')
        items.push(null)
      } else {
        items.push(this.#value())
      }
      this.#skipBlanks()
      if (this.#take(']')) return items
      if (!this.#separator()) this.#fail('"," or "]" must follow an item of a list')
    }
  }

  #name(): string {
    const char = this.#text[this.#at]
    if (char === '"' || char === "'") return this.#string(char)
    if (char === '}') this.#fail('a comma before "}"')
    return this.#unquoted('name')
  }

  #string(quote: string): string {
    if (quote === "'") this.#note('a string in single quotes')
    const start = this.#at++
    let text = ''
    for (;;) {
      const char = this.#text[this.#at++]
      if (char === undefined) {
        this.#at = start
        this.#fail('a string without its closing quote')
      }
      if (char === quote) return text
      if (char === '\\') text += this.#escape()
      else {
        if (char < ' ')
          this.#note(char === '\n' || char === '\r' ? 'a line break in a string' : 'a control character in a string')
        text += char
      }
    }
  }

  #escape(): string {
    const char = this.#text[this.#at++]
    if (char === 'u') {
      const digits = this.#text.slice(this.#at, this.#at + 4)
      if (!/^[0-9a-fA-F]{4}$/.test(digits)) this.#fail('\\u must be followed by four hex digits')
      this.#at += 4
      return String.fromCharCode(Number.parseInt(digits, 16))
    }
    const known: Readonly<Record<string, string>> = {
      b: '\b',
      f: '\f',
      n: '\n',
      r: '\r',
      t: '\t',
      '"': '"',
      '\\': '\\',
      '/': '/',
    }
    if (char !== undefined && Object.hasOwn(known, char)) return known[char]!
    if (char !== "'" && char !== '\n') this.#fail(`unknown escape \\${char ?? ''}`)
    this.#note(char === '\n' ? 'a line break in a string' : "the escape \\'")
    return char
  }

  #unquoted(what: 'name' | 'value'): string {
    const start = this.#at
    while (this.#at < this.#text.length && !endOfUnquoted.test(this.#text[this.#at]!)) this.#at++
    if (this.#at === start)
      this.#fail(`${what === 'name' ? 'a name' : 'a value'} must be here, not "${this.#text[this.#at]!}"`)
    if (what === 'name') this.#note('a name without quotes')
    return this.#text.slice(start, this.#at)
  }

  #separator(): boolean {
    if (this.#take(',')) return true
    if (!this.#take(';')) return false
    this.#note('";" instead of ","')
    return true
  }

  #skipBlanks(): void {
    for (;;) {
      while (this.#at < this.#text.length && ' \t\r\n\f\ufeff'.includes(this.#text[this.#at]!)) this.#at++
      if (this.#text[this.#at] === '#' || this.#text.startsWith('//', this.#at)) this.#skipTo('\n', false)
      else if (this.#text.startsWith('/*', this.#at)) this.#skipTo('*/', true)
      else return
    }
  }

  #skipTo(end: string, isRequired: boolean): void {
    this.#note('a comment')
    const found = this.#text.indexOf(end, this.#at + (isRequired ? 2 : 0))
    if (found < 0 && isRequired) this.#fail('a comment without its end')
    this.#at = found < 0 ? this.#text.length : found + end.length
  }

  #take(char: string): boolean {
    if (this.#text[this.#at] !== char) return false
    this.#at++
    return true
  }

  #nested<T>(read: () => T): T {
    if (++this.#depth > maxDepth) this.#fail(`nested deeper than ${maxDepth}`)
    this.#at++
    const value = read()
    this.#depth--
    return value
  }

  #note(what: string): void {
    if (!this.#deviations.has(what)) this.#deviations.set(what, this.#position().line)
  }

  #position(): { readonly line: number; readonly column: number } {
    const before = this.#text.slice(0, this.#at)
    return { line: before.split('\n').length, column: this.#at - before.lastIndexOf('\n') }
  }

  #fail(message: string): never {
    const { line, column } = this.#position()
    throw new LenientJsonError(message, line, column)
  }
}

function literal(text: string, note: (what: string) => void): JsonValue {
  const word = text.toLowerCase()
  if (word === 'true' || word === 'false' || word === 'null') {
    if (word !== text) note(`"${text}" instead of "${word}"`)
    return word === 'null' ? null : word === 'true'
  }
  if (/^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/.test(text)) return parseJson(text)
  note('a string without quotes')
  return text
}
