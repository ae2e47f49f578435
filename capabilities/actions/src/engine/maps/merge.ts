// Merges maps into the actions of a resource, with provenance, overrides and cuts (seed "Action Configmap Merge").
import { ownValue, setOwn } from '@fairlead/kube'
import type { JsonObject, JsonValue, MutableJsonObject } from '@fairlead/kube'
import type { Candidate } from '../mapping/mapping-index.ts'
import { actionTypes, partTypes } from './action-map.ts'
import type { Action, ActionMap, ActionType, PartType } from './action-map.ts'

/** A map that exists, and the candidate that named it. */
export interface FoundMap {
  readonly candidate: Candidate | undefined
  readonly map: ActionMap
  /** The namespace of the map is not trusted: its actions run with the rights of that namespace alone. */
  readonly isUntrusted?: true
}

/** An action of the merged set. */
export interface MergedAction extends Action {
  /** The map that defines it. */
  readonly from: FoundMap
  /** Less specific maps that also define an action of this type and name. */
  readonly overrides: readonly FoundMap[]
}

/** The actions of a resource. */
export interface MergedMap {
  /** All maps that exist, most specific first. */
  readonly found: readonly FoundMap[]
  /** Number of maps that are merged: those after a map with policy `replace` are cut. */
  readonly used: number
  /** url-actions, then cmd-actions, each most specific first. */
  readonly actions: readonly MergedAction[]
  /** Inputs, variables and snippets by name, the most specific definition of each. */
  readonly parts: Readonly<Record<PartType, JsonObject>>
}

/** Merges maps, given most specific first. */
export function mergeMaps(found: readonly FoundMap[]): MergedMap {
  const replacing = found.findIndex(({ map }) => map.policy === 'replace')
  const used = replacing < 0 ? found.length : replacing + 1
  const merged = found.slice(0, used)
  return { found, used, actions: actionTypes.flatMap((type) => mergeActions(merged, type)), parts: partsOf(merged) }
}

function partsOf(found: readonly FoundMap[]): MergedMap['parts'] {
  const parts: Record<PartType, MutableJsonObject> = { inputs: {}, variables: {}, snippets: {} }
  for (const { map } of found) for (const type of partTypes) addAbsent(parts[type], map.parts[type])
  return parts
}

/** Returns the action of a name and type; of any type when none is given. */
export function findAction(merged: MergedMap, name: string, type?: ActionType): MergedAction | undefined {
  return merged.actions.find((action) => action.name === name && (type === undefined || action.type === type))
}

/**
 * Returns a variable, snippet or input for an action: first from the map that defines the action, then from the merged
 * set, so that a more specific map does not change the actions that it merely inherits (spec §2).
 */
export function partFor(
  merged: Pick<MergedMap, 'parts'>,
  definedIn: ActionMap | undefined,
  type: PartType,
  name: string,
): JsonValue | undefined {
  return (definedIn && ownValue(definedIn.parts[type], name)) ?? ownValue(merged.parts[type], name)
}

/**
 * Returns the merged set as an action may use it: an action of a trusted map uses no part of an untrusted one, which
 * could otherwise change what it does.
 */
export function scopeOf(merged: MergedMap, { from }: MergedAction): MergedMap {
  if (from.isUntrusted === true) return merged
  let trusted = trustedScopes.get(merged)
  if (trusted === undefined) {
    const found = merged.found.slice(0, merged.used)
    trusted = found.every(({ isUntrusted }) => isUntrusted !== true)
      ? merged
      : { ...merged, parts: partsOf(found.filter(({ isUntrusted }) => isUntrusted !== true)) }
    trustedScopes.set(merged, trusted)
  }
  return trusted
}

/** The scope of the actions of trusted maps: the same for all actions of a menu. */
const trustedScopes = new WeakMap<MergedMap, MergedMap>()

/** Returns the merged map in the form of its data keys, without provenance; empty parts are absent. */
export function mergedForm(merged: MergedMap): JsonObject {
  const form: MutableJsonObject = {}
  for (const type of actionTypes) {
    const actions = merged.actions.filter((action) => action.type === type)
    if (actions.length > 0) form[type] = actions.map(({ fields }) => fields)
  }
  for (const type of partTypes) if (Object.keys(merged.parts[type]).length > 0) form[type] = merged.parts[type]
  return form
}

function mergeActions(found: readonly FoundMap[], type: ActionType): MergedAction[] {
  const byName = new Map<string, { action: Action; from: FoundMap; overrides: FoundMap[] }>()
  for (const from of found) {
    for (const action of from.map.actions[type]) {
      const first = byName.get(action.name)
      if (first === undefined) byName.set(action.name, { action, from, overrides: [] })
      else first.overrides.push(from)
    }
  }
  return [...byName.values()].map(({ action, from, overrides }) => ({ ...action, from, overrides }))
}

function addAbsent(into: MutableJsonObject, from: JsonObject): void {
  for (const [key, value] of Object.entries(from)) if (!Object.hasOwn(into, key)) setOwn(into, key, value)
}
