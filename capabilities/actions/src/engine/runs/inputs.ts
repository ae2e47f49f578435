// Inputs of actions: forms, and validation of the values on the server (originals/kappnav.md §1.4).
import { isJsonArray, isJsonObject, ownValue } from '@fairlead/kube'
import type { JsonObject, JsonValue } from '@fairlead/kube'
import type { RunSnippet } from '../maps/snippet.ts'
import { PatternError } from '../patterns/pattern.ts'

/**
 * An input is missing, unknown or invalid. `kind` is the error word for clients.
 * @internal reported as an ActionError of the same kind
 */
export class InputError extends Error {
  override readonly name = 'InputError'
  readonly kind: 'validation-error' | 'input-error'
  /** The invalid field, if the error is about one. */
  readonly field: string | undefined

  constructor(kind: InputError['kind'], message: string, field?: string) {
    super(message)
    this.kind = kind
    this.field = field
  }
}

/** A field of a form. */
export interface InputField {
  readonly name: string
  readonly label: string
  readonly description: string
  /** As written in the map: `string`, `list`, `multiselect`. */
  readonly type: string
  readonly isOptional: boolean
  readonly default: string | undefined
  /** Only the values are accepted: none at all when their pattern gives none. */
  readonly hasChoices: boolean
  readonly values: readonly string[]
  readonly isMultiple: boolean
  readonly validator: string | undefined
}

/** The input form of an action. */
export interface InputForm {
  readonly name: string
  readonly fields: readonly InputField[]
}

/** Resolves a pattern in choices and defaults (`${func.podlist()}`). Rejects with PatternError. */
export type ResolvePattern = (pattern: string) => Promise<string>

/** Parses a form of a map. Throws InputError `input-error` when the form is missing or has no fields. */
export function parseForm(name: string, value: JsonValue | undefined): InputForm {
  const fields = isJsonObject(value) ? ownValue(value, 'fields') : undefined
  if (!isJsonObject(fields)) {
    throw new InputError(
      'input-error',
      `the action requires the inputs "${name}", and its maps define ${value === undefined ? 'no inputs of that name' : 'no fields for them (fields must be an object)'}`,
    )
  }
  return {
    name,
    fields: Object.entries(fields).map(([field, attributes]) =>
      parseField(field, isJsonObject(attributes) ? attributes : {}),
    ),
  }
}

/** Resolves the dynamic choices and defaults of a form: the pods of a Deployment, the name of the resource. */
export async function resolveForm(form: InputForm, resolve: ResolvePattern): Promise<InputForm> {
  const fields: InputField[] = []
  for (const field of form.fields) {
    const [only, ...more] = field.values
    const isDynamic = only !== undefined && more.length === 0 && only.includes('${')
    fields.push({
      ...field,
      values: isDynamic ? choicesOf(await resolve(only)) : field.values,
      default: field.default?.includes('${') ? await resolvedDefault(field.default, resolve) : field.default,
    })
  }
  return { ...form, fields }
}

/** Returns undefined for a default that this resource has no value for: the user gives one. */
async function resolvedDefault(pattern: string, resolve: ResolvePattern): Promise<string | undefined> {
  try {
    return await resolve(pattern)
  } catch (error) {
    if (error instanceof PatternError && error.code === 'NoValue') return undefined
    throw error
  }
}

/** Validates the inputs and adds the defaults of fields without a value. Throws InputError. */
export async function checkInputs(
  form: InputForm,
  body: JsonValue | undefined,
  snippetOf: (name: string) => string | undefined,
  runSnippet: RunSnippet,
): Promise<Readonly<Record<string, string>>> {
  const given = givenValues(form, body)
  const values: Record<string, string> = Object.create(null) as Record<string, string>
  for (const field of form.fields) {
    const value = given.get(field.name) ?? field.default
    if (value !== undefined) values[field.name] = value
    else if (!field.isOptional) throw new InputError('validation-error', `"${field.name}" is required`, field.name)
  }
  // The default of an optional field need not be a choice: "none", say. That of a required one is a value.
  const checked = (field: InputField): string | undefined =>
    given.get(field.name) ?? (field.isOptional ? undefined : values[field.name])
  for (const field of form.fields) checkValue(field, checked(field))
  for (const field of form.fields) {
    const value = checked(field)
    if (field.validator !== undefined && value !== undefined)
      await runValidator(field.name, field.validator, value, snippetOf(field.validator), runSnippet)
  }
  return values
}

