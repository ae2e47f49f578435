// Field selectors of list and watch requests: `metadata.name=a,status.phase!=Running`.
import { SelectorError } from './selector.ts'

/** One term of a field selector. */
export interface FieldRequirement {
  readonly field: string
  readonly operator: '=' | '!='
  readonly value: string
}

/** A parsed field selector; every requirement must match. The resource decides which fields are supported. */
export interface FieldSelector {
  readonly requirements: readonly FieldRequirement[]
  readonly isEmpty: boolean
  /** Reports whether every requirement matches; `valueOf` returns the value of a field, '' when it is absent. */
  matches(valueOf: (field: string) => string): boolean
  /** Formats the selector as a query parameter. */
  toString(): string
}

/** The values that a field must have, and must not have. */
interface FieldCondition {
  readonly required: Set<string>
  readonly excluded: Set<string>
}

/** Creates the field selector of these requirements. */
export function fieldSelector(requirements: readonly FieldRequirement[]): FieldSelector {
  const fields = new Map<string, FieldCondition>()
  for (const { field, operator, value } of requirements) {
    let condition = fields.get(field)
    if (condition === undefined) fields.set(field, (condition = { required: new Set(), excluded: new Set() }))
    condition[operator === '=' ? 'required' : 'excluded'].add(value)
  }
  return {
    requirements,
    isEmpty: requirements.length === 0,
    matches: (valueOf) => {
      for (const [field, { required, excluded }] of fields) {
        const value = valueOf(field)
        if (excluded.has(value) || required.size > 1 || (required.size === 1 && !required.has(value))) return false
      }
      return true
    },
    toString: () =>
      requirements.map(({ field, operator, value }) => field + operator + escapeFieldValue(value)).join(','),
  }
}

/**
 * Parses a query parameter; in values `\`, `,` and `=` are escaped with `\`.
 * @throws SelectorError `InvalidSelector`
 */
export function parseFieldSelector(text: string): FieldSelector {
  const requirements = splitTerms(text)
    .sort()
    .filter((term) => term !== '')
    .map((term): FieldRequirement => {
      const match = /!=|==?/.exec(term)
      if (match === null) throw new SelectorError(`invalid selector: '${text}'; can't understand '${term}'`)
      const value = unescapeFieldValue(term.slice(match.index + match[0].length))
      return { field: term.slice(0, match.index), operator: match[0] === '!=' ? '!=' : '=', value }
    })
  return fieldSelector(requirements)
}

/** Splits at commas that no backslash escapes. */
function splitTerms(text: string): string[] {
  const terms: string[] = []
  let start = 0
  for (let at = 0; at < text.length; at++) {
    if (text[at] === '\\') at++
    else if (text[at] === ',') {
      terms.push(text.slice(start, at))
      start = at + 1
    }
  }
  return [...terms, text.slice(start)]
}

function unescapeFieldValue(value: string): string {
  let out = ''
  const characters = value[Symbol.iterator]()
  for (const character of characters) {
    if (character === '\\') {
      const escaped = characters.next().value ?? ''
      if (!['\\', ',', '='].includes(escaped))
        throw new SelectorError(`invalid field selector: invalid escape sequence: \\${escaped}`)
      out += escaped
    } else if (character === ',' || character === '=') {
      throw new SelectorError(`invalid field selector: unescaped character in value: ${character.codePointAt(0)}`)
    } else {
      out += character
    }
  }
  return out
}

/** Escapes a value for a field selector. */
export function escapeFieldValue(value: string): string {
  return value.replace(/[\\,=]/g, '\\$&')
}
