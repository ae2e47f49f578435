// Read, change, compare and swap: the loop behind PUT, PATCH and subresources (GuaranteedUpdate of the generic
// registry). An unchanged object is not written; a terminating object is removed together with its last finalizer.
import { yieldIfLong } from '@fairlead/client'
import { asObject, badRequest, conflict, failure, fieldErrors, invalid, notFound, unknownError } from '@fairlead/kube'
import type { JsonObject, KubeObject, ObjectMeta, StatusError } from '@fairlead/kube'
import { forbiddenRequest } from '../auth/forbidden.ts'
import { parseResourceVersion, unsignedSyntax } from '../request/query.ts'
import { resourceName } from '@fairlead/builtin-kinds'
import { retryOnConflict } from './retry-on-conflict.ts'
import type { Entry } from '../storage/store.ts'
import { fromStored, servedForm } from '../views/views.ts'
import type { View } from '../views/views.ts'
import { createObject } from './create.ts'
import { checkStoredSize } from '../objects/size-limit.ts'
import { admissionAttributes } from './admission-attributes.ts'
import { isReleased } from '../objects/namespace-rules.ts'
import type { WriteMode } from './prepare.ts'
import { isSameObject, prepareUpdate, toStored } from './prepare.ts'
import { objectKey } from './request-scope.ts'
import type { RequestScope } from './request-scope.ts'
import type { ServerDependencies } from './server-dependencies.ts'
import { originRules } from '../objects/origin-rules.ts'

/** The result of a write. */
export interface Written {
  readonly object: KubeObject
  /** The view of `object`, where it is stored. */
  readonly view?: View
  readonly created: boolean
}

/** A change of one object. */
export interface Change extends WriteMode {
  /**
   * Returns the new object, private to this request and with the name and namespace of the request ({@link checkPlace},
   * {@link setNamespace}), from the current one; undefined when there is none. Called again after a conflict with
   * another write.
   */
  readonly change: (current: KubeObject | undefined) => JsonObject | Promise<JsonObject>
  /** A missing object is created. */
  readonly createsMissing: boolean
  /** The uid in the new object must be that of the current one (PUT). */
  readonly checksUid?: boolean
}

/** Attempts before writers of the same object serialize on its lock. */
const unlockedAttempts = 2

/**
 * Changes the object of the request.
 * @throws StatusError 404, 409, 422 and what `change` throws
 */
export async function updateObject(server: ServerDependencies, scope: RequestScope, change: Change): Promise<Written> {
  const { definition } = scope.resource
  const key = objectKey(scope)
  return retryOnConflict(definition, scope.name, async (attempt) => {
    using lock =
      attempt < unlockedAttempts ? undefined : await server.writeLocks.acquire(`${resourceName(definition)}/${key}`)
    return await attemptChange(server, scope, change, key, lock)
  })
}

async function attemptChange(
  server: ServerDependencies,
  scope: RequestScope,
  change: Change,
  key: string,
  lock: Disposable | undefined,
): Promise<Written> {
  const { store, views } = server
  const entry = await store.head(resourceName(scope.resource.definition), key, scope.signal)
  if (entry === undefined) return createMissing(server, scope, change)
  const current = (await views.of(entry, scope.resource)).object
  const object = await change.change(current)
  if (change.checksUid) checkUid(scope, object, current.metadata, change.dryRun)
  checkVersion(scope, object, entry)
  const draft = await prepareUpdate(server, scope, object, current, change)
  using _admitted = change.internal === true ? undefined : await validated(server, scope, draft, current, change.dryRun)
  await yieldIfLong()
  const stored = await toStored(draft, scope.resource)
  await yieldIfLong()
  const writing = commit(server, scope, entry, stored, change.dryRun)
  // The write is in the batch now; the next writer builds on it while it is committed.
  lock?.[Symbol.dispose]()
  const written = await writing
  if (written === undefined) return { object: await servedStored(stored, entry.revision, scope), created: false }
  const view = await views.of(written, scope.resource)
  return { object: view.object, view, created: false }
}

function validated(
  server: ServerDependencies,
  scope: RequestScope,
  draft: JsonObject,
  current: KubeObject,
  dryRun: boolean,
): Promise<Disposable | undefined> {
  const updated = atRevision(asObject(draft), current)
  return server.admission.validate(admissionAttributes(scope, 'UPDATE', updated, current, dryRun))
}

async function createMissing(server: ServerDependencies, scope: RequestScope, change: Change): Promise<Written> {
  if (!change.createsMissing) throw notFound(scope.resource.definition, scope.name)
  await checkMayCreate(server, scope)
  const object = await change.change(undefined)
  if (change.checksUid) checkUid(scope, object, {}, change.dryRun)
  // The client believes to update an object and sends its revision; a new object has none.
  delete (object['metadata'] as { resourceVersion?: string }).resourceVersion
  return { ...(await createObject(server, scope, object, change)), created: true }
}

/** Returns the object with the current revision, where an update names none. */
function atRevision(object: KubeObject, { metadata }: KubeObject): KubeObject {
  const { resourceVersion = '' } = object.metadata
  return resourceVersion !== ''
    ? object
    : { ...object, metadata: { ...object.metadata, resourceVersion: metadata.resourceVersion } }
}

