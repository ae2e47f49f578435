// `serviceaccounts/token`: POST of a TokenRequest issues a token.
import { asJson, asObject } from '@fairlead/kube'
import { answerTokenRequest, defaultTokenRequest } from '../auth/token-request.ts'
import type { ServiceAccountTokens } from '../auth/service-account-tokens.ts'
import { valueResponse } from '../response/response.ts'
import { writeOptions } from '../request/write-options.ts'
import { builtinKind, readObject, withManagedFields } from './request-object.ts'
import type { ResourceHandler } from './resource-handlers.ts'

/** Returns the handler of `serviceaccounts/token`. */
export function tokenHandler(tokens: ServiceAccountTokens): ResourceHandler {
  return async (server, scope) => {
    const { namespace, name, query, userAgent } = scope
    const { form } = scope.output.object(scope.resource, scope.subresource)
    const options = writeOptions('CreateOptions', query, userAgent)
    const object = defaultTokenRequest(
      asObject(await readObject(server, scope, tokenRequestKind, options.fieldValidation)),
    )
    const { store, clock } = server
    const context = { namespace, name, tokens, store, now: clock.now() }
    const issued = await answerTokenRequest(withManagedFields(server, object, options, 'token'), context)
    return valueResponse(201, asJson(issued), form)
  }
}

const tokenRequestKind = builtinKind('authentication.k8s.io/v1', 'TokenRequest')
