// A resource after one pass, and its entry in status (originals/cartographer.md §4).
import { findCondition } from '@fairlead/kube'
import type { Condition, KubeObject } from '@fairlead/kube'
import type { BlueprintResource, OutputStatus, ResourceStatus, StatusReference, Template } from '../api.ts'
import { apiVersion } from '../api.ts'
import { conditionOf, withTransitionTimes, verdict } from './conditions/condition.ts'
import type { Verdict } from './conditions/condition.ts'
import { inputsOf } from './blueprints/graph.ts'
import { outputStatus } from './values/output.ts'
import type { Outputs } from './values/output.ts'
import { readyFrom } from './conditions/summary.ts'

/** A resource after one pass. */
export interface RealizedResource {
  readonly resource: BlueprintResource
  /** Undefined for a pass-through, and when no template could be chosen. */
  readonly template?: Template
  /** The stamped object as last read, of this or an earlier pass; of several runs the current one. */
  readonly object?: KubeObject
  /** `plural.group` of the object. */
  readonly objectResource?: string
  /** Undefined while they cannot be read. */
  readonly outputs?: Outputs
  readonly submitted: Verdict
  /** Undefined for a pass-through. */
  readonly healthy?: Verdict
  /** True when the object was stamped, or an input passed through, in this pass. */
  readonly stamped: boolean
  /** True when the health rule reads `now`: health can change without any event. */
  readonly readsNow?: boolean
  /** The error to retry with backoff. */
  readonly retry?: unknown
  /** True when RBAC refused: to be retried late, in case the grant is missed. */
  readonly denied?: boolean
}

/** Returns the entry of a resource in `status.resources`. `now` is an RFC 3339 time. */
export function resourceStatus(
  realized: RealizedResource,
  before: ResourceStatus | undefined,
  now: string,
): ResourceStatus {
  const { resource, template, object, outputs, submitted, healthy } = realized
  const isPassThrough = submitted.reason === 'PassThrough'
  const carried = realized.stamped || isPassThrough ? undefined : before
  const stampedRef = object === undefined ? carried?.stampedRef : referenceTo(object, realized.objectResource)
  const templateRef = template === undefined ? carried?.templateRef : templateReference(template)
  const inputs = inputsOf(resource).map((input) => ({ name: input.resource }))
  const read = outputs === undefined ? carried?.outputs : outputStatus(outputs, before?.outputs, now)
  return {
    name: resource.name,
    ...(stampedRef !== undefined && { stampedRef }),
    ...(templateRef !== undefined && { templateRef }),
    ...(inputs.length > 0 && { inputs }),
    ...(read !== undefined && read.length > 0 && { outputs: read }),
    // The health of an object is known even if it could not be stamped again.
    conditions: withTransitionTimes(
      conditionsOf(submitted, healthy, object === undefined ? carried : undefined),
      before?.conditions,
      now,
    ),
  }
}

/**
 * Returns the health to report: Unknown with the last known health in the message when it could not be evaluated in
 * this pass.
 */
export function reportedHealth(healthy: Verdict | undefined, carried: ResourceStatus | undefined): Verdict | undefined {
  const last = findCondition(carried?.conditions, 'Healthy')
  if (healthy === undefined || last === undefined || carried?.stampedRef === undefined) return healthy
  return notEvaluatedNow(last)
}

/** Returns what to report of a condition that could not be evaluated in this pass: Unknown, with its last value. */
export function notEvaluatedNow(last: Condition): Verdict {
  if (last.reason === 'NotEvaluated') return verdict('Unknown', last.reason, last.message)
  const known = last.message === '' ? last.reason : `${last.reason}: ${last.message}`
  return verdict('Unknown', 'NotEvaluated', `not evaluated now; it was ${last.status} (${known})`)
}

/** Returns the entries of an earlier pass with health Unknown, for a pass in which no resource could be evaluated. */
export function notEvaluated(before: readonly ResourceStatus[], now: string): ResourceStatus[] {
  return before.map((entry) => {
    const submitted = findCondition(entry.conditions, 'ResourceSubmitted')
    const healthy = findCondition(entry.conditions, 'Healthy')
    if (submitted === undefined) return entry
    const conditions = conditionsOf(submitted, healthy, entry)
    return { ...entry, conditions: withTransitionTimes(conditions, entry.conditions, now) }
  })
}

/** Reports whether an output changed, by digest. */
export function hasNewOutput(after: readonly OutputStatus[] = [], before: readonly OutputStatus[] = []): boolean {
  return after.some(({ name, digest }) => before.find((one) => one.name === name)?.digest !== digest)
}

function conditionsOf(
  submitted: Verdict,
  healthy: Verdict | undefined,
  carried: ResourceStatus | undefined,
): Condition[] {
  const reported = reportedHealth(healthy, carried)
  const parts = [
    conditionOf('ResourceSubmitted', submitted),
    ...(reported === undefined ? [] : [conditionOf('Healthy', reported)]),
  ]
  return [...parts, readyFrom(parts)]
}

function referenceTo(
  { apiVersion: version, kind, metadata }: KubeObject,
  resource: string | undefined,
): StatusReference {
  const { namespace, name } = metadata
  return {
    apiVersion: version,
    kind,
    ...(namespace ? { namespace } : {}),
    name,
    ...(resource !== undefined && { resource }),
  }
}

function templateReference({ kind, metadata }: Template): StatusReference {
  return { apiVersion, kind, name: metadata.name }
}
