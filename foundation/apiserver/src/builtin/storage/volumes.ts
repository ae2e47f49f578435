// Persistent volumes and claims, storage classes and CSI objects.
import type { FieldError, JsonObject, KubeObject } from '@fairlead/kube'
import { compareQuantities, fieldErrors, fieldPath, jsonEqual, parseQuantity } from '@fairlead/kube'
import type { Strategy } from '../../registry/strategy.ts'
import { immutable, oneOf, subdomainName } from '../checks.ts'
import { ensureAt, fill, fillText, has, mapAt, objectAt, stringAt, stringsAt } from '../fields.ts'

const accessModes = ['ReadWriteOnce', 'ReadOnlyMany', 'ReadWriteMany', 'ReadWriteOncePod']

/** Behaviour of PersistentVolumeClaims. */
export const claimStrategy: Strategy = {
  returnsDeletedObject: true,
  hasStatus: true,
  applyDefaults(object) {
    fill(ensureAt(object, 'spec'), { volumeMode: 'Filesystem' })
    fillText(ensureAt(object, 'status'), { phase: 'Pending' })
  },
  prepareForCreate(object) {
    object['status'] = { phase: 'Pending' }
  },
  validate: (object) => claimErrors(objectAt(object, 'spec')),
  validateUpdate: (object, old) => [
    ...claimErrors(objectAt(object, 'spec')),
    ...claimChangeErrors(objectAt(object, 'spec'), objectAt(old, 'spec')),
  ],
}

/** Behaviour of PersistentVolumes. */
export const volumeStrategy: Strategy = {
  returnsDeletedObject: true,
  hasStatus: true,
  applyDefaults(object) {
    const spec = ensureAt(object, 'spec')
    fillText(spec, { persistentVolumeReclaimPolicy: 'Retain' })
    fill(spec, { volumeMode: 'Filesystem' })
    if (has(spec, 'hostPath')) fill(ensureAt(spec, 'hostPath'), { type: '' })
    fillText(ensureAt(object, 'status'), { phase: 'Pending' })
  },
  prepareForCreate(object, context) {
    object['status'] = {
      phase: 'Pending',
      lastPhaseTransitionTime: `${new Date(context.now).toISOString().slice(0, 19)}Z`,
    }
  },
  validate: (object) => volumeErrors(objectAt(object, 'spec')),
  validateUpdate: (object, old) => [
    ...volumeErrors(objectAt(object, 'spec')),
    ...immutable('spec.volumeMode', objectAt(object, 'spec')['volumeMode'], objectAt(old, 'spec')['volumeMode']),
  ],
}

/** Behaviour of StorageClasses. */
export const storageClassStrategy: Strategy = {
  allowCreateOnUpdate: false,
  applyDefaults(object) {
    fillText(object, { reclaimPolicy: 'Delete', volumeBindingMode: 'Immediate' })
  },
  validate: storageClassErrors,
  validateUpdate: (object, old) => [
    ...storageClassErrors(object),
    ...(jsonEqual(mapAt(object, 'parameters'), mapAt(old, 'parameters'))
      ? []
      : [fieldErrors.forbidden('parameters', 'updates to parameters are forbidden.')]),
    ...(stringAt(object, 'provisioner') === stringAt(old, 'provisioner')
      ? []
      : [fieldErrors.forbidden('provisioner', 'updates to provisioner are forbidden.')]),
    ...(stringAt(object, 'reclaimPolicy') === stringAt(old, 'reclaimPolicy')
      ? []
      : [fieldErrors.forbidden('reclaimPolicy', 'updates to reclaimPolicy are forbidden.')]),
    ...immutable('volumeBindingMode', stringAt(object, 'volumeBindingMode'), stringAt(old, 'volumeBindingMode')),
  ],
}

/** Behaviour of CSIDrivers. */
export const csiDriverStrategy: Strategy = {
  applyDefaults(object) {
    const spec = ensureAt(object, 'spec')
    fill(spec, {
      attachRequired: true,
      podInfoOnMount: false,
      storageCapacity: false,
      requiresRepublish: false,
      seLinuxMount: false,
    })
    fillText(spec, { fsGroupPolicy: 'ReadWriteOnceWithFSType' })
    if (stringsAt(spec, 'volumeLifecycleModes').length === 0) spec['volumeLifecycleModes'] = ['Persistent']
  },
}

/** Behaviour of VolumeAttachments: where a volume goes never changes. */
export const attachmentStrategy: Strategy = {
  hasStatus: true,
  validate: (object) => [
    ...(stringAt(object, 'spec', 'attacher') === '' ? [fieldErrors.required('spec.attacher')] : []),
    ...(stringAt(object, 'spec', 'nodeName') === '' ? [fieldErrors.required('spec.nodeName')] : []),
  ],
  validateUpdate: (object, old) => immutable('spec', objectAt(object, 'spec'), objectAt(old, 'spec')),
}

