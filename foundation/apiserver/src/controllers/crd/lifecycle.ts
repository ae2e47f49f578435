// The lifecycle of a CRD after a write: accepted names, establishment, API approval, and finally the deletion of its
// objects. Pure decisions; custom-resources.ts carries them out.
import type {
  Condition,
  CustomResourceDefinition,
  JsonObject,
  JsonValue,
  KubeObject,
  MutableJsonObject,
} from '@fairlead/kube'
import {
  apiApprovalOf,
  asCustomResourceDefinition,
  asJson,
  condition,
  findCondition,
  isConditionTrue,
  isProtectedGroup,
  jsonEqual,
  setCondition,
} from '@fairlead/kube'
import { decideNames, hasAcceptedNames } from './accepted-names.ts'
import { cleanupFinalizer, setDefinitionCondition } from '@fairlead/builtin-kinds'

/** The next step for a definition. */
export type LifecycleStep =
  /** Nothing, until it or a related object changes. */
  | { readonly step: 'rest' }
  /** Write the definition with another status (and, at the end, without our finalizer). */
  | { readonly step: 'write'; readonly object: JsonObject }
  /** Delete its objects; decide again when none is left. */
  | { readonly step: 'delete-instances' }

/** The input of {@link nextStep}. */
export interface LifecycleFacts {
  readonly crd: KubeObject
  /** The other definitions of its group. */
  readonly siblings: readonly KubeObject[]
  /** Number of its stored objects. */
  readonly instances: number
  /** RFC 3339, whole seconds. */
  readonly now: string
}

/** Returns the next step for a definition. */
export function nextStep(facts: LifecycleFacts): LifecycleStep {
  const crd = asCustomResourceDefinition(facts.crd)
  return crd.metadata.deletionTimestamp === undefined ? active(crd, facts) : terminating(crd, facts)
}

function active(crd: CustomResourceDefinition, { siblings, now }: LifecycleFacts): LifecycleStep {
  const object: MutableJsonObject = { ...asJson(crd) }
  acceptNames(object, crd, siblings, now)
  const approval = approvalCondition(crd)
  if (approval !== undefined) setDefinitionCondition(object, approval, now)
  return jsonEqual(object['status'] ?? null, asJson(crd)['status'] ?? null)
    ? { step: 'rest' }
    : { step: 'write', object }
}

function acceptNames(
  object: MutableJsonObject,
  crd: CustomResourceDefinition,
  siblings: readonly KubeObject[],
  now: string,
): void {
  if (hasAcceptedNames(crd)) return
  const { acceptedNames, namesAccepted, established } = decideNames(crd, siblings.map(asCustomResourceDefinition))
  const conditions = setCondition(setCondition(crd.status?.conditions ?? [], namesAccepted, now), established, now)
  object['status'] = {
    ...(crd.status as JsonObject | undefined),
    conditions: conditions as readonly JsonObject[] as JsonValue,
    acceptedNames: { plural: '', kind: '', ...(acceptedNames as JsonObject) },
  }
}

const approvalReasons = {
  Approved: 'ApprovedAnnotation',
  Bypassed: 'UnapprovedAnnotation',
  Missing: 'MissingAnnotation',
  Invalid: 'InvalidAnnotation',
} as const

/** Returns the condition KubernetesAPIApprovalPolicyConformant, for protected groups only. */
function approvalCondition({ spec, metadata }: CustomResourceDefinition): Condition | undefined {
  if (!isProtectedGroup(spec.group ?? '')) return undefined
  const { state, message } = apiApprovalOf(metadata)
  return condition('KubernetesAPIApprovalPolicyConformant', state === 'Approved', {
    reason: approvalReasons[state],
    message,
  })
}

function terminating(crd: CustomResourceDefinition, { instances, now }: LifecycleFacts): LifecycleStep {
  if (!(crd.metadata.finalizers ?? []).includes(cleanupFinalizer)) return { step: 'rest' }
  const conditions = crd.status?.conditions ?? []
  if (!isConditionTrue(conditions, 'Established')) {
    return release(crd, { reason: 'NeverEstablished', message: 'resource was never established' }, now)
  }
  if (findCondition(conditions, 'Terminating')?.reason !== 'InstanceDeletionInProgress') {
    const object: MutableJsonObject = { ...asJson(crd) }
    const details = { reason: 'InstanceDeletionInProgress', message: 'CustomResource deletion is in progress' }
    setDefinitionCondition(object, condition('Terminating', true, details), now)
    return { step: 'write', object }
  }
  if (instances > 0) return { step: 'delete-instances' }
  return release(crd, { reason: 'InstanceDeletionCompleted', message: 'removed all instances' }, now)
}

/** Removes our finalizer from a definition; it is deleted unless others have added finalizers. */
function release(
  crd: CustomResourceDefinition,
  details: { reason: string; message: string },
  now: string,
): LifecycleStep {
  const finalizers = (crd.metadata.finalizers ?? []).filter((finalizer) => finalizer !== cleanupFinalizer)
  const { finalizers: _all, ...metadata } = crd.metadata
  const object: MutableJsonObject = {
    ...asJson(crd),
    metadata: { ...metadata, ...(finalizers.length === 0 ? {} : { finalizers }) } as JsonObject,
  }
  setDefinitionCondition(object, condition('Terminating', false, details), now)
  return { step: 'write', object }
}
