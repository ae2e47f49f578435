// `status.resolvedReferences[]`: the value of each reference and where it came from. Written before anything is created
// from the value, so that deletion needs no referent (community #2669).
import { isJsonArray, isJsonObject } from '@fairlead/kube'
import type { JsonValue, KubeObject } from '@fairlead/kube'
import type { ObjectId } from './object-id.ts'

/** One reference of an object. */
export interface ResolvedReference {
  /** Path of the field below the spec, with list indexes. */
  readonly path: string
  /** The last value; absent when there was none yet. */
  readonly value?: JsonValue
  readonly referent: ObjectId
  /** UID of the referent that the value, or the state, was read from. */
  readonly uid?: string
  /** Generation of the referent when the value was read. */
  readonly generation?: number
  /** `Resolved`, or the reason why the reference is not resolved now. */
  readonly state: string
}

/** Returns the references that a controller recorded for the present generation; undefined when it has not. */
export function recordedReferences(object: KubeObject): readonly ResolvedReference[] | undefined {
  const status = object['status'] as JsonValue | undefined
  if (!isJsonObject(status) || status['observedGeneration'] !== object.metadata.generation) return undefined
  const recorded = status['resolvedReferences']
  if (!isJsonArray(recorded) || !recorded.every((one) => isJsonObject(one) && isJsonObject(one['referent'])))
    return undefined
  return recorded as unknown as readonly ResolvedReference[]
}
