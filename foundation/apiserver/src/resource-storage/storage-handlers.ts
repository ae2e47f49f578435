// Handlers of resource storages without stored objects: subresources with handlers of their own, and reviews.
import type { SubresourceRequest, RestStorage, StreamedResponse, SubresourceHandlers } from '@fairlead/controller'
import { asJson, asObject, badRequest, cloneJson, deepFreeze, formatGroupResource, invalid } from '@fairlead/kube'
import type { JsonObject, KubeObject } from '@fairlead/kube'
import { admissionAttributes } from '../handlers/admission-attributes.ts'
import { readObject } from '../handlers/request-object.ts'
import { setNamespace } from '../handlers/update.ts'
import type { ServerResponse } from '../http/message.ts'
import type { Draft } from '@fairlead/builtin-kinds'
import { kindOfResource } from '../request/body-decoder.ts'
import type { ExpectedKind } from '../request/body-decoder.ts'
import { valueResponse, uncached } from '../response/response.ts'
import { writeOptions } from '../request/write-options.ts'
import type { RequestScope } from '../handlers/request-scope.ts'
import { writeContext } from '../handlers/server-dependencies.ts'
import type { ServerDependencies } from '../handlers/server-dependencies.ts'
import type { ResourceHandler } from '../handlers/resource-handlers.ts'

/** Returns the handler of a subresource with handlers of its own. */
export function subresourceHandler(subresource: SubresourceHandlers): ResourceHandler {
  return async (server, scope) => {
    const { output, resource, subresource: name } = scope
    if (scope.verb === 'get') {
      const result = await subresource.get!(subresourceRequest(scope, false))
      return isStream(result)
        ? streamed(result)
        : valueResponse(200, asJson(result), output.object(resource, name).form)
    }
    const { form } = output.object(resource, name)
    const { dryRun, object } = await readBody(server, scope, kindOf(scope, subresource))
    if (dryRun && subresource.canDryRun !== true) throw noDryRun(scope, 'create')
    const admitted = await admit(server, scope, object, dryRun)
    const result = await subresource.create!(deepFreeze(asObject(admitted)), subresourceRequest(scope, dryRun))
    return valueResponse(201, asJson(result), form)
  }
}

/** Returns the handler of a review: POST returns the completed object. */
export function reviewHandler(storage: RestStorage): ResourceHandler {
  return async (server, scope) => {
    const { form } = scope.output.object(scope.resource, scope.subresource)
    const { dryRun, object } = await readBody(server, scope, kindOfResource(scope.resource))
    setNamespace(scope, object)
    const { strategy } = scope.resource.definition
    strategy.applyDefaults?.(object as Draft)
    const admitted = await admit(server, scope, object, dryRun)
    const review = deepFreeze(asObject(admitted))
    const errors = (await strategy.validate?.(review, writeContext(server, scope, dryRun))) ?? []
    if (errors.length > 0) throw invalid(scope.resource.definition, review.metadata.name ?? '', errors)
    const { signal, user, subresource, warnings } = scope
    const result = dryRun ? review : await storage.create!(review, { signal, user, subresource, warnings })
    return valueResponse(201, asJson(result), form)
  }
}

/** Returns the 400 for an unsupported dry run. */
export function noDryRun(
  { resource, subresource }: Pick<RequestScope, 'resource' | 'subresource'>,
  verb: string,
): Error {
  const name = formatGroupResource(resource.definition)
  return badRequest(`dryRun is not supported by ${verb} of ${subresource === '' ? name : `${name}/${subresource}`}`)
}

function subresourceRequest(scope: RequestScope, dryRun: boolean): SubresourceRequest {
  const { namespace, name, user, subresource, signal, warnings, query } = scope
  return { key: { namespace, name }, user, subresource, signal, warnings, query, dryRun }
}

function isStream(result: KubeObject | StreamedResponse): result is StreamedResponse {
  return !('kind' in result)
}

function streamed({ contentType = 'text/plain', chunks }: StreamedResponse): ServerResponse {
  return { status: 200, headers: { ...uncached, 'content-type': contentType }, body: { kind: 'stream', chunks } }
}

function kindOf({ resource }: RequestScope, { apiVersion, kind }: SubresourceHandlers): ExpectedKind {
  return {
    apiVersion: apiVersion ?? resource.apiVersion,
    kind: kind ?? resource.definition.kind,
    isUnstructured: false,
    decode: (body) => ({ object: cloneJson(body) as JsonObject, unknownFields: [] }),
  }
}

/** @throws StatusError 400, 413, 415 */
async function readBody(
  server: ServerDependencies,
  scope: RequestScope,
  expected: ExpectedKind,
): Promise<{ readonly object: JsonObject; readonly dryRun: boolean }> {
  const { dryRun, fieldValidation } = writeOptions('CreateOptions', scope.query, scope.userAgent)
  return { object: await readObject(server, scope, expected, fieldValidation), dryRun }
}

/** Returns the body after admission. @throws StatusError of the plugin that refuses */
async function admit(
  { admission }: ServerDependencies,
  scope: RequestScope,
  object: JsonObject,
  dryRun: boolean,
): Promise<JsonObject> {
  const attributes = admissionAttributes(scope, 'CREATE', asObject(object), undefined, dryRun)
  const admitted = (await admission.mutate(attributes)) ?? object
  await admission.validate({ ...attributes, object: asObject(admitted) })
  return admitted
}
