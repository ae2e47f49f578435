// A request to a resource: which verbs its path knows, in which forms it can be answered, and the way from the body to the endpoint that does the work.
import {
  badRequest,
  cloneJson,
  failure,
  formatGroupResource,
  isJsonObject,
  methodNotAllowed,
  notAcceptable,
  notFound,
  resourceNotFound,
  unknownError,
} from '@fairlead/kube'
import type { JsonObject, JsonValue, KubeObject, MutableJsonObject } from '@fairlead/kube'
import type { ServerRequest, ServerResponse } from '../http/message.ts'
import {
  bodyBytes,
  decodeObject,
  inputEncoding,
  kindOfResource,
  parseBody,
  parseText,
} from '../request/body-decoder.ts'
import { listOptions, validateListOptions } from '../request/list-options.ts'
import type { ListOptions } from '../request/list-options.ts'
import { isAcceptableRoute, routeNotAcceptable, negotiateStream, objectTypes, streamTypes } from '../http/media-type.ts'
import { booleanParameter, parseResourceVersion, resourceVersionSyntax } from '../request/query.ts'
import { answerList, answerValue, uncached } from '../response/response.ts'
import { selectionOf } from '../request/selection.ts'
import { deleteOptions, patchOptions, writeOptions } from '../request/write-options.ts'
import { resourceName } from '@fairlead/builtin-kinds'
import type { ResourceDefinition } from '@fairlead/builtin-kinds'
import { dropRepeatedOwners } from '../objects/repeated-owners.ts'
import { wipeSystemFields } from '../objects/system-fields.ts'
import { allowsTransform, transformList } from '../views/transforms.ts'
import { createObject } from './create.ts'
import { deleteObject } from './delete.ts'
import { deleteCollection } from './delete-collection.ts'
import type { Environment, ResourceCall } from './server-dependencies.ts'
import { keyOfCall } from './server-dependencies.ts'
import { acceptOf, answerObject, jsonOnly, objectForm, patchTypeOf } from './exchange.ts'
import type { Exchange } from './exchange.ts'
import { listObjects, waitFor } from './list.ts'
import { checkPlace, modifyObject, setNamespace } from './update.ts'
import { patchObject, patchTypes } from './patch.ts'
import { checkCustomRoute } from './resource-route.ts'
import { scaleEndpoint } from './scale.ts'
import { connectEndpoint, endpointOf } from './resource-handlers.ts'
import { encodeJsonEvent, openWatch } from './watch.ts'

type Verb = 'get' | 'list' | 'watch' | 'create' | 'update' | 'patch' | 'delete' | 'deletecollection'

/** Subresources that are the object itself, seen through another strategy. */
const objectSubresources: ReadonlySet<string> = new Set([
  'status',
  'finalize',
  'approval',
  'ephemeralcontainers',
  'resize',
])

/** The verb of a request to a resource, as RBAC names it; the lower-case method where there is none. */
export function verbOf(method: string, hasName: boolean, isWatch: boolean): string {
  switch (method) {
    case 'GET':
    case 'HEAD':
      return isWatch ? 'watch' : hasName ? 'get' : 'list'
    case 'POST':
      return 'create'
    case 'PUT':
      return 'update'
    case 'PATCH':
      return 'patch'
    case 'DELETE':
      return hasName ? 'delete' : 'deletecollection'
    default:
      return method.toLowerCase()
  }
}

/**
 * Answers a request to a resource.
 * @throws StatusError
 */
export async function answerResource(environment: Environment, exchange: Exchange): Promise<ServerResponse> {
  const { call, request } = exchange
  const verb = verbOf(request.method, call.name !== '', false) as Verb
  const { origin } = call.resource.definition
  if (origin !== 'custom') checkRoute(call, verb, request)
  else {
    const answer = checkCustomRoute(call, verb)
    if (answer !== undefined) return answer
  }
  if (call.subresource !== 'log') checkRouteTypes(exchange, verb)
  if (call.subresource === 'scale') return scaleEndpoint(environment, exchange, verb)
  if (
    call.subresource !== '' &&
    !(call.resource.definition.strategy.objectSubresources ?? objectSubresources).has(call.subresource)
  ) {
    return connectEndpoint(environment, exchange, verb)
  }
  switch (verb) {
    case 'get':
      return get(environment, exchange)
    case 'list':
      return list(environment, exchange)
    case 'create':
      return endpointOf(environment, call)?.(environment, exchange, verb) ?? create(environment, exchange)
    case 'update':
      return update(environment, exchange)
    case 'patch':
      return patch(environment, exchange)
    case 'delete':
      return remove(environment, exchange)
    case 'deletecollection':
      return removeCollection(environment, exchange)
    default:
      throw methodNotAllowed()
  }
}

