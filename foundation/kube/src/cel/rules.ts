// `x-kubernetes-validations` of structural schemas: compiled when a CRD is accepted, run when an object is written.
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
import { compile, defaultCelBudget } from './compile.ts'
import type { CelEnvironment, CelProgram } from './compile.ts'
import { CelBudgetError, CelCompileError, CelError } from './errors.ts'
import { declarationOf } from './schema-types.ts'
import type { Declaration } from './schema-types.ts'
import { freeNames } from './free-names.ts'
import { optionalOf, types } from './types.ts'
import { Optional } from './values.ts'
import type { CelValue } from './values.ts'

/** Steps that all rules of one write may take together (Kubernetes' per-request limit). */
export const requestCelBudget = 10_000_000

/** How to run rules. */
export interface ValidateRulesOptions {
  /** The object before an update: transition rules compare with it. */
  readonly old?: JsonValue
  /**
   * Takes the errors that an update is not to blame for (ratcheting, KEP-4008): a rule that does not speak of oldSelf fails on a part that has not
   * changed. Left out, they are errors like others.
   */
  readonly tolerate?: (error: FieldError) => void
  /** Steps that all rules may take together; {@link requestCelBudget} unless given. */
  readonly budget?: number
  /** The path of the value; '' for a whole object. */
  readonly path?: string
}

/** A rule ready to run. */
interface Rule {
  readonly source: ValidationRule
  /** The error text when it does not compile: such rules were stored before we looked at them. */
  readonly program: CelProgram | string
  readonly message: CelProgram | undefined
  /** It speaks of oldSelf: it runs on updates only, or gets an optional. */
  readonly isTransition: boolean
}

/** The rules of one node, compiled once. */
interface NodeRules {
  readonly declaration: Declaration
  readonly rules: readonly Rule[]
}

const compiledNodes = new WeakMap<SchemaNode, NodeRules | null>()

/** Runs every rule of the schema on a value that is valid otherwise. */
export function validateRules(value: JsonValue, schema: TypeSchema, options: ValidateRulesOptions = {}): FieldError[] {
  const { old, path = '', budget = requestCelBudget, tolerate } = options
  const run = new RuleRun(schema, budget, tolerate)
  const root = { old, new: value, node: resolveNode(schema.root, schema) }
  run.visit(value, old, schema.root, path, path === '', old === undefined ? {} : { current: root })
  return run.errors
}

/** There are rules anywhere in the schema: without any, {@link validateRules} has nothing to do. */
export function hasRules(schema: TypeSchema): boolean {
  return nodeHasRules(resolveNode(schema.root, schema), schema)
}

const nodesWithRules = new WeakMap<SchemaNode, boolean>()

function nodeHasRules(node: SchemaNode, schema: TypeSchema): boolean {
  const known = nodesWithRules.get(node)
  if (known !== undefined) return known
  // While a node is looked at it counts as having none: schemas can hold themselves.
  nodesWithRules.set(node, false)
  const parts = [...Object.values(node.properties ?? {}), additionalOf(node), node.items]
  const found =
    (node['x-kubernetes-validations'] ?? []).length > 0 ||
    parts.some((part) => part !== undefined && nodeHasRules(resolveNode(part, schema), schema))
  nodesWithRules.set(node, found)
  return found
}

/** What a part was before an update and, where that cannot be told, what the nearest part around it was of which it can. */
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

  visit(
    value: JsonValue,
    old: JsonValue | undefined,
    reference: SchemaNode,
    path: string,
    isResource: boolean,
    ratchet: Ratchet,
  ): void {
    const node = resolveNode(reference, this.#schema)
    // Rules about null stand in the schema around it.
    if (value === null || this.#remaining < 0 || !nodeHasRules(node, this.#schema)) return
    const before = old === null ? undefined : old
    if ((node['x-kubernetes-validations'] ?? []).length > 0) this.#rules(value, before, node, path, isResource, ratchet)
    if (isJsonArray(value)) {
      if (node.items === undefined) return
      for (const [i, item] of value.entries()) {
        const pair =
          before === undefined ? undefined : correlateItem({ old: before, new: value, node }, i, this.#schema)
        this.visit(item, pair?.old, node.items, `${path}[${i}]`, false, below(ratchet, pair))
      }
    } else if (isJsonObject(value)) {
      for (const key of Object.keys(value)) {
        const property = propertyOf(node, key)
        const child = property ?? additionalOf(node)
        if (child === undefined) continue
        const place = property === undefined ? `${path}[${key}]` : path === '' ? key : `${path}.${key}`
        const member = ownValue(value, key)!
        const previous = isJsonObject(before) ? ownValue(before, key) : undefined
        // Old and new have been brought to one version already.
        const isTypeMeta = path === '' && (key === 'apiVersion' || key === 'kind')
        const pair = { old: previous, new: member, node: resolveNode(child, this.#schema) }
        this.visit(member, previous, child, place, false, isTypeMeta ? {} : below(ratchet, pair))
      }
    }
  }

  #rules(
    value: JsonValue,
    old: JsonValue | undefined,
    node: SchemaNode,
    path: string,
    isResource: boolean,
    ratchet: Ratchet,
  ): void {
    const compiled = rulesOf(node, this.#schema, isResource || node['x-kubernetes-embedded-resource'] === true)
    if (compiled === undefined) return
    const { declaration } = compiled
    const self = declaration.toValue(value)
    const oldSelf = old === undefined ? undefined : declaration.toValue(old)
    for (const rule of compiled.rules) {
      if (rule.isTransition && oldSelf === undefined && rule.source.optionalOldSelf !== true) continue
      const variables = { self, oldSelf: rule.source.optionalOldSelf === true ? new Optional(oldSelf) : oldSelf }
      if (!this.#rule(rule, variables, value, node, path, ratchet)) return
    }
  }

  /** Runs one rule; false when the budget is used up and no rule may follow. */
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
      this.errors.push(withReason(source.reason, place, type, detail))
      return true
    }
  }

  /** What the messageExpression says; undefined when it fails or says nothing that can be shown. */
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

/** Where a rule's error stands: its `fieldPath` below the value, with the keys of maps in brackets. */
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
    return compile(source.messageExpression, ruleEnvironment(source, declaration), types.string)
  } catch (error) {
    if (error instanceof CelCompileError) return undefined
    throw error
  }
}

/** What a rule knows: self, and oldSelf as itself or as an optional. */
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

/** A rule as Go prints it in messages about it. */
export function showRule({
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
