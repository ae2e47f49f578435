// Deployments and ReplicaSets (and the older ReplicationController): defaults, validation, updates.
import type { FieldError, JsonObject, JsonValue, KubeObject } from '@fairlead/kube'
import { dns1123Subdomain, fieldErrors } from '@fairlead/kube'
import type { Strategy } from '../definition/strategy.ts'
import { countOrPercent, immutable, isZeroCount, nonNegative, unsupportedStruct } from '../checks.ts'
import { draftAt, ensureAt, fill, fillStrings, has, mapAt, numberAt, objectAt, stringAt } from '../fields.ts'
import { replicaCountErrors } from './replica-counts.ts'
import { messageType } from '../go-types/message-type.ts'
import { internalMessage } from '../go-types/internal-form.ts'
import { hostNameWarnings, podWarnings } from '../pods/pod-warnings.ts'
import { defaultPodTemplate } from '../pods/pod-spec-defaults.ts'
import { podTemplateErrors, selectedTemplateErrors } from '../pods/pod-template.ts'

/** The strategy of Deployments. */
export const deploymentStrategy: Strategy = {
  statusKeeps: 'labels',
  generationCounts: 'annotations',
  warnings: (object, old) => [
    ...hostNameWarnings(object, old),
    ...podWarnings(object, old, ['spec', 'template', 'spec']),
  ],
  tracksGeneration: true,
  resetFields: { '': [['status']], status: [['spec'], ['metadata', 'labels']] },
  applyDefaults(object) {
    const spec = ensureAt(object, 'spec')
    defaultPodTemplate(spec)
    fill(spec, { replicas: 1, revisionHistoryLimit: 10, progressDeadlineSeconds: 600 })
    const strategy = ensureAt(spec, 'strategy')
    fillStrings(strategy, { type: 'RollingUpdate' })
    if (strategy['type'] === 'RollingUpdate')
      fill(ensureAt(strategy, 'rollingUpdate'), { maxUnavailable: '25%', maxSurge: '25%' })
  },
  validate: deploymentErrors,
  validateUpdate: (object, old) => [
    ...deploymentErrors(object),
    ...immutable('spec.selector', objectAt(object, 'spec')['selector'], objectAt(old, 'spec')['selector']),
  ],
  validateStatusUpdate: (object, old) => [
    ...deploymentStatusErrors(objectAt(object, 'status')),
    ...collisionErrors(object, old),
  ],
}

/** The strategy of ReplicaSets. */
export const replicaSetStrategy: Strategy = {
  warnings: (object, old) => [
    ...hostNameWarnings(object, old),
    ...podWarnings(object, old, ['spec', 'template', 'spec']),
  ],
  tracksGeneration: true,
  applyDefaults(object) {
    const spec = ensureAt(object, 'spec')
    defaultPodTemplate(spec)
    fill(spec, { replicas: 1 })
  },
  validate: replicaSetErrors,
  validateUpdate: (object, old) => [
    ...replicaSetErrors(object),
    ...immutable('spec.selector', objectAt(object, 'spec')['selector'], objectAt(old, 'spec')['selector']),
  ],
  validateStatusUpdate: (object) => replicaStatusErrors(objectAt(object, 'status')),
}

/** The strategy of ReplicationControllers: selector and labels default to those of the template. */
export const replicationControllerStrategy: Strategy = {
  warnings: (object, old) => [
    ...hostNameWarnings(object, old),
    // Updates have no warnings.
    ...(old === undefined ? podWarnings(object, old, ['spec', 'template', 'spec']) : []),
  ],
  tracksGeneration: true,
  // Declarative validation of names counts bytes in its message.
  validateName: (name, prefix) =>
    prefix
      ? dns1123Subdomain(name.replace(/-$/, 'a'))
      : dns1123Subdomain(name).map((message) => message.replace(/characters$/, 'bytes')),
  defaultPropagation: 'Orphan',
  applyDefaults(object) {
    const spec = ensureAt(object, 'spec')
    defaultPodTemplate(spec)
    fill(spec, { replicas: 1 })
    const labels = draftAt(spec, 'template', 'metadata', 'labels')
    if (labels === undefined) return
    if (!has(spec, 'selector')) spec['selector'] = { ...labels }
    if (!has(object.metadata, 'labels')) object.metadata['labels'] = { ...labels }
  },
  validate: replicationControllerErrors,
  validateUpdate: replicationControllerErrors,
  validateStatusUpdate: (object) => replicaStatusErrors(objectAt(object, 'status')),
}

