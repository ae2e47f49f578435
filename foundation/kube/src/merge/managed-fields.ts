// metadata.managedFields of an object that is written: `trackUpdate` for POST, PUT and PATCH, `applyServerSide` for
// server-side apply. Both take and return whole objects; they are the entry points of this folder. Sources of the
// rules: the recordings (area apply), KEP-555, and the chain of field managers in apimachinery's util/managedfields.
import type { JsonObject, KubeObject, ManagedFieldsEntry, ObjectMeta } from '../object.ts'
import { asJson, asObject, parseApiVersion } from '../object.ts'
import { jsonEqual } from '../json.ts'
import type { TypeSchema } from '../schema/schema-node.ts'
import { badRequest, unknownError } from '../status.ts'
import { runSteps } from '../steps.ts'
import type { Steps } from '../steps.ts'
import { capUpdateManagers } from './ancient-changes.ts'
import { conflictingFields, conflictStatus, ConflictsFound, withoutFields } from './apply-conflict.ts'
import { checkValue, joinErrors } from './check-value.ts'
import { zeroValueFor } from './empty-object.ts'
import { differenceOf, emptyFieldSet, equalFieldSets, fieldSetOfPaths, unionOf } from './field-set.ts'
import type { FieldSet } from './field-set.ts'
import { fieldsStillAsLastApplied, withLastApplied } from './last-applied.ts'
import { objectTypeOf } from './merge-type.ts'
import { decodeManagersSteps, encodeManagerSteps, encodeManagers, managerIdentifier } from './managers.ts'
import type { Manager, Managers } from './managers.ts'
import { fieldElement, FieldsV1Error } from './path-element.ts'
import { apply, update } from './updater.ts'
import type { Actor, Typed, UpdaterContext } from './updater.ts'

/** The inputs that both kinds of writes share. */
export interface ManagedFieldsRequest {
  /** The live object, in the version of the request and with defaults; undefined on create. */
  readonly live: KubeObject | undefined
  /**
   * The schema of the kind in a version; undefined when that version is not served, or for the request's own when the
   * kind is free-form.
   */
  schemaFor(apiVersion: string): TypeSchema | undefined
  /** The field manager ({@link fieldManagerOf}); '' is `unknown`. */
  readonly manager: string
  readonly subresource?: string
  /** RFC 3339, whole seconds. */
  readonly now: string
  /** Fields that the endpoint does not let this request change ({@link resetFieldsOf}), as paths of field names. */
  readonly resetFields?: readonly (readonly string[])[]
  /**
   * The objects may not match their schemas: those of custom resources, which a definition that changed or another
   * version describes otherwise. An update then tracks nothing, an apply fails.
   */
  readonly mayMismatch?: boolean
  /** The object in another served version; undefined when it has none. Default: only apiVersion differs. */
  convert?(object: KubeObject, apiVersion: string): KubeObject | undefined
}

/** A create, update or patch. */
export interface UpdateRequest extends ManagedFieldsRequest {
  /** The object as the request sets it, with defaults, before the strategy restores the reset fields. */
  readonly updated: KubeObject
}

/** A server-side apply. */
export interface ApplyRequest extends ManagedFieldsRequest {
  /** The request body, without defaults. */
  readonly applied: KubeObject
  /** Take ownership of conflicting fields instead of failing. */
  readonly force: boolean
}

/**
 * Returns `updated` with its managedFields: the request's manager owns the fields that it added or changed; removed
 * fields have no manager. managedFields in the request body replace the stored ones when they decode; `[]` and `[{}]`
 * clear them; others are ignored. An object without managers stays without; so does one that does not match its schema.
 */
export function trackUpdate(request: UpdateRequest): KubeObject {
  return runSteps(trackUpdateSteps(request))
}

/** Computes {@link trackUpdate} in steps. */
export function* trackUpdateSteps(request: UpdateRequest): Steps<KubeObject> {
  try {
    return yield* trackMatchingUpdate(request)
  } catch (error) {
    if (error instanceof SchemaMismatch) return withoutManagedFields(request.updated)
    throw error
  }
}

