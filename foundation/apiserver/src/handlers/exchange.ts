// One request to a resource with what negotiation needs, and the answers that carry one object.
import { notAcceptable } from '@fairlead/kube'
import type { JsonObject, KubeObject } from '@fairlead/kube'
import type { ServerRequest, ServerResponse } from '../http/message.ts'
import type { ProtobufDecoder } from '../request/body-decoder.ts'
import type { Negotiated } from '../http/media-type.ts'
import { negotiateObject, objectTypes, parseMediaType, protobufType } from '../http/media-type.ts'
import { answerValue, answerView } from '../response/response.ts'
import type { AnswerForm, ProtobufEncoder } from '../response/response.ts'
import { allowsTransform, transformObject } from '../views/transforms.ts'
import type { View } from '../views/views.ts'
import type { Environment, ResourceCall } from './server-dependencies.ts'

/** What turns bytes of protobuf into JSON and back; left out, nothing is protobuf. */
export interface ProtobufCodec {
  readonly decode: ProtobufDecoder
  readonly encode: ProtobufEncoder
  /** One frame of a watch. */
  encodeEvent(type: string, object: JsonObject): Uint8Array
}

/** A request together with what negotiation needs. */
export interface Exchange {
  readonly request: ServerRequest
  readonly call: ResourceCall
  readonly protobuf: ProtobufCodec | undefined
  readonly pretty: boolean
}

/** The forms in which one object can be answered. @throws StatusError 406 */
export function objectForm(exchange: Exchange): { readonly form: AnswerForm; readonly negotiated: Negotiated } {
  const { definition } = exchange.call.resource
  const isCustom = definition.crd !== undefined || exchange.protobuf === undefined
  const negotiated = negotiateObject(
    acceptOf(exchange.request),
    (transform, encoding) =>
      allowsTransform(transform, encoding) && (transform.kind !== 'Table' || hasTable(exchange.call)),
  )
  if (negotiated === undefined || (isCustom && negotiated.encoding === 'protobuf')) {
    const fallback = isCustom ? withoutProtobuf(acceptOf(exchange.request)) : undefined
    if (fallback === undefined)
      throw notAcceptable(`only the following media types are accepted: ${typesOf(isCustom).join(', ')}`)
    return { negotiated: fallback, form: formOf(exchange, fallback) }
  }
  return { negotiated, form: formOf(exchange, negotiated) }
}

/** What can be created and not read (reviews, tokens, evictions) has no table. */
function hasTable({ resource: { version }, subresource }: ResourceCall): boolean {
  const served = subresource === '' ? version : version.subresources.find(({ name }) => name === subresource)
  return served?.verbs.includes('get') === true
}

/** An answer with one object, transformed as asked. */
export function answerObject(
  environment: Environment,
  exchange: Exchange,
  status: number,
  object: KubeObject,
  view?: View,
): ServerResponse {
  const { form, negotiated } = objectForm(exchange)
  if (negotiated.transform === undefined && view !== undefined) return answerView(status, view, form)
  const shown = transformObject(
    object,
    negotiated.transform,
    exchange.call.resource,
    exchange.call.query,
    environment.clock.now(),
  )
  return answerValue(status, shown, form)
}

/** The media type of a patch. */
export function patchTypeOf(request: ServerRequest): string {
  const header = request.headers['content-type']
  return parseMediaType(typeof header === 'string' ? header : '')?.type ?? ''
}

/** The Accept header, '' when there is none. */
export function acceptOf(request: ServerRequest): string {
  const { accept } = request.headers
  return typeof accept === 'string' ? accept : ''
}

function formOf({ pretty, protobuf }: Exchange, { encoding }: Negotiated): AnswerForm {
  return { encoding, pretty, encodeProtobuf: protobuf?.encode }
}

function typesOf(isCustom: boolean): readonly string[] {
  return isCustom ? objectTypes.filter((type) => type !== protobufType) : objectTypes
}

/** Custom resources have no protobuf form: the next type that the client accepts is taken. */
function withoutProtobuf(accept: string): Negotiated | undefined {
  const rest = jsonOnly(accept)
  return rest === '' ? undefined : negotiateObject(rest, allowsTransform)
}

/** An Accept header without its clauses for protobuf. */
export function jsonOnly(accept: string): string {
  return accept
    .split(',')
    .filter((clause) => parseMediaType(clause)?.type !== protobufType)
    .join(',')
}
