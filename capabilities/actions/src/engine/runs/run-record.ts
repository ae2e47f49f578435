// The record of a delegated run: annotations that the server writes on its Job, and that no user may write.
import { stringifyJson } from '@fairlead/kube'
import type { JsonValue, KubeObject } from '@fairlead/kube'

/** Annotation on a map: the service account, in the namespace of Jobs, that its commands run as for their callers. */
export const runAsAnnotation = 'actions.fairlead.dev/run-as'

/** Keys of the annotations of a record. */
export const recordKeys = {
  requestedBy: 'actions.fairlead.dev/requested-by',
  map: 'actions.fairlead.dev/map',
  inputs: 'actions.fairlead.dev/inputs',
} as const

/** Characters of inputs that a record keeps. */
const maxInputs = 32_768

/** A run that the server created for a user. */
export interface RunRecord {
  readonly requestedBy: string
  /** `namespace/name` of the map that defines the action. */
  readonly map: string
  readonly inputs: JsonValue | undefined
}

/** Returns a Job with its record. */
export function withRecord(job: KubeObject, { requestedBy, map, inputs }: RunRecord): KubeObject {
  const given = inputs === undefined || inputs === null ? '{}' : stringifyJson(inputs)
  const annotations = {
    ...job.metadata.annotations,
    [recordKeys.requestedBy]: requestedBy,
    [recordKeys.map]: map,
    [recordKeys.inputs]: given.length > maxInputs ? `${given.slice(0, maxInputs)}…` : given,
  }
  return { ...job, metadata: { ...job.metadata, annotations } }
}

/** Returns the user on whose behalf the server created a Job; undefined for a Job that a user created. */
export function recordedUser({ metadata }: Pick<KubeObject, 'metadata'>): string | undefined {
  return metadata.annotations?.[recordKeys.requestedBy]
}