function* trackMatchingUpdate(request: UpdateRequest): Steps<KubeObject> {
  const { live, updated } = request
  const known = yield* managersBefore(request)
  const object = withoutManagedFields(updated)
  if (known.size === 0 && live?.metadata.uid !== undefined) return object
  const context = contextOf(request, updated.apiVersion)
  const before = live === undefined ? emptyObject(request, updated) : withoutManagedFields(live)
  const actor = actorOf(request, 'Update', updated.apiVersion)
  const managers = yield* track(asJson(before), asJson(object), known, actor, request.now, context)
  yield
  return yield* withManagersSteps(object, managers)
}

/**
 * Returns the object after the apply, with its managedFields; `live` itself when the apply changes nothing.
 * @throws StatusError 409 Conflict with causes (unless `force`), 500 for a body that does not match the schema, 400 for
 * a body of another kind or version, or one with managedFields
 */
export function applyServerSide(request: ApplyRequest): KubeObject {
  return runSteps(applyServerSideSteps(request))
}

/** Computes {@link applyServerSide} in steps. */
export function* applyServerSideSteps(request: ApplyRequest): Steps<KubeObject> {
  const { live, applied } = request
  const { apiVersion } = applied
  if (live !== undefined && (live.apiVersion !== apiVersion || live.kind !== applied.kind)) {
    throw badRequest(`invalid object type: ${formatKind(applied)}`)
  }
  if (applied.metadata?.managedFields !== undefined && applied.metadata.managedFields !== null) {
    throw badRequest('metadata.managedFields must be nil')
  }
  const errors = checkValue(asJson(applied), objectTypeOf(request.schemaFor(apiVersion)))
  if (errors.length > 0) {
    throw unknownError(`failed to create typed patch object (${describe(applied)}): ${joinErrors(errors)}`)
  }
  yield
  try {
    return yield* new Apply(request).run()
  } catch (error) {
    if (!(error instanceof SchemaMismatch)) throw error
    throw unknownError(`failed to create typed live object (${describe(live ?? applied)}): ${error.message}`)
  }
}

/**
 * An object that does not match its schema.
 * @internal caught by the entry points
 */
class SchemaMismatch extends Error {
  readonly code = 'SchemaMismatch'
}

/** One apply over the live object. */
class Apply {
  readonly #request: ApplyRequest
  readonly #context: UpdaterContext
  readonly #actor: Actor
  readonly #before: KubeObject

  constructor(request: ApplyRequest) {
    this.#request = request
    this.#context = contextOf(request, request.applied.apiVersion)
    this.#actor = actorOf(request, 'Apply', request.applied.apiVersion)
    this.#before = request.live === undefined ? bare(request.applied) : withoutManagedFields(request.live)
  }

