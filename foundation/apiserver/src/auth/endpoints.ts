// The endpoints behind questions and tokens: POSTs that are answered and never stored. Keys are those of the server's table of endpoints.
import { asJson, asObject, isJsonObject, trackUpdate } from '@fairlead/kube'
import type { JsonObject, KubeObject } from '@fairlead/kube'
import { builtinSchema, typedForm } from '../builtin/index.ts'
import type { SubresourceEndpoint, SubresourceEndpoints } from '../handlers/connect.ts'
import { timestamp } from '../handlers/environment.ts'
import type { Environment, ResourceCall } from '../handlers/environment.ts'
import { setNamespace } from '../handlers/modify.ts'
import type { Exchange } from '../handlers/exchange.ts'
import { objectForm } from '../handlers/exchange.ts'
import { messageOfKind } from '../protobuf/message-type.ts'
import { decodeObject, kindOfResource, parseBody } from '../request/body-decoder.ts'
import type { ExpectedKind } from '../request/body-decoder.ts'
import { answerValue } from '../request/response.ts'
import { writeOptions } from '../request/write-options.ts'
import type { WriteOptions } from '../request/write-options.ts'
import { accessReviews } from './access-reviews.ts'
import { reviewSelf, reviewToken } from './authentication-reviews.ts'
import type { ServiceAccountTokens } from './service-account-tokens.ts'
import { answerTokenRequest, defaultTokenRequest } from './token-request.ts'
import type { Authenticator } from '../identity/credentials.ts'
import type { Authorizer } from '../identity/authorizer.ts'

/** What the endpoints answer from. */
export interface AuthParts {
  readonly authorizer: Authorizer
  readonly authenticators: readonly Authenticator[]
  readonly tokens: ServiceAccountTokens
}

type Reviewer = (object: KubeObject, call: ResourceCall, environment: Environment) => KubeObject | Promise<KubeObject>

const authenticationVersion = 'authentication.k8s.io/v1'

/** `subjectaccessreviews.authorization.k8s.io` and the like, and `serviceaccounts/token`. */
export function authEndpoints(parts: AuthParts): SubresourceEndpoints {
  const { authorizer, authenticators, tokens } = parts
  const access: Reviewer = (object, { user, namespace }) =>
    accessReviews[object.kind]!(object, { user, authorizer, namespace })
  return {
    'selfsubjectaccessreviews.authorization.k8s.io': review(access),
    'subjectaccessreviews.authorization.k8s.io': review(access),
    'localsubjectaccessreviews.authorization.k8s.io': review(access),
    'selfsubjectrulesreviews.authorization.k8s.io': review(access),
    'selfsubjectreviews.authentication.k8s.io': review((object, { user }, { clock }) =>
      reviewSelf(object, user, clock.now()),
    ),
    'tokenreviews.authentication.k8s.io': review((object) =>
      reviewToken(object, { authenticators, tokens, audiences: tokens.audiences }),
    ),
    'serviceaccounts/token': tokenEndpoint(tokens),
  }
}

function review(reviewer: Reviewer): SubresourceEndpoint {
  return async (environment, exchange) => {
    const { call } = exchange
    const { form } = objectForm(exchange)
    const options = writeOptions('CreateOptions', call.query, call.userAgent)
    const object = readBody(environment, exchange, kindOfResource(call.resource), options)
    setNamespace(call, object)
    const answer = await reviewer(withOwner(environment, asObject(object), options), call, environment)
    return answerValue(201, asJson(answer), form)
  }
}

function tokenEndpoint(tokens: ServiceAccountTokens): SubresourceEndpoint {
  return async (environment, exchange) => {
    const { namespace, name, query, userAgent } = exchange.call
    const { form } = objectForm(exchange)
    const options = writeOptions('CreateOptions', query, userAgent)
    const object = defaultTokenRequest(asObject(readBody(environment, exchange, tokenRequestKind, options)))
    const { store, clock } = environment
    const context = { namespace, name, tokens, store, now: clock.now() }
    const answer = await answerTokenRequest(withOwner(environment, object, options, 'token'), context)
    return answerValue(201, asJson(answer), form)
  }
}

const tokenRequestMessage = messageOfKind(authenticationVersion, 'TokenRequest')

const tokenRequestKind: ExpectedKind = {
  apiVersion: authenticationVersion,
  kind: 'TokenRequest',
  isCustom: false,
  decode: (body) =>
    tokenRequestMessage === undefined ? { object: body, unknownFields: [] } : typedForm(tokenRequestMessage, body),
}

/** The body as an object whose metadata may be changed. @throws StatusError 400, 415 */
function readBody(
  environment: Environment,
  { request, call, protobuf }: Exchange,
  expected: ExpectedKind,
  options: WriteOptions,
): JsonObject {
  const parsed = parseBody(request, expected, protobuf?.decode)
  const { object, warnings } = decodeObject(parsed, expected, options.fieldValidation, environment.registry)
  call.warnings.push(...warnings)
  return { ...object, metadata: { ...(isJsonObject(object['metadata']) ? object['metadata'] : {}) } }
}

/** The object with managedFields, as every POST gets them. */
function withOwner(
  environment: Environment,
  object: KubeObject,
  options: WriteOptions,
  subresource: string = '',
): KubeObject {
  return trackUpdate({
    live: undefined,
    updated: object,
    schemaFor: (apiVersion) => builtinSchema(apiVersion, object.kind),
    manager: options.fieldManager,
    subresource,
    now: timestamp(environment.clock.now()),
  })
}
