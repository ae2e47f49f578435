// Label selectors: the query form (`app=x,tier in (a,b),!old`) and the object form (matchLabels, matchExpressions),
// with Kubernetes' errors.
import { fieldErrors, formatFieldError, formatFieldErrors } from './field-error.ts'
import type { FieldError } from './field-error.ts'
import { goQuote } from './go-text.ts'
import { labelValue, qualifiedName } from './names.ts'

/** Labels of an object. */
export type Labels = Readonly<Record<string, string>>

/** `matchExpressions[]` of a label selector. */
export type LabelSelectorRequirement = {
  readonly key: string
  readonly operator: string
  readonly values?: readonly string[]
}

/** `metav1.LabelSelector`: all requirements must match; an empty one selects everything. */
export type LabelSelector = {
  readonly matchLabels?: Labels
  readonly matchExpressions?: readonly LabelSelectorRequirement[]
}

/** The operator of a requirement. `=` and `==` are equivalent and print as written. */
export type SelectorOperator = '=' | '==' | '!=' | 'in' | 'notin' | 'exists' | '!' | 'gt' | 'lt'

/** One term of a selector; values are sorted and unique. */
export interface Requirement {
  readonly key: string
  readonly operator: SelectorOperator
  readonly values: readonly string[]
}

/** A parsed label selector. */
export interface Selector {
  readonly requirements: readonly Requirement[]
  /** True for a selector that selects everything. */
  readonly isEmpty: boolean
  /** Reports whether the labels match every requirement. */
  matches(labels: Labels | undefined): boolean
  /** Formats the query form; parsing it gives an equal selector. */
  toString(): string
}

/** Thrown for an invalid selector; the message is the API server's. */
export class SelectorError extends Error {
  override readonly name = 'SelectorError'
  readonly code = 'InvalidSelector'
}

const fewKeys = 16

/** All requirements of one key. */
class LabelCondition {
  isRequired = false
  #isForbidden = false
  #allowed: ReadonlySet<string> | undefined
  readonly #excluded = new Set<string>()
  #above: bigint | undefined
  #below: bigint | undefined

  add({ operator, values }: Requirement): void {
    this.isRequired ||= operator !== '!' && operator !== '!=' && operator !== 'notin'
    switch (operator) {
      case 'exists':
        break
      case '!':
        this.#isForbidden = true
        break
      case '=':
      case '==':
      case 'in':
        this.#allowed = new Set(values.filter((value) => this.#allowed?.has(value) ?? true))
        break
      case '!=':
      case 'notin':
        for (const value of values) this.#excluded.add(value)
        break
      case 'gt':
      case 'lt': {
        const bound = parseInt64(values[0]!)!
        if (operator === 'gt') this.#above = this.#above === undefined || bound > this.#above ? bound : this.#above
        else this.#below = this.#below === undefined || bound < this.#below ? bound : this.#below
      }
    }
  }

