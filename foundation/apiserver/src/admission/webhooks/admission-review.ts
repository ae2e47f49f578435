// AdmissionReview (admission.k8s.io/v1 and v1beta1): the request, and the verification of the response.
import { asJson, isJsonObject, StatusError } from '@fairlead/kube'
import { declareMessage, typedForm, TypeMismatch } from '@fairlead/builtin-kinds'
import type { MessageType } from '@fairlead/builtin-kinds'
import type { JsonObject, JsonValue, Status } from '@fairlead/kube'
import type { ServedResource } from '../../registry/registry.ts'
import type { AdmissionAttributes } from '../attributes.ts'
import { WebhookError } from '../../webhooks/webhook-client.ts'
import { describeRequest } from '../attributes.ts'

const group = 'admission.k8s.io'

/** A verified response. */
export interface ReviewResponse {
  readonly allowed: boolean
  readonly status: Partial<Status> | undefined
  /** Base64 of a JSON patch; '' for none. */
  readonly patch: string
  readonly patchType: string
  readonly warnings: readonly string[]
}

/**
 * A response that violates the protocol.
 * @internal handled as the webhook's failurePolicy says
 */
export class InvalidReviewResponse extends Error {
  readonly code = 'InvalidReviewResponse'
}

/** Returns the review to send. `request` has its objects in the version of `as`. */
export function reviewOf(
  request: AdmissionAttributes,
  as: ServedResource,
  version: 'v1' | 'v1beta1',
  uid: string,
): JsonObject {
  const { object, oldObject } = request
  return {
    kind: 'AdmissionReview',
    apiVersion: `${group}/${version}`,
    request: {
      uid,
      ...describeRequest(request, as),
      object: object === undefined ? null : asJson(object),
      oldObject: oldObject === undefined ? null : asJson(oldObject),
    },
  }
}

/**
 * Verifies a response.
 * @throws InvalidReviewResponse, WebhookError
 */
export function verifiedResponse(
  review: JsonObject,
  { uid, version, mutates }: { readonly uid: string; readonly version: 'v1' | 'v1beta1'; readonly mutates: boolean },
): ReviewResponse {
  checkDecodes(review, version)
  const { response } = decoded(review)
  if (!isJsonObject(response)) throw new InvalidReviewResponse('webhook response was absent')
  const patch = stringOf(response['patch'])
  const verified: ReviewResponse = {
    allowed: response['allowed'] === true,
    status: isJsonObject(response['status']) ? (response['status'] as unknown as Partial<Status>) : undefined,
    patch,
    patchType: stringOf(response['patchType']) || (version === 'v1beta1' && patch !== '' ? 'JSONPatch' : ''),
    warnings: (response['warnings'] ?? []) as readonly string[],
  }
  if (version === 'v1') checkV1(review, response, { uid, mutates, hasPatch: patch !== '' })
  return verified
}

/**
 * Checks that Go could decode the response into the review that was sent; a missing version or kind is that of the
 * request.
 * @throws WebhookError
 */
function checkDecodes(review: JsonObject, version: 'v1' | 'v1beta1'): void {
  const apiVersion = stringOf(review['apiVersion']) || `${group}/${version}`
  const kind = stringOf(review['kind']) || 'AdmissionReview'
  if (apiVersion === `${group}/${version}` && kind === 'AdmissionReview') return
  const known = apiVersion === `${group}/v1` || apiVersion === `${group}/v1beta1`
  if (known && kind === 'AdmissionReview') {
    const given = apiVersion.slice(group.length + 1)
    throw new WebhookError(`converting (${given}.AdmissionReview) to (${version}.AdmissionReview): unknown conversion`)
  }
  throw new WebhookError(
    `no kind ${JSON.stringify(kind)} is registered for version ${JSON.stringify(apiVersion)} in scheme "pkg/runtime/scheme.go:111"`,
  )
}

let reviewType: MessageType | undefined

/**
 * Returns the review as Go decodes it: of the right types, bytes as base64 where they are a list of numbers.
 * @throws WebhookError
 */
function decoded(review: JsonObject): JsonObject {
  reviewType ??= declaredReview()
  try {
    return typedForm(reviewType, review).object
  } catch (error) {
    if (error instanceof TypeMismatch) throw new WebhookError(error.message)
    throw error
  }
}

/** Declares the part of the review that webhooks answer; the field table has the kinds of storage only. */
function declaredReview(): MessageType {
  const response = 'k8s.io.api.admission.v1.AdmissionResponse'
  declareMessage(response, [
    [1, 'uid', 'string', ''],
    [2, 'allowed', 'bool', ''],
    [3, 'status', 'k8s.io.apimachinery.pkg.apis.meta.v1.Status', 'po'],
    [4, 'patch', 'bytes', 'o'],
    [5, 'patchType', 'string', 'po'],
    [6, 'auditAnnotations', 'map<string>', 'o'],
    [7, 'warnings', 'string', 'ro'],
  ])
  return declareMessage('k8s.io.api.admission.v1.AdmissionReview', [[2, 'response', response, 'po']])
}

function checkV1(
  review: JsonObject,
  response: JsonObject,
  { uid, mutates, hasPatch }: { readonly uid: string; readonly mutates: boolean; readonly hasPatch: boolean },
): void {
  const given = stringOf(response['uid'])
  if (given !== uid)
    throw new InvalidReviewResponse(`expected response.uid=${JSON.stringify(uid)}, got ${JSON.stringify(given)}`)
  const kind = `${stringOf(review['apiVersion']) || '/'}, Kind=${stringOf(review['kind'])}`
  const wanted = `${group}/v1, Kind=AdmissionReview`
  if (kind !== wanted) throw new InvalidReviewResponse(`expected webhook response of ${wanted}, got ${kind}`)
  const hasType = response['patchType'] !== undefined && response['patchType'] !== null
  if (!mutates) {
    if (hasPatch) throw new InvalidReviewResponse('validating webhook may not return response.patch')
    if (hasType) throw new InvalidReviewResponse('validating webhook may not return response.patchType')
  } else if (hasPatch && !hasType) {
    throw new InvalidReviewResponse('webhook returned response.patch but not response.patchType')
  } else if (hasType && !hasPatch) {
    throw new InvalidReviewResponse('webhook returned response.patchType but not response.patch')
  } else if (hasType && response['patchType'] === '') {
    throw new InvalidReviewResponse('webhook returned invalid response.patchType of ""')
  }
}

/** Returns the error for the client when a webhook refuses: the webhook's own status, never a success. */
export function denied(webhook: string, given: Partial<Status> | undefined): StatusError {
  const by = `admission webhook ${JSON.stringify(webhook)} denied the request`
  const { message = '', reason = '', code = 0, status } = given ?? {}
  const text = message !== '' ? `${by}: ${message}` : reason !== '' ? `${by}: ${reason}` : `${by} without explanation`
  return new StatusError({
    ...given,
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: status === undefined || (status as string) === '' || status === 'Success' ? 'Failure' : status,
    message: text,
    code: code < 400 ? 400 : code,
  } as Status)
}

function stringOf(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : ''
}
