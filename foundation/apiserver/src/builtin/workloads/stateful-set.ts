// StatefulSets, DaemonSets and ControllerRevisions.
import type { FieldError, JsonObject, KubeObject, MutableJsonObject } from '@fairlead/kube'
import { fieldErrors, jsonEqual } from '@fairlead/kube'
import type { Strategy } from '../../registry/strategy.ts'
import { countOrPercent, immutable, isZeroCount, nonNegative, oneOf } from '../checks.ts'
import { draftsAt, ensureAt, fill, fillText, has, numberAt, objectAt, stringAt } from '../fields.ts'
import { podWarnings } from '../pods/pod-warnings.ts'
import { defaultPodTemplate } from '../pods/pod-spec-defaults.ts'
import { selectedTemplateErrors } from '../pods/pod-template.ts'

/** Behaviour of StatefulSets. */
export const statefulSetStrategy: Strategy = {
  warnings: (object, old) => podWarnings(object, old, ['spec', 'template', 'spec']),
  tracksGeneration: true,
  applyDefaults(object) {
    const spec = ensureAt(object, 'spec')
    defaultPodTemplate(spec)
    fillText(spec, { podManagementPolicy: 'OrderedReady' })
    fill(spec, { replicas: 1, revisionHistoryLimit: 10 })
    const update = ensureAt(spec, 'updateStrategy')
    fillText(update, { type: 'RollingUpdate' })
    if (update['type'] === 'RollingUpdate') fill(ensureAt(update, 'rollingUpdate'), { partition: 0 })
    fillText(ensureAt(spec, 'persistentVolumeClaimRetentionPolicy'), { whenDeleted: 'Retain', whenScaled: 'Retain' })
    for (const claim of draftsAt(spec, 'volumeClaimTemplates')) defaultClaimTemplate(claim)
  },
  validate: statefulSetErrors,
  validateUpdate: (object, old) => [
    ...statefulSetErrors(object),
    ...statefulSetChangeErrors(objectAt(object, 'spec'), objectAt(old, 'spec')),
  ],
  validateStatusUpdate: statusErrors,
}

/** Behaviour of DaemonSets. The annotation counts template changes for clients of old API versions. */
export const daemonSetStrategy: Strategy = {
  warnings: (object, old) => podWarnings(object, old, ['spec', 'template', 'spec']),
  tracksGeneration: true,
  applyDefaults(object) {
    const spec = ensureAt(object, 'spec')
    defaultPodTemplate(spec)
    fill(spec, { revisionHistoryLimit: 10 })
    const update = ensureAt(spec, 'updateStrategy')
    fillText(update, { type: 'RollingUpdate' })
    if (update['type'] === 'RollingUpdate') fill(ensureAt(update, 'rollingUpdate'), { maxUnavailable: 1, maxSurge: 0 })
    fill(ensureAt(object.metadata, 'annotations'), { [templateGeneration]: '0' })
  },
  prepareForCreate(object) {
    setTemplateGeneration(object.metadata, 1)
  },
  prepareForUpdate(object, old) {
    const before = Number(stringAt(old, 'metadata', 'annotations', templateGeneration) || '0')
    const changed = !jsonEqual(objectAt(object, 'spec', 'template'), objectAt(old, 'spec', 'template'))
    if (before > 0 || changed) setTemplateGeneration(object.metadata, changed ? before + 1 : before)
  },
  validate: daemonSetErrors,
  validateUpdate: (object, old) => [
    ...daemonSetErrors(object),
    ...immutable('spec.selector', objectAt(object, 'spec')['selector'], objectAt(old, 'spec')['selector']),
  ],
  validateStatusUpdate: statusErrors,
}

/** Behaviour of ControllerRevisions: their data never changes. */
export const controllerRevisionStrategy: Strategy = {
  validate: (object) => nonNegative('revision', numberAt(object, 'revision')),
  validateUpdate: (object, old) => [
    ...nonNegative('revision', numberAt(object, 'revision')),
    ...immutable('data', object['data'] as JsonObject, old['data'] as JsonObject),
  ],
}

const templateGeneration = 'deprecated.daemonset.template.generation'

