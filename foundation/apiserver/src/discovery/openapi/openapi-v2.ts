// The route of /openapi/v2: one document with all groups, as JSON, and in gnostic's protobuf, which client-go requests.
import { createHash } from 'node:crypto'
import { parseJson } from '@fairlead/kube'
import type { JsonObject } from '@fairlead/kube'
import type { Route } from '../../http/route.ts'
import type { RegistryReader } from '../../registry/registry.ts'
import { isAcceptableRoute, jsonType, parseAccept } from '../../http/media-type.ts'
import { uncached } from '../../response/response.ts'
import { openApiDocument } from './document.ts'
import { GroupDocuments } from './group-documents.ts'
import { documentMessage } from './openapi-v2-message.ts'
import { swaggerPart, swaggerText } from './swagger.ts'
import type { SwaggerPart } from './swagger.ts'
import { originRules } from '../../objects/origin-rules.ts'

/** Media types of the protobuf form: those in Accept headers and the one in responses. */
const protobufTypes = [
  'application/com.github.proto-openapi.spec.v2@v1.0+protobuf',
  'application/com.github.proto-openapi.spec.v2.v1.0+protobuf',
]

/** Serves the OpenAPI v2 document of all registered resources. */
export function openApiV2Route(registry: RegistryReader): Route {
  const document = new SwaggerText(registry)
  return {
    rootPaths: () => ['/openapi/v2'],
    async handle(request, [root, version, ...rest]) {
      if (root !== 'openapi' || version !== 'v2' || rest.length > 0) return undefined
      const { accept } = request.headers
      const wanted = typeof accept === 'string' ? accept : ''
      if (!isAcceptableRoute(wanted, [jsonType, ...protobufTypes]))
        return {
          status: 406,
          headers: { ...uncached, vary: ['Accept-Encoding', 'Accept'] },
          body: { kind: 'bytes', bytes: new Uint8Array() },
        }
      const isProtobuf = protobufTypes.includes(parseAccept(wanted)[0]?.type ?? '')
      const { bytes, etag } = await (isProtobuf ? document.readProtobuf() : document.read())
      const type = isProtobuf ? (protobufTypes[1] ?? jsonType) : jsonType
      const known = { ...uncached, vary: ['Accept-Encoding', 'Accept'], 'content-type': type, etag }
      if (request.headers['if-none-match'] === etag)
        return { status: 304, headers: known, body: { kind: 'bytes', bytes: new Uint8Array() } }
      return { status: 200, headers: known, body: { kind: 'bytes', bytes } }
    },
  }
}

interface TaggedText {
  readonly bytes: Uint8Array
  readonly etag: string
}

const empty: TaggedText = { bytes: new Uint8Array(), etag: '' }

/** The serialized document, built on first use and after changes. */
class SwaggerText {
  readonly #parts: GroupDocuments<SwaggerPart>
  #of: ReadonlyMap<string, SwaggerPart> | undefined
  #text = empty
  #message: { readonly of: TaggedText; readonly text: TaggedText } = { of: empty, text: empty }

  constructor(registry: RegistryReader) {
    this.#parts = new GroupDocuments(registry, (group, version, groups) => {
      const isUnstructured = version.resources.every(({ definition }) => originRules(definition).isUnstructured)
      return swaggerPart(openApiDocument(group, version, groups), isUnstructured)
    })
  }

  async read(): Promise<TaggedText> {
    const parts = await this.#parts.all()
    if (parts !== this.#of) {
      const bytes = new TextEncoder().encode(swaggerText(parts.values()))
      this.#text = { bytes, etag: `"${createHash('sha512').update(bytes).digest('hex').toUpperCase()}"` }
      this.#of = parts
    }
    return this.#text
  }

  async readProtobuf(): Promise<TaggedText> {
    const of = await this.read()
    if (of !== this.#message.of)
      // The entity tag may be the same: responses vary with Accept.
      this.#message = { of, text: { bytes: documentMessage(parseJson(of.bytes) as JsonObject), etag: of.etag } }
    return this.#message.text
  }
}
