// An action map: a ConfigMap whose data hold actions, inputs, variables and snippets as JSON texts.
import type { JsonObject, JsonValue, KubeObject } from '@fairlead/kube'
import { isJsonArray, isJsonObject, ownValue } from '@fairlead/kube'
import { LenientJsonError, parseLenientJson } from '../data/lenient-json.ts'
import type { Problem } from '../data/problem.ts'

/** Annotation that says what happens to less specific maps. */
export const policyAnnotation = 'kappnav.actions.on.conflict'
/** Label of maps that belong to kAppNav. */
export const mapTypeLabel = 'kappnav.io/map-type'

/** Sorts of actions, named after their data keys. */
export type ActionType = 'url-actions' | 'cmd-actions'
/** Sorts of actions in the order in which menus show them. */
export const actionTypes: readonly ActionType[] = ['url-actions', 'cmd-actions']

/** What actions share by name. */
export type PartType = 'inputs' | 'variables' | 'snippets'
/** What actions share by name. */
export const partTypes: readonly PartType[] = ['inputs', 'variables', 'snippets']

/** An action as its author wrote it; `name` is a text. */
export interface Action {
  readonly name: string
  readonly type: ActionType
  /** All its fields, as they stand in the map. */
  readonly fields: JsonObject
}

/** A ConfigMap with actions, read: what it offers, and what is wrong with it. */
export interface ActionMap {
  readonly namespace: string
  readonly name: string
  readonly policy: 'merge' | 'replace'
  readonly actions: Readonly<Record<ActionType, readonly Action[]>>
  readonly parts: Readonly<Record<PartType, JsonObject>>
  readonly problems: readonly Problem[]
}

/** A ConfigMap may not be larger; what comes from files is held to the same. Bytes are counted as UTF-16 units, which is never more. */
const maxLength = 1_048_576

/** Reads the data keys of a ConfigMap as JSON, each for itself: one that cannot be read is a problem and nothing else. */
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
        message: `the map holds ${length} characters, a ConfigMap at most ${maxLength}; nothing of it is used`,
      })
    }
    this.#data = isTooLarge ? {} : data
  }

  /** The value of a key; undefined when the key is absent or cannot be read. */
  read(key: string): JsonValue | undefined {
    const text = ownValue(this.#data, key)
    if (text === undefined || text === null) return undefined
    const field = `data.${key}`
    if (typeof text !== 'string') {
      this.problems.push({
        code: 'InvalidMap',
        field,
        message: 'data of a ConfigMap are texts; write the JSON as a text (|)',
      })
      return undefined
    }
    try {
      const { value, deviations } = parseLenientJson(text)
      if (deviations.length > 0)
        this.problems.push({
          code: 'LenientJson',
          field,
          message: `strict JSON would refuse: ${deviations.join(', ')}`,
        })
      return value
    } catch (error) {
      if (!(error instanceof LenientJsonError)) throw error
      this.problems.push({ code: 'InvalidJson', field, message: `${error.message}; the whole key is left out` })
      return undefined
    }
  }

  /** The list of a key; empty when there is none. */
  list(key: string): readonly JsonValue[] {
    const value = this.read(key)
    if (value === undefined || isJsonArray(value)) return value ?? []
    this.problems.push({
      code: 'InvalidMap',
      field: `data.${key}`,
      message: 'should be a list [ … ]; the whole key is left out',
    })
    return []
  }

  /** The object of a key; empty when there is none. */
  object(key: string): JsonObject {
    const value = this.read(key)
    if (value === undefined || isJsonObject(value)) return value ?? {}
    this.problems.push({
      code: 'InvalidMap',
      field: `data.${key}`,
      message: 'should be an object { … }; the whole key is left out',
    })
    return {}
  }
}

/** An object's part that should be an object; an empty one when it is something else. */
export function asData(value: unknown): JsonObject {
  return isJsonObject(value as JsonValue) ? (value as JsonObject) : {}
}

/** Reads an action map. Unknown data keys are left out; what cannot be used is a problem. */
export function parseActionMap(object: Pick<KubeObject, 'metadata'> & { readonly data?: unknown }): ActionMap {
  const data = new MapData(object)
  const actions = { 'url-actions': actionsOf(data, 'url-actions'), 'cmd-actions': actionsOf(data, 'cmd-actions') }
  const parts = {
    inputs: data.object('inputs'),
    variables: data.object('variables'),
    snippets: data.object('snippets'),
  }
  if (ownValue(asData(object.data), 'function-actions') !== undefined) {
    data.problems.push({
      code: 'InvalidMap',
      field: 'data.function-actions',
      message: 'function-actions are not in this version; write a url-action or a cmd-action',
    })
  }
  return {
    namespace: object.metadata.namespace ?? '',
    name: object.metadata.name ?? '',
    policy: policyOf(object.metadata.annotations),
    actions,
    parts,
    problems: [...data.problems, ...policyProblems(object.metadata.annotations)],
  }
}

/** The usable actions of a list; what is left out is told to `problems`. */
export function actionsFrom(
  values: readonly JsonValue[],
  type: ActionType,
  problems: Problem[] = [],
): readonly Action[] {
  const byName = new Map<string, Action>()
  for (const [index, value] of values.entries()) {
    if (value === null) continue
    const field = `data.${type}[${index}]`
    const name = isJsonObject(value) ? ownValue(value, 'name') : undefined
    if (!isJsonObject(value) || name === undefined || name === null || typeof name === 'object') {
      problems.push({
        code: 'InvalidAction',
        field,
        message: 'an action should be an object with a name; this one is left out',
      })
    } else if (byName.has(String(name))) {
      problems.push({
        code: 'InvalidAction',
        field,
        message: `there is an action "${String(name)}" before it in this map; this one is left out`,
      })
    } else {
      byName.set(String(name), { name: String(name), type, fields: value })
      const pattern = type === 'url-actions' ? 'url-pattern' : 'cmd-pattern'
      for (const key of type === 'cmd-actions' ? [pattern, 'image'] : [pattern]) {
        if (typeof ownValue(value, key) !== 'string')
          problems.push({
            code: 'InvalidAction',
            field: `${field}.${key}`,
            message: `action "${String(name)}" needs ${key}, a text; it is shown and cannot be used`,
          })
      }
    }
  }
  return [...byName.values()]
}

function actionsOf(data: MapData, type: ActionType): readonly Action[] {
  return actionsFrom(data.list(type), type, data.problems)
}

function policyOf(annotations: unknown): ActionMap['policy'] {
  return isJsonObject(annotations) && ownValue(annotations, policyAnnotation) === 'replace' ? 'replace' : 'merge'
}

function policyProblems(annotations: unknown): readonly Problem[] {
  const value = isJsonObject(annotations) ? ownValue(annotations, policyAnnotation) : undefined
  if (value === undefined || value === 'merge' || value === 'replace') return []
  return [
    {
      code: 'InvalidMap',
      field: `metadata.annotations[${policyAnnotation}]`,
      message: `${JSON.stringify(value)} means merge; write merge or replace`,
    },
  ]
}
