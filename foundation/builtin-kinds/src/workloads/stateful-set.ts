// StatefulSets, DaemonSets and ControllerRevisions.
import type { FieldError, JsonObject, KubeObject, MutableJsonObject } from '@fairlead/kube'
import { dns1123Label, fieldErrors, fieldPath, isJsonObject, jsonEqual } from '@fairlead/kube'
import type { Draft, Strategy } from '../definition/strategy.ts'
import { messageType } from '../go-types/message-type.ts'
import {
  countOrPercentForm,
  immutable,
  isPositiveCount,
  labelName,
  nonNegative,
  oneOf,
  percentLimit,
  unsupportedStruct,
} from '../checks.ts'
import { internalMessage, invalidInternal } from '../go-types/internal-form.ts'
import { claimSpecErrors, claimWarnings } from '../pods/claim-spec-validation.ts'
import { collisionErrors } from './deployment.ts'
import {
  draftAt,
  draftsAt,
  ensureAt,
  fill,
  fillStrings,
  has,
  numberAt,
  objectAt,
  objectsAt,
  stringAt,
} from '../fields.ts'
import { replicaCountErrors } from './replica-counts.ts'
import { podWarnings } from '../pods/pod-warnings.ts'
import { defaultPodTemplate } from '../pods/pod-spec-defaults.ts'
import { selectedTemplateErrors } from '../pods/pod-template.ts'

/** The annotation of DaemonSets that the conversion to apps/v1 adds: Tables and metadata alone are made without it. */
export const templateGeneration = 'deprecated.daemonset.template.generation'

/** The strategy of StatefulSets. */
export const statefulSetStrategy: Strategy = {
  warnings: (object, old) => [
    ...podWarnings(object, old, ['spec', 'template', 'spec']),
    ...objectsAt(object, 'spec', 'volumeClaimTemplates').flatMap((claim, index) =>
      claimWarnings(
        // Like the real server, with the name of Go's field on updates.
        `${fieldPath('spec.volumeClaimTemplates', index)}${old === undefined ? '' : '.Spec'}`,
        objectAt(claim, 'spec'),
      ),
    ),
    ...((numberAt(object, 'spec', 'revisionHistoryLimit') ?? 0) < 0
      ? ['spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended']
      : []),
  ],
  tracksGeneration: true,
  applyDefaults(object) {
    const spec = ensureAt(object, 'spec')
    defaultPodTemplate(spec)
    fillStrings(spec, { podManagementPolicy: 'OrderedReady' })
    fill(spec, { replicas: 1, revisionHistoryLimit: 10 })
    const update = ensureAt(spec, 'updateStrategy')
    // Only a defaulted strategy gets default parameters; one with a type stays unchanged.
    const rolling = draftAt(update, 'rollingUpdate')
    if (rolling !== undefined) fill(rolling, { partition: 0 })
    else if (!has(update, 'type')) update['rollingUpdate'] = { partition: 0 }
    fillStrings(update, { type: 'RollingUpdate' })
    fillStrings(ensureAt(spec, 'persistentVolumeClaimRetentionPolicy'), { whenDeleted: 'Retain', whenScaled: 'Retain' })
    for (const claim of draftsAt(spec, 'volumeClaimTemplates')) defaultClaimTemplate(claim)
  },
  prepareForCreate: dropMaxUnavailable,
  prepareForUpdate: dropMaxUnavailable,
  validateName: (name, prefix) => dns1123Label(prefix ? name.replace(/-$/, 'a') : name),
  validate: (object) => statefulSetErrors(object),
  validateUpdate: (object, old) => [
    ...statefulSetErrors(object, true),
    ...statefulSetChangeErrors(objectAt(object, 'spec'), objectAt(old, 'spec')),
  ],
  validateStatusUpdate: (object, old) => [
    ...statefulSetStatusErrors(objectAt(object, 'status')),
    ...collisionErrors(object, old),
  ],
}

