// The interface to CEL: rules of CRD schemas are compiled when a CRD is accepted and run when its objects are written.
import type { DefinitionRules, FieldError, JsonValue, TypeSchema } from '@fairlead/kube'
import { fieldErrors } from '@fairlead/kube'
import type { Validation } from '@fairlead/builtin-kinds'

/** Runs the rules of one schema. */
export interface CompiledRules {
  /**
   * Returns the errors of a value; `old` is its value before the update. `tolerate` receives errors that existed
   * before.
   */
  validate(value: JsonValue, old: JsonValue | undefined, tolerate?: (error: FieldError) => void): Validation
}

/** An engine for x-kubernetes-validations. */
export interface RuleEngine extends DefinitionRules {
  /** Returns the rules of an accepted schema; undefined when it has none. */
  rulesOf(schema: TypeSchema): CompiledRules | undefined
}

const blocking: ReadonlySet<string> = new Set([
  'FieldValueNotSupported',
  'FieldValueRequired',
  'FieldValueTooLong',
  'FieldValueTooMany',
  'FieldValueTypeInvalid',
])

/** Returns the errors of rules, or one error that says that they were not run because the value is malformed. */
export function runRules(
  rules: CompiledRules | undefined,
  found: readonly FieldError[],
  value: JsonValue,
  old: JsonValue | undefined,
  tolerate?: (error: FieldError) => void,
): Validation {
  if (rules === undefined) return []
  if (!found.some((error) => blocking.has(error.type))) return rules.validate(value, old, tolerate)
  const detail =
    'some validation rules were not checked because the object was invalid; correct the existing errors to complete validation'
  return [fieldErrors.invalid('<nil>', null, detail)]
}
