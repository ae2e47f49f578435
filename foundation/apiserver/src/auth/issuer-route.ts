// What others need to check tokens of this server: the issuer's OpenID configuration and its keys. RBAC decides who may read them.
import { methodNotAllowed } from '@fairlead/kube'
import type { JsonObject } from '@fairlead/kube'
import type { Route } from '../handler.ts'
import type { ServerResponse } from '../http/message.ts'
import type { ServiceAccountTokens } from './service-account-tokens.ts'

/** Serves `/.well-known/openid-configuration` and `/openid/v1/jwks`. */
export function issuerRoute(tokens: ServiceAccountTokens): Route {
  return {
    handle: async ({ method }, path) => {
      const document = documents[path.join('/')]
      if (document === undefined) return undefined
      if (method !== 'GET') throw methodNotAllowed()
      return document(tokens)
    },
  }
}

const documents: Readonly<Record<string, (tokens: ServiceAccountTokens) => ServerResponse | Promise<ServerResponse>>> =
  {
    '.well-known/openid-configuration': (tokens) => publicDocument(tokens.discoveryDocument(), 'application/json'),
    'openid/v1/jwks': async (tokens) => publicDocument(await tokens.keySet(), 'application/jwk-set+json'),
  }

/** Cacheable for an hour, as the real server has it. */
function publicDocument(value: JsonObject, contentType: string): ServerResponse {
  return {
    status: 200,
    headers: { 'content-type': contentType, 'cache-control': 'public, max-age=3600' },
    body: { kind: 'json', value },
  }
}
