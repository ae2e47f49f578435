// The parser of kubectl's JSONPath templates. Messages are those of client-go's jsonpath.
import { JsonPathError } from './jsonpath-error.ts'

/** A step of a path or a part of a template. */
export type JsonPathNode =
  | { readonly kind: 'text'; readonly value: string }
  | { readonly kind: 'constant'; readonly value: number | boolean }
  | { readonly kind: 'list'; readonly nodes: readonly JsonPathNode[] }
  | { readonly kind: 'field'; readonly name: string }
  | {
      readonly kind: 'array'
      readonly start: number | undefined
      /** `next`: the one element at `start`. */
      readonly end: number | undefined | 'next'
      readonly step: number | undefined
    }
  | {
      readonly kind: 'filter'
      readonly left: readonly JsonPathNode[]
      readonly operator: string
      readonly right: readonly JsonPathNode[]
    }
  | { readonly kind: 'wildcard' }
  | { readonly kind: 'recursive' }
  | { readonly kind: 'union'; readonly branches: readonly (readonly JsonPathNode[])[] }
  | { readonly kind: 'range'; readonly over: readonly JsonPathNode[]; readonly body: readonly JsonPathNode[] }

function invalid(message: string): JsonPathError {
  return new JsonPathError('InvalidJsonPath', message)
}

/**
 * Parses a template to its parts; each pair of braces is a list of nodes, the source between them a text node.
 * @throws JsonPathError `InvalidJsonPath`
 */
export function parseTemplate(template: string): JsonPathNode[] {
  const root: JsonPathNode[] = []
  const open: { over: readonly JsonPathNode[]; body: JsonPathNode[]; outer: JsonPathNode[] }[] = []
  let current = root
  let at = 0
  while (at < template.length) {
    const brace = template.indexOf('{', at)
    if (brace !== at) current.push({ kind: 'text', value: template.slice(at, brace < 0 ? undefined : brace) })
    if (brace < 0) break
    const action = new ActionParser(template, brace + 1).parseAction()
    at = action.end
    if (action.keyword === 'range') {
      const body: JsonPathNode[] = []
      open.push({ over: action.nodes, body, outer: current })
      current = body
    } else if (action.keyword === 'end') {
      const range = open.pop()
      if (range === undefined) throw invalid('not in range, nothing to end')
      range.outer.push({ kind: 'range', over: range.over, body: range.body })
      current = range.outer
    } else {
      current.push({ kind: 'list', nodes: action.nodes })
    }
  }
  // A range without an end extends to the end of the template.
  for (let range = open.pop(); range !== undefined; range = open.pop()) {
    range.outer.push({ kind: 'range', over: range.over, body: range.body })
  }
  return root
}

const dictionaryKey = /^'([^']*)'$/
const sliceForm = /^(-?\d*)(:-?\d*)?(:-?\d*)?$/
const comparison = /^([^!<>=]+)([!<>=]+)(.+?)$/s
const fieldEnd = /[ .,[\]$@{}]/

class ActionParser {
  readonly #text: string
  #at: number
  #keyword: 'range' | 'end' | undefined

  constructor(text: string, at: number) {
    this.#text = text
    this.#at = at
  }