/** Writes the object and returns its entry; undefined for an object that was not kept (dry run, deletion). */
async function commit(
  server: ServerDependencies,
  scope: RequestScope,
  entry: Entry,
  stored: JsonObject,
  dryRun: boolean,
): Promise<Entry | undefined> {
  const { store } = server
  const { resource, key, revision } = entry
  if (isReleased(scope.resource.definition, stored, entry.object)) {
    if (!dryRun) await store.write({ resource, key, expected: revision, object: undefined }, scope)
    return undefined
  }
  if (isSameObject(stored, entry.object)) {
    await store.reached(revision, scope.signal)
    return entry
  }
  await yieldIfLong()
  checkStoredSize(stored, scope.resource.definition.strategy.maxObjectBytes)
  await yieldIfLong()
  return dryRun ? undefined : store.write({ resource, key, expected: revision, object: stored }, scope)
}

/** Returns the served form of an object that is not in the store, with the revision it was made from. */
export async function servedStored(stored: JsonObject, revision: number, scope: RequestScope): Promise<KubeObject> {
  const [object] = await fromStored([asObject(stored)], scope.resource)
  return servedForm(object!, revision, scope.resource, asObject(stored).apiVersion !== scope.resource.apiVersion)
}

/** @throws StatusError 400 */
export function checkPlace(scope: RequestScope, object: JsonObject): void {
  const metadata = object['metadata'] as ObjectMeta & { namespace?: string; name?: string }
  setNamespace(scope, object)
  const name = metadata.name ?? ''
  if (name === '') throw undeterminableName(scope)
  if (name !== scope.name) {
    throw failure(
      400,
      'BadRequest',
      `the name of the object (${name}) does not match the name on the URL (${scope.name})`,
    )
  }
}

/** Returns the 400 for an object without a name. */
export function undeterminableName({ name }: RequestScope): StatusError {
  return badRequest(`the name of the object (${name} based on URL) was undeterminable: name must be provided`)
}

/**
 * Sets the namespace of the request on an object.
 * @throws StatusError 400 when it has another one
 */
export function setNamespace(scope: RequestScope, object: JsonObject): void {
  const metadata = object['metadata'] as { namespace?: string }
  if (scope.namespace === '') {
    delete metadata.namespace
    return
  }
  if ((metadata.namespace ?? '') === '') metadata.namespace = scope.namespace
  else if (metadata.namespace !== scope.namespace) {
    throw failure(
      400,
      'BadRequest',
      'the namespace of the provided object does not match the namespace sent on the request',
    )
  }
}

/**
 * Checks the right to create, which an apply or a PUT of a missing name needs.
 * @throws StatusError 403
 */
async function checkMayCreate(
  { authorizer }: ServerDependencies,
  { resource: { definition, version }, subresource, namespace, name, user }: RequestScope,
): Promise<void> {
  const attributes = {
    user,
    verb: 'create',
    group: definition.group,
    version: version.name,
    resource: definition.plural,
    subresource,
    namespace,
    name,
  }
  const decision = await authorizer.authorize(attributes)
  if (!decision.allowed) throw forbiddenRequest(attributes, decision.reason)
}

/** Keys of the storage, in messages, that are not the plural name. */
const storageKeys: Readonly<Record<string, string>> = {
  'apiservices.apiregistration.k8s.io': 'apiregistration.k8s.io/apiservices',
  'customresourcedefinitions.apiextensions.k8s.io': 'apiextensions.k8s.io/customresourcedefinitions',
  'endpoints.': 'services/endpoints',
  'ingresses.networking.k8s.io': 'ingress',
  'nodes.': 'minions',
  'replicationcontrollers.': 'controllers',
  'services.': 'services/specs',
}

function checkUid(scope: RequestScope, object: JsonObject, current: ObjectMeta, dryRun: boolean): void {
  const uid = (object['metadata'] as ObjectMeta).uid ?? ''
  if (uid === '' || uid === current.uid) return
  const { definition } = scope.resource
  const path = [
    ...(originRules(definition).hasGroupInStorageKey ? [definition.group] : []),
    storageKeys[resourceName(definition)] ?? definition.plural,
    ...(scope.namespace === '' ? [] : [scope.namespace]),
    scope.name,
  ].join('/')
  const detail = `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${current.uid ?? ''}`
  throw conflict(
    definition,
    scope.name,
    `StorageError: invalid object, Code: 4, Key: ${dryRun ? '' : '/registry'}/${path}, ResourceVersion: 0, AdditionalErrorMsg: ${detail}`,
  )
}

function checkVersion(scope: RequestScope, object: JsonObject, entry: Entry): void {
  const { definition } = scope.resource
  const text = (object['metadata'] as ObjectMeta).resourceVersion ?? ''
  const given = text === '' ? 0 : parseResourceVersion(text)
  if (given === undefined) throw unknownError(unsignedSyntax(text))
  if (given === 0) {
    if (definition.strategy.allowUnconditionalUpdate ?? originRules(definition).allowsUnconditionalUpdate) return
    throw invalid({ group: definition.group, kind: definition.plural }, scope.name, [
      fieldErrors.invalid('metadata.resourceVersion', 0, 'must be specified for an update'),
    ])
  }
  if (given !== entry.revision) throw conflict(definition, scope.name)
}
