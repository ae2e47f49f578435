// `x-kubernetes-validations` of structural schemas: compiled when a CRD is written, evaluated when an object is
// written.
import { fieldErrors } from '../field-error.ts'
import type { FieldError } from '../field-error.ts'
import { escapeHtml } from '../go-json.ts'
import { jsonEqual, stringifyJson } from '../json.ts'
import { isJsonArray, isJsonObject, ownValue } from '../own-property.ts'
import type { JsonValue } from '../object.ts'
import { correlateItem } from '../schema/correlation.ts'
import type { Correlation } from '../schema/correlation.ts'
import { additionalOf, propertyOf, resolveNode } from '../schema/resolve.ts'
import type { SchemaNode, TypeSchema, ValidationRule } from '../schema/schema-node.ts'
import { runSteps } from '../steps.ts'
import type { Steps } from '../steps.ts'
import { compile, defaultCelBudget } from './compile.ts'
import type { CelEnvironment, CelProgram } from './compile.ts'
import { CelBudgetError, CelCompileError, CelError } from './errors.ts'
import { declarationOf } from './schema-types.ts'
import type { Declaration } from './schema-types.ts'
import { freeNames } from './free-names.ts'
import { optionalOf, types } from './types.ts'
import { Optional } from './values.ts'
import type { CelValue } from './values.ts'

/** The cost limit of all rules of one write in steps (Kubernetes' per-request limit). */
export const requestCelBudget = 10_000_000

/** Options of rules. */
export interface ValidateRulesOptions {
  /** The object before an update, which transition rules read as oldSelf. */
  readonly old?: JsonValue
  /**
   * Receives the ratcheted errors (KEP-4008): a rule without oldSelf fails on an unchanged part. Without it, they are
   * ordinary errors.
   */
  readonly tolerate?: (error: FieldError) => void
  /** The cost limit of all rules in steps; {@link requestCelBudget} by default. */
  readonly budget?: number
  /** The path of the value; '' for a whole object. */
  readonly path?: string
}

/** A compiled rule. */
interface Rule {
  readonly source: ValidationRule
  /** The error message when it does not compile: such rules were stored before they were validated. */
  readonly program: CelProgram | string
  readonly message: CelProgram | undefined
  /** The rule uses oldSelf: it runs on updates only, or gets an optional. */
  readonly isTransition: boolean
}

/** The rules of one node, compiled once. */
interface NodeRules {
  readonly declaration: Declaration
  readonly rules: readonly Rule[]
}

const compiledNodes = new WeakMap<SchemaNode, NodeRules | null>()

/** Evaluates every rule of the schema on an otherwise valid value. */
export function validateRules(value: JsonValue, schema: TypeSchema, options: ValidateRulesOptions = {}): FieldError[] {
  return runSteps(validateRulesSteps(value, schema, options))
}

/** Evaluates like {@link validateRules}; each rule is a step. */
export function* validateRulesSteps(
  value: JsonValue,
  schema: TypeSchema,
  options: ValidateRulesOptions,
): Steps<FieldError[]> {
  const { old, path = '', budget = requestCelBudget, tolerate } = options
  const run = new RuleRun(schema, budget, tolerate)
  const root = { old, new: value, node: resolveNode(schema.root, schema) }
  yield* run.visit(value, old, schema.root, path, path === '', old === undefined ? {} : { current: root })
  return run.errors
}

/** Reports whether the schema has rules anywhere: otherwise {@link validateRules} returns nothing. */
export function hasRules(schema: TypeSchema): boolean {
  return nodeHasRules(resolveNode(schema.root, schema), schema)
}

const nodesWithRules = new WeakMap<SchemaNode, boolean>()

function nodeHasRules(node: SchemaNode, schema: TypeSchema): boolean {
  const known = nodesWithRules.get(node)
  if (known !== undefined) return known
  // While a node is visited it counts as having none, because schemas can be recursive.
  nodesWithRules.set(node, false)
  const parts = [...Object.values(node.properties ?? {}), additionalOf(node), node.items]
  const found =
    (node['x-kubernetes-validations'] ?? []).length > 0 ||
    parts.some((part) => part !== undefined && nodeHasRules(resolveNode(part, schema), schema))
  nodesWithRules.set(node, found)
  return found
}

/** The old value of a part, or that of the nearest parent that correlates. */
interface Ratchet {
  readonly current?: Correlation | undefined
  readonly around?: Correlation | undefined
}

function below(ratchet: Ratchet, current: Correlation | undefined): Ratchet {
  return ratchet.current === undefined ? ratchet : { current, around: ratchet.current }
}

function isUnchanged({ current, around }: Ratchet): boolean {
  const known = current ?? around
  return known?.old !== undefined && jsonEqual(known.old, known.new)
}

class RuleRun {
  readonly errors: FieldError[] = []
  readonly #schema: TypeSchema
  readonly #tolerate: ((error: FieldError) => void) | undefined
  #remaining: number