  *run(): Steps<KubeObject> {
    const { live, applied, manager, now } = this.#request
    const known = yield* this.#knownManagers()
    yield
    const result = yield* this.#merge(known)
    yield
    const managers = new Map(result.managers)
    const id = managerIdentifier(this.#actor)
    const unchanged = result.object === asJson(this.#before)
    const own = managers.get(id)
    if (own !== undefined) {
      const fields = differenceOf(own.fields, strippedFields)
      if (fields.size === 0) managers.delete(id)
      else managers.set(id, sameManager(known.get(id), { ...own, fields, time: unchanged ? own.time : now }))
    }
    const object = asObject(manager === 'kubectl' ? withLastApplied(result.object, asJson(applied)) : result.object)
    const isTracked = known.size === 0 || (live?.metadata.managedFields ?? []).length > 0
    if (object === this.#before && live !== undefined && isTracked && sameManagers(known, managers)) return live
    yield
    return yield* withManagersSteps(object, managers)
  }

  /**
   * Returns the live managers. An object without managers gets `before-first-apply`, which owns every field that it
   * has.
   */
  *#knownManagers(): Steps<Managers> {
    const { live, now } = this.#request
    let managers: Managers
    try {
      managers = yield* decodeManagersSteps(live?.metadata.managedFields)
    } catch (error) {
      if (error instanceof FieldsV1Error) throw unknownError(`failed to decode managed fields: ${error.message}`)
      throw error
    }
    if (managers.size > 0 || live === undefined) return managers
    const before: Actor = { ...this.#actor, name: 'before-first-apply', operation: 'Update' }
    return yield* track(
      asJson(emptyObject(this.#request, live)),
      asJson(this.#before),
      managers,
      before,
      now,
      this.#context,
    )
  }

  *#merge(known: Managers): Steps<{ readonly object: JsonObject; readonly managers: Managers }> {
    const { applied, force, manager } = this.#request
    const attempt = (forced: boolean): Steps<{ readonly object: JsonObject; readonly managers: Managers }> =>
      apply(asJson(this.#before), asJson(applied), known, this.#actor, forced, this.#context)
    try {
      return yield* attempt(force)
    } catch (error) {
      if (!(error instanceof ConflictsFound)) throw error
      // kubectl takes over the fields of its own client-side apply
      const resolved =
        manager === 'kubectl'
          ? fieldsStillAsLastApplied(this.#before, objectTypeOf(this.#request.schemaFor(applied.apiVersion)))
          : undefined
      if (resolved === undefined) throw conflictStatus(error.conflicts)
      if (differenceOf(conflictingFields(error.conflicts), resolved).size > 0) {
        throw conflictStatus(withoutFields(error.conflicts, resolved))
      }
      return yield* attempt(true)
    }
  }
}

/** Updates the managers; the fields that the actor changed are added to its entry with the time `now`. */
function* track(
  before: JsonObject,
  after: JsonObject,
  known: Managers,
  actor: Actor,
  now: string,
  context: UpdaterContext,
): Steps<Managers> {
  const { managers, changed } = yield* update(before, after, known, context)
  const fresh = differenceOf(changed, strippedFields)
  if (fresh.size > 0) {
    const id = managerIdentifier(actor)
    const earlier = managers.get(id)?.fields ?? emptyFieldSet
    managers.set(id, { ...actor, time: now, fields: unionOf(earlier, fresh) })
  }
  return capUpdateManagers(managers)
}

/** Returns the managers before the update: those of the request body if they decode, else those of the live object. */
function* managersBefore({ live, updated, subresource = '' }: UpdateRequest): Steps<Managers> {
  const sent = updated.metadata.managedFields
  const stored = live?.metadata.managedFields
  // a patched object carries a copy of the stored entries
  if (subresource === '' && sent !== undefined && sent !== null && !jsonEqual(sent, stored)) {
    if (isReset(sent)) return new Map()
    yield
    const managers = yield* readableManagers(sent)
    if (managers !== undefined && managers.size > 0) return managers
  }
  return (yield* readableManagers(stored)) ?? new Map()
}

function isReset(sent: readonly ManagedFieldsEntry[]): boolean {
  return sent.length === 0 || (sent.length === 1 && Object.keys(sent[0] ?? {}).length === 0)
}

function* readableManagers(entries: ObjectMeta['managedFields']): Steps<Managers | undefined> {
  try {
    return yield* decodeManagersSteps(entries)
  } catch (error) {
    if (error instanceof FieldsV1Error) return undefined
    throw error
  }
}

/**
 * Returns the fields that an endpoint resets: `spec` on `/status`, and `status` elsewhere for kinds with that
 * subresource. (A manager owns the labels and annotations that it sent to `/status` although they are not stored, as in
 * the real server.)
 */
export function resetFieldsOf(subresource: string, hasStatus: boolean): readonly (readonly string[])[] {
  if (subresource === 'status') return [['spec']]
  return hasStatus ? [['status']] : []
}

/** Fields that the server sets or that name the object; no manager owns them (apimachinery's stripmeta.go). */
const strippedFields: FieldSet = fieldSetOfPaths([
  [fieldElement('apiVersion')],
  [fieldElement('kind')],
  [fieldElement('metadata')],
  ...[
    'name',
    'namespace',
    'creationTimestamp',
    'selfLink',
    'uid',
    'clusterName',
    'generation',
    'managedFields',
    'resourceVersion',
  ].map((name) => [fieldElement('metadata'), fieldElement(name)]),
])

function contextOf(request: ManagedFieldsRequest, apiVersion: string): UpdaterContext {
  const own = request.schemaFor(apiVersion)
  const memo = new Map<string, WeakMap<JsonObject, Typed>>()
  const convert = (value: JsonObject, target: string): Typed | undefined => {
    if (target === apiVersion && value.apiVersion === apiVersion) return { value, type: objectTypeOf(own) }
    const schema = request.schemaFor(target)
    if (schema === undefined && own !== undefined) return undefined
    const converted =
      request.convert === undefined ? { ...value, apiVersion: target } : request.convert(asObject(value), target)
    return converted && { value: asJson(converted), type: objectTypeOf(schema) }
  }
  return {
    apiVersion,
    ignored: fieldSetOfPaths((request.resetFields ?? []).map((path) => path.map(fieldElement))),
    convert: (value, target) => {
      let known = memo.get(target)
      if (known === undefined) memo.set(target, (known = new WeakMap()))
      let typed = known.get(value)
      if (typed === undefined) {
        typed = convert(value, target)
        if (typed === undefined) return undefined
        if (request.mayMismatch === true) {
          const errors = checkValue(typed.value, typed.type, { allowsDuplicates: true })
          if (errors.length > 0) throw new SchemaMismatch(joinErrors(errors))
        }
        known.set(value, typed)
      }
      return typed
    },
  }
}

function actorOf(request: ManagedFieldsRequest, operation: 'Apply' | 'Update', apiVersion: string): Actor {
  return { name: request.manager || 'unknown', operation, apiVersion, subresource: request.subresource ?? '' }
}

function bare(object: KubeObject): KubeObject {
  return { apiVersion: object.apiVersion, kind: object.kind, metadata: {} }
}

/**
 * Returns the object that a new one is compared with: an empty one for custom resources, the kind's zero value for
 * built-in ones.
 */
function emptyObject(request: ManagedFieldsRequest, object: KubeObject): KubeObject {
  const { apiVersion, kind } = object
  const schema = request.schemaFor(apiVersion)
  return asObject({ ...(schema === undefined ? {} : zeroValueFor(schema, asJson(object))), apiVersion, kind })
}

function withoutManagedFields(object: KubeObject): KubeObject {
  if (object.metadata?.managedFields === undefined) return object
  const { managedFields: _, ...metadata } = object.metadata
  return { ...object, metadata }
}

/** Computes {@link withManagers} in steps. */
function* withManagersSteps(object: KubeObject, managers: Managers): Steps<KubeObject> {
  // Entries are remembered by manager.
  for (const manager of managers.values()) {
    yield* encodeManagerSteps(manager)
    yield
  }
  return withManagers(object, managers)
}

function withManagers(object: KubeObject, managers: Managers): KubeObject {
  const managedFields = encodeManagers(managers)
  if (managedFields === undefined) return withoutManagedFields(object)
  return { ...object, metadata: { ...object.metadata, managedFields } }
}

/** Returns the known manager if the other equals it, so that its entry stays the same object. */
function sameManager(known: Manager | undefined, manager: Manager): Manager {
  if (known === undefined || !equalFieldSets(known.fields, manager.fields)) return manager
  return known.time === manager.time && known.apiVersion === manager.apiVersion
    ? known
    : { ...manager, fields: known.fields }
}

function sameManagers(a: Managers, b: Managers): boolean {
  if (a.size !== b.size) return false
  for (const [id, manager] of a) if (b.get(id) !== manager) return false
  return true
}

/** Returns `namespace/name; group/version, Kind=Kind`, as Go prints an object's key and kind. */
function describe(object: KubeObject): string {
  const { namespace = '', name = '' } = object.metadata ?? {}
  return `${namespace}/${name}; ${formatKind(object)}`
}

function formatKind(object: KubeObject): string {
  const { group, version } = parseApiVersion(object.apiVersion)
  return `${group}/${version}, Kind=${object.kind}`
}
