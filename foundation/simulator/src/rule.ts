// Parses the rules of the simulator. Start with parseRules.
import {
  SelectorError,
  YamlSyntaxError,
  parseGoDuration,
  parseLabelSelector,
  parseYaml,
  selectorFrom,
  everything,
} from '@fairlead/kube'
import type { Condition, JsonObject, JsonValue, LabelSelector, Selector } from '@fairlead/kube'
import { CelCompileError, compile, types } from '@fairlead/kube/cel'
import type { CelProgram } from '@fairlead/kube/cel'
import { parseTemplate } from './template.ts'
import type { Template } from './template.ts'

/** One rule: matching objects of a kind get a status, some time after they first match. */
export interface Rule {
  /** For messages and events; `<kind> #<n>` when left out. */
  readonly name: string
  readonly apiVersion: string
  readonly kind: string
  readonly namespace: string | undefined
  readonly selector: Selector
  /** CEL over `self`, the object; undefined means always. A missing field makes it false. */
  readonly when: CelProgram | undefined
  /** Milliseconds from the first match of an object to the change. */
  readonly delay: number
  /** Merged into `status`. */
  readonly status: Template | undefined
  /** Set by type, with transition times as the API conventions define. */
  readonly conditions: readonly ConditionTemplate[]
}

/** A condition that a rule sets. */
export interface ConditionTemplate {
  readonly type: string
  readonly status: Condition['status']
  readonly reason: string
  readonly message: Template
}

/** A rules file is invalid. `message` begins with `file:line:`. */
export class RulesError extends Error {
  readonly code = 'InvalidRules'
  readonly file: string
  readonly line: number

  constructor(file: string, line: number, message: string) {
    super(`${file}:${line}: ${message}`)
    this.name = 'RulesError'
    this.file = file
    this.line = line
  }
}

const fields = ['name', 'apiVersion', 'kind', 'namespace', 'selector', 'when', 'delay', 'status', 'conditions'] as const
type Field = (typeof fields)[number]

/**
 * Reads rules: a YAML list of `{name?, apiVersion, kind, namespace?, selector?, when?, delay?, status?, conditions?}`.
 * `file` is for messages. Throws {@link RulesError} for the first mistake.
 */
export function parseRules(text: string, file: string = 'rules.yaml'): readonly Rule[] {
  let value: JsonValue
  try {
    value = parseYaml(text)
  } catch (error) {
    if (error instanceof YamlSyntaxError) throw new RulesError(file, Math.max(1, error.line), error.message)
    throw error
  }
  if (value === null) return []
  if (!Array.isArray(value)) throw new RulesError(file, 1, 'rules must be a list; begin each rule with "- "')
  const lines = new RuleLines(text)
  return (value as readonly JsonValue[]).map((item, index) => {
    const fail = (message: string, field?: string): never => {
      throw new RulesError(file, lines.lineOf(index, field), message)
    }
    return readRule(item, index, fail)
  })
}

type Fail = (message: string, field?: string) => never

function readRule(item: JsonValue, index: number, fail: Fail): Rule {
  if (!isObject(item)) return fail('a rule must be a map with apiVersion and kind')
  for (const field in item) {
    if (!(fields as readonly string[]).includes(field))
      fail(`a rule has no field "${field}"; it has ${fields.join(', ')}`, field)
  }
  const apiVersion = requiredString(item, 'apiVersion', fail)
  const kind = requiredString(item, 'kind', fail)
  if (item.status === undefined && item.conditions === undefined) fail('a rule needs status or conditions to set')
  return {
    name: optionalString(item, 'name', fail) ?? `${kind} #${index + 1}`,
    apiVersion,
    kind,
    namespace: optionalString(item, 'namespace', fail),
    selector: readSelector(item.selector, fail),
    when: readGuard(item.when, fail),
    delay: readDelay(item.delay, fail),
    status: readStatus(item.status, fail),
    conditions: readConditions(item.conditions, fail),
  }
}

function requiredString(item: JsonObject, field: Field, fail: Fail): string {
  return optionalString(item, field, fail) ?? fail(`a rule needs ${field}`)
}

function optionalString(item: JsonObject, field: Field, fail: Fail): string | undefined {
  const value = item[field]
  if (value === undefined || value === null) return undefined
  return typeof value === 'string' && value !== ''
    ? value
    : fail(`${field} must be a string, not ${JSON.stringify(value)}`, field)
}