/** The body of a POST or PUT as an object of the resource, with the namespace of the request. */
function decodeBody(
  environment: Environment,
  exchange: Exchange,
  validation: 'Ignore' | 'Warn' | 'Strict',
): JsonObject {
  const { call, request, protobuf } = exchange
  const expected = kindOfResource(call.resource)
  const parsed = parseBody(request, expected, protobuf?.decode)
  const { object, warnings } = decodeObject(parsed, expected, validation, environment.registry)
  call.warnings.push(...warnings)
  return { ...object, metadata: { ...(isJsonObject(object['metadata']) ? object['metadata'] : {}) } }
}

async function get(environment: Environment, exchange: Exchange): Promise<ServerResponse> {
  const { call } = exchange
  objectForm(exchange)
  refuseExport(call)
  const version = call.query.get('resourceVersion') ?? ''
  if (version !== '' && version !== '0') {
    const revision = parseResourceVersion(version)
    if (revision === undefined) throw unknownError(resourceVersionSyntax(version))
    await waitFor(environment, call, revision)
  }
  const { store } = environment
  const entry = await store.get(resourceName(call.resource.definition), keyOfCall(call), undefined, call.signal)
  if (entry === undefined) throw notFound(call.resource.definition, call.name)
  const view = await environment.views.of(entry, call.resource)
  return answerObject(environment, exchange, 200, view.object, view)
}

/** @throws StatusError 400 for a parameter that older servers knew */
function refuseExport({ query }: ResourceCall): void {
  if (booleanParameter(query, 'export') === true)
    throw badRequest('the export parameter, deprecated since v1.14, is no longer supported')
}

async function list(environment: Environment, exchange: Exchange): Promise<ServerResponse> {
  const { call, request } = exchange
  const options = listOptions(call.query)
  const watches = options.watch || request.path.includes('/watch/')
  const selection = selectionOf(call.resource, options.labels, options.fields)
  const watchOptions = watchDefaults({ ...options, watch: watches })
  validateListOptions(watchOptions)
  const { form, negotiated } = objectForm(exchange)
  if (watches) return watch(environment, exchange, watchOptions, selection)
  const { views, metadata } = await listObjects(environment, call, options, selection)
  const { definition, apiVersion } = call.resource
  const transformed = transformList(
    negotiated.transform === undefined ? [] : views.map((view) => view.object),
    negotiated.transform === undefined ? metadata : withoutEmptyContinue(metadata),
    negotiated.transform,
    call.resource,
    call.query,
    environment.clock.now(),
  )
  if (transformed !== undefined) return answerValue(200, transformed, form)
  const listForm = { ...form, takesValue: request.takesValue ?? false, monotonic: () => environment.clock.monotonic() }
  return answerList({ kind: definition.listKind, apiVersion }, metadata, views, listForm)
}

/** A watch from no revision in particular begins with what there is, and says where that ends. */
function watchDefaults(options: ListOptions): ListOptions {
  const { watch: watches, resourceVersion, resourceVersionMatch, sendInitialEvents } = options
  const isPlain = sendInitialEvents === undefined && resourceVersionMatch === ''
  if (!watches || !isPlain || (resourceVersion !== '' && resourceVersion !== '0')) return options
  return { ...options, sendInitialEvents: true, resourceVersionMatch: 'NotOlderThan' }
}

