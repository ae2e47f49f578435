// The decision of a ReferenceRule on one target: which value its field gets (specs/references.md §1).
import type { JsonObject, JsonValue, KubeObject } from '@fairlead/kube'
import { decodeFieldSet, hasPath, isJsonObject, jsonEqual } from '@fairlead/kube'
import type { ReferenceRule } from '../api.ts'
import type { ObjectId } from './object-id.ts'
import { valueAt, withValue } from './occurrences.ts'
import { referencesCondition } from './conditions.ts'
import type { ReferenceRow, ReferentKind } from './reference-table.ts'
import type { Referents } from './referents.ts'
import { resolveReferences } from './resolve.ts'

/** A ReferenceRule with its kinds resolved. */
export interface FieldRule {
  readonly row: ReferenceRow
  /** Key of the annotation that holds the reference; undefined when a field does. */
  readonly annotation: string | undefined
  /** Field manager of the values that the rule sets. */
  readonly manager: string
  /** Reports whether a field manager is that of a rule that does not exist any more. */
  readonly isFormer?: (manager: string) => boolean
}

/** State of a target: `waiting` ends with its source, `failing` when someone acts. */
export interface TargetState {
  readonly state: 'resolved' | 'waiting' | 'failing'
  readonly reason: string
  readonly message: string
}

/** Decision on one target. */
export type FieldPlan =
  /** Apply the value as the only field of the rule, and take the field over from managers of former rules. */
  | { readonly do: 'set'; readonly value: JsonValue; readonly state: TargetState; readonly former: readonly string[] }
  /**
   * Take the value back: the target refers to nothing any more. `remove` is the path to remove by a patch: giving the
   * field up would leave null in place of a map that another client has without fields.
   */
  | { readonly do: 'withdraw'; readonly former: readonly string[]; readonly remove?: string }
  /** Write nothing. A target without a state has no reference. */
  | { readonly do: 'keep'; readonly state?: TargetState }

/** Prefix of the field managers of rules. */
export const managerPrefix = 'fairlead-references-'
/** Longest name of a rule that a field manager (128 characters) can carry whole. */
const longestName = 100

/** Returns the field manager of a rule's values. */
export function fieldManager(rule: string, shortened: (name: string) => string): string {
  return `${managerPrefix}${rule.length <= longestName ? rule : shortened(rule)}`
}

/** Returns the row of a rule whose source is this kind. */
export function rowOf({ spec }: Pick<ReferenceRule, 'spec'>, source: ReferentKind): ReferenceRow {
  const { fieldPath, reference } = spec.target
  return {
    ...source,
    fieldPath,
    // A reference in an annotation is put beside its field before it is resolved.
    refPath: reference.path ?? `${fieldPath}Ref`,
    ...(reference.annotation === undefined ? {} : { refName: `annotation ${reference.annotation}` }),
    list: false,
    required: false,
    waitFor: spec.waitFor ?? 'Value',
    bothSet: 'prefer_external',
    ...(spec.format === undefined ? {} : { format: spec.format }),
  }
}

/** Returns the reference that an annotation holds: `name`, or `namespace/name`. */
function annotated(value: string): JsonObject {
  const slash = value.indexOf('/')
  return slash < 0 ? { name: value } : { namespace: value.slice(0, slash), name: value.slice(slash + 1) }
}

/** The managers of the field of a target. */
interface FieldOwners {
  /** Set when the rule set the field: then its value is not the user's. */
  readonly isOurs: boolean
  /** Managers of former rules, when no other client has the field: the rule takes it over from them. */
  readonly former: readonly string[]
  readonly others: readonly string[]
}