  /** Parses up to the closing brace. */
  parseAction(): { nodes: JsonPathNode[]; keyword: 'range' | 'end' | undefined; end: number } {
    const nodes = this.#nodes(true)
    return { nodes, keyword: this.#keyword, end: this.#at }
  }

  /** Parses the whole source as one path. */
  parsePath(): JsonPathNode[] {
    return this.#nodes(false)
  }

  #nodes(inBraces: boolean): JsonPathNode[] {
    const nodes: JsonPathNode[] = []
    for (;;) {
      const rest = this.#text.slice(this.#at, this.#at + 3)
      const character = rest[0]
      if (character === undefined || character === '\n') {
        if (inBraces || character === '\n') throw invalid('unclosed action')
        return nodes
      }
      if (inBraces && character === '}') {
        this.#at++
        return nodes
      }
      if (rest === '[?(') nodes.push(this.#filter())
      else if (rest.startsWith('..')) {
        this.#at += /[.[]/.test(this.#text[this.#at + 2] ?? '') ? 2 : 1
        nodes.push({ kind: 'recursive' })
      } else if (character === ' ' || character === '@' || character === '$') this.#at++
      else if (character === '[') nodes.push(...this.#array())
      else if (character === '"' || character === "'") nodes.push({ kind: 'text', value: this.#quoted(character) })
      else if (character === '.') nodes.push(this.#field())
      else if (/[-+\d]/.test(character)) nodes.push({ kind: 'constant', value: this.#number() })
      else if (/[\p{L}\d_]/u.test(character)) this.#identifier(nodes)
      else {
        const code = character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')
        throw invalid(`unrecognized character in action: U+${code} '${character}'`)
      }
    }
  }

  #identifier(nodes: JsonPathNode[]): void {
    const start = this.#at
    while (this.#at < this.#text.length && !/[ \n.,[\]$@{}]/.test(this.#text[this.#at]!)) this.#at++
    const word = this.#text.slice(start, this.#at)
    if (word === 'true' || word === 'false') nodes.push({ kind: 'constant', value: word === 'true' })
    else if (word === 'range' || word === 'end') this.#keyword = word
    else throw invalid(`unrecognized identifier ${word}`)
  }

  #number(): number {
    const [text] = /^[-+]?[\d.]*/.exec(this.#text.slice(this.#at))!
    this.#at += text.length
    if (!/^[-+]?(?:\d+\.?\d*|\.\d+)$/.test(text)) throw invalid(`cannot parse number ${text}`)
    return Number(text)
  }

  #quoted(quote: string): string {
    let value = ''
    for (let at = this.#at + 1; at < this.#text.length; at++) {
      const character = this.#text[at]!
      if (character === quote) {
        this.#at = at + 1
        return value
      }
      if (character === '\n') break
      if (character === '\\') {
        const escape = this.#text[++at] ?? ''
        value += escapes[escape] ?? escape
      } else {
        value += character
      }
    }
    throw invalid('unterminated quoted string')
  }

  #field(): JsonPathNode {
    let name = ''
    let at = this.#at + 1
    for (; at < this.#text.length && !fieldEnd.test(this.#text[at]!); at++) {
      if (this.#text[at] === '\\') at++
      name += this.#text[at] ?? ''
    }
    this.#at = at
    return name === '*' ? { kind: 'wildcard' } : { kind: 'field', name }
  }

  #array(): JsonPathNode[] {
    const close = this.#text.indexOf(']', this.#at)
    const text = close < 0 ? '' : this.#text.slice(this.#at + 1, close)
    if (close < 0 || text.includes('\n')) throw invalid('unterminated array')
    this.#at = close + 1
    const parts = text.split(',')
    if (parts.length === 1) return indexNodes(text)
    return [{ kind: 'union', branches: parts.map((part) => indexNodes(part.trim())) }]
  }

  #filter(): JsonPathNode {
    const start = this.#at + 3
    let quote: string | undefined
    let at = start
    for (; ; at++) {
      const character = this.#text[at]
      if (character === undefined || character === '\n') throw invalid('unterminated filter')
      if (quote === undefined && (character === '"' || character === "'")) quote = character
      else if (character === quote && this.#text[at - 1] !== '\\') quote = undefined
      else if (character === ')' && quote === undefined) break
    }
    if (this.#text[at + 1] !== ']') throw invalid('unclosed array expect ]')
    this.#at = at + 2
    const text = this.#text.slice(start, at)
    const match = comparison.exec(text)
    if (match === null) return { kind: 'filter', left: path(text), operator: 'exists', right: [] }
    return { kind: 'filter', left: path(match[1]!), operator: match[2]!, right: path(match[3]!) }
  }
}

const escapes: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', a: '\x07', b: '\b', f: '\f', v: '\v' }

function path(text: string): JsonPathNode[] {
  return new ActionParser(text, 0).parsePath()
}

function indexNodes(text: string): JsonPathNode[] {
  if (text === '*') return [{ kind: 'array', start: undefined, end: undefined, step: undefined }]
  const key = dictionaryKey.exec(text)
  if (key !== null) return path(`.${key[1]}`)
  const match = sliceForm.exec(text)
  if (match === null || text === '') throw invalid(`invalid array index ${text}`)
  const [, start = '', end, step] = match
  const bound = (part: string | undefined): number | undefined => {
    const digits = part?.replace(/^:/, '') ?? ''
    return digits === '' || digits === '-' ? undefined : Number(digits)
  }
  return [{ kind: 'array', start: bound(start), end: end === undefined ? 'next' : bound(end), step: bound(step) }]
}
