// A request to a resource: its route is checked, then its verb dispatched to the handler that does the work. Start with
// `handleResource`.
import { resourceName } from '@fairlead/builtin-kinds'
import { asJson, badRequest, cloneJson, methodNotAllowed, notFound, unknownError } from '@fairlead/kube'
import type { JsonObject, MutableJsonObject } from '@fairlead/kube'
import type { ServerResponse } from '../http/message.ts'
import { dropRepeatedOwners } from '../objects/repeated-owners.ts'
import { wipeSystemFields } from '../objects/system-fields.ts'
import { kindOfResource } from '../request/body-decoder.ts'
import { booleanParameter, parseResourceVersion, resourceVersionSyntax } from '../request/query.ts'
import { deleteOptions, patchOptions, writeOptions } from '../request/write-options.ts'
import { valueResponse } from '../response/response.ts'
import { applyObject } from './apply.ts'
import { handleDeleteCollection, handleList } from './collection.ts'
import { createObject } from './create.ts'
import { deleteObject } from './delete.ts'
import { waitFor } from './list.ts'
import { objectResponse } from './object-response.ts'
import { applyPatchType } from '../http/media-type.ts'
import { patchObject, patchSource, patchTypeOf } from './patch.ts'
import { readDeleteOptions, readObject, readSharedObject } from './request-object.ts'
import { objectKey } from './request-scope.ts'
import type { RequestScope } from './request-scope.ts'
import { connect, findHandler } from './resource-handlers.ts'
import { checkRoute, checkRouteTypes } from './resource-route.ts'
import { handleScale } from './scale.ts'
import type { ServerDependencies } from './server-dependencies.ts'
import { checkPlace, setNamespace, updateObject } from './update.ts'

/** Subresources that are the object itself, written with another strategy. */
const objectSubresources: ReadonlySet<string> = new Set([
  'status',
  'finalize',
  'approval',
  'ephemeralcontainers',
  'resize',
])

/**
 * Handles a request to a resource.
 * @throws StatusError
 */
export async function handleResource(server: ServerDependencies, scope: RequestScope): Promise<ServerResponse> {
  const { verb, subresource, resource } = scope
  const response = checkRoute(scope)
  if (response !== undefined) return response
  if (subresource !== 'log') checkRouteTypes(scope)
  if (subresource === 'scale') return handleScale(server, scope)
  if (subresource !== '' && !(resource.definition.strategy.objectSubresources ?? objectSubresources).has(subresource))
    return connect(server, scope)
  const unstored = subresource === '' ? findHandler(server, scope) : undefined
  if (unstored !== undefined) return unstored(server, scope)
  switch (verb) {
    case 'get':
      return handleGet(server, scope)
    case 'list':
    case 'watch':
      return handleList(server, scope)
    case 'create':
      return handleCreate(server, scope)
    case 'update':
      return handleUpdate(server, scope)
    case 'patch':
      return handlePatch(server, scope)
    case 'delete':
      return handleDelete(server, scope)
    case 'deletecollection':
      return handleDeleteCollection(server, scope)
    default:
      throw methodNotAllowed()
  }
}

async function handleGet(server: ServerDependencies, scope: RequestScope): Promise<ServerResponse> {
  const { resource, query } = scope
  scope.output.object(resource, scope.subresource)
  refuseExport(query)
  const version = query.get('resourceVersion') ?? ''
  if (version !== '' && version !== '0') {
    const revision = parseResourceVersion(version)
    if (revision === undefined) throw unknownError(resourceVersionSyntax(version))
    await waitFor(server, scope, revision)
  }
  const { definition } = resource
  const entry = await server.store.get(resourceName(definition), objectKey(scope), undefined, scope.signal)
  if (entry === undefined) throw notFound(definition, scope.name)
  const view = await server.views.of(entry, resource)
  return objectResponse(server, scope, 200, view.object, view)
}

/** @throws StatusError 400 for a parameter of older servers */
function refuseExport(query: URLSearchParams): void {
  if (booleanParameter(query, 'export') === true)
    throw badRequest('the export parameter, deprecated since v1.14, is no longer supported')
}

async function handleCreate(server: ServerDependencies, given: RequestScope): Promise<ServerResponse> {
  // Custom resources accept a name in the path, and ignore it.
  const scope = given.name === '' ? given : { ...given, name: '' }
  const { resource, query, userAgent, warnings } = scope
  scope.output.object(resource, scope.subresource)
  const options = writeOptions('CreateOptions', query, userAgent)
  const object = await readObject(server, scope, kindOfResource(resource), options.fieldValidation)
  setNamespace(scope, object)
  wipeSystemFields(object['metadata'] as MutableJsonObject)
  dropRepeatedOwners(object['metadata'] as MutableJsonObject, warnings)
  const mode = { dryRun: options.dryRun, manager: options.fieldManager }
  const created = await createObject(server, scope, object, mode)
  return objectResponse(server, scope, 201, created.object, created.view)
}

async function handleUpdate(server: ServerDependencies, scope: RequestScope): Promise<ServerResponse> {
  const { resource, subresource, query, userAgent, warnings } = scope
  scope.output.object(resource, subresource)
  const options = writeOptions('UpdateOptions', query, userAgent)
  const decoded = await readSharedObject(server, scope, kindOfResource(resource), options.fieldValidation)
  checkPlace(scope, decoded)
  dropRepeatedOwners(decoded['metadata'] as MutableJsonObject, warnings)
  const written = await updateObject(server, scope, {
    dryRun: options.dryRun,
    manager: options.fieldManager,
    createsMissing: (resource.definition.strategy.allowCreateOnUpdate ?? false) && ['', 'status'].includes(subresource),
    checksUid: true,
    // Attempts change the object in place.
    change: () => cloneJson(decoded) as JsonObject,
  })
  return objectResponse(server, scope, written.created ? 201 : 200, written.object, written.view)
}

async function handlePatch(server: ServerDependencies, scope: RequestScope): Promise<ServerResponse> {
  scope.output.object(scope.resource, scope.subresource)
  const type = patchTypeOf(scope)
  const isApply = type === applyPatchType
  const options = patchOptions(scope.query, scope.userAgent, isApply)
  const source = patchSource(scope)
  const written = isApply
    ? await applyObject(server, scope, source, options)
    : await patchObject(server, scope, type, source, options)
  return objectResponse(server, scope, written.created ? 201 : 200, written.object, written.view)
}

async function handleDelete(server: ServerDependencies, scope: RequestScope): Promise<ServerResponse> {
  const { form } = scope.output.object(scope.resource, scope.subresource)
  const options = deleteOptions(scope.query, readDeleteOptions(server, scope))
  const deleted = await deleteObject(server, scope, options)
  if ('status' in deleted) return valueResponse(200, asJson(deleted.status), form)
  return objectResponse(server, scope, 200, deleted.object)
}