/** The strategy of DaemonSets. The annotation counts template changes for clients of old API versions. */
export const daemonSetStrategy: Strategy = {
  warnings: (object, old) => podWarnings(object, old, ['spec', 'template', 'spec']),
  tracksGeneration: true,
  applyDefaults(object) {
    const spec = ensureAt(object, 'spec')
    defaultPodTemplate(spec)
    fill(spec, { revisionHistoryLimit: 10 })
    const update = ensureAt(spec, 'updateStrategy')
    fillStrings(update, { type: 'RollingUpdate' })
    if (update['type'] === 'RollingUpdate') fill(ensureAt(update, 'rollingUpdate'), { maxUnavailable: 1, maxSurge: 0 })
    else fill(draftAt(update, 'rollingUpdate'), { maxUnavailable: 0, maxSurge: 0 })
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
    ...immutable('spec.selector', objectAt(object, 'spec')['selector'], objectAt(old, 'spec')['selector']),
    ...daemonSetErrors(object),
  ],
  validateStatusUpdate: statusErrors,
}

/** The strategy of ControllerRevisions: data is immutable. */
export const controllerRevisionStrategy: Strategy = {
  validate: (object) => [
    ...nonNegative('revision', numberAt(object, 'revision')),
    ...revisionDataErrors(object as unknown as JsonObject),
  ],
  validateUpdate: (object, old) => [
    ...nonNegative('revision', numberAt(object, 'revision')),
    ...immutable('data', object['data'] as JsonObject, old['data'] as JsonObject),
  ],
}

/** Drops a field whose feature gate is off in 1.35. */
function dropMaxUnavailable(object: Draft): void {
  delete draftAt(object, 'spec', 'updateStrategy', 'rollingUpdate')?.['maxUnavailable']
}

function revisionDataErrors(object: JsonObject): FieldError[] {
  if (!has(object, 'data')) return [fieldErrors.required('data', 'data is mandatory')]
  return isJsonObject(object['data']) ? [] : [fieldErrors.required('data', 'data must be a valid JSON object')]
}

function setTemplateGeneration(metadata: MutableJsonObject, generation: number): void {
  ensureAt(metadata, 'annotations')[templateGeneration] = String(generation)
}

function defaultClaimTemplate(claim: MutableJsonObject): void {
  // Whatever the client sent: the type of a template is known.
  claim['kind'] = 'PersistentVolumeClaim'
  claim['apiVersion'] = 'v1'
  fill(ensureAt(claim, 'spec'), { volumeMode: 'Filesystem' })
  fillStrings(ensureAt(claim, 'status'), { phase: 'Pending' })
}

function statefulSetErrors(object: unknown, isUpdate = false): FieldError[] {
  const spec = objectAt(object, 'spec')
  const retention = objectAt(spec, 'persistentVolumeClaimRetentionPolicy')
  const policy = stringAt(spec, 'podManagementPolicy')
  const service = stringAt(spec, 'serviceName')
  return [
    ...(['OrderedReady', 'Parallel'].includes(policy)
      ? []
      : [fieldErrors.invalid('spec.podManagementPolicy', policy, "must be 'OrderedReady' or 'Parallel'")]),
    ...updateErrors(objectAt(spec, 'updateStrategy')),
    ...['whenDeleted', 'whenScaled'].flatMap((when) =>
      oneOf(`spec.persistentVolumeClaimRetentionPolicy.${when}`, stringAt(retention, when), ['Retain', 'Delete']),
    ),
    ...(isUpdate
      ? []
      : objectsAt(spec, 'volumeClaimTemplates').flatMap((claim, index) =>
          claimSpecErrors(fieldPath('spec.volumeClaimTemplates', index, 'spec'), objectAt(claim, 'spec')),
        )),
    ...nonNegative('spec.replicas', numberAt(spec, 'replicas')),
    ...nonNegative('spec.minReadySeconds', numberAt(spec, 'minReadySeconds')),
    ...nonNegative('spec.ordinals.start', numberAt(spec, 'ordinals', 'start')),
    ...(isUpdate || service === '' ? [] : labelName('spec.serviceName', service)),
    ...selectedTemplateErrors(spec, 'statefulset', templateWithClaims(spec)),
  ]
}