async function watch(
  environment: Environment,
  exchange: Exchange,
  options: ReturnType<typeof listOptions>,
  selection: ReturnType<typeof selectionOf>,
): Promise<ServerResponse> {
  const { call, protobuf } = exchange
  if (!call.resource.version.verbs.includes('watch')) throw unwatchable(call.resource.definition)
  const isCustom = call.resource.definition.crd !== undefined || protobuf === undefined
  const accept = acceptOf(exchange.request)
  const negotiated = negotiateStream(
    accept,
    (transform, encoding) => allowsTransform(transform, encoding) && !(isCustom && encoding === 'protobuf'),
  )
  const usable =
    negotiated?.encoding === 'protobuf' && isCustom ? negotiateStream(jsonOnly(accept), allowsTransform) : negotiated
  if (usable === undefined) {
    const types = isCustom ? streamTypes.slice(0, 1) : streamTypes
    throw notAcceptable(`only the following media types are accepted: ${types.join(', ')}`)
  }
  const events = await openWatch(environment, call, options, selection, usable.transform)
  const encode =
    usable.encoding === 'protobuf'
      ? (event: { type: string; object: KubeObject }) =>
          protobuf!.encodeEvent(event.type, event.object as unknown as JsonObject)
      : encodeJsonEvent
  return {
    status: 200,
    headers: { ...uncached, 'content-type': usable.contentType },
    body: { kind: 'watch', events, encode },
  }
}

async function create(environment: Environment, exchange: Exchange): Promise<ServerResponse> {
  // Custom resources take a name in the path, and do without it.
  const call = exchange.call.name === '' ? exchange.call : { ...exchange.call, name: '' }
  objectForm(exchange)
  const options = writeOptions('CreateOptions', call.query, call.userAgent)
  const object = decodeBody(environment, exchange, options.fieldValidation)
  setNamespace(call, object)
  wipeSystemFields(object['metadata'] as MutableJsonObject)
  dropRepeatedOwners(object['metadata'] as MutableJsonObject, call.warnings)
  const created = await createObject(environment, call, object, {
    dryRun: options.dryRun,
    manager: options.fieldManager,
  })
  return answerObject(environment, exchange, 201, created.object, created.view)
}

async function update(environment: Environment, exchange: Exchange): Promise<ServerResponse> {
  const { call } = exchange
  objectForm(exchange)
  const options = writeOptions('UpdateOptions', call.query, call.userAgent)
  const decoded = decodeBody(environment, exchange, options.fieldValidation)
  checkPlace(call, decoded)
  dropRepeatedOwners(decoded['metadata'] as MutableJsonObject, call.warnings)
  const written = await modifyObject(environment, call, {
    dryRun: options.dryRun,
    manager: options.fieldManager,
    createsMissing: (call.resource.definition.strategy.allowCreateOnUpdate ?? false) && call.subresource === '',
    checksUid: true,
    // Attempts change what they are given.
    change: () => cloneJson(decoded) as JsonObject,
  })
  return answerObject(environment, exchange, written.created ? 201 : 200, written.object, written.view)
}

async function patch(environment: Environment, exchange: Exchange): Promise<ServerResponse> {
  const { call, request } = exchange
  objectForm(exchange)
  const type = patchTypeOf(request)
  const options = patchOptions(call.query, call.userAgent, type === 'application/apply-patch+yaml')
  const { body } = request
  const source = body !== undefined && !(body instanceof Uint8Array) ? body : (bodyBytes(request) ?? new Uint8Array())
  const written = await patchObject(environment, call, type, source, options)
  return answerObject(environment, exchange, written.created ? 201 : 200, written.object, written.view)
}

async function remove(environment: Environment, exchange: Exchange): Promise<ServerResponse> {
  const { call } = exchange
  const { form } = objectForm(exchange)
  const deleted = await deleteObject(environment, call, deleteOptions(call.query, deleteBody(exchange)))
  if ('status' in deleted) return answerValue(200, deleted.status as unknown as JsonObject, form)
  return answerObject(environment, exchange, 200, deleted.object)
}