function ownersOf(target: KubeObject, { row, manager, isFormer = () => false }: FieldRule): FieldOwners {
  const path = row.fieldPath.split('.').map((name) => `f:${name}`)
  const owners = (target.metadata.managedFields ?? []).filter(
    ({ fieldsV1 }) => fieldsV1 !== undefined && hasPath(decodeFieldSet(fieldsV1), path),
  )
  const isOfRule = (entry: (typeof owners)[number]): boolean =>
    entry.operation === 'Apply' && (entry.subresource ?? '') === ''
  const ours = owners.filter((entry) => entry.manager === manager && isOfRule(entry))
  const former = owners.filter((entry) => isOfRule(entry) && isFormer(entry.manager ?? ''))
  const others = owners.filter((entry) => !ours.includes(entry) && !former.includes(entry))
  return {
    isOurs: ours.length > 0,
    former: others.length > 0 ? [] : former.map((entry) => entry.manager ?? ''),
    others: others.map((entry) => entry.manager ?? '').toSorted(),
  }
}

/** Returns the target as resolution reads it: with its reference in place, and without the value that the rule set. */
export function rootOf(target: KubeObject, rule: FieldRule): JsonObject {
  const { row, annotation } = rule
  let root = target as unknown as JsonObject
  if (annotation !== undefined) {
    const value = target.metadata.annotations?.[annotation]
    root = withValue(root, row.refPath, value === undefined ? undefined : annotated(value))
  }
  const { isOurs, former } = ownersOf(target, rule)
  return isOurs || former.length > 0 ? withValue(root, row.fieldPath, undefined) : root
}

const resolved: TargetState = { state: 'resolved', reason: 'Resolved', message: '' }

/** Decides on the field of a target. Throws nothing. */
export function planField(id: ObjectId, target: KubeObject, rule: FieldRule, referents: Referents): FieldPlan {
  const root = rootOf(target, rule)
  const { isOurs, former, others } = ownersOf(target, rule)
  const { fieldPath, refPath } = rule.row
  if ((valueAt(root, refPath) ?? null) === null) {
    if (!isOurs && former.length === 0) return { do: 'keep' }
    const remove = others.length > 0 ? undefined : lastBelowForeignMap(target, fieldPath)
    return { do: 'withdraw', former, ...(remove === undefined ? {} : { remove }) }
  }
  const resolution = resolveReferences(
    { id, spec: withParents(root, fieldPath), stored: [], exists: false },
    [rule.row],
    referents,
  )
  const [ignored] = resolution.advisories.filter(({ reason }) => reason === 'ReferenceIgnored')
  if (ignored !== undefined)
    return {
      do: 'keep',
      state: {
        state: 'failing',
        reason: ignored.reason,
        message: `${ignored.message} by ${others.join(', ') || 'another client'}`,
      },
    }
  if (resolution.spec === undefined) {
    const { status, reason = '', message = '' } = referencesCondition('', resolution) ?? {}
    return { do: 'keep', state: { state: status === 'False' ? 'failing' : 'waiting', reason, message } }
  }
  const value = valueAt(resolution.spec, fieldPath) as JsonValue
  const now = valueAt(target as unknown as JsonObject, fieldPath)
  if (isOurs && former.length === 0 && now !== undefined && jsonEqual(now, value))
    return { do: 'keep', state: resolved }
  return { do: 'set', value, state: resolved, former }
}

/**
 * Returns the path of the only field of a map that a client has as such, empty: the field of a rule, or a map around it
 * with nothing else. Undefined when there is no such map.
 */
function lastBelowForeignMap(target: KubeObject, fieldPath: string): string | undefined {
  const names = fieldPath.split('.')
  for (let length = names.length - 1; length > 0; length--) {
    const above = names.slice(0, length)
    const map = valueAt(target as unknown as JsonObject, above.join('.'))
    if (!isJsonObject(map) || Object.keys(map).length > 1) return undefined
    const path = above.map((name) => `f:${name}`)
    const isForeign = target.metadata.managedFields?.some(
      ({ fieldsV1 }) => fieldsV1 !== undefined && hasPath(decodeFieldSet(fieldsV1), path),
    )
    if (isForeign === true) return names.slice(0, length + 1).join('.')
  }
  return undefined
}

/** Returns the object with every map on the way to a field, so that the field can be reached. */
function withParents(root: JsonObject, path: string): JsonObject {
  const parent = path.split('.').slice(0, -1).join('.')
  return valueAt(root, parent) === undefined ? withValue(root, parent, {}) : root
}
