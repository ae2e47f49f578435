// Ownership of fields after an update or an apply: the rules of structured-merge-diff's merge/update.go. Objects here
// carry no managedFields. Start with `update` and `apply`.
import type { JsonObject, JsonValue } from '../object.ts'
import { jsonEqual } from '../json.ts'
import { ConflictsFound } from './apply-conflict.ts'
import { compareValues } from './compare-values.ts'
import type { Comparison } from './compare-values.ts'
import { differenceOf, emptyFieldSet, intersectionOf, isSubset, recursiveDifferenceOf, unionOf } from './field-set.ts'
import type { FieldSet } from './field-set.ts'
import { managerIdentifier } from './managers.ts'
import type { Manager, Managers } from './managers.ts'
import { mergeValues } from './merge-values.ts'
import type { MergeType } from './merge-type.ts'
import { reconcileFields } from './reconcile-fields.ts'
import { ensureNamedFieldsAreMembers, removeItems } from './remove-items.ts'
import type { Steps } from '../steps.ts'
import { fieldsOfValue } from './value-fields.ts'

/** An object in one version, with its type in that version. */
export interface Typed {
  readonly value: JsonObject
  readonly type: MergeType
}

/** The version and the converter of an update (`Updater` of structured-merge-diff). */
export interface UpdaterContext {
  /** The version of the request. */
  readonly apiVersion: string
  /** Converts the object to another version; undefined when that version is not served. */
  convert(value: JsonObject, apiVersion: string): Typed | undefined
  /** Fields that the endpoint resets, with all fields below them; changes to them are ignored. */
  readonly ignored: FieldSet
}

/** The manager that a request acts as. */
export type Actor = Pick<Manager, 'name' | 'operation' | 'apiVersion' | 'subresource'>

/**
 * Updates ownership after `updated` replaced `live` (`Updater.Update`): every manager, the acting one included, loses
 * the fields that were changed or removed. `changed` are the fields that the acting manager now owns.
 */
export function* update(
  live: JsonObject,
  updated: JsonObject,
  managers: Managers,
  context: UpdaterContext,
): Steps<{ readonly managers: Map<string, Manager>; readonly changed: FieldSet }> {
  const reconciled = reconcileManagers(live, managers, context)
  yield
  const { managers: rest, comparison } = yield* updateManagers(live, updated, reconciled, undefined, true, context)
  return { managers: rest, changed: unionOf(comparison.modified, comparison.added) }
}

/**
 * Applies `config` to `live` and returns the object with its managers (`Updater.Apply`). `object` is `live` itself when
 * the apply changes no field.
 * @throws ConflictsFound unless `force`
 */
export function* apply(
  live: JsonObject,
  config: JsonObject,
  managers: Managers,
  actor: Actor,
  force: boolean,
  context: UpdaterContext,
): Steps<{ readonly object: JsonObject; readonly managers: Managers }> {
  const id = managerIdentifier(actor)
  const { type } = context.convert(live, context.apiVersion)!
  const reconciled = reconcileManagers(live, managers, context)
  yield
  const merged = mergeValues(live, config, type) as JsonObject
  yield
  const last = reconciled.get(id)
  const fields = withoutIgnored(fieldsOfValue(config, type), context.ignored)
  reconciled.set(id, { ...actor, time: last?.time, fields })
  yield
  const pruned = yield* prune(merged, reconciled, last, fields, context)
  yield
  const { managers: rest } = yield* updateManagers(live, pruned, reconciled, id, force, context)
  yield
  return { object: jsonEqual(live, pruned) ? live : pruned, managers: rest }
}

function withoutIgnored(fields: FieldSet, ignored: FieldSet): FieldSet {
  return recursiveDifferenceOf(fields, ignored)
}

/** Reconciles the owned fields with the current schema (`reconcileManagedFieldsWithSchemaChanges`). */
function reconcileManagers(live: JsonObject, managers: Managers, context: UpdaterContext): Map<string, Manager> {
  const out = new Map<string, Manager>()
  for (const [id, manager] of managers) {
    const typed = context.convert(live, manager.apiVersion)
    if (typed === undefined) continue
    const fields = reconcileFields(manager.fields, typed.type)
    out.set(id, fields === manager.fields ? manager : { ...manager, fields })
  }
  return out
}

/**
 * Removes changed and removed fields from all managers but `applying` (`Updater.update`). Without `force`, changed
 * fields that other managers own are conflicts.
 */