async function removeCollection(environment: Environment, exchange: Exchange): Promise<ServerResponse> {
  const { call, request } = exchange
  const { form, negotiated } = objectForm(exchange)
  const options = listOptions(call.query)
  const selection = selectionOf(call.resource, options.labels, options.fields)
  validateListOptions(options)
  const deletion = deleteOptions(call.query, deleteBody(exchange))
  const { views, metadata } = await deleteCollection(environment, call, options, selection, deletion)
  const { definition, apiVersion } = call.resource
  const transformed = transformList(
    negotiated.transform === undefined ? [] : views.map((view) => view.object),
    metadata,
    negotiated.transform,
    call.resource,
    call.query,
    environment.clock.now(),
  )
  if (transformed !== undefined) return answerValue(200, transformed, form)
  const listForm = { ...form, takesValue: request.takesValue ?? false, monotonic: () => environment.clock.monotonic() }
  return answerList({ kind: definition.listKind, apiVersion }, metadata, views, listForm)
}

/** The options in a DELETE's body, undefined when there is none. */
function deleteBody(exchange: Exchange): JsonValue | undefined {
  const { request, protobuf } = exchange
  const { body } = request
  if (body === undefined) return undefined
  if (!(body instanceof Uint8Array)) return body.json
  if (body.length === 0) return undefined
  const encoding = inputEncoding(request, protobuf === undefined)
  if (encoding === 'protobuf') {
    try {
      return protobuf!.decode(bodyBytes(request)!)
    } catch (error) {
      throw badRequest((error as Error).message)
    }
  }
  return parseText(bodyBytes(request)!, encoding, 'DeleteOptions').value
}

/** The path has a resource and, maybe, a subresource with that verb. @throws StatusError 404, 405 */
function checkRoute(call: ResourceCall, verb: string, request: ServerRequest): void {
  const { definition, version } = call.resource
  const isCollection = call.name === ''
  const isNamespaced = definition.namespaced
  if (call.subresource !== '') {
    const subresource = version.subresources.find(({ name }) => name === call.subresource)
    if (subresource === undefined) throw resourceNotFound()
    if (!subresource.verbs.includes(verb) || request.method === 'HEAD') throw methodNotAllowed()
    return
  }
  if (request.method === 'HEAD' || !isKnownVerb(verb)) throw methodNotAllowed()
  if (isCollection === ['get', 'update', 'patch', 'delete'].includes(verb)) throw methodNotAllowed()
  if (isNamespaced && call.namespace === '' && verb !== 'list')
    throw isCollection ? methodNotAllowed() : resourceNotFound()
  if (!version.verbs.includes(verb)) throw methodNotAllowed()
}

/** In the words of the real server, for resources that can be listed only. */
function unwatchable({ group, plural }: ResourceDefinition): Error {
  const message = `watch is not supported on resources of kind ${JSON.stringify(formatGroupResource({ group, plural }))}`
  return failure(405, 'MethodNotAllowed', message, { ...(group === '' ? {} : { group }), kind: plural })
}

function isKnownVerb(verb: string): boolean {
  return ['get', 'list', 'create', 'update', 'patch', 'delete', 'deletecollection'].includes(verb)
}

/** What the route consumes and produces, before the serializers have their say. @throws StatusError 406, 415 */
function checkRouteTypes({ request, call }: Exchange, verb: Verb): void {
  const { definition } = call.resource
  if (verb === 'patch') {
    const type = patchTypeOf(request)
    const accepted = patchTypes(definition)
    if (!accepted.includes(type)) throw unsupportedPatch(definition, accepted)
  }
  if (definition.crd !== undefined) return
  const accept = acceptOf(request)
  const types = verb === 'list' ? [...objectTypes, ...streamTypes] : objectTypes
  if (accept !== '' && !isAcceptableRoute(accept, types)) throw routeNotAcceptable(types)
}

function unsupportedPatch(definition: ResourceDefinition, accepted: readonly string[]): Error {
  if (definition.crd === undefined) return failure(415, 'UnsupportedMediaType', '415: Unsupported Media Type', {})
  const message = `the body of the request was in an unknown format - accepted media types include: ${accepted.join(', ')}`
  return failure(415, 'UnsupportedMediaType', message)
}

function withoutEmptyContinue(metadata: JsonObject): JsonObject {
  if (metadata['continue'] !== '') return metadata
  const { continue: _empty, ...rest } = metadata
  return rest
}
