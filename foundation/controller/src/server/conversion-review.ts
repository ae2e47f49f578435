// Conversion webhooks: a ConversionReview in, the objects in the desired version out. Pure as far as the converters
// are.
import { badRequest, parseApiVersion } from '@fairlead/kube'
import type { JsonObject, JsonValue, KubeObject } from '@fairlead/kube'

/** Converts objects of one custom resource between its versions. */
export interface Converter {
  readonly group: string
  readonly kind: string
  /**
   * Returns the object in `apiVersion`. Must keep name, namespace, uid and labels; throws for objects that it cannot
   * convert, with a message for users.
   */
  convert(object: KubeObject, apiVersion: string): KubeObject
}

interface ConversionRequest {
  readonly uid: string
  readonly desiredAPIVersion: string
  readonly objects: readonly KubeObject[]
}

/**
 * Returns the response to an `apiextensions.k8s.io/v1 ConversionReview`. Throws StatusError 400 for a body that is not
 * a ConversionReview.
 */
export function reviewConversion(body: JsonValue, converters: readonly Converter[]): JsonObject {
  const { uid, ...request } = requestOf(body)
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'ConversionReview',
    response: { uid, ...outcomeOf(request, converters) },
  }
}

function outcomeOf(request: Omit<ConversionRequest, 'uid'>, converters: readonly Converter[]): JsonObject {
  try {
    const converted = request.objects.map((object) => inVersion(object, request.desiredAPIVersion, converters))
    return { convertedObjects: converted as unknown as JsonValue, result: { status: 'Success' } }
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    return { result: { status: 'Failure', message } }
  }
}

function inVersion(object: KubeObject, apiVersion: string, converters: readonly Converter[]): KubeObject {
  if (object.apiVersion === apiVersion) return object
  const { group } = parseApiVersion(object.apiVersion)
  const converter = converters.find((one) => one.group === group && one.kind === object.kind)
  if (converter === undefined) throw new Error(`There is no converter for ${object.kind} of group ${group}`)
  return converter.convert(object, apiVersion)
}

function requestOf(body: JsonValue): ConversionRequest {
  const review = body as { apiVersion?: string; kind?: string; request?: ConversionRequest } | null
  if (review?.kind !== 'ConversionReview' || review.apiVersion !== 'apiextensions.k8s.io/v1')
    throw badRequest('expected a ConversionReview of apiextensions.k8s.io/v1')
  const { request } = review
  if (
    typeof request?.uid !== 'string' ||
    typeof request.desiredAPIVersion !== 'string' ||
    !Array.isArray(request.objects)
  )
    throw badRequest('the ConversionReview has no request')
  return request
}
