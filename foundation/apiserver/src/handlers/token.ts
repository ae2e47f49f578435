// `serviceaccounts/token`: POST of a TokenRequest issues a token.
import { asJson, asObject } from '@fairlead/kube'
import { answerTokenRequest, defaultTokenRequest } from '../auth/token-request.ts'
import type { ServiceAccountTokens } from '../auth/service-account-tokens.ts'
import { messageOfKind, typedForm } from '@fairlead/builtin-kinds'
import type { ExpectedKind } from '../request/body-decoder.ts'
import { answerValue } from '../response/response.ts'
import { writeOptions } from '../request/write-options.ts'
import type { SubresourceEndpoint } from './resource-handlers.ts'
import { objectForm } from './exchange.ts'
import { readPosted, withManagedFields } from './posted-object.ts'

const apiVersion = 'authentication.k8s.io/v1'
const kind = 'TokenRequest'

/** Returns the handler of `serviceaccounts/token`. */
export function tokenHandler(tokens: ServiceAccountTokens): SubresourceEndpoint {
  return async (environment, exchange) => {
    const { namespace, name, query, userAgent } = exchange.call
    const { form } = objectForm(exchange)
    const options = writeOptions('CreateOptions', query, userAgent)
    const object = defaultTokenRequest(asObject(readPosted(environment, exchange, tokenRequestKind, options)))
    const { store, clock } = environment
    const context = { namespace, name, tokens, store, now: clock.now() }
    const answer = await answerTokenRequest(withManagedFields(environment, object, options, 'token'), context)
    return answerValue(201, asJson(answer), form)
  }
}

const message = messageOfKind(apiVersion, kind)

const tokenRequestKind: ExpectedKind = {
  apiVersion,
  kind,
  isCustom: false,
  decode: (body) => (message === undefined ? { object: body, unknownFields: [] } : typedForm(message, body)),
}
