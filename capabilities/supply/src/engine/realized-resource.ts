// What became of one resource in one pass, and what status shows of it (originals/cartographer.md §4).
import { findCondition } from '@fairlead/kube'
import type { Condition, KubeObject } from '@fairlead/kube'
import type { BlueprintResource, OutputStatus, ResourceStatus, StatusReference, Template } from '../api.ts'
import { apiVersion } from '../api.ts'
import { conditionOf, timed, verdict } from './condition.ts'
import type { Verdict } from './condition.ts'
import { inputsOf } from './graph.ts'
import { outputStatus } from './values/output.ts'
import type { Outputs } from './values/output.ts'
import { readyFrom } from './summary.ts'

/** A resource after one pass. */
export interface RealizedResource {
  readonly resource: BlueprintResource
  /** The template that was chosen; undefined for a pass-through, and where none could be chosen. */
  readonly template?: Template
  /** The object that stands for the resource, as last read. */
  readonly object?: KubeObject
  /** `plural.group` of the object. */
  readonly objectResource?: string
  /** What flows on; undefined while it cannot be read. */
  readonly outputs?: Outputs
  readonly submitted: Verdict
  /** Undefined for a pass-through. */
  readonly healthy?: Verdict
  /** Whether the object was evaluated in this pass. If not, what status said before is no longer certain. */
  readonly evaluated: boolean
  /** An error that is tried again. */
  readonly retry?: unknown
}

/** Its entry in `status.resources`. */
export function resourceStatus(
  realized: RealizedResource,
  before: ResourceStatus | undefined,
  now: string,
): ResourceStatus {
  const { resource, template, object, outputs, submitted, healthy } = realized
  const isPassThrough = submitted.reason === 'PassThrough'
  const carried = realized.evaluated || isPassThrough ? undefined : before
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
    conditions: timed(conditionsOf(submitted, healthy, carried), before?.conditions, now),
  }
}

/** The health that status shows for it: what could not be evaluated now is Unknown, and says what it was. */
export function shownHealth(healthy: Verdict | undefined, carried: ResourceStatus | undefined): Verdict | undefined {
  const last = findCondition(carried?.conditions, 'Healthy')
  if (healthy === undefined || last === undefined || carried?.stampedRef === undefined) return healthy
  if (last.reason === 'NotEvaluated') return verdict('Unknown', last.reason, last.message)
  const what = last.message === '' ? last.reason : `${last.reason}: ${last.message}`
  return verdict('Unknown', 'NotEvaluated', `not evaluated now; it was ${last.status} (${what})`)
}

/** Entries of an earlier pass, for when nothing could be evaluated at all. */
export function notEvaluated(before: readonly ResourceStatus[], now: string): ResourceStatus[] {
  return before.map((entry) => {
    const submitted = findCondition(entry.conditions, 'ResourceSubmitted')
    const healthy = findCondition(entry.conditions, 'Healthy')
    if (submitted === undefined) return entry
    const conditions = conditionsOf(submitted, healthy, entry)
    return { ...entry, conditions: timed(conditions, entry.conditions, now) }
  })
}

/** Outputs that are others than before: for events. */
export function hasNewOutput(after: readonly OutputStatus[] = [], before: readonly OutputStatus[] = []): boolean {
  return after.some(({ name, digest }) => before.find((one) => one.name === name)?.digest !== digest)
}

function conditionsOf(
  submitted: Verdict,
  healthy: Verdict | undefined,
  carried: ResourceStatus | undefined,
): Condition[] {
  const shown = shownHealth(healthy, carried)
  const parts = [
    conditionOf('ResourceSubmitted', submitted),
    ...(shown === undefined ? [] : [conditionOf('Healthy', shown)]),
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
