// Reads the data keys of ConfigMaps as JSON, each on its own: a key that cannot be read is a problem and nothing else.
import { isJsonArray, isJsonObject, ownValue } from '@fairlead/kube'
import type { JsonObject, JsonValue, KubeObject } from '@fairlead/kube'
import { LenientJsonError, parseLenientJson } from './lenient-json.ts'
import type { Problem } from './problem.ts'

/** A ConfigMap as far as maps need it. */
export type MapObject = Pick<KubeObject, 'metadata'> & { readonly data?: unknown }

/**
 * Maximum size of a ConfigMap, for maps from files as well. Counted in UTF-16 units, which are never more than the
 * bytes.
 */
const maxLength = 1_048_576

/** The data of a ConfigMap, each key parsed as JSON on request. */
export class MapData {
  readonly problems: Problem[] = []
  readonly #data: JsonObject

  constructor(object: { readonly data?: unknown }) {
    const data = asData(object.data)
    const length = Object.values(data).reduce(
      (sum: number, text) => sum + (typeof text === 'string' ? text.length : 0),
      0,
    )
    const isTooLarge = length > maxLength
    if (isTooLarge) {
      this.problems.push({
        code: 'MapTooLarge',
        field: 'data',
        message: `the map has ${length} characters, a ConfigMap at most ${maxLength}; the whole map is ignored`,
      })
    }
    this.#data = isTooLarge ? {} : data
  }

  /** Returns the value of a key; undefined when the key is absent or invalid. */
  read(key: string): JsonValue | undefined {
    const text = ownValue(this.#data, key)
    if (text === undefined || text === null) return undefined
    const field = `data.${key}`
    if (typeof text !== 'string') {
      this.problems.push({
        code: 'InvalidMap',
        field,
        message: 'values in data must be strings; write the JSON as a block scalar (|)',
      })
      return undefined
    }
    try {
      const { value, deviations } = parseLenientJson(text)
      if (deviations.length > 0)
        this.problems.push({
          code: 'LenientJson',
          field,
          message: `not strict JSON: ${deviations.join(', ')}`,
        })
      return value
    } catch (error) {
      if (!(error instanceof LenientJsonError)) throw error
      this.problems.push({ code: 'InvalidJson', field, message: `${error.message}; the whole key is ignored` })
      return undefined
    }
  }

  /** Returns the list of a key; empty when there is none. */
  list(key: string): readonly JsonValue[] {
    const value = this.read(key)
    if (value === undefined || isJsonArray(value)) return value ?? []
    this.problems.push({
      code: 'InvalidMap',
      field: `data.${key}`,
      message: 'must be a list [ … ]; the whole key is ignored',
    })
    return []
  }

  /** Returns the object of a key; empty when there is none. */
  object(key: string): JsonObject {
    const value = this.read(key)
    if (value === undefined || isJsonObject(value)) return value ?? {}
    this.problems.push({
      code: 'InvalidMap',
      field: `data.${key}`,
      message: 'must be an object { … }; the whole key is ignored',
    })
    return {}
  }
}

/** Returns the value if it is an object, else an empty one. */
export function asData(value: unknown): JsonObject {
  return isJsonObject(value as JsonValue) ? (value as JsonObject) : {}
}