function setTemplateGeneration(metadata: MutableJsonObject, generation: number): void {
  ensureAt(metadata, 'annotations')[templateGeneration] = String(generation)
}

function defaultClaimTemplate(claim: MutableJsonObject): void {
  fill(claim, { kind: 'PersistentVolumeClaim', apiVersion: 'v1' })
  fill(ensureAt(claim, 'spec'), { volumeMode: 'Filesystem' })
  fillText(ensureAt(claim, 'status'), { phase: 'Pending' })
}

function statefulSetErrors(object: unknown): FieldError[] {
  const spec = objectAt(object, 'spec')
  const update = objectAt(spec, 'updateStrategy')
  const retention = objectAt(spec, 'persistentVolumeClaimRetentionPolicy')
  return [
    ...oneOf(
      'spec.podManagementPolicy',
      stringAt(spec, 'podManagementPolicy'),
      ['OrderedReady', 'Parallel'],
      'required',
    ),
    ...oneOf('spec.updateStrategy.type', stringAt(update, 'type'), ['RollingUpdate', 'OnDelete'], 'required'),
    ...nonNegative('spec.updateStrategy.rollingUpdate.partition', numberAt(update, 'rollingUpdate', 'partition')),
    ...['whenDeleted', 'whenScaled'].flatMap((when) =>
      oneOf(`spec.persistentVolumeClaimRetentionPolicy.${when}`, stringAt(retention, when), ['Retain', 'Delete']),
    ),
    ...nonNegative('spec.replicas', numberAt(spec, 'replicas')),
    ...nonNegative('spec.minReadySeconds', numberAt(spec, 'minReadySeconds')),
    ...selectedTemplateErrors(spec, 'statefulset'),
  ]
}

const changeableFields = [
  'replicas',
  'ordinals',
  'template',
  'updateStrategy',
  'revisionHistoryLimit',
  'persistentVolumeClaimRetentionPolicy',
  'minReadySeconds',
]

function statefulSetChangeErrors(spec: JsonObject, old: JsonObject): FieldError[] {
  const fixed = (value: JsonObject): JsonObject =>
    Object.fromEntries(Object.entries(value).filter(([field]) => !changeableFields.includes(field)))
  if (jsonEqual(fixed(spec), fixed(old))) return []
  const names = changeableFields.map((field) => `'${field}'`)
  return [
    fieldErrors.forbidden(
      'spec',
      `updates to statefulset spec for fields other than ${names.slice(0, -1).join(', ')} and ${names.at(-1)} are forbidden`,
    ),
  ]
}

function daemonSetErrors(object: unknown): FieldError[] {
  const spec = objectAt(object, 'spec')
  const update = objectAt(spec, 'updateStrategy')
  const rolling = objectAt(update, 'rollingUpdate')
  const path = 'spec.updateStrategy.rollingUpdate'
  const errors = [
    ...selectedTemplateErrors(spec, 'daemonset'),
    ...nonNegative('spec.minReadySeconds', numberAt(spec, 'minReadySeconds')),
    ...oneOf('spec.updateStrategy.type', stringAt(update, 'type'), ['RollingUpdate', 'OnDelete']),
    ...nonNegative('spec.revisionHistoryLimit', numberAt(spec, 'revisionHistoryLimit')),
  ]
  if (!has(update, 'rollingUpdate')) return errors
  errors.push(
    ...countOrPercent(`${path}.maxUnavailable`, rolling['maxUnavailable']),
    ...countOrPercent(`${path}.maxSurge`, rolling['maxSurge']),
  )
  const surges = !isZeroCount(rolling['maxSurge'])
  const disrupts = !isZeroCount(rolling['maxUnavailable'])
  if (surges && disrupts)
    errors.push(
      fieldErrors.invalid(`${path}.maxSurge`, rolling['maxSurge'], 'may not be set when maxUnavailable is non-zero'),
    )
  if (!surges && !disrupts)
    errors.push(fieldErrors.required(`${path}.maxUnavailable`, 'cannot be 0 when maxSurge is 0'))
  return errors
}

function statusErrors(object: KubeObject): FieldError[] {
  return Object.entries(objectAt(object, 'status')).flatMap(([field, value]) =>
    typeof value === 'number' ? nonNegative(`status.${field}`, value) : [],
  )
}
