// The facts of a kind that decide how its resource is kept. The engine is driven by them; no kind has code of its own
// in it.
import type { JsonObject } from '@fairlead/kube'
import type { ReferenceRow } from '@fairlead/references'

/** States of a resource that the service itself moves through, by a field of its status. */
export interface ResourceStates {
  /** Field of the status that holds the state. */
  readonly field: string
  /** Values in which the resource can be neither changed nor deleted. */
  readonly modifying: readonly string[]
  /** Values that nothing but a replacement ends. */
  readonly failed: readonly string[]
  /** Field of the status that says why. */
  readonly reasonField: string
}

/** A kind with an AWS resource behind each object. */
export interface ResourceKind {
  readonly group: string
  readonly version: string
  readonly kind: string
  readonly plural: string
  readonly rows: readonly ReferenceRow[]
  /** Fields of the spec by which the resource is found; undefined where every required field counts. */
  readonly keyPaths?: readonly string[]
  /** False when the service has no operation that changes the resource. */
  readonly updatable: boolean
  /** Top-level fields that are not compared with the resource. */
  readonly uncompared: readonly string[]
  /** Top-level fields that are empty in AWS when the spec lacks them. What else the spec lacks, the service decides. */
  readonly cleared: readonly string[]
  /** Paths below the spec of fields that the service fills in, and that may be copied into a spec that lacks them. */
  readonly lateInitialized: readonly string[]
  /** Top-level fields that hold policy documents: compared by their meaning. */
  readonly documents: readonly string[]
  readonly states?: ResourceStates
  /** Codes of errors that no retry can end. */
  readonly terminalCodes: readonly string[]
  /** Milliseconds after a creation in which a read may not find the resource yet; 0 when left out. */
  readonly visibleAfter?: number
  /** Milliseconds until a resource in the wanted state is read again; the default period when left out. */
  readonly resync?: number
}

/** Returns the finalizer of a kind: ACK's. */
export function finalizerOf({ group, kind }: Pick<ResourceKind, 'group' | 'kind'>): string {
  return `finalizers.${group}/${kind}`
}

/** State of a resource as far as the service moves it by itself. */
export type ResourceState =
  | { readonly state: 'stable'; readonly reason?: string }
  | { readonly state: 'modifying'; readonly value: string }
  | { readonly state: 'failed'; readonly value: string; readonly reason: string }

/** Returns the state that a status shows. */
export function stateOf({ kind, states }: ResourceKind, status: JsonObject): ResourceState {
  if (states === undefined) return { state: 'stable' }
  const value = status[states.field]
  const reason = status[states.reasonField]
  if (typeof value !== 'string') return { state: 'stable' }
  if (states.modifying.includes(value)) return { state: 'modifying', value }
  const given = typeof reason === 'string' && reason !== '' ? reason : undefined
  if (states.failed.includes(value))
    return { state: 'failed', value, reason: given ?? `${kind} is in ${value} status.` }
  return { state: 'stable', ...(given === undefined ? {} : { reason: given }) }
}
