// Action maps: ConfigMaps whose data hold actions, inputs, variables and snippets as JSON strings.
import { dns1123Subdomain, isJsonObject, ownValue } from '@fairlead/kube'
import type { JsonObject, JsonValue } from '@fairlead/kube'
import { MapData, asData } from '../data/map-data.ts'
import type { MapObject } from '../data/map-data.ts'
import type { Problem } from '../data/problem.ts'
import { runAsAnnotation } from '../runs/run-record.ts'

/** Annotation with the policy for less specific maps: `merge` or `replace`. */
export const policyAnnotation = 'kappnav.actions.on.conflict'
/** Label of maps that belong to kAppNav. */
export const mapTypeLabel = 'kappnav.io/map-type'

/** Types of actions, named after their data keys. */
export type ActionType = 'url-actions' | 'cmd-actions'
/** Types of actions, in menu order. */
export const actionTypes: readonly ActionType[] = ['url-actions', 'cmd-actions']

/** Types of definitions that actions refer to by name. */
export type PartType = 'inputs' | 'variables' | 'snippets'
/** Types of definitions that actions refer to by name. */
export const partTypes: readonly PartType[] = ['inputs', 'variables', 'snippets']

/** An action as written in its map. */
export interface Action {
  readonly name: string
  readonly type: ActionType
  /** All fields, as written in the map. */
  readonly fields: JsonObject
}

/** A parsed action map, with its problems. */
export interface ActionMap {
  readonly namespace: string
  readonly name: string
  readonly policy: 'merge' | 'replace'
  /** The service account that its commands run as on behalf of users who may not create their Jobs. */
  readonly runAs?: string
  readonly actions: Readonly<Record<ActionType, readonly Action[]>>
  readonly parts: Readonly<Record<PartType, JsonObject>>
  readonly problems: readonly Problem[]
}

/** Parses an action map. Unknown data keys are ignored; invalid entries become problems. */
export function parseActionMap(object: MapObject): ActionMap {
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
      message: 'function-actions are not supported in this version; write a url-action or a cmd-action',
    })
  }
  const runAs = accountOf(object.metadata.annotations, data.problems)
  return {
    namespace: object.metadata.namespace ?? '',
    name: object.metadata.name ?? '',
    policy: policyOf(object.metadata.annotations),
    ...(runAs === undefined ? {} : { runAs }),
    actions,
    parts,
    problems: [...data.problems, ...policyProblems(object.metadata.annotations)],
  }
}

/** Returns the usable actions of a list; the problems of the others are added to `problems`. */
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
    if (!isJsonObject(value) || name === undefined || name === null || typeof name === 'object' || name === '') {
      problems.push({
        code: 'InvalidAction',
        field,
        message: 'an action must be an object with a name; this one is ignored',
      })
    } else if (byName.has(String(name))) {
      problems.push({
        code: 'InvalidAction',
        field,
        message: `this map already defines an action "${String(name)}"; this one is ignored`,
      })
    } else {
      byName.set(String(name), { name: String(name), type, fields: value })
      const pattern = type === 'url-actions' ? 'url-pattern' : 'cmd-pattern'
      for (const key of type === 'cmd-actions' ? [pattern, 'image'] : [pattern]) {
        if (typeof ownValue(value, key) !== 'string')
          problems.push({
            code: 'InvalidAction',
            field: `${field}.${key}`,
            message: `action "${String(name)}" needs ${key}, a string; the action is shown and cannot be used`,
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

function accountOf(annotations: unknown, problems: Problem[]): string | undefined {
  const value = isJsonObject(annotations) ? ownValue(annotations, runAsAnnotation) : undefined
  if (value === undefined) return undefined
  const [invalid] = typeof value === 'string' ? dns1123Subdomain(value) : ['it must be a string']
  if (invalid === undefined) return value as string
  const field = `metadata.annotations[${runAsAnnotation}]`
  problems.push({ code: 'InvalidMap', field, message: `must be the name of a service account: ${invalid}` })
  return undefined
}

function policyProblems(annotations: unknown): readonly Problem[] {
  const value = isJsonObject(annotations) ? ownValue(annotations, policyAnnotation) : undefined
  if (value === undefined || value === 'merge' || value === 'replace') return []
  return [
    {
      code: 'InvalidMap',
      field: `metadata.annotations[${policyAnnotation}]`,
      message: `${JSON.stringify(value)} is treated as merge; write merge or replace`,
    },
  ]
}