  constructor(schema: TypeSchema, budget: number, tolerate: ((error: FieldError) => void) | undefined) {
    this.#schema = schema
    this.#remaining = budget
    this.#tolerate = tolerate
  }

  *visit(
    value: JsonValue,
    old: JsonValue | undefined,
    reference: SchemaNode,
    path: string,
    isResource: boolean,
    ratchet: Ratchet,
  ): Steps<void> {
    const node = resolveNode(reference, this.#schema)
    // Rules about null are in the parent's schema.
    if (value === null || this.#remaining < 0 || !nodeHasRules(node, this.#schema)) return
    const before = old === null ? undefined : old
    if ((node['x-kubernetes-validations'] ?? []).length > 0)
      yield* this.#rules(value, before, node, path, isResource, ratchet)
    if (isJsonArray(value)) {
      if (node.items === undefined || !nodeHasRules(resolveNode(node.items, this.#schema), this.#schema)) return
      for (const [i, item] of value.entries()) {
        const pair =
          before === undefined ? undefined : correlateItem({ old: before, new: value, node }, i, this.#schema)
        yield* this.visit(item, pair?.old, node.items, `${path}[${i}]`, false, below(ratchet, pair))
      }
    } else if (isJsonObject(value)) {
      for (const key of Object.keys(value)) {
        const property = propertyOf(node, key)
        const child = property ?? additionalOf(node)
        if (child === undefined || !nodeHasRules(resolveNode(child, this.#schema), this.#schema)) continue
        const place = property === undefined ? `${path}[${key}]` : path === '' ? key : `${path}.${key}`
        const field = ownValue(value, key)!
        const previous = isJsonObject(before) ? ownValue(before, key) : undefined
        // Old and new have been converted to one version already.
        const isTypeMeta = path === '' && (key === 'apiVersion' || key === 'kind')
        const pair = { old: previous, new: field, node: resolveNode(child, this.#schema) }
        yield* this.visit(field, previous, child, place, false, isTypeMeta ? {} : below(ratchet, pair))
      }
    }
  }

  *#rules(
    value: JsonValue,
    old: JsonValue | undefined,
    node: SchemaNode,
    path: string,
    isResource: boolean,
    ratchet: Ratchet,
  ): Steps<void> {
    const compiled = rulesOf(node, this.#schema, isResource || node['x-kubernetes-embedded-resource'] === true)
    if (compiled === undefined) return
    const { declaration } = compiled
    const self = declaration.toValue(value)
    const oldSelf = old === undefined ? undefined : declaration.toValue(old)
    for (const rule of compiled.rules) {
      if (rule.isTransition && oldSelf === undefined && rule.source.optionalOldSelf !== true) continue
      const variables = { self, oldSelf: rule.source.optionalOldSelf === true ? new Optional(oldSelf) : oldSelf }
      if (!this.#rule(rule, variables, value, node, path, ratchet)) return
      yield
    }
  }

  /** Evaluates one rule; false when the budget is exceeded and evaluation stops. */
  #rule(
    { source, program, message, isTransition }: Rule,
    variables: Readonly<Record<string, CelValue | undefined>>,
    value: JsonValue,
    node: SchemaNode,
    path: string,
    ratchet: Ratchet,
  ): boolean {
    const type = node.type ?? ''
    const shownRule = source.message?.trim() || source.rule.trim()
    const place = path === '' ? '<nil>' : path
    if (typeof program === 'string') {
      this.errors.push(fieldErrors.invalid(place, type, `rule compile error: ${program}`))
      return true
    }
    try {
      const result = program.run({}, { values: variables, budget: Math.min(defaultCelBudget, this.#remaining) })
      this.#remaining -= result.cost
      if (result.value === true) return true
      const detail =
        this.#message(message, variables) ?? (source.message?.trim() || `failed rule: ${source.rule.trim()}`)
      const shown = type === 'object' || type === 'array' ? undefined : value
      const error = withReason(source.reason, placeOf(source, path, node, this.#schema), shown, detail)
      if (this.#tolerate !== undefined && !isTransition && isUnchanged(ratchet)) this.#tolerate(error)
      else this.errors.push(error)
      return true
    } catch (error) {
      if (error instanceof CelBudgetError) {
        const isRule = this.#remaining >= defaultCelBudget
        this.#remaining = -1
        const detail = isRule
          ? `'${error.message}': no further validation rules will be run due to call cost exceeds limit for rule: ${shownRule}`
          : 'validation failed due to running out of cost budget, no further validation rules will be run'
        this.errors.push(fieldErrors.invalid(place, type, detail))
        return false
      }
      if (!(error instanceof CelError)) throw error
      const detail = error.message.startsWith('no such overload')
        ? `'${error.message}': call arguments did not match a supported operator, function or macro signature for rule: ${shownRule}`
        : `${error.message} evaluating rule: ${shownRule}`
      this.errors.push(fieldErrors.invalid(place, type, detail))
      return true
    }
  }

  /** Returns the result of messageExpression; undefined when it fails or is not a valid message. */
  #message(
    program: CelProgram | undefined,
    variables: Readonly<Record<string, CelValue | undefined>>,
  ): string | undefined {
    if (program === undefined) return undefined
    try {
      const { value, cost } = program.run(
        {},
        {
          values: variables,
          budget: Math.max(0, Math.min(defaultCelBudget, this.#remaining)),
        },
      )
      this.#remaining -= cost
      if (typeof value !== 'string') return undefined
      const text = value.trim()
      return text === '' || /[\n\r]/.test(text) || Buffer.byteLength(text) > maxMessageBytes ? undefined : text
    } catch (error) {
      if (error instanceof CelError || error instanceof CelBudgetError) return undefined
      throw error
    }
  }
}

const maxMessageBytes = 5 * 1024

/** Returns the field of a rule's error: its `fieldPath` below the value, with map keys in brackets. */
function placeOf(source: ValidationRule, path: string, node: SchemaNode, schema: TypeSchema): string {
  const steps = [...(source.fieldPath ?? '').trim().matchAll(/\.([^.[\]]+)|\['((?:[^'\\]|\\.)*)'\]/g)]
  let place = path
  let current: SchemaNode | undefined = node
  for (const [, plain, quoted] of steps) {
    const name = plain ?? quoted!.replace(/\\(.)/g, '$1')
    const isKey: boolean = current !== undefined && propertyOf(current, name) === undefined
    place = isKey ? `${place}[${name}]` : place === '' ? name : `${place}.${name}`
    const next: SchemaNode | undefined = current && (propertyOf(current, name) ?? additionalOf(current))
    current = next && resolveNode(next, schema)
  }
  return place === '' ? '<nil>' : place
}

function withReason(
  reason: string | undefined,
  field: string,
  value: JsonValue | undefined,
  detail: string,
): FieldError {
  switch (reason) {
    case 'FieldValueForbidden':
      return fieldErrors.forbidden(field, detail)
    case 'FieldValueRequired':
      return fieldErrors.required(field, detail)
    case 'FieldValueDuplicate':
      return value === undefined
        ? { ...fieldErrors.duplicate(field, ''), badValue: undefined }
        : fieldErrors.duplicate(field, value)
    default:
      return fieldErrors.invalid(field, value, detail)
  }
}

function rulesOf(node: SchemaNode, schema: TypeSchema, isResource: boolean): NodeRules | undefined {
  const known = compiledNodes.get(node)
  if (known !== undefined) return known ?? undefined
  const declaration = declarationOf(node, schema, isResource)
  const rules =
    declaration === undefined
      ? []
      : (node['x-kubernetes-validations'] ?? []).map((source) => ready(source, declaration))
  const compiled = declaration === undefined ? null : { declaration, rules }
  compiledNodes.set(node, compiled)
  return compiled ?? undefined
}

function ready(source: ValidationRule, declaration: Declaration): Rule {
  try {
    const { program, isTransition } = compileRule(source, declaration)
    return { source, program, isTransition, message: messageOf(source, declaration) }
  } catch (error) {
    if (!(error instanceof CelCompileError)) throw error
    return { source, program: error.problem, isTransition: false, message: undefined }
  }
}

function messageOf(source: ValidationRule, declaration: Declaration): CelProgram | undefined {
  if (!source.messageExpression) return undefined
  try {
    const program = compile(source.messageExpression, ruleEnvironment(source, declaration), types.string)
    // Kubernetes runs it with the plain oldSelf, even where that is an optional by its type: what uses it fails.
    return source.optionalOldSelf === true && freeNames(program.checked.root).has('oldSelf') ? undefined : program
  } catch (error) {
    if (error instanceof CelCompileError) return undefined
    throw error
  }
}

/** Returns the environment of a rule: self, and oldSelf as a value or an optional. */
export function ruleEnvironment(source: ValidationRule, { type }: Declaration): CelEnvironment {
  const oldSelf = source.optionalOldSelf === true ? optionalOf(type) : type
  return { variables: { self: type, oldSelf }, kubernetes: true }
}

/** Compiles the expression of a rule. @throws CelCompileError */
export function compileRule(
  source: ValidationRule,
  declaration: Declaration,
): { program: CelProgram; isTransition: boolean } {
  const program = compile(source.rule, ruleEnvironment(source, declaration))
  return { program, isTransition: freeNames(program.checked.root).has('oldSelf') }
}

/** Formats a rule as Go prints it in error messages. */
export function formatRule({
  rule,
  message,
  messageExpression,
  reason,
  fieldPath,
  optionalOldSelf,
}: ValidationRule): string {
  const shown = {
    Rule: rule,
    Message: message ?? '',
    MessageExpression: messageExpression ?? '',
    Reason: reason ?? null,
    FieldPath: fieldPath ?? '',
    OptionalOldSelf: optionalOldSelf ?? null,
  }
  return escapeHtml(stringifyJson(shown))
}