function readSelector(value: JsonValue | undefined, fail: Fail): Selector {
  try {
    if (value === undefined || value === null) return everything
    if (typeof value === 'string') return parseLabelSelector(value)
    if (isObject(value)) return selectorFrom(value as LabelSelector)
  } catch (error) {
    if (error instanceof SelectorError) return fail(`selector: ${error.message}`, 'selector')
    throw error
  }
  return fail('selector must be a string (app=web) or have matchLabels and matchExpressions', 'selector')
}

function readGuard(value: JsonValue | undefined, fail: Fail): CelProgram | undefined {
  if (value === undefined || value === null) return undefined
  if (typeof value !== 'string')
    return fail(`when must be a CEL expression over self, not ${JSON.stringify(value)}`, 'when')
  try {
    return compile(value, { variables: { self: types.dyn } }, types.bool)
  } catch (error) {
    if (error instanceof CelCompileError)
      return fail(`when: ${error.summary} (column ${error.column} of the expression)`, 'when')
    throw error
  }
}

function readDelay(value: JsonValue | undefined, fail: Fail): number {
  if (value === undefined || value === null) return 0
  if (typeof value !== 'string')
    return fail(`delay must be a duration such as 500ms, 2s or 1m30s, not ${JSON.stringify(value)}`, 'delay')
  let delay: number
  try {
    delay = parseGoDuration(value)
  } catch {
    return fail(`delay must be a duration such as 500ms, 2s or 1m30s, not "${value}"`, 'delay')
  }
  return delay >= 0 ? delay : fail('delay cannot be negative', 'delay')
}

function readStatus(value: JsonValue | undefined, fail: Fail): Template | undefined {
  if (value === undefined) return undefined
  return isObject(value) ? readTemplate(value, 'status', fail) : fail('status must be a map', 'status')
}

function readConditions(value: JsonValue | undefined, fail: Fail): readonly ConditionTemplate[] {
  if (value === undefined) return []
  if (!Array.isArray(value)) return fail('conditions must be a list', 'conditions')
  return (value as readonly JsonValue[]).map((item) => {
    if (!isObject(item)) return fail('a condition must be a map with type and status', 'conditions')
    const { type, status, reason = type, message = '' } = item
    if (typeof type !== 'string' || type === '') return fail('a condition needs a type', 'conditions')
    const text = typeof status === 'boolean' ? (status ? 'True' : 'False') : status
    if (text !== 'True' && text !== 'False' && text !== 'Unknown')
      return fail(
        `the status of condition ${type} must be True, False or Unknown, not ${JSON.stringify(status ?? null)}`,
        'conditions',
      )
    if (typeof reason !== 'string') return fail(`the reason of condition ${type} must be a string`, 'conditions')
    return { type, status: text, reason, message: readTemplate(message, 'conditions', fail) }
  })
}

function readTemplate(value: JsonValue, field: Field, fail: Fail): Template {
  try {
    return parseTemplate(value)
  } catch (error) {
    return fail(`${field}: ${(error as Error).message}`, field)
  }
}

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Finds the lines of rules and their fields: exact for block style, the line of the rule for flow style. */
class RuleLines {
  readonly #lines: readonly string[]
  readonly #starts: readonly number[]

  constructor(text: string) {
    this.#lines = text.split('\n')
    const dash = /^(\s*)-(\s|$)/
    const indent = this.#lines.map((line) => dash.exec(line)?.[1]?.length).find((width) => width !== undefined)
    this.#starts = this.#lines.flatMap((line, index) =>
      dash.exec(line)?.[1]?.length === indent && indent !== undefined ? [index] : [],
    )
  }

  /** Returns the line (from 1) of a rule, or of a field of it. */
  lineOf(rule: number, field?: string): number {
    const start = this.#starts[rule] ?? 0
    const end = this.#starts[rule + 1] ?? this.#lines.length
    if (field === undefined) return start + 1
    const named = new RegExp(`^[\\s-]*["']?${field.replaceAll(/[^\w]/g, '\\$&')}["']?\\s*:`)
    const found = this.#lines.slice(start, end).findIndex((line) => named.test(line))
    return start + Math.max(0, found) + 1
  }
}
