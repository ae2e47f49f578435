// Pods: defaults, admission plugins, updates and graceful deletion.
import type { FieldError, JsonObject, KubeObject, MutableJsonObject } from '@fairlead/kube'
import { fieldErrors } from '@fairlead/kube'
import type { Draft, Strategy } from '../definition/strategy.ts'
import {
  draftAt,
  draftsAt,
  ensureAt,
  fill,
  fillStrings,
  flagAt,
  numberAt,
  objectAt,
  objectsAt,
  stringAt,
} from '../fields.ts'
import { defaultPodSpec } from './pod-spec-defaults.ts'
import { messageType } from '../go-types/message-type.ts'
import { requestsOfPod } from './pod-level-requests.ts'
import { podChangeErrors, withEphemeralContainers, withResources } from './pod-changes.ts'
import { podSpecErrors, standalonePodErrors } from './pod-spec-validation.ts'
import { podStatusErrors } from './pod-status-validation.ts'
import { hostNameWarnings, podWarnings } from './pod-warnings.ts'
import { resolvePriority } from './pod-priority.ts'
import { applyRuntimeClass, refuseOwnOverhead } from './runtime-class.ts'
import { qualityOfService } from './quality-of-service.ts'

/** The strategy of pods. */
export const podStrategy: Strategy = {
  warnings: (object, old) => [
    ...hostNameWarnings(object, old, "the Pod's hostname"),
    ...podWarnings(object, old, ['spec']),
  ],
  returnsDeletedObject: true,
  hasStatus: true,
  tracksGeneration: true,
  get resetFields() {
    return {
      '': [['status']],
      status: [['spec'], ['metadata', 'deletionTimestamp'], ['metadata', 'ownerReferences']],
      ephemeralcontainers: specFieldsBut('ephemeralContainers'),
      resize: specFieldsBut('containers', 'initContainers', 'resources'),
    }
  },
  applyDefaults(object) {
    syncPodIps(draftAt(object, 'status'))
    const spec = draftAt(object, 'spec')
    if (spec === undefined) return
    if ((numberAt(spec, 'terminationGracePeriodSeconds') ?? 0) < 0) spec['terminationGracePeriodSeconds'] = 1
    requestsFromLimits(spec)
    requestsOfPod(spec)
    defaultPodSpec(spec)
    fill(spec, { enableServiceLinks: true })
    if (flagAt(spec, 'hostNetwork')) hostPortsFromContainerPorts(spec)
  },
  admit(object, old, context) {
    const spec = ensureAt(object, 'spec')
    if (old === undefined) resolvePriority(spec, stringAt(object, 'metadata', 'name'), context)
    addDefaultTolerations(spec)
    if (old === undefined) applyRuntimeClass(spec, object, context)
  },
  prepareForCreate(object, context) {
    const spec = ensureAt(object, 'spec')
    object['status'] = { phase: 'Pending', qosClass: qualityOfService(spec), ...gatedCondition(spec, context.now) }
  },
  prepareForUpdate(object, old, { subresource }) {
    const spec = objectAt(old, 'spec')
    if (subresource === 'ephemeralcontainers') object['spec'] = withEphemeralContainers(spec, objectAt(object, 'spec'))
    else if (subresource === 'resize') object['spec'] = withResources(spec, objectAt(object, 'spec'))
    else {
      if (subresource === 'status')
        fillStrings(ensureAt(object, 'status'), { qosClass: stringAt(old, 'status', 'qosClass') })
      return
    }
    keepMetadata(object, old)
  },
  validate(object, context) {
    const errors = newPodErrors(object)
    // This part of the admission plugin runs after validation.
    if (errors.length === 0) refuseOwnOverhead(object, context)
    return errors
  },
  validateUpdate: (object, old, { subresource }) => [
    ...podSpecErrors('spec', objectAt(object, 'spec')),
    ...standalonePodErrors(objectAt(object, 'spec')),
    ...podChangeErrors(object, old, subresource),
  ],
  validateStatusUpdate: podStatusErrors,
  gracePeriodSeconds: podGracePeriod,
}

