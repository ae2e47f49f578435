// metadata.managedFields of an object that is written: `trackUpdate` for POST, PUT and PATCH, `applyServerSide` for server-side apply.
// Both take whole objects and return whole objects; everything else in this folder serves them. Source of the rules: the recordings
// (area apply), KEP-555, and the chain of field managers in apimachinery's util/managedfields.
import type { JsonObject, KubeObject, ManagedFieldsEntry, ObjectMeta } from '../object.ts'
import { asJson, asObject, parseApiVersion } from '../object.ts'
import { jsonEqual } from '../json.ts'
import type { TypeSchema } from '../schema/schema-node.ts'
import { badRequest, unknownError } from '../status.ts'
import { foldOldUpdates } from './ancient-changes.ts'
import { conflictStatus, ConflictsFound, disputedFields, withoutFields } from './apply-conflict.ts'
import { checkValue, joinFindings } from './check-value.ts'
import { zeroBeside } from './empty-object.ts'
import { differenceOf, emptyFieldSet, equalFieldSets, fieldSetOfPaths, unionOf } from './field-set.ts'
import type { FieldSet } from './field-set.ts'
import { fieldsStillAsLastApplied, withLastApplied } from './last-applied.ts'
import { objectTypeOf } from './merge-type.ts'
import { decodeOwners, encodeOwners, ownerId } from './owners.ts'
import type { Owner, Owners } from './owners.ts'
import { fieldElement, FieldsV1Error } from './path-element.ts'
import { applyConfig, updateOwners } from './updater.ts'
import type { Actor, Typed, UpdaterContext } from './updater.ts'

/** What both kinds of writes need to know. */
export interface ManagedFieldsRequest {
  /** The object as it is now, in the version of the request and with defaults; undefined when the write creates it. */
  readonly live: KubeObject | undefined
  /** The schema of the kind in a version; undefined when that version is gone, or for the request's own when the kind is free-form. */
  schemaFor(apiVersion: string): TypeSchema | undefined
  /** The field manager ({@link fieldManagerOf}); '' is `unknown`. */
  readonly manager: string
  readonly subresource?: string
  /** RFC 3339, whole seconds. */
  readonly now: string
  /** Fields that the endpoint does not let this request change ({@link resetFieldsOf}), as paths of member names. */
  readonly resetFields?: readonly (readonly string[])[]
  /** The object in another served version; undefined when it has none. Default: only apiVersion differs. */
  convert?(object: KubeObject, apiVersion: string): KubeObject | undefined
}

/** A create, update or patch. */
export interface UpdateRequest extends ManagedFieldsRequest {
  /** The object as the request wants it, with defaults, before the strategy takes back what the endpoint resets. */
  readonly updated: KubeObject
}

/** A server-side apply. */
export interface ApplyRequest extends ManagedFieldsRequest {
  /** The body, as sent: without defaults. */
  readonly applied: KubeObject
  /** Take over fields of other managers instead of failing. */
  readonly force: boolean
}

/**
 * `updated` with its managedFields: fields that the request added or changed belong to its manager, removed ones to nobody.
 * managedFields that the client sent replace the stored ones when they can be read, `[]` and `[{}]` clear them, others are ignored.
 * An object that nobody owns anything of stays so.
 */
export function trackUpdate(request: UpdateRequest): KubeObject {
  const { live, updated } = request
  const known = ownersBefore(request)
  const object = withoutManagedFields(updated)
  if (known.size === 0 && live?.metadata.uid !== undefined) return object
  const context = contextOf(request, updated.apiVersion)
  const before = live === undefined ? emptyObject(request, updated) : withoutManagedFields(live)
  return withOwners(
    object,
    track(asJson(before), asJson(object), known, actorOf(request, 'Update', updated.apiVersion), request.now, context),
  )
}

