// Validation of a value against a schema with the messages of the Kubernetes API server. On update, unchanged values
// that were invalid before are tolerated (ratcheting, KEP-4008). Unknown fields are not validated: prune first.
import { fieldErrors } from '../field-error.ts'
import type { FieldError } from '../field-error.ts'
import { marshalGoJson } from '../go-json.ts'
import { goQuote } from '../go-text.ts'
import { jsonEqual } from '../json.ts'
import type { JsonObject, JsonValue } from '../object.ts'
import { isJsonArray, isJsonObject, ownValue } from '../own-property.ts'
import { checkNumber, checkString, typeOf } from './scalar.ts'
import { correlateItem, correlateField } from './correlation.ts'
import type { Correlation } from './correlation.ts'
import { additionalOf, resolveNode } from './resolve.ts'
import type { SchemaNode, TypeSchema } from './schema-node.ts'

/** Options of validation. */
export interface ValidateOptions {
  /** The value before the update: unchanged values that were invalid are tolerated. */
  readonly old?: JsonValue
  /**
   * The path of the value, for the field of each error (`spec.validation.openAPIV3Schema.default`). The messages name
   * fields relative to the value, as Kubernetes does. Default: the value is the whole object.
   */
  readonly path?: string
}

/**
 * Returns all errors of a value in the order of Kubernetes (its own order varies where it walks maps; here it is the
 * schema's). `anyOf`, `oneOf` and `not` report on the whole value, beside the errors of the best matching alternative.
 */
export function validateValue(value: JsonValue, schema: TypeSchema, options: ValidateOptions = {}): FieldError[] {
  const validator = new Validator(schema, options.path ?? '')
  const root = resolveNode(schema.root, schema)
  const old =
    Object.hasOwn(options, 'old') && options.old !== undefined
      ? { old: options.old, new: value, node: root }
      : undefined
  const outcome = new Outcome()
  validator.checkRatcheted(value, root, '', old, outcome)
  return outcome.errors
}

/**
 * The errors of one validation and its number of matches: of several failing alternatives the one with most matches is
 * reported.
 */
class Outcome {
  readonly errors: FieldError[] = []
  matches = 0

  merge(other: Outcome): void {
    for (const error of other.errors) this.errors.push(error)
    this.matches += other.matches
  }
}

class Validator {
  readonly #schema: TypeSchema
  readonly #base: string

  constructor(schema: TypeSchema, base: string) {
    this.#schema = schema
    this.#base = base
  }

  /** Runs a check whose errors are ignored when the value is unchanged. */
  checkRatcheted(
    value: JsonValue,
    node: SchemaNode,
    name: string,
    old: Correlation | undefined,
    outcome: Outcome,
  ): void {
    const before = outcome.errors.length
    this.check(value, node, name, old, outcome)
    if (outcome.errors.length > before && old !== undefined && old.old !== undefined && jsonEqual(old.old, value)) {
      outcome.errors.length = before
    }
  }