function newPodErrors(object: KubeObject): FieldError[] {
  return [
    ...podSpecErrors('spec', objectAt(object, 'spec')),
    ...standalonePodErrors(objectAt(object, 'spec')),
    ...(objectsAt(object, 'spec', 'ephemeralContainers').length > 0
      ? [fieldErrors.forbidden('spec.ephemeralContainers', 'cannot be set on create')]
      : []),
    ...(stringAt(object, 'spec', 'nodeName') !== '' && objectsAt(object, 'spec', 'schedulingGates').length > 0
      ? [fieldErrors.forbidden('spec.nodeName', 'cannot be set until all schedulingGates have been cleared')]
      : []),
  ]
}

/** Returns the grace period: 0 for a pod that is not scheduled or has completed, else its own (30 s by default). */
function podGracePeriod(object: KubeObject): number {
  if (stringAt(object, 'spec', 'nodeName') === '') return 0
  if (['Succeeded', 'Failed'].includes(stringAt(object, 'status', 'phase'))) return 0
  return numberAt(object, 'spec', 'terminationGracePeriodSeconds') ?? 30
}

function requestsFromLimits(spec: MutableJsonObject): void {
  for (const list of ['initContainers', 'containers']) {
    for (const container of draftsAt(spec, list)) {
      const limits = draftAt(container, 'resources', 'limits')
      if (limits !== undefined) fill(ensureAt(container, 'resources', 'requests'), limits)
    }
  }
}

function hostPortsFromContainerPorts(spec: MutableJsonObject): void {
  for (const list of ['initContainers', 'containers']) {
    for (const container of draftsAt(spec, list))
      for (const port of draftsAt(container, 'ports')) fill(port, { hostPort: port['containerPort'] ?? 0 })
  }
}

/** The admission plugin DefaultTolerationSeconds: pods tolerate an unreachable node for five minutes. */
function addDefaultTolerations(spec: MutableJsonObject): void {
  const present = draftsAt(spec, 'tolerations')
  const added = ['node.kubernetes.io/not-ready', 'node.kubernetes.io/unreachable']
    .filter((key) => !present.some((toleration) => tolerates(toleration, key)))
    .map((key) => ({ key, operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 300 }))
  if (added.length > 0) spec['tolerations'] = [...present, ...added]
}

function tolerates(toleration: JsonObject, key: string): boolean {
  const named = stringAt(toleration, 'key')
  return (named === key || named === '') && ['', 'NoExecute'].includes(stringAt(toleration, 'effect'))
}

/** Returns the condition of a gated pod on create. */
function gatedCondition(spec: JsonObject, now: number): JsonObject {
  if (objectsAt(spec, 'schedulingGates').length === 0) return {}
  return {
    conditions: [
      {
        type: 'PodScheduled',
        status: 'False',
        lastProbeTime: null,
        lastTransitionTime: `${new Date(now).toISOString().slice(0, 19)}Z`,
        reason: 'SchedulingGated',
        message: 'Scheduling is blocked due to non-empty scheduling gates',
      },
    ],
  }
}

function specFieldsBut(...kept: readonly string[]): readonly (readonly string[])[] {
  const names = [...messageType('k8s.io.api.core.v1.PodSpec').byJsonName.keys()]
  return [['status'], ...names.filter((name) => !kept.includes(name)).map((name) => ['spec', name])]
}

/** Restores metadata on writes of spec subresources, except for the fields that the server sets. */
function keepMetadata(object: Draft, old: KubeObject): void {
  const kept = objectAt(old, 'metadata')
  for (const field of ['labels', 'annotations', 'ownerReferences', 'finalizers']) {
    if (kept[field] === undefined) delete object.metadata[field]
    else object.metadata[field] = kept[field]
  }
}

/** Sets `podIP` and the first of `podIPs` to the same value; `podIP` takes precedence. */
function syncPodIps(status: MutableJsonObject | undefined): void {
  if (status === undefined) return
  const single = stringAt(status, 'podIP')
  const first = stringAt(objectsAt(status, 'podIPs')[0], 'ip')
  if (single === first) return
  if (single === '') status['podIP'] = first
  else status['podIPs'] = [{ ip: single }]
}