function* updateManagers(
  before: JsonObject,
  after: JsonObject,
  managers: Map<string, Manager>,
  applying: string | undefined,
  force: boolean,
  context: UpdaterContext,
): Steps<{ readonly managers: Map<string, Manager>; readonly comparison: Comparison }> {
  const versions = new Map<string, Comparison | undefined>()
  const compareIn = (apiVersion: string): Comparison | undefined => {
    if (!versions.has(apiVersion)) {
      const left = context.convert(before, apiVersion)
      const right = context.convert(after, apiVersion)
      const comparison = left && right && compareValues(left.value, right.value, left.type)
      versions.set(apiVersion, comparison && withoutIgnoredFields(comparison, context.ignored))
    }
    return versions.get(apiVersion)
  }

  const conflicts = new Map<string, { manager: Manager; fields: FieldSet }>()
  for (const [id, manager] of managers) {
    if (id === applying) continue
    const comparison = compareIn(manager.apiVersion)
    yield
    if (comparison === undefined) {
      managers.delete(id)
      continue
    }
    const fields = intersectionOf(manager.fields, unionOf(comparison.modified, comparison.added))
    if (fields.size > 0) conflicts.set(id, { manager, fields })
  }
  if (!force && conflicts.size > 0) throw new ConflictsFound(conflicts)

  for (const [id, manager] of managers) {
    if (id === applying) {
      if (manager.fields.size === 0) managers.delete(id)
      continue
    }
    const conflicting = conflicts.get(id)?.fields ?? emptyFieldSet
    const fields = differenceOf(differenceOf(manager.fields, conflicting), compareIn(manager.apiVersion)!.removed)
    if (fields.size === 0) managers.delete(id)
    else if (fields !== manager.fields) managers.set(id, { ...manager, fields })
    yield
  }
  return { managers, comparison: compareIn(context.apiVersion)! }
}

function withoutIgnoredFields(comparison: Comparison, ignored: FieldSet): Comparison {
  if (ignored.size === 0) return comparison
  return {
    added: withoutIgnored(comparison.added, ignored),
    removed: withoutIgnored(comparison.removed, ignored),
    modified: withoutIgnored(comparison.modified, ignored),
  }
}

/**
 * Removes the fields and items that the applying manager applied before, does not apply now, and no other manager owns.
 * `last` is its entry from the previous apply, `fields` are the fields that it applies now.
 */
function* prune(
  merged: JsonObject,
  managers: Managers,
  last: Manager | undefined,
  fields: FieldSet,
  context: UpdaterContext,
): Steps<JsonObject> {
  if (last === undefined || last.fields.size === 0) return merged
  const typed = context.convert(merged, last.apiVersion)
  if (typed === undefined) return merged
  // without a field that was applied before and is not applied now there is nothing to remove
  if (last.apiVersion === context.apiVersion && isSubset(last.fields, fields)) return merged
  const { value, type } = typed
  const applied = ensureNamedFieldsAreMembers(last.fields, type)
  yield
  const removed = removeItems(value, applied, type) as JsonObject
  yield
  const kept = yield* addBackOwnedItems(merged, removed, last.apiVersion, managers, context)
  const final = context.convert(kept, last.apiVersion)
  if (final === undefined) return merged
  yield
  const pruned = addBackDanglingItems(typed, final.value, applied)
  return context.convert(inVersion(pruned, last.apiVersion), context.apiVersion)?.value ?? merged
}

/** Adds back the items that some manager owns, in each version that a manager has applied or updated. */
function* addBackOwnedItems(
  merged: JsonObject,
  pruned: JsonObject,
  prunedVersion: string,
  managers: Managers,
  context: UpdaterContext,
): Steps<JsonObject> {
  let current = pruned
  let currentVersion = prunedVersion
  for (const [apiVersion, owned] of managedAtVersion(managers, prunedVersion)) {
    const mergedThere = context.convert(merged, apiVersion)
    const prunedThere = context.convert(inVersion(current, currentVersion), apiVersion)
    if (mergedThere === undefined || prunedThere === undefined) continue
    const { value, type } = mergedThere
    const kept = unionOf(membersOf(prunedThere.value, type), ensureNamedFieldsAreMembers(owned, type))
    yield
    const lost = differenceOf(membersOf(value, type), kept)
    yield
    current = removeItems(value, lost, type) as JsonObject
    currentVersion = apiVersion
  }
  return inVersion(current, currentVersion)
}

/** Adds back the items that the applying manager did not apply before: they are owned by no manager. */
function addBackDanglingItems({ value, type }: Typed, pruned: JsonObject, applied: FieldSet): JsonObject {
  const lost = differenceOf(membersOf(value, type), membersOf(pruned, type))
  return removeItems(value, intersectionOf(lost, applied), type) as JsonObject
}

/** Returns all owned fields by version, first those of the version in which the fields are removed. */
function managedAtVersion(managers: Managers, first: string): readonly (readonly [string, FieldSet])[] {
  const byVersion = new Map<string, FieldSet>()
  for (const { apiVersion, fields } of managers.values()) {
    byVersion.set(apiVersion, unionOf(byVersion.get(apiVersion) ?? emptyFieldSet, fields))
  }
  return [...byVersion].toSorted(([a], [b]) => (a === first ? -1 : b === first ? 1 : 0))
}

function membersOf(value: JsonValue, type: MergeType): FieldSet {
  return ensureNamedFieldsAreMembers(fieldsOfValue(value, type), type)
}

/** Sets apiVersion, which removing fields may have removed. */
function inVersion(value: JsonObject, apiVersion: string): JsonObject {
  return value.apiVersion === apiVersion ? value : { ...value, apiVersion }
}
