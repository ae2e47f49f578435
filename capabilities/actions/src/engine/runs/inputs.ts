// What a user puts in for an action, checked as the server must (originals/kappnav.md §1.4).
import type { JsonObject, JsonValue } from '@fairlead/kube'
import { isJsonArray, isJsonObject, ownValue } from '@fairlead/kube'
import type { RunSnippet } from '../maps/snippet.ts'

/**
 * A refusal. `kind` is the word that clients know: a field that is missing, unknown or invalid, or a value that does not fit.
 * @internal told as an ActionError of the same kind
 */
export class InputError extends Error {
  override readonly name = 'InputError'
  readonly kind: 'validation-error' | 'input-error'
  /** The field, where one is to blame. */
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
  readonly isOptional: boolean
  readonly default: string | undefined
  /** Choices; empty where anything goes. */
  readonly values: readonly string[]
  readonly isMultiple: boolean
  readonly validator: string | undefined
}

/** What an action asks for before it runs. */
export interface InputForm {
  readonly name: string
  readonly fields: readonly InputField[]
}

/** Puts the values of patterns into choices and defaults (`${func.podlist()}`); rejects when they cannot be had. */
export type ResolveText = (pattern: string) => Promise<string>

/** Reads a form of a map. Throws InputError `input-error` when the map defines none of this name. */
export function parseForm(name: string, value: JsonValue | undefined): InputForm {
  const fields = isJsonObject(value) ? ownValue(value, 'fields') : undefined
  if (!isJsonObject(fields)) {
    throw new InputError(
      'input-error',
      `the action asks for the inputs "${name}", and its maps define ${value === undefined ? 'none of that name' : 'no fields for them (fields should be an object)'}`,
    )
  }
  return {
    name,
    fields: Object.entries(fields).map(([field, attributes]) =>
      parseField(field, isJsonObject(attributes) ? attributes : {}),
    ),
  }
}

/** A form whose dynamic choices and defaults are resolved: the pods of a Deployment, the name of the resource. */
export async function resolveForm(form: InputForm, resolve: ResolveText): Promise<InputForm> {
  const fields: InputField[] = []
  for (const field of form.fields) {
    const [only, ...more] = field.values
    const isDynamic = only !== undefined && more.length === 0 && only.includes('${')
    fields.push({
      ...field,
      values: isDynamic ? choicesOf(await resolve(only)) : field.values,
      default: field.default?.includes('${') ? await resolve(field.default) : field.default,
    })
  }
  return { ...form, fields }
}

/** Checks what was put in and adds defaults of optional fields. Throws InputError. */
export async function checkInputs(
  form: InputForm,
  body: JsonValue | undefined,
  validator: (name: string) => string | undefined,
  runSnippet: RunSnippet,
): Promise<Readonly<Record<string, string>>> {
  const given = givenValues(form, body)
  const values: Record<string, string> = Object.create(null) as Record<string, string>
  for (const field of form.fields) {
    const value = given.get(field.name) ?? (field.isOptional ? field.default : undefined)
    if (value !== undefined) values[field.name] = value
    else if (!field.isOptional) throw new InputError('validation-error', `"${field.name}" is required`, field.name)
  }
  for (const field of form.fields) checkValue(field, given.get(field.name))
  for (const field of form.fields) {
    const value = given.get(field.name)
    if (field.validator !== undefined && value !== undefined)
      await askValidator(field.name, field.validator, value, validator(field.validator), runSnippet)
  }
  return values
}

function givenValues(form: InputForm, body: JsonValue | undefined): ReadonlyMap<string, string> {
  if (!isJsonObject(body ?? {}))
    throw new InputError('validation-error', 'the inputs should be an object: a value for each field')
  const given = new Map<string, string>()
  for (const [name, value] of Object.entries((body ?? {}) as JsonObject)) {
    if (!form.fields.some((field) => field.name === name)) {
      throw new InputError(
        'validation-error',
        `there is no field "${name}"; there are ${form.fields.map((field) => field.name).join(', ') || 'none'}`,
        name,
      )
    }
    if (value === null || typeof value === 'object')
      throw new InputError(
        'validation-error',
        `"${name}" should be one text, number or boolean; join several choices with commas`,
        name,
      )
    given.set(name, String(value))
  }
  return given
}

function checkValue(field: InputField, value: string | undefined): void {
  if (value === undefined) return
  if (value === '') {
    if (!field.isOptional) throw new InputError('input-error', `"${field.name}" is required and empty`, field.name)
    return
  }
  if (field.values.length === 0) return
  const chosen = field.isMultiple ? value.split(',') : [value]
  const wrong = chosen.find((one) => !field.values.includes(one))
  if (wrong !== undefined)
    throw new InputError(
      'input-error',
      `"${wrong}" is no choice for "${field.name}"; there are ${field.values.join(', ')}`,
      field.name,
    )
}

/** Validators take `{"value": …}` as a text and answer `{"valid": …, "message": …}` as a text. */
async function askValidator(
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
  let answer: unknown
  try {
    answer = JSON.parse(await runSnippet(source, [JSON.stringify({ value })]))
  } catch (error) {
    return refuse(`its validator "${name}" gave no answer: ${(error as Error).message}`)
  }
  const { valid, message } = (typeof answer === 'object' && answer !== null ? answer : {}) as {
    valid?: unknown
    message?: unknown
  }
  if (valid === true) return
  if (valid === false && typeof message === 'string') return refuse(message)
  refuse(`its validator "${name}" should answer {"valid": true} or {"valid": false, "message": …} as a text`)
}

function parseField(name: string, attributes: JsonObject): InputField {
  const optional = ownValue(attributes, 'optional')
  const values = ownValue(attributes, 'values')
  const given = ownValue(attributes, 'default')
  const validator = ownValue(attributes, 'validator')
  return {
    name,
    isOptional: optional === true || optional === 'true',
    default: given === undefined || given === null || typeof given === 'object' ? undefined : String(given),
    values: isJsonArray(values)
      ? values.filter((value) => value !== null && typeof value !== 'object').map(String)
      : [],
    isMultiple: ownValue(attributes, 'type') === 'multiselect',
    validator: typeof validator === 'string' && validator !== '' ? validator : undefined,
  }
}

/** Choices out of a resolved pattern: `{"pods": […]}`, a JSON list, or a comma list. */
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
    // No JSON: a comma list.
  }
  return text
    .split(',')
    .map((choice) => choice.trim())
    .filter((choice) => choice !== '')
}
