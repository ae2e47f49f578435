// Access and authentication reviews: a POST answers with the filled-in status, and nothing is stored.
import { asJson, asObject } from '@fairlead/kube'
import type { KubeObject } from '@fairlead/kube'
import { accessReviews } from '../auth/access-reviews.ts'
import { reviewSelf, reviewToken } from '../auth/authentication-reviews.ts'
import type { ServiceAccountTokens } from '../auth/service-account-tokens.ts'
import type { Authorizer } from '../identity/authorizer.ts'
import type { Authenticator } from '../identity/credentials.ts'
import { kindOfResource } from '../request/body-decoder.ts'
import { answerValue } from '../response/response.ts'
import { writeOptions } from '../request/write-options.ts'
import type { SubresourceEndpoint, SubresourceEndpoints } from './resource-handlers.ts'
import type { Environment, ResourceCall } from './server-dependencies.ts'
import { objectForm } from './exchange.ts'
import { setNamespace } from './update.ts'
import { readPosted, withManagedFields } from './posted-object.ts'

/** The parts of the server that decide reviews. */
export interface ReviewDependencies {
  readonly authorizer: Authorizer
  readonly authenticators: readonly Authenticator[]
  readonly tokens: ServiceAccountTokens
}

type Reviewer = (object: KubeObject, call: ResourceCall, environment: Environment) => KubeObject | Promise<KubeObject>

/** Returns the handlers of reviews by group resource: `subjectaccessreviews.authorization.k8s.io` and the others. */
export function reviewHandlers({ authorizer, authenticators, tokens }: ReviewDependencies): SubresourceEndpoints {
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
  }
}

function review(reviewer: Reviewer): SubresourceEndpoint {
  return async (environment, exchange) => {
    const { call } = exchange
    const { form } = objectForm(exchange)
    const options = writeOptions('CreateOptions', call.query, call.userAgent)
    const object = readPosted(environment, exchange, kindOfResource(call.resource), options)
    setNamespace(call, object)
    const answer = await reviewer(withManagedFields(environment, asObject(object), options), call, environment)
    return answerValue(201, asJson(answer), form)
  }
}
