// Validating admission webhooks: an AdmissionReview in, the validators' decision out. Pure.
import { StatusError, badRequest, invalid } from '@fairlead/kube'
import type { JsonObject, JsonValue, KubeObject } from '@fairlead/kube'
import type { Validator } from '../validator.ts'

interface AdmissionRequest {
  readonly uid: string
  readonly kind: { readonly group: string; readonly kind: string }
  readonly resource: { readonly group: string; readonly resource: string }
  readonly subResource?: string
  readonly name?: string
  readonly object?: KubeObject | null
  readonly oldObject?: KubeObject | null
}

/**
 * Returns the response to an `admission.k8s.io/v1 AdmissionReview`: the same 422 that the validators give inside the
 * embedded server. Status writes and deletions are always allowed. Throws StatusError 400 for a body that is not an
 * AdmissionReview.
 */
export function reviewAdmission(body: JsonValue, validators: readonly Validator[]): JsonObject {
  const request = requestOf(body)
  return {
    apiVersion: 'admission.k8s.io/v1',
    kind: 'AdmissionReview',
    response: { uid: request.uid, ...verdictOn(request, validators) },
  }
}

function verdictOn(request: AdmissionRequest, validators: readonly Validator[]): JsonObject {
  const { object, oldObject, resource, kind } = request
  if (!object || request.subResource === 'status') return { allowed: true }
  try {
    const errors = validators
      .filter(({ group, resources }) => group === resource.group && resources.includes(resource.resource))
      .flatMap((validator) => validator.validate(object, oldObject ?? undefined))
    if (errors.length === 0) return { allowed: true }
    const refused = invalid(kind, object.metadata.name ?? request.name ?? '', errors)
    return { allowed: false, status: refused.status as unknown as JsonObject }
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
