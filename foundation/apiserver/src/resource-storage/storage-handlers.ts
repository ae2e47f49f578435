// What delegated resources answer without keeping it: subresources that answer for themselves, and resources that are questions.
import type { SubresourceRequest, RestStorage, StreamedResponse, SubresourceHandlers } from '@fairlead/controller'
import { asJson, asObject, badRequest, cloneJson, deepFreeze, formatGroupResource, invalid } from '@fairlead/kube'
import type { JsonObject, KubeObject } from '@fairlead/kube'
import { writeOptionsObject } from '../admission/options-object.ts'
import type { SubresourceEndpoint } from '../handlers/resource-handlers.ts'
import { writeContext } from '../handlers/server-dependencies.ts'
import type { Environment, ResourceCall } from '../handlers/server-dependencies.ts'
import { objectForm } from '../handlers/exchange.ts'
import type { Exchange } from '../handlers/exchange.ts'
import { setNamespace } from '../handlers/update.ts'
import type { ServerResponse } from '../http/message.ts'
import type { Draft } from '@fairlead/builtin-kinds'
import { decodeObject, kindOfResource, parseBody } from '../request/body-decoder.ts'
import type { ExpectedKind } from '../request/body-decoder.ts'
import { answerValue, uncached } from '../response/response.ts'
import { writeOptions } from '../request/write-options.ts'

/** The endpoint of a subresource that answers for itself. */
export function answeringSubresource(subresource: SubresourceHandlers): SubresourceEndpoint {
  return async (environment, exchange, verb) => {
    const { call } = exchange
    if (verb === 'get') {
      const answer = await subresource.get!(subresourceRequest(call, false))
      return isStream(answer) ? streamed(answer) : answerValue(200, asJson(answer), objectForm(exchange).form)
    }
    const { form } = objectForm(exchange)
    const { dryRun, object } = readBody(environment, exchange, kindOf(call, subresource))
    if (dryRun && subresource.canDryRun !== true) throw noDryRun(call, 'create')
    const admitted = await admit(environment, call, object, dryRun)
    const answer = await subresource.create!(deepFreeze(asObject(admitted)), subresourceRequest(call, dryRun))
    return answerValue(201, asJson(answer), form)
  }
}

/** The endpoint of a resource that is a question: POST, and the answer. */
export function answeringResource(storage: RestStorage): SubresourceEndpoint {
  return async (environment, exchange) => {
    const { call } = exchange
    const { form } = objectForm(exchange)
    const { dryRun, object } = readBody(environment, exchange, kindOfResource(call.resource))
    setNamespace(call, object)
    const { strategy } = call.resource.definition
    strategy.applyDefaults?.(object as Draft)
    const admitted = await admit(environment, call, object, dryRun)
    const question = deepFreeze(asObject(admitted))
    const errors = strategy.validate?.(question, writeContext(environment, call, dryRun)) ?? []
    if (errors.length > 0) throw invalid(call.resource.definition, question.metadata.name ?? '', errors)
    const { signal, user, subresource, warnings } = call
    const answer = dryRun ? question : await storage.create!(question, { signal, user, subresource, warnings })
    return answerValue(201, asJson(answer), form)
  }
}

/** What is told to whoever wants to try what cannot be tried. */
export function noDryRun(
  { resource, subresource }: Pick<ResourceCall, 'resource' | 'subresource'>,
  verb: string,
): Error {
  const name = formatGroupResource(resource.definition)
  return badRequest(`dryRun is not supported by ${verb} of ${subresource === '' ? name : `${name}/${subresource}`}`)
}

function subresourceRequest(call: ResourceCall, dryRun: boolean): SubresourceRequest {
  const { namespace, name, user, subresource, signal, warnings, query } = call
  return { key: { namespace, name }, user, subresource, signal, warnings, query, dryRun }
}

function isStream(answer: KubeObject | StreamedResponse): answer is StreamedResponse {
  return !('kind' in answer)
}

function streamed({ contentType = 'text/plain', chunks }: StreamedResponse): ServerResponse {
  return { status: 200, headers: { ...uncached, 'content-type': contentType }, body: { kind: 'stream', chunks } }
}

function kindOf({ resource }: ResourceCall, { apiVersion, kind }: SubresourceHandlers): ExpectedKind {
  return {
    apiVersion: apiVersion ?? resource.apiVersion,
    kind: kind ?? resource.definition.kind,
    isCustom: false,
    decode: (body) => ({ object: cloneJson(body) as JsonObject, unknownFields: [] }),
  }
}

/** @throws StatusError 400, 413, 415 */
function readBody(
  environment: Environment,
  { request, call, protobuf }: Exchange,
  expected: ExpectedKind,
): { readonly object: JsonObject; readonly dryRun: boolean } {
  const { dryRun, fieldValidation } = writeOptions('CreateOptions', call.query, call.userAgent)
  const parsed = parseBody(request, expected, protobuf?.decode)
  const { object, warnings } = decodeObject(parsed, expected, fieldValidation, environment.registry)
  call.warnings.push(...warnings)
  const { metadata } = object
  return { object: { ...object, metadata: { ...(metadata as JsonObject | undefined) } }, dryRun }
}

/** The body as policies and webhooks leave it. @throws StatusError of who refuses */
async function admit(
  { admission }: Environment,
  call: ResourceCall,
  object: JsonObject,
  dryRun: boolean,
): Promise<JsonObject> {
  const { resource, subresource, namespace, name, user, signal, warnings } = call
  const options = (): JsonObject => writeOptionsObject('CreateOptions', call.query)
  const base = { operation: 'CREATE', resource, subresource, namespace, name, user, dryRun, signal, warnings } as const
  const request = { ...base, oldObject: undefined, options }
  const admitted = (await admission.mutate({ ...request, object: asObject(object) })) ?? object
  await admission.validate({ ...request, object: asObject(admitted) as KubeObject })
  return admitted
}
