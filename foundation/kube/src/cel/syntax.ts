// Parsing of expressions: cel-js parses, this module converts its tree, with macros as nodes of their own.
import { Environment as CelJs } from '@marcbachmann/cel-js'
import type { CelValue } from './values.ts'
import { typeNames } from './types.ts'
import { Uint } from './values.ts'
import { CelCompileError } from './errors.ts'
import { syntaxIssues } from './syntax-issues.ts'
import type { ParserError } from './syntax-issues.ts'

/** The macros over lists and maps. */
export type FoldMacro =
  | 'all'
  | 'exists'
  | 'exists_one'
  | 'map'
  | 'filter'
  | 'transformList'
  | 'transformMap'
  | 'transformMapEntry'

/** An expression; `at` is its offset in the source, in UTF-16 units. */
export type Expr = { readonly at: number } & (
  | { readonly kind: 'literal'; readonly value: CelValue }
  | { readonly kind: 'name'; readonly name: string }
  | {
      readonly kind: 'select'
      readonly operand: Expr
      readonly field: string
      readonly optional: boolean
      readonly test: boolean
    }
  | { readonly kind: 'index'; readonly operand: Expr; readonly index: Expr; readonly optional: boolean }
  | { readonly kind: 'call'; readonly name: string; readonly member: boolean; readonly args: readonly Expr[] }
  | { readonly kind: 'logic'; readonly operator: '&&' | '||'; readonly left: Expr; readonly right: Expr }
  | { readonly kind: 'conditional'; readonly test: Expr; readonly whenTrue: Expr; readonly whenFalse: Expr }
  | { readonly kind: 'list'; readonly items: readonly Expr[] }
  | { readonly kind: 'map'; readonly entries: readonly (readonly [Expr, Expr])[] }
  | {
      readonly kind: 'fold'
      readonly macro: FoldMacro
      readonly range: Expr
      /** One name for elements or keys, or two: index or key, and element or value. */
      readonly names: readonly string[]
      readonly filter: Expr | undefined
      readonly body: Expr
    }
  | { readonly kind: 'bind'; readonly name: string; readonly value: Expr; readonly body: Expr }
  | {
      readonly kind: 'optMap'
      readonly target: Expr
      readonly name: string
      readonly body: Expr
      readonly flat: boolean
    }
)

/** The nodes of cel-js. */
interface Node {
  readonly op: string
  readonly args: unknown
  readonly pos: number
  readonly start: number
}

/** The error for a macro variable that is not a simple name. */
const notAName = 'argument must be a simple name'

/** The maximum depth of expressions; long chains of one operator are nested too. */
const maxDepth = 1_000
const recursionLimit = `expression recursion limit exceeded: ${maxDepth}`

/** The maximum length of an expression, checked before parsing. */
const maxExpressionLength = 100_000

const parser = new CelJs({ unlistedVariablesAreDyn: true, enableOptionalTypes: true, limits: { maxDepth: 250 } })

/**
 * Parses an expression. `isFunction` distinguishes functions with a namespace (`math.greatest`) from methods; `hasBind`
 * enables `cel.bind`.
 * @throws CelCompileError `CelSyntax`
 */
export function parseExpression(text: string, isFunction: (name: string) => boolean, hasBind = true): Expr {
  if (text.length > maxExpressionLength) {
    const summary = `expression code point size exceeds limit: size: ${text.length}, limit ${maxExpressionLength}`
    throw new CelCompileError('CelSyntax', [{ summary, at: 0 }], '')
  }
  let root: Node
  try {
    root = parser.parse(text).ast as unknown as Node
  } catch (error) {
    const { code, ...problem } = parserError(error, text)
    if (code === 'invalid_macro_argument') {
      // The position of a selection is its dot.
      const at = text[problem.at - 1] === '.' ? problem.at - 1 : problem.at
      throw new CelCompileError('CelSyntax', [{ summary: notAName, at }], text)
    }
    throw new CelCompileError('CelSyntax', syntaxIssues(text, problem, firstError), text)
  }
  try {
    return new Converter(text, isFunction, hasBind).expression(root)
  } catch (error) {
    // The stack holds fewer levels than the limit when the caller has used a part of it.
    if (!(error instanceof RangeError)) throw error
    throw new CelCompileError('CelSyntax', [{ summary: recursionLimit, at: 0 }], text)
  }
}