function deploymentErrors(object: unknown): FieldError[] {
  const spec = objectAt(object, 'spec')
  return [
    ...nonNegative('spec.replicas', numberAt(spec, 'replicas')),
    ...selectedTemplateErrors(spec, 'deployment'),
    ...rolloutErrors(objectAt(spec, 'strategy')),
    ...nonNegative('spec.minReadySeconds', numberAt(spec, 'minReadySeconds')),
    ...nonNegative('spec.revisionHistoryLimit', numberAt(spec, 'revisionHistoryLimit')),
    ...progressDeadlineErrors(numberAt(spec, 'progressDeadlineSeconds'), numberAt(spec, 'minReadySeconds') ?? 0),
  ]
}

function rolloutErrors(strategy: JsonObject): FieldError[] {
  const type = stringAt(strategy, 'type')
  if (type === 'Recreate' && has(strategy, 'rollingUpdate')) {
    return [
      fieldErrors.forbidden('spec.strategy.rollingUpdate', "may not be specified when strategy `type` is 'Recreate'"),
    ]
  }
  if (type !== 'RollingUpdate' && type !== 'Recreate') {
    const shown = internalMessage(messageType('k8s.io.api.apps.v1.DeploymentStrategy'), strategy)
    return [unsupportedStruct('spec.strategy', shown, ['Recreate', 'RollingUpdate'])]
  }
  if (type === 'Recreate') return []
  if (!has(strategy, 'rollingUpdate'))
    return [fieldErrors.required('spec.strategy.rollingUpdate', 'this should be defaulted and never be nil')]
  const rolling = objectAt(strategy, 'rollingUpdate')
  const path = 'spec.strategy.rollingUpdate'
  const [unavailable, surge] = [
    formErrors(`${path}.maxUnavailable`, rolling['maxUnavailable']),
    formErrors(`${path}.maxSurge`, rolling['maxSurge']),
  ]
  const errors = [...unavailable, ...surge]
  if (isZeroCount(rolling['maxUnavailable']) && isZeroCount(rolling['maxSurge']))
    errors.push(
      fieldErrors.invalid(`${path}.maxUnavailable`, rolling['maxUnavailable'], 'may not be 0 when `maxSurge` is 0'),
    )
  errors.push(...notOverAll(`${path}.maxUnavailable`, rolling['maxUnavailable']))
  return errors
}

function formErrors(field: string, value: JsonValue | undefined): FieldError[] {
  return countOrPercent(field, value).filter((error) => !error.detail.startsWith('must not be greater'))
}

function notOverAll(field: string, value: JsonValue | undefined): FieldError[] {
  return countOrPercent(field, value).filter((error) => error.detail.startsWith('must not be greater'))
}

function deploymentStatusErrors(status: JsonObject): FieldError[] {
  const errors = [
    'observedGeneration',
    'replicas',
    'updatedReplicas',
    'readyReplicas',
    'availableReplicas',
    'unavailableReplicas',
    'terminatingReplicas',
    'collisionCount',
  ].flatMap((name) => nonNegative(`status.${name}`, numberAt(status, name)))
  errors.push(...replicaCountErrors(status, ['updatedReplicas', 'readyReplicas', 'availableReplicas'], 'readyReplicas'))
  return errors
}

