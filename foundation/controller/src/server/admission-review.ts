// Validating admission webhooks: an AdmissionReview in, the validators' decision out.
import { StatusError, badRequest, invalid } from '@fairlead/kube'
import type { JsonObject, JsonValue, KubeObject } from '@fairlead/kube'
import { accessRequiredBy, accessToKind, missingAccess } from '../required-access.ts'
import type { ResourceAccess } from '../access/access-reviews.ts'
import type { Validator } from '../validator.ts'

interface AdmissionRequest {
  readonly uid: string
  readonly kind: { readonly group: string; readonly kind: string }
  readonly resource: { readonly group: string; readonly resource: string }
  readonly subResource?: string
  readonly name?: string
  readonly object?: KubeObject | null
  readonly oldObject?: KubeObject | null
  readonly userInfo?: ReviewedUser
}

/** `userInfo` of an AdmissionReview. */
export interface ReviewedUser {
  readonly username?: string
  readonly uid?: string
  readonly groups?: readonly string[]
  readonly extra?: Readonly<Record<string, readonly string[]>>
}

/** Returns whether a user has access. Throws when that cannot be decided. */
export type AccessCheck = (user: ReviewedUser, access: ResourceAccess) => Promise<boolean>

/** The API server, as far as a review needs it. */
export interface ReviewPort {
  readonly check: AccessCheck
  /** Returns the plural of a kind, undefined when it is not served. Throws when that cannot be decided. */
  pluralOf(kind: { readonly group: string; readonly kind: string }): Promise<string | undefined>
}

/**
 * Returns the response to an `admission.k8s.io/v1 AdmissionReview`: the same 422 and 403 that the validators give
 * inside the embedded server. Status writes are not validated, and deletions are always allowed. Throws StatusError 400
 * for a body that is not an AdmissionReview, and the error of `port`.
 */
export async function reviewAdmission(
  body: JsonValue,
  validators: readonly Validator[],
  port: ReviewPort,
): Promise<JsonObject> {
  const request = requestOf(body)
  return {
    apiVersion: 'admission.k8s.io/v1',
    kind: 'AdmissionReview',
    response: { uid: request.uid, ...(await verdictOn(request, validators, port)) },
  }
}

async function verdictOn(
  request: AdmissionRequest,
  validators: readonly Validator[],
  port: ReviewPort,
): Promise<JsonObject> {
  const { object, resource, kind, userInfo: user = {} } = request
  if (!object) return { allowed: true }
  const old = request.oldObject ?? undefined
  const name = object.metadata.name ?? request.name ?? ''
  const username = user.username ?? ''
  const definition = { group: resource.group, plural: resource.resource }
  try {
    const errors = validators
      .filter(({ group, resources }) => group === resource.group && resources.includes(resource.resource))
      .flatMap((validator) => (request.subResource === 'status' ? [] : validator.validate(object, old)))
    if (errors.length > 0) throw invalid(kind, name, errors)
    for (const required of accessRequiredBy(validators, definition, username, { object, old })) {
      const access = 'kind' in required ? accessToKind(required, await port.pluralOf(required)) : required
      if (!(await port.check(user, access))) throw missingAccess(definition, name, username, access)
    }
    return { allowed: true }
  } catch (error) {
    if (!(error instanceof StatusError)) throw error
    return { allowed: false, status: error.status as unknown as JsonObject }
  }
}

function requestOf(body: JsonValue): AdmissionRequest {
  const review = body as { apiVersion?: string; kind?: string; request?: AdmissionRequest } | null
  if (review?.kind !== 'AdmissionReview' || review.apiVersion !== 'admission.k8s.io/v1')
    throw badRequest('expected an AdmissionReview of admission.k8s.io/v1')
  const { request } = review
  if (typeof request?.uid !== 'string' || request.resource === undefined || request.kind === undefined)
    throw badRequest('the AdmissionReview has no request')
  return request
}
