// Maps between specs, whose fields have the names of the CRD, and inputs and outputs with the names of the API.
import { isJsonArray, isJsonObject, ownValue } from '@fairlead/kube'
import type { JsonObject, JsonValue } from '@fairlead/kube'
import { fieldName } from '@fairlead/references/generator'
import type { ServiceModel } from '@fairlead/references/generator'
import type { ApiObject, ApiValue } from './service-api.ts'

/** Names of fields that differ from those of the API: API name -> name of the field in the API's spelling. */
export type Renames = Readonly<Record<string, string>>

const names = new Map<string, string>()

function nameOf(apiName: string): string {
  let name = names.get(apiName)
  if (name === undefined) names.set(apiName, (name = fieldName(apiName)))
  return name
}

/** Returns the input of a shape from the fields of a spec; fields that the shape lacks are left out. */
export function toInput(model: ServiceModel, shape: string, spec: JsonObject, renames: Renames = {}): ApiObject {
  return inputOf(model, shape, spec, renames) as ApiObject
}

function inputOf(model: ServiceModel, name: string, value: JsonValue, renames: Renames = {}): ApiValue {
  const shape = model.shapes.get(name)
  if (shape === undefined || value === null) return value as ApiValue
  if ('fields' in shape) {
    if (!isJsonObject(value)) return value as ApiValue
    return Object.fromEntries(
      [...shape.fields].flatMap(([apiName, field]) => {
        const own = ownValue(value, nameOf(renames[apiName] ?? apiName))
        return own === undefined || own === null ? [] : [[apiName, inputOf(model, field.shape, own)]]
      }),
    )
  }
  if (shape.type === 'list') return isJsonArray(value) ? value.map((item) => inputOf(model, shape.item, item)) : []
  if (shape.type === 'map' && isJsonObject(value))
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, inputOf(model, shape.value, item)]))
  return shape.type === 'timestamp' && typeof value === 'string' ? new Date(value) : (value as ApiValue)
}

/** Returns the fields of an output; what is absent or null is left out. */
export function toFields(model: ServiceModel, shape: string, output: ApiObject, renames: Renames = {}): JsonObject {
  return fieldsOf(model, shape, output, renames) as JsonObject
}

function fieldsOf(model: ServiceModel, name: string, value: ApiValue, renames: Renames = {}): JsonValue {
  const shape = model.shapes.get(name)
  if (value instanceof Date) return value.toISOString().replace(/\.\d+Z$/, 'Z')
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64')
  if (shape === undefined || value === null || typeof value !== 'object') return value as JsonValue
  if (shape.type === 'list') return (value as readonly ApiValue[]).map((item) => fieldsOf(model, shape.item, item))
  const entries = Object.entries(value).filter(([, item]) => item !== undefined && item !== null)
  if (shape.type === 'map')
    return Object.fromEntries(entries.map(([key, item]) => [key, fieldsOf(model, shape.value, item)]))
  if (!('fields' in shape)) return {}
  return Object.fromEntries(
    entries.flatMap(([apiName, item]) => {
      const field = shape.fields.get(apiName)
      return field === undefined ? [] : [[nameOf(renames[apiName] ?? apiName), fieldsOf(model, field.shape, item)]]
    }),
  )
}

/** Returns the names of the fields of a shape, as a CRD spells them. */
export function fieldNamesOf(model: ServiceModel, shape: string | undefined, renames: Renames = {}): readonly string[] {
  const found = shape === undefined ? undefined : model.shapes.get(shape)
  if (found === undefined || !('fields' in found)) return []
  return [...found.fields.keys()].map((name) => nameOf(renames[name] ?? name))
}

/** Returns the fields of an object that are listed. */
export function pick(object: JsonObject, fields: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([name]) => fields.includes(name)))
}
