// POST: a new object, with a generated name where the client gives a prefix only.
import { alreadyExists, asObject, failure, formatGroupResource, generatedName, goQuote } from '@fairlead/kube'
import type { JsonObject, KubeObject } from '@fairlead/kube'
import { resourceName } from '@fairlead/builtin-kinds'
import type { Draft } from '@fairlead/builtin-kinds'
import { StoreError } from '../storage/store.ts'
import { convertToStored, fromStored, servedForm } from '../views/views.ts'
import type { View } from '../views/views.ts'
import { checkStoredSize } from '../objects/size-limit.ts'
import { writeOptionsObject } from '../admission/options-object.ts'
import type { Environment, ResourceCall } from './server-dependencies.ts'
import { keyOfCall } from './server-dependencies.ts'
import type { WriteMode } from './prepare.ts'
import { draftOf, prepareCreate, refuseResourceVersion, toStored } from './prepare.ts'

/** Clashes of generated names that the server overcomes by itself. */
const nameAttempts = 8

/**
 * Creates a decoded object, private to this call.
 * @throws StatusError 403, 404 (namespace), 409, 422
 */
export async function createObject(
  environment: Environment,
  call: ResourceCall,
  object: JsonObject,
  mode: WriteMode,
): Promise<{ readonly object: KubeObject; readonly view?: View }> {
  const metadata = object['metadata'] as { name?: string; generateName?: string }
  const isGenerated = (metadata.name ?? '') === '' && (metadata.generateName ?? '') !== ''
  for (let attempt = 1; ; attempt++) {
    const candidate = isGenerated ? draftOf(asObject(object)) : (object as Draft)
    if (isGenerated) candidate.metadata['name'] = generatedName(metadata.generateName!, environment.random)
    try {
      return await createOnce(environment, call, candidate, mode)
    } catch (error) {
      if (!isTaken(error)) throw error
      const name = asObject(candidate).metadata.name ?? ''
      if ((metadata.generateName ?? '') === '') throw alreadyExists(call.resource.definition, name)
      if (!isGenerated || attempt === nameAttempts) throw generatedNameTaken(call, name)
    }
  }
}

async function createOnce(
  environment: Environment,
  call: ResourceCall,
  object: Draft,
  mode: WriteMode,
): Promise<{ object: KubeObject; view?: View }> {
  const draft = await prepareCreate(environment, call, object, mode)
  await environment.admission.validate({
    operation: 'CREATE',
    resource: call.resource,
    subresource: call.subresource,
    namespace: call.namespace,
    name: asObject(draft).metadata.name ?? '',
    object: asObject(draft),
    oldObject: undefined,
    user: call.user,
    dryRun: mode.dryRun,
    signal: call.signal,
    options: () => writeOptionsObject('CreateOptions', call.query),
    warnings: call.warnings,
  })
  const resource = resourceName(call.resource.definition)
  const key = keyOfCall(call, asObject(draft).metadata.name ?? '')
  refuseResourceVersion(draft.metadata)
  if (mode.dryRun) {
    if ((await environment.store.head(resource, key, call.signal)) !== undefined)
      throw new StoreError('Conflict', `${resource}${key} exists`)
    delete draft.metadata['resourceVersion']
    return { object: await throughStorage(asObject(draft), call) }
  }
  const stored = await toStored(draft, call.resource)
  checkStoredSize(stored, call.resource.definition.strategy.maxObjectBytes)
  const entry = await environment.store.write({ resource, key, expected: 0, object: stored }, call)
  const view = await environment.views.of(entry, call.resource)
  return { object: view.object, view }
}

/** What a dry run answers: the object as it would come back from the store. */
async function throughStorage(object: KubeObject, { resource }: ResourceCall): Promise<KubeObject> {
  const [stored] = await convertToStored([object], resource)
  const [served] = await fromStored([stored!], resource)
  return servedForm(served!, 0, resource, stored!.apiVersion !== resource.apiVersion)
}

function isTaken(error: unknown): boolean {
  return error instanceof StoreError && error.code === 'Conflict'
}

function generatedNameTaken(call: ResourceCall, name: string): Error {
  const { group, plural } = call.resource.definition
  const message = `${formatGroupResource({ group, plural })} ${goQuote(name)} already exists, the server was not able to generate a unique name for the object`
  return failure(409, 'AlreadyExists', message, {
    name,
    ...(group === '' ? {} : { group }),
    kind: plural,
    retryAfterSeconds: 1,
  })
}
