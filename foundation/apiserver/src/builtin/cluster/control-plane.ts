// Leases, nodes, quotas, priority and runtime classes: kinds of the control plane with few rules of their own.
import type { FieldError, KubeObject } from '@fairlead/kube'
import { fieldErrors, fieldPath, qualifiedName } from '@fairlead/kube'
import type { Draft, Strategy } from '../../registry/strategy.ts'
import { immutable, invalidWith, labelName, nonNegative, oneOf, positive } from '../checks.ts'
import {
  draftAt,
  draftsAt,
  ensureAt,
  fill,
  fillText,
  has,
  mapAt,
  numberAt,
  objectAt,
  objectsAt,
  stringAt,
  stringsAt,
} from '../fields.ts'

/** Behaviour of Leases. Coordinated leader election is off by default in Kubernetes: its fields are taken and dropped. */
export const leaseStrategy: Strategy = {
  allowCreateOnUpdate: true,
  allowUnconditionalUpdate: false,
  prepareForCreate: (object) => dropElectionFields(object, undefined),
  prepareForUpdate: dropElectionFields,
  validate: leaseErrors,
  validateUpdate: leaseErrors,
}

/** Behaviour of Nodes. Capacity that is not given is none. */
export const nodeStrategy: Strategy = {
  hasStatus: true,
  applyDefaults(object) {
    const status = draftAt(object, 'status')
    if (status !== undefined && !has(status, 'allocatable') && has(status, 'capacity'))
      status['allocatable'] = { ...mapAt(status, 'capacity') }
  },
  validate: (object) => taintErrors(object),
  validateUpdate: (object, old) => [
    ...taintErrors(object),
    ...(stringAt(old, 'spec', 'providerID') === ''
      ? []
      : unchanged('spec.providerID', stringAt(object, 'spec', 'providerID'), stringAt(old, 'spec', 'providerID'))),
  ],
}

/** Behaviour of ResourceQuotas. */
export const resourceQuotaStrategy: Strategy = {
  returnsDeletedObject: true,
  prepareForCreate(object) {
    object['status'] = {}
  },
  validate: (object) => quotaErrors('spec.hard', mapAt(object, 'spec', 'hard')),
  validateUpdate: (object, old) => [
    ...quotaErrors('spec.hard', mapAt(object, 'spec', 'hard')),
    ...immutable(
      'spec.scopes',
      [...stringsAt(object, 'spec', 'scopes')].toSorted(),
      [...stringsAt(old, 'spec', 'scopes')].toSorted(),
    ),
  ],
}

/** Behaviour of LimitRanges: limits and requests of containers follow from each other. */
export const limitRangeStrategy: Strategy = {
  allowCreateOnUpdate: true,
  applyDefaults(object) {
    for (const item of draftsAt(object, 'spec', 'limits')) {
      if (item['type'] !== 'Container') continue
      if (has(item, 'max')) fill(ensureAt(item, 'default'), objectAt(item, 'max'))
      if (has(item, 'default')) fill(ensureAt(item, 'defaultRequest'), objectAt(item, 'default'))
      if (has(item, 'min')) fill(ensureAt(item, 'defaultRequest'), objectAt(item, 'min'))
    }
  },
  validate: limitErrors,
  validateUpdate: limitErrors,
}

/** Behaviour of PriorityClasses. */
export const priorityClassStrategy: Strategy = {
  allowCreateOnUpdate: false,
  tracksGeneration: true,
  applyDefaults(object) {
    fillText(object, { preemptionPolicy: 'PreemptLowerPriority' })
  },
  validate: priorityErrors,
  validateUpdate: (object, old) => [
    ...(numberAt(object, 'value') === numberAt(old, 'value')
      ? []
      : [fieldErrors.forbidden('value', 'may not be changed in an update.')]),
    ...(stringAt(object, 'preemptionPolicy') === stringAt(old, 'preemptionPolicy')
      ? []
      : immutable('preemptionPolicy', stringAt(object, 'preemptionPolicy'), stringAt(old, 'preemptionPolicy'))),
  ],
}

