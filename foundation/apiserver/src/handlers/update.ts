// Read, change, compare and swap: the loop behind PUT, PATCH and subresources. An unchanged object is not written, an object whose last finalizer
// went while it was being deleted goes with it.
import { asObject, conflict, failure, fieldErrors, invalid, notFound, unknownError } from '@fairlead/kube'
import type { JsonObject, KubeObject, ObjectMeta } from '@fairlead/kube'
import { forbiddenRequest } from '../auth/forbidden.ts'
import { parseResourceVersion, unsignedSyntax } from '../request/query.ts'
import { resourceName } from '@fairlead/builtin-kinds'
import { StoreError } from '../storage/store.ts'
import type { Entry } from '../storage/store.ts'
import { fromStored, servedForm } from '../views/views.ts'
import type { View } from '../views/views.ts'
import { createObject } from './create.ts'
import { checkStoredSize } from '../objects/size-limit.ts'
import { writeOptionsObject } from '../admission/options-object.ts'
import type { Environment, ResourceCall } from './server-dependencies.ts'
import { keyOfCall } from './server-dependencies.ts'
import { isReleased } from '../objects/namespace-rules.ts'
import type { WriteMode } from './prepare.ts'
import { isSameObject, prepareUpdate, toStored } from './prepare.ts'

/** What a write answered with. */
export interface Written {
  readonly object: KubeObject
  /** The view behind `object`, where it is stored. */
  readonly view?: View
  readonly created: boolean
}

/** A change of one object. */
export interface Change extends WriteMode {
  /** The new object, private to this call, from the current one; undefined when there is none. Called again when another write came between. */
  readonly change: (current: KubeObject | undefined) => JsonObject | Promise<JsonObject>
  /** A missing object is created. */
  readonly createsMissing: boolean
  /** The uid in the new object has to be that of the current one (PUT). */
  readonly checksUid?: boolean
}

const attempts = 100
/** Attempts before writers of the same object take turns. */
const freeAttempts = 2

/**
 * Changes the object that the call names.
 * @throws StatusError 404, 409, 422 and what `change` throws
 */
export async function modifyObject(environment: Environment, call: ResourceCall, change: Change): Promise<Written> {
  const { definition } = call.resource
  const key = keyOfCall(call)
  for (let attempt = 0; attempt < attempts; attempt++) {
    using turn = attempt < freeAttempts ? undefined : await environment.turns.take(`${resourceName(definition)}/${key}`)
    try {
      return await attemptChange(environment, call, change, key, turn)
    } catch (error) {
      if (!(error instanceof StoreError) || error.code !== 'Conflict') throw error
    }
  }
  throw conflict(definition, call.name)
}

async function attemptChange(
  environment: Environment,
  call: ResourceCall,
  change: Change,
  key: string,
  turn: Disposable | undefined,
): Promise<Written> {
  const { store, views } = environment
  const entry = await store.head(resourceName(call.resource.definition), key, call.signal)
  if (entry === undefined) return createMissing(environment, call, change)
  const current = (await views.of(entry, call.resource)).object
  const object = await change.change(current)
  checkPlace(call, object)
  if (change.checksUid) checkUid(call, object, current.metadata)
  checkVersion(call, object, entry)
  const draft = await prepareUpdate(environment, call, object, current, change)
  await environment.admission.validate({
    operation: 'UPDATE',
    resource: call.resource,
    subresource: call.subresource,
    namespace: call.namespace,
    name: call.name,
    object: call.shown?.of(asObject(draft)) ?? atRevision(asObject(draft), current),
    oldObject: call.shown?.of(current) ?? current,
    user: call.user,
    dryRun: change.dryRun,
    signal: call.signal,
    options: () => writeOptionsObject('UpdateOptions', call.query),
    warnings: call.warnings,
  })
  const stored = await toStored(draft, call.resource)
  const writing = commit(environment, call, entry, stored, change.dryRun)
  // The write has its place in the batch now; the next writer builds on it while it is committed.
  turn?.[Symbol.dispose]()
  const written = await writing
  if (written === undefined) return { object: await servedStored(stored, entry.revision, call), created: false }
  const view = await views.of(written, call.resource)
  return { object: view.object, view, created: false }
}

async function createMissing(environment: Environment, call: ResourceCall, change: Change): Promise<Written> {
  if (!change.createsMissing) throw notFound(call.resource.definition, call.name)
  await checkMayCreate(environment, call)
  const object = await change.change(undefined)
  checkPlace(call, object)
  if (change.checksUid) checkUid(call, object, {})
  // What a client thinks to update has a revision; a new object has none.
  delete (object['metadata'] as { resourceVersion?: string }).resourceVersion
  return { ...(await createObject(environment, call, object, change)), created: true }
}

