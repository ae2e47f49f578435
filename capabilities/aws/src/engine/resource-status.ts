// The status of an object: what the service says of its resource, the values of its references, and conditions.
import { isJsonArray, isJsonObject } from '@fairlead/kube'
import type { Condition, JsonObject, JsonValue, KubeObject } from '@fairlead/kube'
import type { ResolvedReference } from '@fairlead/references'
import type { Observed } from './resource-manager.ts'

/** A status as it is applied. */
export type ResourceStatus = { readonly conditions: readonly Condition[] } & Readonly<Record<string, unknown>>

/** The status of an object as JSON; empty when it has none. */
export function statusOf(object: KubeObject): JsonObject {
  const status = object['status'] as JsonValue | undefined
  return isJsonObject(status) ? status : {}
}

/** Returns the ARN that was confirmed by the service; undefined while it is not known that the resource exists. */
export function confirmedArn(object: KubeObject): string | undefined {
  const metadata = statusOf(object)['ackResourceMetadata']
  const arn = isJsonObject(metadata) ? metadata['arn'] : undefined
  return typeof arn === 'string' && arn !== '' ? arn : undefined
}

/** Returns the values of references that the last reconcile stored. */
export function storedReferences(object: KubeObject): readonly ResolvedReference[] {
  const stored = statusOf(object)['resolvedReferences']
  return isJsonArray(stored) ? (stored as unknown as readonly ResolvedReference[]) : []
}

/** Returns what the last status says of the resource, to be kept while nothing newer is known. */
export function lastFields(object: KubeObject): JsonObject {
  const {
    conditions: _conditions,
    observedGeneration: _generation,
    resolvedReferences: _references,
    ...fields
  } = statusOf(object)
  return fields
}

/** Returns the metadata that an ARN spells out. IAM has no regions: there it is the one that is configured. */
export function resourceMetadata(arn: string | undefined, region: string): JsonObject | undefined {
  if (arn === undefined) return undefined
  const [, partition = '', , ownRegion = '', account = ''] = arn.split(':')
  return { arn, ownerAccountID: account, region: ownRegion === '' ? region : ownRegion, partition }
}

/** Returns the fields of a status that describe a resource. */
export function observedFields({ status, arn }: Observed, region: string): JsonObject {
  const metadata = resourceMetadata(arn, region)
  return { ...status, ...(metadata === undefined ? {} : { ackResourceMetadata: metadata }) }
}