function updateErrors(update: JsonObject): FieldError[] {
  const type = stringAt(update, 'type')
  const rolling = objectAt(update, 'rollingUpdate')
  const path = 'spec.updateStrategy.rollingUpdate'
  const message = 'k8s.io.api.apps.v1.StatefulSetUpdateStrategy'
  if (type === 'OnDelete') {
    if (!has(update, 'rollingUpdate')) return []
    const why = "only allowed for updateStrategy 'RollingUpdate'"
    return [invalidInternal(path, 'k8s.io.api.apps.v1.RollingUpdateStatefulSetStrategy', rolling, why)]
  }
  if (type !== 'RollingUpdate')
    return [invalidInternal('spec.updateStrategy', message, update, "must be 'RollingUpdate' or 'OnDelete'")]
  return nonNegative(`${path}.partition`, numberAt(rolling, 'partition'))
}

/** Returns the template with volumes for the claims, as pods of the set will have them. */
function templateWithClaims(spec: JsonObject): JsonObject {
  const template = objectAt(spec, 'template')
  const claims = new Set(objectsAt(spec, 'volumeClaimTemplates').map((claim) => stringAt(claim, 'metadata', 'name')))
  const { hostname: _hostname, subdomain: _subdomain, ...podSpec } = objectAt(template, 'spec')
  const volumes = [
    ...[...claims].map((name) => ({ name, persistentVolumeClaim: { claimName: name } })),
    ...objectsAt(podSpec, 'volumes').filter((volume) => !claims.has(stringAt(volume, 'name'))),
  ]
  return { ...template, spec: { ...podSpec, ...(volumes.length === 0 ? {} : { volumes }) } }
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

function statefulSetStatusErrors(status: JsonObject): FieldError[] {
  const counts = ['readyReplicas', 'currentReplicas', 'updatedReplicas', 'availableReplicas']
  const errors: FieldError[] = ['replicas', ...counts, 'observedGeneration', 'collisionCount'].flatMap((name) =>
    nonNegative(`status.${name}`, numberAt(status, name)),
  )
  return [...errors, ...replicaCountErrors(status, counts, 'status.readyReplicas')]
}

function daemonSetErrors(object: unknown): FieldError[] {
  const spec = objectAt(object, 'spec')
  const update = objectAt(spec, 'updateStrategy')
  const rolling = objectAt(update, 'rollingUpdate')
  const path = 'spec.updateStrategy.rollingUpdate'
  const errors = [
    ...selectedTemplateErrors(spec, 'daemonset'),
    ...nonNegative('spec.minReadySeconds', numberAt(spec, 'minReadySeconds')),
    ...(['RollingUpdate', 'OnDelete'].includes(stringAt(update, 'type'))
      ? []
      : [
          unsupportedStruct(
            'spec.updateStrategy',
            internalMessage(messageType('k8s.io.api.apps.v1.DaemonSetUpdateStrategy'), update),
            ['RollingUpdate', 'OnDelete'],
          ),
        ]),
    ...nonNegative('spec.revisionHistoryLimit', numberAt(spec, 'revisionHistoryLimit')),
  ]
  if (stringAt(update, 'type') !== 'RollingUpdate') return errors
  const counts = ['maxUnavailable', 'maxSurge'] as const
  errors.push(
    ...counts.flatMap((field) => countOrPercentForm(`${path}.${field}`, rolling[field])),
    ...counts.flatMap((field) => percentLimit(`${path}.${field}`, rolling[field])),
  )
  const surges = isPositiveCount(rolling['maxSurge'])
  const disrupts = isPositiveCount(rolling['maxUnavailable'])
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