/** Behaviour of VolumeAttributesClasses. */
export const attributesClassStrategy: Strategy = {
  validate: (object) => (stringAt(object, 'driverName') === '' ? [fieldErrors.required('driverName')] : []),
  validateUpdate: (object, old) => [
    ...immutable('driverName', stringAt(object, 'driverName'), stringAt(old, 'driverName')),
    ...(jsonEqual(mapAt(object, 'parameters'), mapAt(old, 'parameters'))
      ? []
      : [fieldErrors.forbidden('parameters', 'updates to parameters are forbidden.')]),
  ],
}

function modeErrors(modes: readonly string[]): FieldError[] {
  if (modes.length === 0) return [fieldErrors.required('spec.accessModes', 'at least 1 access mode is required')]
  return modes
    .filter((mode) => !accessModes.includes(mode))
    .map((mode) => fieldErrors.notSupported('spec.accessModes', mode, accessModes.toSorted()))
}

function claimErrors(spec: JsonObject): FieldError[] {
  const errors = modeErrors(stringsAt(spec, 'accessModes'))
  const storage = mapAt(spec, 'resources', 'requests')['storage']
  const field = fieldPath('spec.resources', { key: 'storage' })
  if (storage === undefined) errors.push(fieldErrors.required(field))
  else if (compareQuantities(parseQuantity(storage), parseQuantity('0')) <= 0)
    errors.push(fieldErrors.invalid(field, storage, 'must be greater than zero'))
  if (stringAt(spec, 'storageClassName') !== '')
    errors.push(...subdomainName('spec.storageClassName', stringAt(spec, 'storageClassName')))
  return [...errors, ...oneOf('spec.volumeMode', stringAt(spec, 'volumeMode'), ['Block', 'Filesystem'], 'fine')]
}

function claimChangeErrors(spec: JsonObject, old: JsonObject): FieldError[] {
  const comparable = (value: JsonObject): JsonObject =>
    Object.fromEntries(
      Object.entries(value).filter(
        ([field]) =>
          !['resources', 'volumeAttributesClassName'].includes(field) &&
          !(field === 'volumeName' && stringAt(old, 'volumeName') === ''),
      ),
    )
  if (!jsonEqual(comparable(spec), comparable(old))) {
    return [
      fieldErrors.forbidden(
        'spec',
        'spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims',
      ),
    ]
  }
  const size = mapAt(spec, 'resources', 'requests')['storage']
  const before = mapAt(old, 'resources', 'requests')['storage']
  if (size === undefined || before === undefined || compareQuantities(parseQuantity(size), parseQuantity(before)) >= 0)
    return []
  return [fieldErrors.forbidden('spec.resources.requests.storage', 'field can not be less than status.capacity')]
}

function volumeErrors(spec: JsonObject): FieldError[] {
  const errors = modeErrors(stringsAt(spec, 'accessModes'))
  const capacity = mapAt(spec, 'capacity')
  if (Object.keys(capacity).length === 0) errors.push(fieldErrors.required('spec.capacity'))
  else if (capacity['storage'] === undefined || Object.keys(capacity).length > 1) {
    errors.push(fieldErrors.notSupported('spec.capacity', capacity, ['storage']))
  }
  errors.push(
    ...oneOf(
      'spec.persistentVolumeReclaimPolicy',
      stringAt(spec, 'persistentVolumeReclaimPolicy'),
      ['Delete', 'Recycle', 'Retain'],
      'fine',
    ),
  )
  if (!volumeSources.some((source) => has(spec, source)))
    errors.push(fieldErrors.required('spec', 'must specify a volume type'))
  return errors
}

const volumeSources = [
  'awsElasticBlockStore',
  'azureDisk',
  'azureFile',
  'cephfs',
  'cinder',
  'csi',
  'fc',
  'flexVolume',
  'flocker',
  'gcePersistentDisk',
  'glusterfs',
  'hostPath',
  'iscsi',
  'local',
  'nfs',
  'photonPersistentDisk',
  'portworxVolume',
  'quobyte',
  'rbd',
  'scaleIO',
  'storageos',
  'vsphereVolume',
]

function storageClassErrors(object: KubeObject): FieldError[] {
  const errors: FieldError[] = []
  if (stringAt(object, 'provisioner') === '') errors.push(fieldErrors.required('provisioner'))
  errors.push(...oneOf('reclaimPolicy', stringAt(object, 'reclaimPolicy'), ['Delete', 'Retain'], 'fine'))
  return [
    ...errors,
    ...oneOf(
      'volumeBindingMode',
      stringAt(object, 'volumeBindingMode'),
      ['Immediate', 'WaitForFirstConsumer'],
      'required',
    ),
  ]
}