/** Behaviour of RuntimeClasses. */
export const runtimeClassStrategy: Strategy = {
  validate: (object) => labelName('handler', stringAt(object, 'handler')),
  validateUpdate: (object, old) => immutable('handler', stringAt(object, 'handler'), stringAt(old, 'handler')),
}

function dropElectionFields(object: Draft, old: KubeObject | undefined): void {
  const spec = draftAt(object, 'spec')
  if (spec === undefined) return
  for (const field of ['strategy', 'preferredHolder']) if (!has(objectAt(old, 'spec'), field)) delete spec[field]
}

function leaseErrors(object: KubeObject): FieldError[] {
  const spec = objectAt(object, 'spec')
  const errors = [
    ...positive('spec.leaseDurationSeconds', numberAt(spec, 'leaseDurationSeconds')),
    ...nonNegative('spec.leaseTransitions', numberAt(spec, 'leaseTransitions')),
  ]
  if (has(spec, 'preferredHolder') && !has(spec, 'strategy')) {
    errors.push(fieldErrors.forbidden('spec.preferredHolder', 'may only be specified if `strategy` is defined'))
  }
  return errors
}

function unchanged(field: string, value: string, old: string): FieldError[] {
  return value === old
    ? []
    : [fieldErrors.forbidden(field, 'node updates may not change providerID except from "" to valid')]
}

function taintErrors(object: KubeObject): FieldError[] {
  const seen = new Set<string>()
  return objectsAt(object, 'spec', 'taints').flatMap((taint, index) => {
    const path = fieldPath('spec.taints', index)
    const key = stringAt(taint, 'key')
    const effect = stringAt(taint, 'effect')
    const errors = [
      ...invalidWith(`${path}.key`, key, qualifiedName(key)),
      ...oneOf(`${path}.effect`, effect, ['NoExecute', 'NoSchedule', 'PreferNoSchedule'], 'required'),
    ]
    if (seen.has(`${key}:${effect}`)) errors.push(fieldErrors.duplicate(path, taint))
    seen.add(`${key}:${effect}`)
    return errors
  })
}

function quotaErrors(field: string, amounts: Readonly<Record<string, string>>): FieldError[] {
  return Object.entries(amounts).flatMap(([name, amount]) => {
    const path = fieldPath(field, { key: name })
    return amount.startsWith('-')
      ? [fieldErrors.invalid(path, amount, 'must be greater than or equal to 0')]
      : invalidWith(path, name, qualifiedName(name))
  })
}

function limitErrors(object: KubeObject): FieldError[] {
  const types = new Set<string>()
  return objectsAt(object, 'spec', 'limits').flatMap((limit, index) => {
    const path = fieldPath('spec.limits', index)
    const type = stringAt(limit, 'type')
    const errors: FieldError[] = []
    if (!/^(Container|Pod|PersistentVolumeClaim)$/.test(type))
      errors.push(...invalidWith(`${path}.type`, type, qualifiedName(type)))
    if (types.has(type)) errors.push(fieldErrors.duplicate(`${path}.type`, type))
    types.add(type)
    if (type === 'Pod') {
      for (const field of ['default', 'defaultRequest']) {
        if (has(limit, field))
          errors.push(fieldErrors.forbidden(`${path}.${field}`, "may not be specified when `type` is 'Pod'"))
      }
    }
    return errors
  })
}

const highestUserPriority = 1_000_000_000

function priorityErrors(object: KubeObject): FieldError[] {
  const name = object.metadata.name ?? ''
  const value = numberAt(object, 'value') ?? 0
  const errors: FieldError[] = []
  if (name.startsWith('system-')) {
    if (!['system-cluster-critical', 'system-node-critical'].includes(name)) {
      errors.push(
        fieldErrors.forbidden(
          'metadata.name',
          `priority class names with 'system-' prefix are reserved for system use only. error: ${name} is not a known system priority class`,
        ),
      )
    }
  } else if (value > highestUserPriority) {
    errors.push(
      fieldErrors.forbidden('value', `maximum allowed value of a user defined priority is ${highestUserPriority}`),
    )
  }
  return [
    ...errors,
    ...oneOf('preemptionPolicy', stringAt(object, 'preemptionPolicy'), ['Never', 'PreemptLowerPriority']),
  ]
}