/** Checks that the number of hash collisions does not decrease. */
export function collisionErrors(object: KubeObject, old: KubeObject): FieldError[] {
  const [count, before] = [object, old].map((holder) => numberAt(holder, 'status', 'collisionCount'))
  return before !== undefined && (count === undefined || count < before)
    ? [fieldErrors.invalid('status.collisionCount', count ?? 0, 'cannot be decremented')]
    : []
}

function progressDeadlineErrors(deadline: number | undefined, minReady: number): FieldError[] {
  const field = 'spec.progressDeadlineSeconds'
  if (deadline === undefined) return []
  return [
    ...nonNegative(field, deadline),
    ...(deadline <= minReady ? [fieldErrors.invalid(field, deadline, 'must be greater than minReadySeconds')] : []),
  ]
}

function replicaSetErrors(object: unknown): FieldError[] {
  const spec = objectAt(object, 'spec')
  return [
    ...nonNegative('spec.replicas', numberAt(spec, 'replicas')),
    ...nonNegative('spec.minReadySeconds', numberAt(spec, 'minReadySeconds')),
    ...selectedTemplateErrors(spec, 'deployment'),
  ]
}

function replicationControllerErrors(object: unknown): FieldError[] {
  const spec = objectAt(object, 'spec')
  const selector = mapAt(spec, 'selector')
  const labels = mapAt(spec, 'template', 'metadata', 'labels')
  const errors: FieldError[] = [...nonNegative('spec.minReadySeconds', numberAt(spec, 'minReadySeconds'))]
  if (Object.keys(selector).length === 0) errors.push(fieldErrors.required('spec.selector'))
  errors.push(...nonNegative('spec.replicas', numberAt(spec, 'replicas')))
  if (!has(spec, 'template')) return [...errors, fieldErrors.required('spec.template')]
  if (Object.entries(selector).some(([key, value]) => labels[key] !== value)) {
    errors.push(
      fieldErrors.invalid(
        'spec.template.metadata.labels',
        Object.keys(labels).length === 0 ? null : labels,
        '`selector` does not match template `labels`',
      ),
    )
  }
  errors.push(...podTemplateErrors('spec.template', objectAt(spec, 'template')))
  const restartPolicy = stringAt(spec, 'template', 'spec', 'restartPolicy')
  if (restartPolicy !== 'Always')
    errors.push(fieldErrors.notSupported('spec.template.spec.restartPolicy', restartPolicy, ['Always']))
  if (has(objectAt(spec, 'template', 'spec'), 'activeDeadlineSeconds')) {
    const detail = 'activeDeadlineSeconds in ReplicationController is not Supported'
    errors.push(fieldErrors.forbidden('spec.template.spec.activeDeadlineSeconds', detail))
  }
  return errors
}

/** Validates the counters of a workload's status: none below zero, none above `replicas`. */
export function replicaStatusErrors(status: JsonObject): FieldError[] {
  const counts = ['replicas', 'fullyLabeledReplicas', 'readyReplicas', 'availableReplicas', 'terminatingReplicas']
  const total = numberAt(status, 'replicas') ?? 0
  const errors = counts.flatMap((name) => nonNegative(`status.${name}`, numberAt(status, name)))
  errors.push(...nonNegative('status.observedGeneration', numberAt(status, 'observedGeneration')))
  for (const name of ['fullyLabeledReplicas', 'readyReplicas', 'availableReplicas']) {
    const count = numberAt(status, name) ?? 0
    if (count > total)
      errors.push(fieldErrors.invalid(`status.${name}`, count, 'cannot be greater than status.replicas'))
  }
  const ready = numberAt(status, 'readyReplicas') ?? 0
  const available = numberAt(status, 'availableReplicas') ?? 0
  if (available > ready)
    errors.push(fieldErrors.invalid('status.availableReplicas', available, 'cannot be greater than readyReplicas'))
  return errors
}
