// Access and authentication reviews: the response of a POST is the object with its status, and nothing is stored.
import { asJson, asObject } from '@fairlead/kube'
import type { KubeObject } from '@fairlead/kube'
import { accessReviews } from '../auth/access-reviews.ts'
import { reviewSelf, reviewToken } from '../auth/authentication-reviews.ts'
import type { ServiceAccountTokens } from '../auth/service-account-tokens.ts'
import type { Authorizer } from '../identity/authorizer.ts'
import type { Authenticator } from '../identity/credentials.ts'
import { kindOfResource } from '../request/body-decoder.ts'
import { valueResponse } from '../response/response.ts'
import { writeOptions } from '../request/write-options.ts'
import { setNamespace } from './update.ts'
import { readObject, withManagedFields } from './request-object.ts'
import type { RequestScope } from './request-scope.ts'
import type { ServerDependencies } from './server-dependencies.ts'
import type { ResourceHandler, ResourceHandlers } from './resource-handlers.ts'

/** The parts of the server that decide reviews. */
export interface ReviewDependencies {
  readonly authorizer: Authorizer
  readonly authenticators: readonly Authenticator[]
  readonly tokens: ServiceAccountTokens
}

type Reviewer = (
  object: KubeObject,
  scope: RequestScope,
  server: ServerDependencies,
) => KubeObject | Promise<KubeObject>

/** Returns the handlers of reviews by group resource: `subjectaccessreviews.authorization.k8s.io` and the others. */
export function reviewHandlers({ authorizer, authenticators, tokens }: ReviewDependencies): ResourceHandlers {
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

function review(reviewer: Reviewer): ResourceHandler {
  return async (server, scope) => {
    const { form } = scope.output.object(scope.resource, scope.subresource)
    const options = writeOptions('CreateOptions', scope.query, scope.userAgent)
    const object = await readObject(server, scope, kindOfResource(scope.resource), options.fieldValidation)
    setNamespace(scope, object)
    const reviewed = await reviewer(withManagedFields(server, asObject(object), options), scope, server)
    return valueResponse(201, asJson(reviewed), form)
  }
}
