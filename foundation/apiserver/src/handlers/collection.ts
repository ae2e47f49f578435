// GET and DELETE of a collection: lists, watches and the list that a deletion returns.
import { asJson } from '@fairlead/kube'
import type { JsonObject, KubeObject } from '@fairlead/kube'
import type { ServerResponse } from '../http/message.ts'
import { listOptions, validateListOptions } from '../request/list-options.ts'
import type { ListOptions } from '../request/list-options.ts'
import { selectionOf } from '../request/selection.ts'
import type { Selection } from '../request/selection.ts'
import { deleteOptions } from '../request/write-options.ts'
import type { ObjectOutput } from '../response/output-negotiation.ts'
import { listResponse, transformedListResponse } from '../response/list-response.ts'
import { uncached } from '../response/response.ts'
import { transformList } from '../views/transforms.ts'
import { deleteCollection } from './delete-collection.ts'
import { listObjects } from './list.ts'
import type { ObjectList } from './list.ts'
import { readDeleteOptions } from './request-object.ts'
import type { RequestScope } from './request-scope.ts'
import { unsupportedVerb } from './resource-route.ts'
import type { ServerDependencies } from './server-dependencies.ts'
import { encodeJsonEvent } from './watch-event.ts'
import { openWatch } from './watch.ts'

/** Handles lists and watches. @throws StatusError */
export async function handleList(server: ServerDependencies, scope: RequestScope): Promise<ServerResponse> {
  const { resource, subresource, output, query } = scope
  const isWatch = scope.verb === 'watch'
  const options = listOptions(query, isWatch)
  const selection = selectionOf(resource, options.labels, options.fields)
  const defaulted = isWatch ? watchDefaults(options) : options
  validateListOptions(defaulted)
  const negotiation = output.object(resource, subresource)
  if (isWatch) return handleWatch(server, scope, defaulted, selection)
  return respond(server, scope, negotiation, await listObjects(server, scope, options, selection))
}

/** Handles DELETE of a collection; the response is the list before the deletion. @throws StatusError */
export async function handleDeleteCollection(server: ServerDependencies, scope: RequestScope): Promise<ServerResponse> {
  const { resource, subresource, output, query } = scope
  const negotiation = output.object(resource, subresource)
  const options = listOptions(query, false)
  const selection = selectionOf(resource, options.labels, options.fields)
  validateListOptions(options)
  const deletion = deleteOptions(query, readDeleteOptions(server, scope))
  const list = await deleteCollection(server, scope, options, selection, deletion)
  return respond(server, scope, negotiation, list)
}

/** Returns a list in the form of the client. */
async function respond(
  { clock }: ServerDependencies,
  { resource, query, output, signal }: RequestScope,
  { form, negotiated }: ObjectOutput,
  { views, metadata }: ObjectList,
): Promise<ServerResponse> {
  const listForm = { ...form, takesValue: output.takesValue, signal }
  const transformed = transformList(withoutEmptyContinue(metadata), negotiated.transform, resource, query, clock.now())
  if (transformed !== undefined) return transformedListResponse(transformed, views, listForm)
  const { definition, apiVersion } = resource
  return listResponse({ kind: definition.listKind, apiVersion }, metadata, views, listForm)
}

/** A watch without a particular revision begins with the current objects and a bookmark at their end. */
function watchDefaults(options: ListOptions): ListOptions {
  const { resourceVersion, resourceVersionMatch, sendInitialEvents } = options
  const isPlain = sendInitialEvents === undefined && resourceVersionMatch === ''
  if (!isPlain || (resourceVersion !== '' && resourceVersion !== '0')) return options
  return { ...options, sendInitialEvents: true, resourceVersionMatch: 'NotOlderThan' }
}

async function handleWatch(
  server: ServerDependencies,
  scope: RequestScope,
  options: ListOptions,
  selection: Selection,
): Promise<ServerResponse> {
  const { resource, output } = scope
  if (!resource.version.verbs.includes('watch')) throw unsupportedVerb(scope, 'watch')
  const negotiated = output.stream(resource)
  const events = await openWatch(server, scope, options, selection, negotiated.transform)
  const { protobuf } = server
  const encode =
    negotiated.encoding === 'protobuf'
      ? (event: { type: string; object: KubeObject }) => protobuf!.encodeEvent(event.type, asJson(event.object))
      : encodeJsonEvent
  return {
    status: 200,
    headers: { ...uncached, 'content-type': negotiated.contentType },
    body: { kind: 'watch', events, encode },
  }
}

function withoutEmptyContinue(metadata: JsonObject): JsonObject {
  if (metadata['continue'] !== '') return metadata
  const { continue: _empty, ...rest } = metadata
  return rest
}
