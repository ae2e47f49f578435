// /openapi/v2, reduced to its frame: kubectl asks for it where v3 does not know a kind (`kind: List`) and gives up without it. Kinds that it does
// not find in there it takes unchecked; the server checks fields itself.
import { BinaryWriter } from '@bufbuild/protobuf/wire'
import { methodNotAllowed, notAcceptable } from '@fairlead/kube'
import type { Route } from '../../handler.ts'
import { isAcceptableRoute, jsonType, parseAccept } from '../../request/media-type.ts'
import { uncached } from '../../request/response.ts'

const info = { title: 'Kubernetes', version: 'v1.35.4' }

/** Names of the protobuf form: what clients ask for, and what they are told. */
const protobufTypes = [
  'application/com.github.proto-openapi.spec.v2@v1.0+protobuf',
  'application/com.github.proto-openapi.spec.v2.v1.0+protobuf',
]

/** Serves the frame of an OpenAPI v2 document, as JSON and as gnostic's protobuf. */
export function openApiV2Route(): Route {
  const json = new TextEncoder().encode(JSON.stringify({ swagger: '2.0', info, paths: {}, definitions: {} }))
  const protobuf = documentMessage()
  return {
    handle(request, [root, version, ...rest]) {
      if (root !== 'openapi' || version !== 'v2' || rest.length > 0) return undefined
      if (request.method !== 'GET') throw methodNotAllowed()
      const { accept } = request.headers
      const wanted = typeof accept === 'string' ? accept : ''
      if (!isAcceptableRoute(wanted, [jsonType, ...protobufTypes]))
        throw notAcceptable(`only the following media types are accepted: ${jsonType}`)
      const isProtobuf = protobufTypes.includes(parseAccept(wanted)[0]?.type ?? '')
      const contentType = isProtobuf ? (protobufTypes[1] ?? jsonType) : jsonType
      return {
        status: 200,
        headers: { ...uncached, 'content-type': contentType, vary: 'Accept' },
        body: { kind: 'bytes', bytes: isProtobuf ? protobuf : json },
      }
    },
  }
}

/** gnostic's openapi.v2.Document: 1 swagger, 2 info {1 title, 2 version}, 8 paths. */
function documentMessage(): Uint8Array {
  const about = new BinaryWriter().tag(1, 2).string(info.title).tag(2, 2).string(info.version).finish()
  return new BinaryWriter().tag(1, 2).string('2.0').tag(2, 2).bytes(about).tag(8, 2).bytes(new Uint8Array()).finish()
}
