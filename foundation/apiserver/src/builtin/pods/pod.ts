// Pods: defaults and admission of a new one, what may change later, how it is deleted.
import type { FieldError, JsonObject, JsonValue, KubeObject, MutableJsonObject } from '@fairlead/kube'
import { fieldErrors, forbidden, jsonEqual } from '@fairlead/kube'
import type { Strategy, WriteContext } from '../../registry/strategy.ts'
import { draftAt, draftsAt, ensureAt, fill, flagAt, has, numberAt, objectAt, objectsAt, stringAt } from '../fields.ts'
import { defaultPodSpec } from './pod-spec-defaults.ts'
import { podSpecDifference } from './pod-spec-difference.ts'
import { podSpecErrors } from './pod-spec-validation.ts'
import { podWarnings } from './pod-warnings.ts'
import { qualityOfService } from './quality-of-service.ts'

/** Behaviour of pods. */
export const podStrategy: Strategy = {
  warnings: (object, old) => podWarnings(object, old, ['spec']),
  returnsDeletedObject: true,
  hasStatus: true,
  tracksGeneration: true,
  resetFields: {
    '': [['status']],
    status: [['spec'], ['metadata', 'deletionTimestamp'], ['metadata', 'ownerReferences']],
  },
  applyDefaults(object) {
    const spec = draftAt(object, 'spec')
    if (spec === undefined) return
    requestsFromLimits(spec)
    defaultPodSpec(spec)
    fill(spec, { enableServiceLinks: true })
    if (flagAt(spec, 'hostNetwork')) hostPortsFromContainerPorts(spec)
  },
  prepareForCreate(object, context) {
    const spec = ensureAt(object, 'spec')
    tolerateBriefOutages(spec)
    resolvePriority(spec, object, context)
    object['status'] = { phase: 'Pending', qosClass: qualityOfService(spec) }
  },
  validate: (object) => podSpecErrors('spec', objectAt(object, 'spec')),
  validateUpdate: (object, old) => [
    ...podSpecErrors('spec', objectAt(object, 'spec')),
    ...specChangeErrors(objectAt(object, 'spec'), objectAt(old, 'spec')),
  ],
  gracePeriodSeconds: podGracePeriod,
}

/** A pod that no node has taken, or that has ended, goes at once; others get their own period (30 s by default). */
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

/** The admission plugin DefaultTolerationSeconds: a node may be away for five minutes. */
function tolerateBriefOutages(spec: MutableJsonObject): void {
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

/** Priority classes that exist without being stored. */
const systemPriorities: ReadonlyMap<string, number> = new Map([
  ['system-cluster-critical', 2_000_000_000],
  ['system-node-critical', 2_000_001_000],
])

/** The admission plugin Priority: a class name becomes a number. */
function resolvePriority(spec: MutableJsonObject, object: JsonObject, context: WriteContext): void {
  const className = stringAt(spec, 'priorityClassName')
  const stored = className === '' ? undefined : context.read('priorityclasses.scheduling.k8s.io', className)
  const priority = className === '' ? 0 : (numberAt(stored, 'value') ?? systemPriorities.get(className))
  const name = stringAt(object, 'metadata', 'name')
  if (priority === undefined)
    throw forbidden({ group: '', plural: 'pods' }, name, `no PriorityClass with name ${className} was found`)
  if (has(spec, 'priority') && numberAt(spec, 'priority') !== priority) {
    throw forbidden(
      { group: '', plural: 'pods' },
      name,
      `the integer value of priority (${numberAt(spec, 'priority')}) must not be provided in pod spec; priority admission controller computed ${priority} from the given PriorityClass name`,
    )
  }
  spec['priority'] = priority
  spec['preemptionPolicy'] ??= stringAt(stored, 'preemptionPolicy') || 'PreemptLowerPriority'
}

const changeable =
  'pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,' +
  '`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)'

function specChangeErrors(spec: JsonObject, old: JsonObject): FieldError[] {
  const errors: FieldError[] = []
  for (const list of ['containers', 'initContainers']) {
    if (objectsAt(spec, list).length !== objectsAt(old, list).length) {
      return [
        fieldErrors.forbidden(
          `spec.${list}`,
          list === 'containers'
            ? 'pod updates may not add or remove containers'
            : 'pod updates may not add or remove init containers',
        ),
      ]
    }
  }
  errors.push(...deadlineChangeErrors(numberAt(spec, 'activeDeadlineSeconds'), numberAt(old, 'activeDeadlineSeconds')))
  const added = objectsAt(spec, 'tolerations')
  const kept = objectsAt(old, 'tolerations').every((toleration) =>
    added.some((candidate) => jsonEqual(candidate, toleration)),
  )
  if (!kept)
    errors.push(
      fieldErrors.forbidden('spec.tolerations', 'existing toleration can not be modified except its tolerationSeconds'),
    )
  if (errors.length > 0) return errors
  const allowed = withAllowedChanges(spec, old)
  return jsonEqual(allowed, spec)
    ? []
    : [fieldErrors.forbidden('spec', `${changeable}\n${podSpecDifference(allowed, spec)}`)]
}

function deadlineChangeErrors(seconds: number | undefined, old: number | undefined): FieldError[] {
  if (old === undefined || seconds === old) return []
  const field = 'spec.activeDeadlineSeconds'
  if (seconds === undefined)
    return [fieldErrors.invalid(field, null, 'must not update from a positive integer to nil value')]
  return seconds > old ? [fieldErrors.invalid(field, seconds, 'must be less than or equal to previous value')] : []
}

/** The old spec with those fields of the new one that pods may change. */
function withAllowedChanges(spec: JsonObject, old: JsonObject): JsonObject {
  const next: MutableJsonObject = { ...old }
  for (const list of ['containers', 'initContainers']) {
    if (!has(old, list)) continue
    next[list] = objectsAt(old, list).map((container, index) =>
      withField(container, 'image', objectsAt(spec, list)[index]?.['image']),
    )
  }
  for (const field of ['activeDeadlineSeconds', 'tolerations']) Object.assign(next, withField({}, field, spec[field]))
  if (spec['activeDeadlineSeconds'] === undefined) delete next['activeDeadlineSeconds']
  if (
    (numberAt(old, 'terminationGracePeriodSeconds') ?? 0) < 0 &&
    numberAt(spec, 'terminationGracePeriodSeconds') === 1
  )
    next['terminationGracePeriodSeconds'] = 1
  return next
}

function withField(object: JsonObject, field: string, value: JsonValue | undefined): JsonObject {
  return value === undefined ? object : { ...object, [field]: value }
}