function givenValues(form: InputForm, body: JsonValue | undefined): ReadonlyMap<string, string> {
  if (!isJsonObject(body ?? {}))
    throw new InputError('validation-error', 'the inputs must be an object: a value for each field')
  const given = new Map<string, string>()
  const known = new Set(form.fields.map((field) => field.name))
  for (const [name, value] of Object.entries((body ?? {}) as JsonObject)) {
    if (!known.has(name)) {
      throw new InputError(
        'validation-error',
        `unknown field "${name}"; the fields are ${form.fields.map((field) => field.name).join(', ') || 'none'}`,
        name,
      )
    }
    if (value === null || typeof value === 'object')
      throw new InputError(
        'validation-error',
        `"${name}" must be a string, number or boolean; separate several choices with commas`,
        name,
      )
    if (String(value).includes('\u0000'))
      throw new InputError('validation-error', `"${name}" contains a NUL character`, name)
    given.set(name, String(value))
  }
  return given
}

/** Choices that a message lists. */
const maxNamedChoices = 50

function checkValue(field: InputField, value: string | undefined): void {
  if (value === undefined) return
  if (value === '') {
    if (!field.isOptional) throw new InputError('input-error', `"${field.name}" is required and empty`, field.name)
    return
  }
  if (!field.hasChoices) return
  const chosen = field.isMultiple ? value.split(',') : [value]
  const choices = new Set(field.values)
  const invalid = chosen.find((one) => !choices.has(one))
  if (invalid !== undefined)
    throw new InputError(
      'input-error',
      `"${invalid}" is not a choice for "${field.name}"; the choices are ${field.values.slice(0, maxNamedChoices).join(', ') || 'none'}`,
      field.name,
    )
}

/** Runs a validator: a snippet from `{"value": …}` to `{"valid": …, "message": …}`, both JSON strings. */
async function runValidator(
  field: string,
  name: string,
  value: string,
  source: string | undefined,
  runSnippet: RunSnippet,
): Promise<void> {
  const refuse = (why: string): never => {
    throw new InputError('validation-error', `"${field}": ${why}`, field)
  }
  if (source === undefined) return refuse(`its validator, snippet "${name}", does not exist`)
  let result: unknown
  try {
    result = JSON.parse(await runSnippet(source, [JSON.stringify({ value })]))
  } catch (error) {
    return refuse(`its validator "${name}" failed: ${(error as Error).message}`)
  }
  const { valid, message } = (typeof result === 'object' && result !== null ? result : {}) as {
    valid?: unknown
    message?: unknown
  }
  if (valid === true) return
  if (valid === false && typeof message === 'string') return refuse(message)
  refuse(`its validator "${name}" must return {"valid": true} or {"valid": false, "message": …} as a string`)
}

function parseField(name: string, attributes: JsonObject): InputField {
  const optional = ownValue(attributes, 'optional')
  const values = ownValue(attributes, 'values')
  const given = ownValue(attributes, 'default')
  const validator = ownValue(attributes, 'validator')
  const choices = isJsonArray(values)
    ? values.filter((value) => value !== null && typeof value !== 'object').map(String)
    : []
  const stringAt = (key: string): string => {
    const value = ownValue(attributes, key)
    return typeof value === 'string' ? value : ''
  }
  return {
    name,
    label: stringAt('label') || name,
    description: stringAt('description'),
    type: stringAt('type') || 'string',
    isOptional: optional === true || optional === 'true',
    default: given === undefined || given === null || typeof given === 'object' ? undefined : String(given),
    hasChoices: choices.length > 0,
    values: choices,
    isMultiple: ownValue(attributes, 'type') === 'multiselect',
    validator: typeof validator === 'string' && validator !== '' ? validator : undefined,
  }
}

/** Returns the choices in a resolved pattern: `{"pods": […]}`, a JSON list, or a comma-separated list. */
function choicesOf(text: string): readonly string[] {
  try {
    const value = JSON.parse(text) as unknown
    const list = Array.isArray(value)
      ? value
      : typeof value === 'object' && value !== null && 'pods' in value
        ? value.pods
        : undefined
    if (Array.isArray(list)) return list.map(String)
  } catch {
    // Not JSON: a comma-separated list.
  }
  return text
    .split(',')
    .map((choice) => choice.trim())
    .filter((choice) => choice !== '')
}