function parserError(error: unknown, text: string): ParserError & { readonly code: string | undefined } {
  const { code, summary, range } = error as { code?: string; summary?: string; range?: { start?: number } }
  const message = summary ?? (error instanceof Error ? error.message : String(error))
  return { code, summary: message, at: Math.min(range?.start ?? text.length, text.length) }
}

function firstError(text: string): ParserError | undefined {
  try {
    parser.parse(text)
    return undefined
  } catch (error) {
    return parserError(error, text)
  }
}

const unary: Readonly<Record<string, string>> = { '!_': '!_', '-_': '-_' }

class Converter {
  readonly #text: string
  readonly #isFunction: (name: string) => boolean
  readonly #hasBind: boolean
  #depth = 0

  constructor(text: string, isFunction: (name: string) => boolean, hasBind: boolean) {
    this.#text = text
    this.#isFunction = isFunction
    this.#hasBind = hasBind
  }

  expression(node: Node): Expr {
    if (this.#depth >= maxDepth) throw this.#error(recursionLimit, node)
    this.#depth++
    const expr = this.#convert(node)
    this.#depth--
    return expr
  }

  #convert(node: Node): Expr {
    const at = node.pos
    const parts = node.args as readonly Node[]
    switch (node.op) {
      case 'value':
        return { kind: 'literal', at, value: literal(node.args, this.#text, at) }
      case 'id':
        return { kind: 'name', at, name: node.args as string }
      case '.':
      case '.?': {
        const dotted = dottedName(node)
        if (dotted !== undefined && typeNames.has(dotted)) return { kind: 'name', at: node.start, name: dotted }
        const [operand, field] = node.args as readonly [Node, string]
        return {
          kind: 'select',
          at: operatorOffset(this.#text, at, '.'),
          operand: this.expression(operand),
          field,
          optional: node.op === '.?',
          test: false,
        }
      }
      case '[]':
      case '[?]': {
        const [operand, index] = parts as readonly [Node, Node]
        return {
          kind: 'index',
          at: this.#text.indexOf('[', endOf(parts[0]!)),
          operand: this.expression(operand),
          index: this.expression(index),
          optional: node.op === '[?]',
        }
      }
      case 'call': {
        const [name, args] = node.args as readonly [string, readonly Node[]]
        return this.#call(node, name, args)
      }
      case 'rcall': {
        const [name, target, args] = node.args as readonly [string, Node, readonly Node[]]
        return this.#method(name, target, args)
      }
      case '&&':
      case '||':
        return {
          kind: 'logic',
          at,
          operator: node.op,
          left: this.expression(parts[0]!),
          right: this.expression(parts[1]!),
        }
      case '?:':
        return {
          kind: 'conditional',
          at: this.#text.indexOf('?', endOf(parts[0]!)),
          test: this.expression(parts[0]!),
          whenTrue: this.expression(parts[1]!),
          whenFalse: this.expression(parts[2]!),
        }
      case 'list':
        return { kind: 'list', at, items: parts.map((item) => this.expression(item)) }
      case 'map': {
        const entries = node.args as readonly (readonly [Node, Node])[]
        return {
          kind: 'map',
          at,
          entries: entries.map(([key, value]) => [this.expression(key), this.expression(value)] as const),
        }
      }
      default:
        return this.#operator(node)
    }
  }

  #operator(node: Node): Expr {
    if (Object.hasOwn(unary, node.op)) {
      const operand = this.expression(node.args as Node)
      const negated = node.op === '-_' && operand.kind === 'literal' ? negative(operand.value) : undefined
      if (negated !== undefined) return { kind: 'literal', at: node.pos, value: negated }
      return { kind: 'call', at: node.pos, name: node.op, member: false, args: [operand] }
    }
    const [left, right] = (node.args as readonly Node[]).map((part) => this.expression(part)) as [Expr, Expr]
    const name = node.op === 'in' ? '@in' : `_${node.op}_`
    // cel-js has the start of an operation; messages point to the operator, which is before the right operand.
    const rightStart = (node.args as readonly Node[])[1]!.start
    const at = Math.max(this.#text.lastIndexOf(node.op, rightStart - 1), 0)
    return { kind: 'call', at, name, member: false, args: [left, right] }
  }

  #call(node: Node, name: string, args: readonly Node[]): Expr {
    if (name === 'has' && args.length === 1) {
      const selected = this.expression(args[0]!)
      if (selected.kind !== 'select' || selected.optional) {
        const issue = { summary: 'invalid argument to has() macro', at: selected.at }
        throw new CelCompileError('CelSyntax', [issue], this.#text)
      }
      return { ...selected, at: operatorOffset(this.#text, node.start, '('), test: true }
    }
    return {
      kind: 'call',
      at: operatorOffset(this.#text, node.start, '('),
      name,
      member: false,
      args: args.map((arg) => this.expression(arg)),
    }
  }

  #method(name: string, target: Node, args: readonly Node[]): Expr {
    const at = this.#text.indexOf('(', endOf(target))
    const namespace = dottedName(target)
    if (this.#hasBind && namespace === 'cel' && name === 'bind' && args.length === 3) {
      return {
        kind: 'bind',
        at,
        name: this.#variable(args[0]!),
        value: this.expression(args[1]!),
        body: this.expression(args[2]!),
      }
    }
    if (namespace !== undefined && this.#isFunction(`${namespace}.${name}`)) {
      return {
        kind: 'call',
        at,
        name: `${namespace}.${name}`,
        member: false,
        args: args.map((arg) => this.expression(arg)),
      }
    }
    if ((name === 'optMap' || name === 'optFlatMap') && args.length === 2) {
      return {
        kind: 'optMap',
        at,
        target: this.expression(target),
        name: this.#variable(args[0]!),
        body: this.expression(args[1]!),
        flat: name === 'optFlatMap',
      }
    }
    return (
      this.#fold(at, name, target, args) ?? {
        kind: 'call',
        at,
        name,
        member: true,
        args: [target, ...args].map((arg) => this.expression(arg)),
      }
    )
  }

  #fold(at: number, name: string, target: Node, args: readonly Node[]): Expr | undefined {
    const form = foldForms.get(name)?.find(({ arity }) => arity === args.length)
    if (form === undefined) return undefined
    const names = args.slice(0, form.names).map((arg) => this.#variable(arg))
    if (names.length === 2 && names[0] === names[1]) throw this.#error(`duplicate variable name: ${names[0]}`, args[1]!)
    const rest = args.slice(form.names).map((arg) => this.expression(arg))
    return {
      kind: 'fold',
      at,
      macro: form.macro,
      range: this.expression(target),
      names,
      filter: rest.length > 1 ? rest[0] : undefined,
      body: rest.at(-1)!,
    }
  }

  #variable(node: Node): string {
    if (node.op !== 'id') throw this.#error(notAName, node)
    if (node.args === '__result__') throw this.#error('iteration variable overwrites accumulator variable', node)
    return node.args as string
  }

  #error(summary: string, node: Node): CelCompileError {
    return new CelCompileError('CelSyntax', [{ summary, at: node.pos }], this.#text)
  }
}

interface FoldForm {
  readonly macro: FoldMacro
  readonly arity: number
  readonly names: number
}

const foldForms: ReadonlyMap<string, readonly FoldForm[]> = new Map(
  Object.entries<readonly FoldForm[]>({
    all: [
      { macro: 'all', arity: 2, names: 1 },
      { macro: 'all', arity: 3, names: 2 },
    ],
    exists: [
      { macro: 'exists', arity: 2, names: 1 },
      { macro: 'exists', arity: 3, names: 2 },
    ],
    exists_one: [
      { macro: 'exists_one', arity: 2, names: 1 },
      { macro: 'exists_one', arity: 3, names: 2 },
    ],
    existsOne: [
      { macro: 'exists_one', arity: 2, names: 1 },
      { macro: 'exists_one', arity: 3, names: 2 },
    ],
    map: [
      { macro: 'map', arity: 2, names: 1 },
      { macro: 'map', arity: 3, names: 1 },
    ],
    filter: [{ macro: 'filter', arity: 2, names: 1 }],
    transformList: [
      { macro: 'transformList', arity: 3, names: 2 },
      { macro: 'transformList', arity: 4, names: 2 },
    ],
    transformMap: [
      { macro: 'transformMap', arity: 3, names: 2 },
      { macro: 'transformMap', arity: 4, names: 2 },
    ],
    transformMapEntry: [
      { macro: 'transformMapEntry', arity: 3, names: 2 },
      { macro: 'transformMapEntry', arity: 4, names: 2 },
    ],
  }),
)

function literal(value: unknown, text: string, at: number): CelValue {
  if (value instanceof Uint8Array) return bytesLiteral(text, at) ?? value
  if (typeof value === 'object' && value !== null && !(value instanceof Uint8Array)) {
    return new Uint((value as { valueOf(): bigint }).valueOf())
  }
  return value as CelValue
}

const simpleEscapes: Readonly<Record<string, number>> = { a: 7, b: 8, t: 9, n: 10, v: 11, f: 12, r: 13 }

/**
 * Returns the bytes of a literal with characters beyond ASCII, encoded as their UTF-8: cel-js takes their code
 * units. Undefined for all others.
 */
function bytesLiteral(text: string, at: number): Uint8Array | undefined {
  const found = /^(b?r?)("""|'''|"|')((?:\\[^]|[^])*?)\2/i.exec(text.slice(at))
  // oxlint-disable-next-line no-control-regex -- all of ASCII
  if (found === null || /^[\x00-\x7f]*$/.test(found[0])) return undefined
  const [, prefix = '', , content = ''] = found
  if (prefix.toLowerCase().endsWith('r')) return new TextEncoder().encode(content)
  const pieces = [...content.matchAll(/\\x([0-9a-f]{2})|\\([0-3][0-7]{2})|\\([^])|([^\\]+)/gi)]
  return Buffer.concat(
    pieces.map(([, hex, octal, escaped, plain]) =>
      plain === undefined
        ? Buffer.from([
            hex === undefined
              ? octal === undefined
                ? (simpleEscapes[escaped!] ?? escaped!.codePointAt(0)!)
                : Number.parseInt(octal, 8)
              : Number.parseInt(hex, 16),
          ])
        : Buffer.from(plain),
    ),
  )
}

function negative(value: CelValue): CelValue | undefined {
  // The smallest int has no negation; the operator reports that.
  if (typeof value === 'bigint') return value < 0n ? undefined : -value
  return typeof value === 'number' ? -value : undefined
}

function dottedName(node: Node): string | undefined {
  if (node.op === 'id') return node.args as string
  if (node.op !== '.') return undefined
  const [operand, field] = node.args as readonly [Node, string]
  const outer = dottedName(operand)
  return outer === undefined ? undefined : `${outer}.${field}`
}

function endOf(node: Node): number {
  return (node as Node & { readonly end: number }).end
}

function operatorOffset(text: string, from: number, operator: string): number {
  const at = operator === '.' ? text.lastIndexOf('.', from) : text.indexOf(operator, from)
  return at < 0 ? from : at
}