  /** Reports whether a value that the object has meets all of them. */
  matches(value: string): boolean {
    if (this.#isForbidden || this.#excluded.has(value) || this.#allowed?.has(value) === false) return false
    if (this.#above === undefined && this.#below === undefined) return true
    const number = parseInt64(value)
    return (
      number !== undefined &&
      (this.#above === undefined || number > this.#above) &&
      (this.#below === undefined || number < this.#below)
    )
  }
}

class LabelQuery implements Selector {
  readonly requirements: readonly Requirement[]
  /** The requirements by key: their number does not matter to an object, that of its labels does. */
  readonly #conditions = new Map<string, LabelCondition>()
  /** Keys that an object must have. */
  readonly #required: readonly string[]

  constructor(requirements: readonly Requirement[]) {
    this.requirements = requirements
    for (const requirement of requirements) {
      let condition = this.#conditions.get(requirement.key)
      if (condition === undefined) this.#conditions.set(requirement.key, (condition = new LabelCondition()))
      condition.add(requirement)
    }
    this.#required = [...this.#conditions].filter(([, { isRequired }]) => isRequired).map(([key]) => key)
  }

  get isEmpty(): boolean {
    return this.requirements.length === 0
  }

  matches(labels: Labels | undefined): boolean {
    // Ends at the first key that is missing, so after as many steps as there are labels.
    for (const key of this.#required) if (labels === undefined || !Object.hasOwn(labels, key)) return false
    if (labels === undefined) return true
    // A selector of few keys and an object of many labels are the common case.
    if (this.#conditions.size <= fewKeys) {
      for (const [key, condition] of this.#conditions)
        if (Object.hasOwn(labels, key) && !condition.matches(labels[key]!)) return false
      return true
    }
    for (const key of Object.keys(labels)) {
      const condition = this.#conditions.get(key)
      if (condition !== undefined && !condition.matches(labels[key]!)) return false
    }
    return true
  }

  toString(): string {
    return this.requirements.map(formatRequirement).join(',')
  }
}

/** The selector of every object. */
export const everything: Selector = new LabelQuery([])

/** The selector of no object. Its query form is empty, as in Kubernetes, so never send it as a query. */
export const nothing: Selector = {
  requirements: [],
  isEmpty: false,
  matches: () => false,
  toString: () => '',
}

/**
 * Parses the query form.
 * @throws SelectorError `InvalidSelector`
 */
export function parseLabelSelector(text: string): Selector {
  const requirements = new SelectorParser(text).parse()
  return requirements.length === 0 ? everything : new LabelQuery(requirements.sort(byKey))
}

const objectOperators: Readonly<Record<string, SelectorOperator>> = {
  In: 'in',
  NotIn: 'notin',
  Exists: 'exists',
  DoesNotExist: '!',
}

/**
 * Parses the object form; undefined selects nothing, `{}` everything.
 * @throws SelectorError `InvalidSelector`
 */
export function selectorFrom(selector: LabelSelector | null | undefined): Selector {
  if (selector === undefined || selector === null) return nothing
  const requirements: Requirement[] = []
  for (const [key, value] of Object.entries(selector.matchLabels ?? {}))
    requirements.push(requirement(key, '=', [value]))
  for (const { key, operator, values } of selector.matchExpressions ?? []) {
    const known = Object.hasOwn(objectOperators, operator) ? objectOperators[operator] : undefined
    if (known === undefined) throw new SelectorError(`${goQuote(operator)} is not a valid label selector operator`)
    requirements.push(requirement(key, known, values ?? []))
  }
  return requirements.length === 0 ? everything : new LabelQuery(requirements.sort(byKey))
}

function byKey(a: Requirement, b: Requirement): number {
  return a.key < b.key ? -1 : a.key > b.key ? 1 : 0
}

/** Validates a requirement; all errors go into one SelectorError. */
function requirement(key: string, operator: SelectorOperator, given: readonly string[]): Requirement {
  const values = [...new Set(given)].sort()
  const errors: FieldError[] = []
  const keyErrors = qualifiedName(key)
  if (keyErrors.length > 0) errors.push(fieldErrors.invalid('key', key, keyErrors.join('; ')))
  switch (operator) {
    case 'in':
    case 'notin':
      if (values.length === 0) {
        errors.push(fieldErrors.invalid('values', [], "for 'in', 'notin' operators, values set can't be empty"))
      }
      break
    case 'exists':
    case '!':
      if (values.length > 0)
        errors.push(fieldErrors.invalid('values', values, 'values set must be empty for exists and does not exist'))
      break
    case 'gt':
    case 'lt':
      values.forEach((value, i) => {
        if (parseInt64(value) === undefined) {
          errors.push(
            fieldErrors.invalid(`values[${i}]`, value, "for 'Gt', 'Lt' operators, the value must be an integer"),
          )
        }
      })
      break
    default:
  }
  values.forEach((value, i) => {
    const valueErrors = labelValue(value)
    if (valueErrors.length > 0) errors.push(fieldErrors.invalid(`values[${i}][${key}]`, value, valueErrors.join('; ')))
  })
  if (errors.length > 0) throw new SelectorError(formatFieldErrors(errors))
  return { key, operator, values }
}

function parseInt64(text: string): bigint | undefined {
  if (!/^[+-]?\d+$/.test(text)) return undefined
  const value = BigInt(text.replace(/^\+/, ''))
  return value >= -(1n << 63n) && value < 1n << 63n ? value : undefined
}

function formatRequirement({ key, operator, values }: Requirement): string {
  switch (operator) {
    case 'exists':
      return key
    case '!':
      return `!${key}`
    case 'in':
    case 'notin':
      return `${key} ${operator} (${values.join(',')})`
    case 'gt':
      return `${key}>${values[0]}`
    case 'lt':
      return `${key}<${values[0]}`
    default:
      return `${key}${operator}${values[0]}`
  }
}

type TokenKind = 'identifier' | 'keyword' | 'symbol' | 'end'

interface Token {
  readonly kind: TokenKind
  readonly text: string
}

const end: Token = { kind: 'end', text: '' }

/** Symbols, longest first, as the server's lexer reads them; words run up to the next symbol or blank. */
const tokenPattern = /[ \t\r\n]*(?:(==|!=|[=!(),<>])|([^ \t\r\n=!(),<>]+))/y

function tokenize(text: string): Token[] {
  const tokens: Token[] = []
  tokenPattern.lastIndex = 0
  for (let match = tokenPattern.exec(text); match !== null; match = tokenPattern.exec(text)) {
    const [, symbol, word] = match
    if (symbol !== undefined) tokens.push({ kind: 'symbol', text: symbol })
    else tokens.push({ kind: word === 'in' || word === 'notin' ? 'keyword' : 'identifier', text: word! })
  }
  return tokens
}

const operatorOfToken: Readonly<Record<string, SelectorOperator>> = {
  '=': '=',
  '==': '==',
  '!=': '!=',
  '>': 'gt',
  '<': 'lt',
  in: 'in',
  notin: 'notin',
}

class SelectorParser {
  readonly #tokens: readonly Token[]
  #at = 0

  constructor(text: string) {
    this.#tokens = tokenize(text)
  }

  parse(): Requirement[] {
    const requirements: Requirement[] = []
    for (;;) {
      const token = this.#peek()
      if (token.kind === 'end') return requirements
      if (!isWord(token) && token.text !== '!') {
        throw new SelectorError(`found '${token.text}', expected: !, identifier, or 'end of string'`)
      }
      requirements.push(this.#requirement())
      const after = this.#take()
      if (after.kind === 'end') return requirements
      if (after.text !== ',' || after.kind !== 'symbol') {
        throw new SelectorError(`found '${after.text}', expected: ',' or 'end of string'`)
      }
      const next = this.#peek()
      if (!isWord(next) && next.text !== '!')
        throw new SelectorError(`found '${next.text}', expected: identifier after ','`)
    }
  }

  #peek(): Token {
    return this.#tokens[this.#at] ?? end
  }

  #take(): Token {
    return this.#tokens[this.#at++] ?? end
  }

  #requirement(): Requirement {
    try {
      return this.#parseRequirement()
    } catch (error) {
      if (error instanceof SelectorError) throw new SelectorError(`unable to parse requirement: ${error.message}`)
      throw error
    }
  }

  #parseRequirement(): Requirement {
    let token = this.#take()
    const negated = token.text === '!' && token.kind === 'symbol'
    if (negated) token = this.#take()
    if (!isWord(token)) throw new SelectorError(`found '${token.text}', expected: identifier`)
    const key = token.text
    const keyErrors = qualifiedName(key)
    // The server has no path for a key and shows that.
    if (keyErrors.length > 0)
      throw new SelectorError(formatFieldError(fieldErrors.invalid('<nil>', key, keyErrors.join('; '))))
    if (negated) return requirement(key, '!', [])
    const next = this.#peek()
    if (next.kind === 'end' || next.text === ',') return requirement(key, 'exists', [])
    const operator = this.#operator()
    return requirement(key, operator, operator === 'in' || operator === 'notin' ? this.#values() : [this.#exactValue()])
  }

  #operator(): SelectorOperator {
    const token = this.#take()
    const operator =
      token.kind === 'identifier' || !Object.hasOwn(operatorOfToken, token.text)
        ? undefined
        : operatorOfToken[token.text]
    if (operator === undefined) throw new SelectorError(`found '${token.text}', expected: in, notin, =, ==, !=, gt, lt`)
    return operator
  }

  #exactValue(): string {
    const token = this.#peek()
    if (token.kind === 'end' || token.text === ',') return ''
    this.#at++
    if (!isWord(token)) throw new SelectorError(`found '${token.text}', expected: identifier`)
    return token.text
  }

  #values(): string[] {
    const open = this.#take()
    if (open.text !== '(') throw new SelectorError(`found '${open.text}' expected: '('`)
    const first = this.#peek()
    if (first.text === ')') {
      // `in ()` has one empty value
      this.#at++
      return ['']
    }
    if (!isWord(first) && first.text !== ',') {
      throw new SelectorError(`found '${first.text}', expected: ',', ')' or identifier`)
    }
    const values = this.#list()
    this.#at++
    return values
  }

  /** A list up to its closing parenthesis; a comma without a value beside it gives an empty value. */
  #list(): string[] {
    const values: string[] = []
    for (;;) {
      const token = this.#take()
      if (isWord(token)) {
        values.push(token.text)
        const next = this.#peek()
        if (next.text === ')') return values
        if (next.text !== ',') throw new SelectorError(`found '${next.text}', expected: ',' or ')'`)
      } else if (token.text === ',') {
        if (values.length === 0) values.push('')
        const next = this.#peek()
        if (next.text === ')') return [...values, '']
        if (next.text === ',') {
          this.#at++
          values.push('')
        }
      } else {
        throw new SelectorError(`found '${token.text}', expected: ',', or identifier`)
      }
    }
  }
}

/** Keywords are identifiers where no operator is expected. */
function isWord(token: Token): boolean {
  return token.kind === 'identifier' || token.kind === 'keyword'
}