/**
 * The object after the apply, with its managedFields. When the apply changes nothing at all, `live` itself.
 * Throws StatusError: 409 Conflict with causes (unless `force`), 500 for a body that does not fit the schema, 400 for one of another kind
 * or version, or with managedFields.
 */
export function applyServerSide(request: ApplyRequest): KubeObject {
  const { live, applied } = request
  const { apiVersion } = applied
  if (live !== undefined && (live.apiVersion !== apiVersion || live.kind !== applied.kind)) {
    throw badRequest(`invalid object type: ${formatKind(applied)}`)
  }
  if (applied.metadata?.managedFields !== undefined && applied.metadata.managedFields !== null) {
    throw badRequest('metadata.managedFields must be nil')
  }
  const findings = checkValue(asJson(applied), objectTypeOf(request.schemaFor(apiVersion)))
  if (findings.length > 0) {
    throw unknownError(`failed to create typed patch object (${describe(applied)}): ${joinFindings(findings)}`)
  }
  return new Apply(request).run()
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

  run(): KubeObject {
    const { live, applied, manager, now } = this.#request
    const known = this.#knownOwners()
    const result = this.#merge(known)
    const owners = new Map(result.owners)
    const id = ownerId(this.#actor)
    const unchanged = result.object === asJson(this.#before)
    const own = owners.get(id)
    if (own !== undefined) {
      const fields = differenceOf(own.fields, strippedFields)
      if (fields.size === 0) owners.delete(id)
      else owners.set(id, sameOwner(known.get(id), { ...own, fields, time: unchanged ? own.time : now }))
    }
    const object = asObject(manager === 'kubectl' ? withLastApplied(result.object, asJson(applied)) : result.object)
    if (object === this.#before && live !== undefined && sameOwners(known, owners)) return live
    return withOwners(object, owners)
  }

  /** An object that nobody owns anything of yet gets an owner for all that was there before the first apply. */
  #knownOwners(): Owners {
    const { live, now } = this.#request
    let owners: Owners
    try {
      owners = decodeOwners(live?.metadata.managedFields)
    } catch (error) {
      if (error instanceof FieldsV1Error) throw unknownError(`failed to decode managed fields: ${error.message}`)
      throw error
    }
    if (owners.size > 0 || live === undefined) return owners
    const before: Actor = { ...this.#actor, manager: 'before-first-apply', operation: 'Update' }
    return track(asJson(emptyObject(this.#request, live)), asJson(this.#before), owners, before, now, this.#context)
  }

  #merge(known: Owners): { readonly object: JsonObject; readonly owners: Owners } {
    const { applied, force, manager } = this.#request
    const attempt = (forced: boolean): { readonly object: JsonObject; readonly owners: Owners } =>
      applyConfig(asJson(this.#before), asJson(applied), known, this.#actor, forced, this.#context)
    try {
      return attempt(force)
    } catch (error) {
      if (!(error instanceof ConflictsFound)) throw error
      // kubectl takes over what its own client-side apply has written
      const settled =
        manager === 'kubectl'
          ? fieldsStillAsLastApplied(this.#before, objectTypeOf(this.#request.schemaFor(applied.apiVersion)))
          : undefined
      if (settled === undefined) throw conflictStatus(error.conflicts)
      if (differenceOf(disputedFields(error.conflicts), settled).size > 0) {
        throw conflictStatus(withoutFields(error.conflicts, settled))
      }
      return attempt(true)
    }
  }
}

/** Runs an update of the owners; what the actor took joins its entry and moves its time. */
function track(
  before: JsonObject,
  after: JsonObject,
  known: Owners,
  actor: Actor,
  now: string,
  context: UpdaterContext,
): Owners {
  const { owners, taken } = updateOwners(before, after, known, context)
  const fresh = differenceOf(taken, strippedFields)
  if (fresh.size > 0) {
    const id = ownerId(actor)
    const earlier = owners.get(id)?.fields ?? emptyFieldSet
    owners.set(id, { ...actor, time: now, fields: unionOf(earlier, fresh) })
  }
  return foldOldUpdates(owners)
}

/** The owners to start from: those the client sent if they can be read, else those of the live object. */
function ownersBefore({ live, updated, subresource = '' }: UpdateRequest): Owners {
  const sent = updated.metadata.managedFields
  const stored = live?.metadata.managedFields
  // a patched object carries a copy of the stored entries
  if (subresource === '' && sent !== undefined && sent !== null && !jsonEqual(sent, stored)) {
    if (isReset(sent)) return new Map()
    const owners = readableOwners(sent)
    if (owners !== undefined && owners.size > 0) return owners
  }
  return readableOwners(stored) ?? new Map()
}

function isReset(sent: readonly ManagedFieldsEntry[]): boolean {
  return sent.length === 0 || (sent.length === 1 && Object.keys(sent[0] ?? {}).length === 0)
}

function readableOwners(entries: ObjectMeta['managedFields']): Owners | undefined {
  try {
    return decodeOwners(entries)
  } catch (error) {
    if (error instanceof FieldsV1Error) return undefined
    throw error
  }
}

/**
 * The fields that an endpoint takes back: `spec` on `/status`, and `status` on all others of kinds that have that subresource.
 * (Labels and annotations sent to `/status` are owned though they are not stored; the real server does so too.)
 */
export function resetFieldsOf(subresource: string, hasStatus: boolean): readonly (readonly string[])[] {
  if (subresource === 'status') return [['spec']]
  return hasStatus ? [['status']] : []
}

/** Fields that the server sets or that name the object; nobody owns them. */
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
        if (typed !== undefined) known.set(value, typed)
      }
      return typed
    },
  }
}

function actorOf(request: ManagedFieldsRequest, operation: 'Apply' | 'Update', apiVersion: string): Actor {
  return { manager: request.manager || 'unknown', operation, apiVersion, subresource: request.subresource ?? '' }
}

function bare(object: KubeObject): KubeObject {
  return { apiVersion: object.apiVersion, kind: object.kind, metadata: {} }
}

/** What the server compares a new object with: nothing for custom resources, the kind's zero value for built-in ones. */
function emptyObject(request: ManagedFieldsRequest, object: KubeObject): KubeObject {
  const { apiVersion, kind } = object
  const schema = request.schemaFor(apiVersion)
  return asObject({ ...(schema === undefined ? {} : zeroBeside(schema, asJson(object))), apiVersion, kind })
}

function withoutManagedFields(object: KubeObject): KubeObject {
  if (object.metadata?.managedFields === undefined) return object
  const { managedFields: _, ...metadata } = object.metadata
  return { ...object, metadata }
}

function withOwners(object: KubeObject, owners: Owners): KubeObject {
  const managedFields = encodeOwners(owners)
  if (managedFields === undefined) return withoutManagedFields(object)
  return { ...object, metadata: { ...object.metadata, managedFields } }
}

/** The known owner if the other says the same, so that its entry is kept as it is. */
function sameOwner(known: Owner | undefined, owner: Owner): Owner {
  if (known === undefined || !equalFieldSets(known.fields, owner.fields)) return owner
  return known.time === owner.time && known.apiVersion === owner.apiVersion ? known : { ...owner, fields: known.fields }
}

function sameOwners(a: Owners, b: Owners): boolean {
  if (a.size !== b.size) return false
  for (const [id, owner] of a) if (b.get(id) !== owner) return false
  return true
}

/** `namespace/name; group/version, Kind=Kind`, as Go prints an object's key and kind. */
function describe(object: KubeObject): string {
  const { namespace = '', name = '' } = object.metadata ?? {}
  return `${namespace}/${name}; ${formatKind(object)}`
}

function formatKind(object: KubeObject): string {
  const { group, version } = parseApiVersion(object.apiVersion)
  return `${group}/${version}, Kind=${object.kind}`
}