  check(value: JsonValue, reference: SchemaNode, name: string, old: Correlation | undefined, outcome: Outcome): void {
    const node = resolveNode(reference, this.#schema)
    this.#checkType(value, node, name, outcome)
    if (value === null) {
      this.#checkEnum(value, node, name, outcome)
      return
    }
    if (hasJunctor(node)) this.#checkJunctors(value, node, name, old, outcome)
    if (typeof value === 'string') checkString(value, node, (detail) => this.#report(outcome, name, detail))
    else if (typeof value === 'number' || typeof value === 'bigint')
      checkNumber(value, node, (detail) => this.#report(outcome, name, detail))
    else if (isJsonArray(value)) this.#checkList(value, node, name, old, outcome)
    this.#checkEnum(value, node, name, outcome)
    if (isJsonObject(value)) this.#checkObject(value, node, name, old, outcome)
    outcome.matches += 1
  }

  #field(name: string): string {
    const relative = name.startsWith('.') ? name.slice(1) : name
    if (relative === '') return this.#base === '' ? '<nil>' : this.#base
    return this.#base === '' ? relative : `${this.#base}.${relative}`
  }

  #report(outcome: Outcome, name: string, problem: Problem): void {
    const field = this.#field(name)
    if ('tooLong' in problem) outcome.errors.push(fieldErrors.tooLong(field, problem.tooLong))
    else if ('type' in problem) {
      const detail = `${name} in body must be of type ${problem.type}: ${goQuote(problem.value)}`
      outcome.errors.push(fieldErrors.typeInvalid(field, problem.value, detail))
    } else if ('badFactor' in problem) {
      const detail = `factor MultipleOf declared for ${name} must be positive: ${problem.badFactor}`
      outcome.errors.push(fieldErrors.invalid(field, problem.badFactor, detail))
    } else outcome.errors.push(fieldErrors.invalid(field, problem.value, `${name} ${problem.detail}`))
  }

  #checkType(value: JsonValue, node: SchemaNode, name: string, outcome: Outcome): void {
    const types =
      node['x-kubernetes-int-or-string'] === true
        ? ['integer', 'string']
        : node.type === undefined || node.type === ''
          ? []
          : [node.type]
    const actual = typeOf(value)
    const accepted =
      types.length === 0 ||
      types.includes(actual) ||
      (value === null && node.nullable === true) ||
      (actual === 'integer' && types.includes('number'))
    if (accepted) outcome.matches += 1
    else this.#report(outcome, name, { type: types.join(','), value: actual })
  }

