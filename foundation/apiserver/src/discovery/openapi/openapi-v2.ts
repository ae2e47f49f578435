// The route of /openapi/v2: one document with all groups, as JSON. Its gnostic protobuf form has the frame only: older
// kubectl and Helm request it, and do not validate kinds that it lacks; the server validates fields itself.
import { createHash } from 'node:crypto'
import { BinaryWriter } from '@bufbuild/protobuf/wire'
import { methodNotAllowed } from '@fairlead/kube'
import type { Route } from '../../http/route.ts'
import type { RegistryReader } from '../../registry/registry.ts'
import { isAcceptableRoute, jsonType, parseAccept } from '../../http/media-type.ts'
import { uncached } from '../../response/response.ts'
import { openApiDocument } from './document.ts'
import { GroupDocuments } from './group-documents.ts'
import { swaggerPart, swaggerText } from './swagger.ts'
import type { SwaggerPart } from './swagger.ts'
import { originRules } from '../../objects/origin-rules.ts'

const info = { title: 'Kubernetes', version: 'v1.35.4' }

/** Media types of the protobuf form: those in Accept headers and the one in responses. */
const protobufTypes = [
  'application/com.github.proto-openapi.spec.v2@v1.0+protobuf',
  'application/com.github.proto-openapi.spec.v2.v1.0+protobuf',
]

/** Serves the OpenAPI v2 document of all registered resources. */
export function openApiV2Route(registry: RegistryReader): Route {
  const document = new SwaggerText(registry)
  const protobuf = documentMessage()
  return {
    rootPaths: () => ['/openapi/v2'],
    async handle(request, [root, version, ...rest]) {
      if (root !== 'openapi' || version !== 'v2' || rest.length > 0) return undefined
      if (request.method !== 'GET') throw methodNotAllowed()
      const { accept } = request.headers
      const wanted = typeof accept === 'string' ? accept : ''
      if (!isAcceptableRoute(wanted, [jsonType, ...protobufTypes]))
        return {
          status: 406,
          headers: { ...uncached, vary: ['Accept-Encoding', 'Accept'] },
          body: { kind: 'bytes', bytes: new Uint8Array() },
        }
      const headers = { ...uncached, vary: 'Accept' }
      if (protobufTypes.includes(parseAccept(wanted)[0]?.type ?? ''))
        return {
          status: 200,
          headers: { ...headers, 'content-type': protobufTypes[1] ?? jsonType },
          body: { kind: 'bytes', bytes: protobuf },
        }
      const { bytes, etag } = await document.read()
      const known = { ...headers, 'content-type': jsonType, etag }
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

/** The serialized document, built on first use and after changes. */
class SwaggerText {
  readonly #parts: GroupDocuments<SwaggerPart>
  #of: ReadonlyMap<string, SwaggerPart> | undefined
  #text: TaggedText = { bytes: new Uint8Array(), etag: '' }

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
      this.#of = parts
      this.#text = { bytes, etag: `"${createHash('sha512').update(bytes).digest('hex').toUpperCase()}"` }
    }
    return this.#text
  }
}

/** Encodes gnostic's openapi.v2.Document: 1 swagger, 2 info {1 title, 2 version}, 8 paths. */
function documentMessage(): Uint8Array {
  const about = new BinaryWriter().tag(1, 2).string(info.title).tag(2, 2).string(info.version).finish()
  return new BinaryWriter().tag(1, 2).string('2.0').tag(2, 2).bytes(about).tag(8, 2).bytes(new Uint8Array()).finish()
}
