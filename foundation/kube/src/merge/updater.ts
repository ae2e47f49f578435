// The heart of server-side apply: who owns what after an object was updated or applied. Mirrors the rules of structured-merge-diff's
// merge.Updater; objects here carry no managedFields.
import type { JsonObject, JsonValue } from '../object.ts'
import { jsonEqual } from '../json.ts'
import { ConflictsFound } from './apply-conflict.ts'
import { compareValues } from './compare-values.ts'
import type { Comparison } from './compare-values.ts'
import { differenceOf, emptyFieldSet, intersectionOf, isSubset, recursiveDifferenceOf, unionOf } from './field-set.ts'
import type { FieldSet } from './field-set.ts'
import { mergeValues } from './merge-values.ts'
import type { MergeType } from './merge-type.ts'
import { ownerId } from './owners.ts'
import type { Owner, Owners } from './owners.ts'
import { reconcileFields } from './reconcile-fields.ts'
import { removeFields, withNamedFields } from './remove-fields.ts'
import { fieldsOfValue } from './value-fields.ts'

/** An object in one version, with the type that it has there. */
export interface Typed {
  readonly value: JsonObject
  readonly type: MergeType
}

/** What the rules need to know of the resource. */
export interface UpdaterContext {
  /** The version of the request. */
  readonly apiVersion: string
  /** The object as it reads in another version; undefined when that version is gone. */
  convert(value: JsonObject, apiVersion: string): Typed | undefined
  /** Fields that the endpoint resets, which hence change for nobody; with all that is below them. */
  readonly ignored: FieldSet
}

/** Who a request acts as. */
export type Actor = Pick<Owner, 'manager' | 'operation' | 'apiVersion' | 'subresource'>

/**
 * Who owns what after `live` was replaced by `updated`: what changed is `taken` by the one who did it, from all `owners` (the same
 * manager's earlier entry among them); what is gone belongs to nobody.
 */
export function updateOwners(
  live: JsonObject,
  updated: JsonObject,
  owners: Owners,
  context: UpdaterContext,
): { readonly owners: Map<string, Owner>; readonly taken: FieldSet } {
  const { owners: rest, comparison } = shareChanges(
    live,
    updated,
    reconciled(live, owners, context),
    undefined,
    true,
    context,
  )
  return { owners: rest, taken: unionOf(comparison.modified, comparison.added) }
}

/**
 * The object after `config` was applied over `live`, and its owners. `object` is `live` itself when the apply changes no field.
 * Throws ConflictsFound unless `force`.
 */
export function applyConfig(
  live: JsonObject,
  config: JsonObject,
  owners: Owners,
  actor: Actor,
  force: boolean,
  context: UpdaterContext,
): { readonly object: JsonObject; readonly owners: Owners } {
  const id = ownerId(actor)
  const { type } = context.convert(live, context.apiVersion)!
  const known = reconciled(live, owners, context)
  const merged = mergeValues(live, config, type) as JsonObject
  const last = known.get(id)
  const fields = withoutIgnored(fieldsOfValue(config, type), context.ignored)
  known.set(id, { ...actor, time: last?.time, fields })
  const pruned = prune(merged, known, last, fields, context)
  const { owners: rest } = shareChanges(live, pruned, known, id, force, context)
  return { object: jsonEqual(live, pruned) ? live : pruned, owners: rest }
}

function withoutIgnored(fields: FieldSet, ignored: FieldSet): FieldSet {
  return recursiveDifferenceOf(fields, ignored)
}

function reconciled(live: JsonObject, owners: Owners, context: UpdaterContext): Map<string, Owner> {
  const out = new Map<string, Owner>()
  for (const [id, owner] of owners) {
    const typed = context.convert(live, owner.apiVersion)
    if (typed === undefined) continue
    const fields = reconcileFields(owner.fields, typed.type)
    out.set(id, fields === owner.fields ? owner : { ...owner, fields })
  }
  return out
}

