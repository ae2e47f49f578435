// The documents for verifying tokens of this server elsewhere: the issuer's OpenID configuration and its keys. RBAC
// decides who may read them.
import { methodNotAllowed } from '@fairlead/kube'
import type { JsonObject } from '@fairlead/kube'
import type { Route } from '../http/route.ts'
import { isAcceptableRoute, routeNotAcceptable } from '../http/media-type.ts'
import type { ServerResponse } from '../http/message.ts'
import type { ServiceAccountTokens } from './service-account-tokens.ts'

/** Serves `/.well-known/openid-configuration` and `/openid/v1/jwks`. */
export function issuerRoute(tokens: ServiceAccountTokens): Route {
  return {
    rootPaths: () => Object.keys(documents).map((path) => `/${path}`),
    handle: ({ method, headers }, path) => {
      const name = path.join('/')
      const document = Object.hasOwn(documents, name) ? documents[name] : undefined
      if (document === undefined) return undefined
      if (method !== 'GET') throw methodNotAllowed()
      const answer = document(tokens)
      const { accept } = headers
      const type = String(answer.headers['content-type'])
      if (typeof accept === 'string' && !isAcceptableRoute(accept, [type])) throw routeNotAcceptable([type])
      return answer
    },
  }
}

const documents: Readonly<Record<string, (tokens: ServiceAccountTokens) => ServerResponse>> = {
  '.well-known/openid-configuration': (tokens) => publicDocument(tokens.discoveryDocument(), 'application/json'),
  'openid/v1/jwks': (tokens) => publicDocument(tokens.keySet(), 'application/jwk-set+json'),
}

/** Returns a document that may be cached for an hour, like the real server's. */
function publicDocument(value: JsonObject, contentType: string): ServerResponse {
  return {
    status: 200,
    headers: { 'content-type': contentType, 'cache-control': 'public, max-age=3600' },
    body: { kind: 'json', value },
  }
}
