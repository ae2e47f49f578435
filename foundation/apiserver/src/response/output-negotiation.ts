// Negotiation of a response's representation: its Accept header is parsed once, and the form of an object negotiated at
// most once, when the first handler needs it. The order of errors depends on that moment, hence not before.
import { notAcceptable } from '@fairlead/kube'
import type { ServerRequest } from '../http/message.ts'
import {
  Accept,
  isAcceptableRoute,
  mayStream,
  negotiateObject,
  negotiateStream,
  objectTypes,
  protobufType,
  routeNotAcceptable,
  streamTypes,
} from '../http/media-type.ts'
import type { Negotiated } from '../http/media-type.ts'
import type { ServedResource } from '../registry/registry.ts'
import { booleanParameter } from '../request/query.ts'
import { allowsTransform } from '../views/transforms.ts'
import type { ProtobufEncoder } from '../protobuf/protobuf-encoder.ts'
import type { ResponseForm } from './response.ts'
import { originRules } from '../objects/origin-rules.ts'

/** The form of a response that carries one object or a list. */
export interface ObjectOutput {
  readonly form: ResponseForm
  readonly negotiated: Negotiated
}

/** Negotiates the representation of one response. */
export class OutputNegotiation {
  readonly #accept: Accept
  readonly #request: Pick<ServerRequest, 'headers' | 'query' | 'takesValue'>
  readonly #encodeProtobuf: ProtobufEncoder | undefined
  #object: ObjectOutput | undefined

  /** `encodeProtobuf` is undefined in a server without protobuf. */
  constructor(
    request: Pick<ServerRequest, 'headers' | 'query' | 'takesValue'>,
    encodeProtobuf: ProtobufEncoder | undefined,
  ) {
    const { accept } = request.headers
    this.#accept = new Accept(typeof accept === 'string' ? accept : '')
    this.#request = request
    this.#encodeProtobuf = encodeProtobuf
  }

  /** The client shares this process and takes the value of a response without its bytes. */
  get takesValue(): boolean {
    return this.#request.takesValue ?? false
  }

  /**
   * Returns the form in which an object, or a list, of the resource is sent. Negotiated on the first call.
   * @throws StatusError 406
   */
  object(resource: ServedResource, subresource: string): ObjectOutput {
    return (this.#object ??= this.#negotiateObject(resource, subresource))
  }

  /** Returns the form of a watch. @throws StatusError 406 */
  stream({ definition }: ServedResource): Negotiated {
    const lacksProtobuf = originRules(definition).isUnstructured || this.#encodeProtobuf === undefined
    const negotiated = negotiateStream(
      this.#accept,
      (transform, encoding) => allowsTransform(transform, encoding) && !(lacksProtobuf && encoding === 'protobuf'),
    )
    const usable =
      negotiated?.encoding === 'protobuf' && lacksProtobuf
        ? negotiateStream(this.#accept.without(protobufType), allowsTransform)
        : negotiated
    if (usable !== undefined) return usable
    // The message names protobuf for custom resources, too.
    const types = this.#encodeProtobuf === undefined ? streamTypes.slice(0, 1) : streamTypes
    throw notAcceptable(`only the following media types are accepted: ${types.join(', ')}`)
  }

  /**
   * Checks the media types that the route of a typed resource produces, before its serializers negotiate.
   * @throws StatusError 406
   */
  checkRoute(isList: boolean): void {
    const { header } = this.#accept
    if (header === '') return
    const types = isList ? [...objectTypes, ...streamTypes] : objectTypes
    if (!isAcceptableRoute(header, types)) throw routeNotAcceptable(types)
  }

  /** Returns the form of an error: the first media type that fits, JSON without one. */
  get error(): ResponseForm {
    for (const { type, parameters } of this.#accept.clauses) {
      if (parameters['as'] !== undefined || !mayStream(type, parameters)) continue
      if (type === 'application/json' || type === '*/*' || type === 'application/*') break
      if (type === 'application/yaml') return { encoding: 'yaml', pretty: false, encodeProtobuf: undefined }
      if (type === protobufType && this.#encodeProtobuf !== undefined) {
        return { encoding: 'protobuf', pretty: false, encodeProtobuf: this.#encodeProtobuf }
      }
    }
    return { encoding: 'json', pretty: this.#isPretty, encodeProtobuf: undefined }
  }

  #negotiateObject(resource: ServedResource, subresource: string): ObjectOutput {
    const lacksProtobuf = originRules(resource.definition).isUnstructured || this.#encodeProtobuf === undefined
    const negotiated = negotiateObject(
      this.#accept,
      (transform, encoding) =>
        allowsTransform(transform, encoding) && (transform.kind !== 'Table' || hasTable(resource, subresource)),
    )
    if (negotiated !== undefined && !(lacksProtobuf && negotiated.encoding === 'protobuf'))
      return this.#output(negotiated)
    // Custom resources have no protobuf form: the next accepted media type is used.
    const others = lacksProtobuf ? this.#accept.without(protobufType) : undefined
    const fallback = others === undefined || others.isAbsent ? undefined : negotiateObject(others, allowsTransform)
    if (fallback !== undefined) return this.#output(fallback)
    const types = this.#encodeProtobuf === undefined ? objectTypes.filter((type) => type !== protobufType) : objectTypes
    throw notAcceptable(`only the following media types are accepted: ${types.join(', ')}`)
  }

  #output(negotiated: Negotiated): ObjectOutput {
    const form = { encoding: negotiated.encoding, pretty: this.#isPretty, encodeProtobuf: this.#encodeProtobuf }
    return { form, negotiated }
  }

  /** The `pretty` parameter, or a client whose responses people read. */
  get #isPretty(): boolean {
    const { query, headers } = this.#request
    const requested = booleanParameter(query, 'pretty')
    if (requested !== undefined) return requested
    const agent = headers['user-agent']
    return typeof agent === 'string' && /^(curl|Wget|Mozilla)\//.test(agent)
  }
}

/** Returns false for what can be created and not read (reviews, tokens, evictions): it has no table. */
function hasTable({ version }: ServedResource, subresource: string): boolean {
  const served = subresource === '' ? version : version.subresources.find(({ name }) => name === subresource)
  return served?.verbs.includes('get') === true
}