/** An update that names no revision is one of the object as it is. */
function atRevision(object: KubeObject, { metadata }: KubeObject): KubeObject {
  const { resourceVersion = '' } = object.metadata
  return resourceVersion !== ''
    ? object
    : { ...object, metadata: { ...object.metadata, resourceVersion: metadata.resourceVersion } }
}

/** Writes and gives the entry, or undefined when the answer is the object that was not kept (dry run, deletion). */
async function commit(
  environment: Environment,
  call: ResourceCall,
  entry: Entry,
  stored: JsonObject,
  dryRun: boolean,
): Promise<Entry | undefined> {
  const { store } = environment
  const { resource, key, revision } = entry
  if (isReleased(call.resource.definition, stored, entry.object)) {
    if (!dryRun) await store.write({ resource, key, expected: revision, object: undefined }, call)
    return undefined
  }
  if (isSameObject(stored, entry.object)) {
    await store.reached(revision, call.signal)
    return entry
  }
  checkStoredSize(stored, call.resource.definition.strategy.maxObjectBytes)
  return dryRun ? undefined : store.write({ resource, key, expected: revision, object: stored }, call)
}

/** The served form of an object that is not in the store, with the revision it was made from. */
export async function servedStored(stored: JsonObject, revision: number, call: ResourceCall): Promise<KubeObject> {
  const [object] = await fromStored([asObject(stored)], call.resource)
  return servedForm(object!, revision, call.resource, asObject(stored).apiVersion !== call.resource.apiVersion)
}

/** @throws StatusError 400 */
export function checkPlace(call: ResourceCall, object: JsonObject): void {
  const metadata = object['metadata'] as ObjectMeta & { namespace?: string; name?: string }
  setNamespace(call, object)
  const name = metadata.name ?? ''
  if (name === '')
    throw failure(
      400,
      'BadRequest',
      `the name of the object (${call.name} based on URL) was undeterminable: name must be provided`,
    )
  if (name !== call.name) {
    throw failure(
      400,
      'BadRequest',
      `the name of the object (${name}) does not match the name on the URL (${call.name})`,
    )
  }
}

/** Gives the object the namespace of the request. @throws StatusError 400 when it has another one */
export function setNamespace(call: ResourceCall, object: JsonObject): void {
  const metadata = object['metadata'] as { namespace?: string }
  if (call.namespace === '') {
    delete metadata.namespace
    return
  }
  if ((metadata.namespace ?? '') === '') metadata.namespace = call.namespace
  else if (metadata.namespace !== call.namespace) {
    throw failure(
      400,
      'BadRequest',
      'the namespace of the provided object does not match the namespace sent on the request',
    )
  }
}

/** An apply or a PUT of a missing name needs the right to create it. @throws StatusError 403 */
async function checkMayCreate(
  { authorizer }: Environment,
  { resource: { definition, version }, subresource, namespace, name, user }: ResourceCall,
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

function checkUid(call: ResourceCall, object: JsonObject, current: ObjectMeta): void {
  const uid = (object['metadata'] as ObjectMeta).uid ?? ''
  if (uid === '' || uid === current.uid) return
  const { group, plural, crd } = call.resource.definition
  const path = [
    ...(crd === undefined ? [] : [group]),
    plural,
    ...(call.namespace === '' ? [] : [call.namespace]),
    call.name,
  ].join('/')
  const detail = `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${current.uid ?? ''}`
  throw conflict(
    call.resource.definition,
    call.name,
    `StorageError: invalid object, Code: 4, Key: /registry/${path}, ResourceVersion: 0, AdditionalErrorMsg: ${detail}`,
  )
}

function checkVersion(call: ResourceCall, object: JsonObject, entry: Entry): void {
  const { definition } = call.resource
  const text = (object['metadata'] as ObjectMeta).resourceVersion ?? ''
  const given = text === '' ? 0 : parseResourceVersion(text)
  if (given === undefined) throw unknownError(unsignedSyntax(text))
  if (given === 0) {
    if (definition.strategy.allowUnconditionalUpdate ?? definition.crd === undefined) return
    throw invalid({ group: definition.group, kind: definition.plural }, call.name, [
      fieldErrors.invalid('metadata.resourceVersion', 0, 'must be specified for an update'),
    ])
  }
  if (given !== entry.revision) throw conflict(definition, call.name)
}
