// Requests for reviews by the API server: TokenReview and SubjectAccessReview.
import type { Client } from '@fairlead/client'
import { asJson } from '@fairlead/kube'
import type { JsonObject, JsonValue } from '@fairlead/kube'

const paths = {
  TokenReview: '/apis/authentication.k8s.io/v1/tokenreviews',
  SubjectAccessReview: '/apis/authorization.k8s.io/v1/subjectaccessreviews',
}

/**
 * Creates a review and returns its status. Throws an Error when the request fails: that is the manager's error, not
 * the caller's, as its account may lack the right to create reviews.
 */
export async function requestReview(client: Client, kind: keyof typeof paths, spec: JsonObject): Promise<JsonObject> {
  const path = paths[kind]
  const apiVersion = path.split('/').slice(2, 4).join('/')
  const body = { apiVersion, kind, spec }
  const answer: JsonValue = await client.send({ method: 'POST', path, body }).catch((cause: unknown) => {
    throw new Error(`The ${kind} of a caller failed: ${(cause as Error).message}`, { cause })
  })
  return (asJson(answer as object).status ?? {}) as JsonObject
}
