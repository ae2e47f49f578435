// The seam for CEL: rules of CRD schemas are compiled when a CRD is accepted and run when its objects are written.
import type { DefinitionRules, FieldError, JsonValue, TypeSchema } from '@fairlead/kube'
import { fieldErrors } from '@fairlead/kube'

/** Runs the rules of one schema. */
export interface CompiledRules {
  /** Errors of a value; `old` is what it was before the update. `tolerate` takes those that were there before. */
  validate(value: JsonValue, old: JsonValue | undefined, tolerate?: (error: FieldError) => void): readonly FieldError[]
}

/** What an engine for x-kubernetes-validations offers. */
export interface RuleEngine extends DefinitionRules {
  /** The rules of a schema that has been accepted; undefined when it has none. */
  rulesOf(schema: TypeSchema): CompiledRules | undefined
}

const blocking: ReadonlySet<string> = new Set([
  'FieldValueNotSupported',
  'FieldValueRequired',
  'FieldValueTooLong',
  'FieldValueTooMany',
  'FieldValueTypeInvalid',
])

/** The errors of rules, or the one error that says why they were not run: the value does not have the shape they rely on. */
export function runRules(
  rules: CompiledRules | undefined,
  found: readonly FieldError[],
  value: JsonValue,
  old: JsonValue | undefined,
  tolerate?: (error: FieldError) => void,
): readonly FieldError[] {
  if (rules === undefined) return []
  if (!found.some((error) => blocking.has(error.type))) return rules.validate(value, old, tolerate)
  const detail =
    'some validation rules were not checked because the object was invalid; correct the existing errors to complete validation'
  return [fieldErrors.invalid('<nil>', null, detail)]
}
