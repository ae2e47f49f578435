// POST of a new object, with a generated name where the client gives only a prefix.
import { yieldIfLong } from '@fairlead/client'
import {
  alreadyExists,
  asObject,
  StatusError,
  failure,
  formatGroupResource,
  generatedName,
  goQuote,
} from '@fairlead/kube'
import type { JsonObject, KubeObject } from '@fairlead/kube'
import { resourceName } from '@fairlead/builtin-kinds'
import type { Draft } from '@fairlead/builtin-kinds'
import { StoreError } from '../storage/store.ts'
import { convertToStored, fromStored, servedForm } from '../views/views.ts'
import type { View } from '../views/views.ts'
import { checkStoredSize } from '../objects/size-limit.ts'
import { admissionAttributes } from './admission-attributes.ts'
import type { WriteMode } from './prepare.ts'
import { draftOf, prepareCreate, refuseResourceVersion, toStored } from './prepare.ts'
import { objectKey } from './request-scope.ts'
import type { RequestScope } from './request-scope.ts'
import type { ServerDependencies } from './server-dependencies.ts'

/** Attempts to generate a name that is not taken yet. */
const nameAttempts = 8

/**
 * Creates a decoded object that is private to this request.
 * @throws StatusError 403, 404 (namespace), 409, 422
 */
export async function createObject(
  server: ServerDependencies,
  scope: RequestScope,
  object: JsonObject,
  mode: WriteMode,
): Promise<{ readonly object: KubeObject; readonly view?: View }> {
  const metadata = object['metadata'] as { name?: string; generateName?: string }
  const isGenerated = (metadata.name ?? '') === '' && (metadata.generateName ?? '') !== ''
  for (let attempt = 1; ; attempt++) {
    const candidate = isGenerated ? draftOf(asObject(object)) : (object as Draft)
    if (isGenerated) candidate.metadata['name'] = generatedName(metadata.generateName!, server.random)
    try {
      return await createOnce(server, scope, candidate, mode)
    } catch (error) {
      if (!isTaken(error)) throw error
      const name = asObject(candidate).metadata.name ?? ''
      const { definition } = scope.resource
      const isGiven = (metadata.generateName ?? '') === ''
      if (!isGiven && isGenerated && attempt < nameAttempts) continue
      const taken = isGiven ? alreadyExists(definition, name) : generatedNameTaken(scope, name)
      const key = objectKey(scope, name)
      const existing = await server.store.head(resourceName(definition), key)
      if (existing === undefined || asObject(existing.object).metadata.deletionTimestamp === undefined) throw taken
      throw new StatusError({ ...taken.status, message: `object is being deleted: ${taken.message}` })
    }
  }
}

async function createOnce(
  server: ServerDependencies,
  scope: RequestScope,
  object: Draft,
  mode: WriteMode,
): Promise<{ object: KubeObject; view?: View }> {
  const draft = await prepareCreate(server, scope, object, mode)
  const attributes = admissionAttributes(scope, 'CREATE', asObject(draft), undefined, mode.dryRun)
  using _admitted = await server.admission.validate(attributes)
  const resource = resourceName(scope.resource.definition)
  const key = objectKey(scope, asObject(draft).metadata.name ?? '')
  if (mode.dryRun) {
    if ((await server.store.head(resource, key, scope.signal)) !== undefined)
      throw new StoreError('Conflict', `${resource}${key} exists`)
    return { object: await throughStorage(asObject(draft), scope) }
  }
  // Like the real server, a dry run does not get this far.
  refuseResourceVersion(draft.metadata)
  await yieldIfLong()
  const stored = await toStored(draft, scope.resource)
  await yieldIfLong()
  checkStoredSize(stored, scope.resource.definition.strategy.maxObjectBytes)
  await yieldIfLong()
  const entry = await server.store.write({ resource, key, expected: 0, object: stored }, scope)
  const view = await server.views.of(entry, scope.resource)
  return { object: view.object, view }
}

/** Returns the object as it would come back from the store, for the response of a dry run. */
async function throughStorage(object: KubeObject, { resource }: RequestScope): Promise<KubeObject> {
  const [stored] = await convertToStored([object], resource)
  const [served] = await fromStored([stored!], resource)
  return servedForm(served!, 0, resource, stored!.apiVersion !== resource.apiVersion)
}

function isTaken(error: unknown): boolean {
  return error instanceof StoreError && error.code === 'Conflict'
}

function generatedNameTaken(scope: RequestScope, name: string): StatusError {
  const { group, plural } = scope.resource.definition
  const message = `${formatGroupResource({ group, plural })} ${goQuote(name)} already exists, the server was not able to generate a unique name for the object`
  return failure(409, 'AlreadyExists', message, {
    name,
    ...(group === '' ? {} : { group }),
    kind: plural,
    retryAfterSeconds: 1,
  })
}