  #checkEnum(value: JsonValue, node: SchemaNode, name: string, outcome: Outcome): void {
    if (node.enum === undefined || node.enum.length === 0) return
    // A null in the list never matches, as in Kubernetes.
    const { identities, refusal } = choicesOf(node.enum)
    if (value !== null && identities.has(marshalGoJson(value))) {
      outcome.matches += 1
      return
    }
    outcome.errors.push({ ...refusal, field: this.#field(name), badValue: value })
  }

  #checkList(
    list: readonly JsonValue[],
    node: SchemaNode,
    name: string,
    old: Correlation | undefined,
    outcome: Outcome,
  ): void {
    if (node.items !== undefined) {
      for (const [index, item] of list.entries()) {
        this.checkRatcheted(
          item,
          node.items,
          `${name}[${index}]`,
          old && correlateItem(old, index, this.#schema),
          outcome,
        )
      }
    }
    if (node.minItems !== undefined && list.length < node.minItems) {
      this.#report(outcome, name, { value: list.length, detail: `in body should have at least ${node.minItems} items` })
    }
    if (node.maxItems !== undefined && list.length > node.maxItems) {
      outcome.errors.push(fieldErrors.tooMany(this.#field(name), list.length, node.maxItems))
    }
    if (node.uniqueItems === true && hasDuplicates(list)) {
      this.#report(outcome, name, { value: '', detail: "in body shouldn't contain duplicates" })
    }
    outcome.matches += 1
  }

  #checkObject(
    object: JsonObject,
    node: SchemaNode,
    name: string,
    old: Correlation | undefined,
    outcome: Outcome,
  ): void {
    const keys = Object.keys(object)
    if (node.minProperties !== undefined && keys.length < node.minProperties) {
      this.#report(outcome, name, {
        value: keys.length,
        detail: `in body should have at least ${node.minProperties} properties`,
      })
    }
    if (node.maxProperties !== undefined && keys.length > node.maxProperties) {
      outcome.errors.push(fieldErrors.tooMany(this.#field(name), keys.length, node.maxProperties))
    }
    const properties = node.properties ?? {}
    this.#checkAdditional(object, node, name, old, outcome)
    for (const [key, property] of Object.entries(properties)) {
      const field = ownValue(object, key)
      if (field === undefined) continue
      // The type of the object itself is not ratcheted: old and new have been converted to one version already.
      const isTypeMeta = name === '' && (key === 'apiVersion' || key === 'kind')
      const before = isTypeMeta || old === undefined ? undefined : correlateField(old, key, this.#schema)
      this.checkRatcheted(field, property, name === '' ? key : `${name}.${key}`, before, outcome)
    }
    for (const key of node.required ?? []) {
      if (!Object.hasOwn(object, key)) outcome.errors.push(fieldErrors.required(this.#field(`${name}.${key}`)))
    }
    outcome.matches += 1
  }

  #checkAdditional(
    object: JsonObject,
    node: SchemaNode,
    name: string,
    old: Correlation | undefined,
    outcome: Outcome,
  ): void {
    const additional = additionalOf(node)
    if (additional === undefined && node.additionalProperties !== false) return
    for (const [key, field] of Object.entries(object)) {
      if (node.properties !== undefined && Object.hasOwn(node.properties, key)) continue
      if (additional === undefined) {
        outcome.errors.push(
          fieldErrors.invalid(this.#field(name), key, `${name}.${key} in body is a forbidden property`),
        )
      } else {
        this.checkRatcheted(field, additional, `${name}.${key}`, old && correlateField(old, key, this.#schema), outcome)
      }
    }
  }

  #checkJunctors(
    value: JsonValue,
    node: SchemaNode,
    name: string,
    old: Correlation | undefined,
    outcome: Outcome,
  ): void {
    const attempt = (alternative: SchemaNode): Outcome => {
      const result = new Outcome()
      this.check(value, alternative, name, old, result)
      return result
    }
    const complain = (detail: string): void => {
      outcome.errors.push(
        fieldErrors.invalid(this.#base === '' ? '<nil>' : this.#base, '', `${goQuote(name)} ${detail}`),
      )
    }
    if (node.anyOf !== undefined && node.anyOf.length > 0) {
      const results = node.anyOf.map(attempt)
      const success = results.find((result) => result.errors.length === 0)
      if (success === undefined) complain('must validate at least one schema (anyOf)')
      outcome.merge(success ?? closest(results))
    }
    if (node.oneOf !== undefined && node.oneOf.length > 0) {
      const results = node.oneOf.map(attempt)
      const successes = results.filter((result) => result.errors.length === 0)
      if (successes.length === 1) outcome.merge(successes[0]!)
      else {
        const found = successes.length === 0 ? 'Found none valid' : `Found ${successes.length} valid alternatives`
        complain(`must validate one and only one schema (oneOf). ${found}`)
        if (successes.length === 0) outcome.merge(closest(results))
      }
    }
    if (node.allOf !== undefined && node.allOf.length > 0) {
      const results = node.allOf.map(attempt)
      for (const result of results) outcome.merge(result)
      const failed = results.filter((result) => result.errors.length > 0).length
      const none = failed === results.length ? '. None validated' : ''
      if (failed > 0) complain(`must validate all the schemas (allOf)${none}`)
    }
    if (node.not !== undefined && attempt(node.not).errors.length === 0) complain('must not validate the schema (not)')
    outcome.matches += 1
  }
}

/** An error of a scalar, or of a container without its contents. */
export type Problem =
  | { readonly type: string; readonly value: string }
  | { readonly tooLong: number }
  /** `multipleOf` is not positive: no number satisfies it. */
  | { readonly badFactor: number }
  | { readonly value: JsonValue; readonly detail: string }

function hasJunctor(node: SchemaNode): boolean {
  return node.anyOf !== undefined || node.oneOf !== undefined || node.allOf !== undefined || node.not !== undefined
}

/** Returns the first of the failed alternatives with most matches. */
function closest(results: readonly Outcome[]): Outcome {
  return results.reduce((best, result) => (result.matches > best.matches ? result : best))
}

interface Choices {
  readonly identities: ReadonlySet<string>
  /** The error of another value; one text for all of them. */
  readonly refusal: FieldError
}

const choices = new WeakMap<readonly JsonValue[], Choices>()

function choicesOf(list: readonly JsonValue[]): Choices {
  let known = choices.get(list)
  if (known === undefined) {
    const identities = new Set(list.filter((choice) => choice !== null).map(marshalGoJson))
    known = { identities, refusal: fieldErrors.notSupported('', null, list.map(formatChoice)) }
    choices.set(list, known)
  }
  return known
}

function formatChoice(choice: JsonValue): string {
  return typeof choice === 'string' ? choice : marshalGoJson(choice)
}

function hasDuplicates(list: readonly JsonValue[]): boolean {
  return new Set(list.map(marshalGoJson)).size < list.length
}