/** Takes changed and removed fields away from all owners but `id`. Without `force`, changed fields of others are conflicts. */
function shareChanges(
  before: JsonObject,
  after: JsonObject,
  owners: Map<string, Owner>,
  id: string | undefined,
  force: boolean,
  context: UpdaterContext,
): { readonly owners: Map<string, Owner>; readonly comparison: Comparison } {
  const byVersion = new Map<string, Comparison | undefined>()
  const compareIn = (apiVersion: string): Comparison | undefined => {
    if (!byVersion.has(apiVersion)) {
      const left = context.convert(before, apiVersion)
      const right = context.convert(after, apiVersion)
      const comparison = left && right && compareValues(left.value, right.value, left.type)
      byVersion.set(apiVersion, comparison && withoutIgnoredFields(comparison, context.ignored))
    }
    return byVersion.get(apiVersion)
  }

  const conflicts = new Map<string, { owner: Owner; fields: FieldSet }>()
  for (const [other, owner] of owners) {
    if (other === id) continue
    const comparison = compareIn(owner.apiVersion)
    if (comparison === undefined) {
      owners.delete(other)
      continue
    }
    const fields = intersectionOf(owner.fields, unionOf(comparison.modified, comparison.added))
    if (fields.size > 0) conflicts.set(other, { owner, fields })
  }
  if (!force && conflicts.size > 0) throw new ConflictsFound(conflicts)

  for (const [other, owner] of owners) {
    if (other === id) {
      if (owner.fields.size === 0) owners.delete(other)
      continue
    }
    const lost = conflicts.get(other)?.fields ?? emptyFieldSet
    const fields = differenceOf(differenceOf(owner.fields, lost), compareIn(owner.apiVersion)!.removed)
    if (fields.size === 0) owners.delete(other)
    else if (fields !== owner.fields) owners.set(other, { ...owner, fields })
  }
  return { owners, comparison: compareIn(context.apiVersion)! }
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
 * Removes fields and items that the applying manager listed last time, lists no more, and nobody else owns.
 * `last` is its owner entry from before, `fields` what it lists now.
 */
function prune(
  merged: JsonObject,
  owners: Owners,
  last: Owner | undefined,
  fields: FieldSet,
  context: UpdaterContext,
): JsonObject {
  if (last === undefined || last.fields.size === 0) return merged
  const typed = context.convert(merged, last.apiVersion)
  if (typed === undefined) return merged
  // what is listed again stays, and so does everything when nothing else was listed
  if (last.apiVersion === context.apiVersion && isSubset(last.fields, fields)) return merged
  const { value, type } = typed
  const listed = withNamedFields(last.fields, type)
  let kept = removeFields(value, listed, type) as JsonObject
  let keptVersion = last.apiVersion
  for (const [apiVersion, owned] of ownedByVersion(owners, last.apiVersion)) {
    const whole = context.convert(merged, apiVersion)
    const part = context.convert(inVersion(kept, keptVersion), apiVersion)
    if (whole === undefined || part === undefined) continue
    const wanted = unionOf(membersOf(part.value, whole.type), withNamedFields(owned, whole.type))
    kept = removeFields(whole.value, differenceOf(membersOf(whole.value, whole.type), wanted), whole.type) as JsonObject
    keptVersion = apiVersion
  }
  const final = context.convert(inVersion(kept, keptVersion), last.apiVersion)
  if (final === undefined) return merged
  const lost = intersectionOf(differenceOf(membersOf(value, type), membersOf(final.value, type)), listed)
  const pruned = removeFields(value, lost, type) as JsonObject
  return context.convert(inVersion(pruned, last.apiVersion), context.apiVersion)?.value ?? merged
}

/** All owned fields by version, beginning with the version in which the removal happens. */
function ownedByVersion(owners: Owners, first: string): readonly (readonly [string, FieldSet])[] {
  const byVersion = new Map<string, FieldSet>()
  for (const { apiVersion, fields } of owners.values()) {
    byVersion.set(apiVersion, unionOf(byVersion.get(apiVersion) ?? emptyFieldSet, fields))
  }
  return [...byVersion].toSorted(([a], [b]) => (a === first ? -1 : b === first ? 1 : 0))
}

function membersOf(value: JsonValue, type: MergeType): FieldSet {
  return withNamedFields(fieldsOfValue(value, type), type)
}

/** The object says which version it is in; removing fields may have taken that away. */
function inVersion(value: JsonObject, apiVersion: string): JsonObject {
  return value.apiVersion === apiVersion ? value : { ...value, apiVersion }
}
