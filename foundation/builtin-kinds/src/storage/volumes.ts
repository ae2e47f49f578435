// Persistent volumes, storage classes and CSI objects.
import type { FieldError, JsonObject, KubeObject } from '@fairlead/kube'
import { fieldErrors, fieldPath, jsonEqual, parseQuantity, qualifiedName } from '@fairlead/kube'
import type { Strategy } from '../definition/strategy.ts'
import { immutable, invalidWith, labelName, oneOf, repeatedIndices, subdomainName } from '../checks.ts'
import { ensureAt, fill, fillStrings, has, mapAt, objectAt, objectsAt, stringAt, stringsAt } from '../fields.ts'
import { accessModeErrors } from '../pods/claim-spec-validation.ts'
import { renamedLabels } from '../pods/pod-warnings.ts'
import {
  awsVolumeErrors,
  azureDiskErrors,
  fibreChannelErrors,
  flexVolumeErrors,
  flockerErrors,
  persistentDiskErrors,
  quobyteErrors,
  storageOsErrors,
} from '../pods/disk-validation.ts'
import { defaultDisk } from '../pods/pod-spec-defaults.ts'
import { backstepErrors } from '../pods/paths.ts'
import { nodeSelectorErrors } from '../pods/scheduling-validation.ts'
import { driverNameErrors, hostPathErrors, iscsiErrors, nfsErrors } from '../pods/volume-validation.ts'
import { invalidInternal } from '../go-types/internal-form.ts'
import { structDifference } from '../go-types/struct-difference.ts'
import { parameterErrors, provisionerErrors } from './parameters.ts'

/** The strategy of PersistentVolumes. */
export const volumeStrategy: Strategy = {
  returnsDeletedObject: true,
  hasStatus: true,
  applyDefaults(object) {
    const spec = ensureAt(object, 'spec')
    fillStrings(spec, { persistentVolumeReclaimPolicy: 'Retain' })
    fill(spec, { volumeMode: 'Filesystem' })
    defaultDisk(spec)
    fillStrings(ensureAt(object, 'status'), { phase: 'Pending' })
  },
  prepareForCreate(object, context) {
    object['status'] = {
      phase: 'Pending',
      lastPhaseTransitionTime: `${new Date(context.now).toISOString().slice(0, 19)}Z`,
    }
  },
  warnings: volumeWarnings,
  validate: (object) => volumeErrors(objectAt(object, 'spec')),
  // The real server validates the spec twice here, so its causes repeat.
  validateUpdate: (object, old) => [
    ...volumeErrors(objectAt(object, 'spec')),
    ...volumeErrors(objectAt(object, 'spec')),
    ...volumeChangeErrors(objectAt(object, 'spec'), objectAt(old, 'spec')),
  ],
}

/** The strategy of StorageClasses. */
export const storageClassStrategy: Strategy = {
  returnsDeletedObject: true,
  allowCreateOnUpdate: false,
  applyDefaults(object) {
    fill(object, { reclaimPolicy: 'Delete', volumeBindingMode: 'Immediate' })
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

const deprecatedAnnotations: Readonly<Record<string, string>> = {
  'volume.beta.kubernetes.io/storage-class': 'deprecated since v1.8; use "storageClassName" attribute instead',
  'volume.beta.kubernetes.io/mount-options': 'deprecated since v1.31; use "mountOptions" attribute instead',
}

const deprecatedSources: Readonly<Record<string, string>> = {
  cephfs: 'deprecated in v1.28, non-functional in v1.31+',
  photonPersistentDisk: 'deprecated in v1.11, non-functional in v1.16+',
  scaleIO: 'deprecated in v1.16, non-functional in v1.22+',
  storageos: 'deprecated in v1.22, non-functional in v1.25+',
  glusterfs: 'deprecated in v1.25, non-functional in v1.26+',
  rbd: 'deprecated in v1.28, non-functional in v1.31+',
}

function volumeWarnings(object: KubeObject): string[] {
  const spec = objectAt(object, 'spec')
  const warnings = Object.entries(deprecatedAnnotations).flatMap(([key, advice]) =>
    object.metadata.annotations?.[key] === undefined ? [] : [`metadata.annotations[${key}]: ${advice}`],
  )
  if (spec['persistentVolumeReclaimPolicy'] === 'Recycle')
    warnings.push(
      'spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning.',
    )
  const terms = 'spec.nodeAffinity.required.nodeSelectorTerms'
  for (const [index, term] of objectsAt(spec, 'nodeAffinity', 'required', 'nodeSelectorTerms').entries())
    for (const [at, { key }] of objectsAt(term, 'matchExpressions').entries())
      if (typeof key === 'string' && Object.hasOwn(renamedLabels, key))
        warnings.push(`${fieldPath(terms, index, 'matchExpressions', at, 'key')}: ${key} is ${renamedLabels[key]}`)
  for (const [source, advice] of Object.entries(deprecatedSources))
    if (has(spec, source)) warnings.push(`spec.${source === 'storageos' ? 'storageOS' : source}: ${advice}`)
  return warnings
}

const sourceChecks: Readonly<Record<string, (path: string, source: JsonObject) => FieldError[]>> = {
  hostPath: hostPathErrors,
  nfs: nfsErrors,
  csi: (path, source) => [
    ...driverNameErrors(`${path}.driver`, stringAt(source, 'driver')),
    ...(stringAt(source, 'volumeHandle') === '' ? [fieldErrors.required(`${path}.volumeHandle`)] : []),
    ...['controllerPublishSecretRef', 'controllerExpandSecretRef', 'nodePublishSecretRef', 'nodeExpandSecretRef']
      .filter((field) => has(source, field))
      .flatMap((field) => secretReferenceErrors(`${path}.${field}`, objectAt(source, field))),
  ],
  iscsi: (path, source) => iscsiErrors(path, source, false),
  gcePersistentDisk: (_path, source) => persistentDiskErrors('spec.persistentDisk', source),
  awsElasticBlockStore: awsVolumeErrors,
  glusterfs: needed('endpoints', 'path'),
  flocker: flockerErrors,
  rbd: (path, source) => [...monitorErrors(path, source), ...needed('image')(path, source)],
  quobyte: quobyteErrors,
  cephfs: monitorErrors,
  cinder: (path, source) => [...needed('volumeID')(path, source), ...ownSecretErrors(path, source)],
  fc: fibreChannelErrors,
  flexVolume: flexVolumeErrors,
  azureFile: (path, source) => [
    ...needed('secretName', 'shareName')(path, source),
    ...(source['secretNamespace'] === '' ? [fieldErrors.required(`${path}.secretNamespace`)] : []),
  ],
  vsphereVolume: needed('volumePath'),
  photonPersistentDisk: needed('pdID'),
  portworxVolume: needed('volumeID'),
  azureDisk: azureDiskErrors,
  scaleIO: needed('gateway', 'system', 'volumeName'),
  storageos: (path, source) => [...storageOsErrors(path, withoutSecret(source)), ...ownSecretErrors(path, source)],
  local: (path, source) =>
    stringAt(source, 'path') === ''
      ? [fieldErrors.required(`${path}.path`)]
      : backstepErrors(`${path}.path`, stringAt(source, 'path')),
}

/** Creates a check of required fields. */
function needed(...fields: readonly string[]): (path: string, source: JsonObject) => FieldError[] {
  return (path, source) =>
    fields.filter((field) => stringAt(source, field) === '').map((field) => fieldErrors.required(`${path}.${field}`))
}

function monitorErrors(path: string, source: JsonObject): FieldError[] {
  return stringsAt(source, 'monitors').length === 0 ? [fieldErrors.required(`${path}.monitors`)] : []
}

function withoutSecret({ secretRef: _secret, ...source }: JsonObject): JsonObject {
  return source
}

/** Volumes are in no namespace, so they name that of their Secret. */
function ownSecretErrors(path: string, source: JsonObject): FieldError[] {
  if (!has(source, 'secretRef')) return []
  return needed('name', 'namespace')(`${path}.secretRef`, objectAt(source, 'secretRef'))
}

function secretReferenceErrors(path: string, reference: JsonObject): FieldError[] {
  const [name, namespace] = [stringAt(reference, 'name'), stringAt(reference, 'namespace')]
  return [
    ...(name === '' ? [fieldErrors.required(`${path}.name`)] : subdomainName(`${path}.name`, name)),
    ...(namespace === '' ? [fieldErrors.required(`${path}.namespace`)] : labelName(`${path}.namespace`, namespace)),
  ]
}

const volumeSources = [
  'hostPath',
  'gcePersistentDisk',
  'awsElasticBlockStore',
  'glusterfs',
  'flocker',
  'nfs',
  'rbd',
  'quobyte',
  'cephfs',
  'iscsi',
  'cinder',
  'fc',
  'flexVolume',
  'azureFile',
  'vsphereVolume',
  'photonPersistentDisk',
  'portworxVolume',
  'azureDisk',
  'scaleIO',
  'local',
  'storageos',
  'csi',
]

function volumeErrors(spec: JsonObject): FieldError[] {
  const errors = accessModeErrors('spec.accessModes', stringsAt(spec, 'accessModes'))
  const capacity = mapAt(spec, 'capacity')
  const names = Object.keys(capacity)
  if (names.length === 0) errors.push(fieldErrors.required('spec.capacity'))
  if (capacity['storage'] === undefined || names.length > 1)
    errors.push(fieldErrors.notSupported('spec.capacity', has(spec, 'capacity') ? capacity : null, ['storage']))
  for (const [name, amount] of Object.entries(capacity)) {
    if (parseQuantity(amount).nanos < 0n) {
      const field = fieldPath('spec.capacity', { key: name })
      errors.push({ ...fieldErrors.invalid(field, amount, 'must be a valid resource quantity'), shown: amount })
    }
    if (parseQuantity(amount).nanos <= 0n)
      errors.push(fieldErrors.invalid(fieldPath('spec.capacity', { key: name }), amount, 'must be greater than zero'))
  }
  errors.push(
    ...oneOf(
      'spec.persistentVolumeReclaimPolicy',
      stringAt(spec, 'persistentVolumeReclaimPolicy'),
      ['Delete', 'Recycle', 'Retain'],
      'fine',
    ),
  )
  errors.push(...affinityErrors(spec))
  errors.push(...sourceErrors(spec))
  if (objectAt(spec, 'hostPath')['path'] === '/' && spec['persistentVolumeReclaimPolicy'] === 'Recycle')
    errors.push(
      fieldErrors.forbidden('spec.persistentVolumeReclaimPolicy', "may not be 'recycle' for a hostPath mount of '/'"),
    )
  if (stringAt(spec, 'storageClassName') !== '')
    errors.push(...subdomainName('spec.storageClassName', stringAt(spec, 'storageClassName')))
  if (has(spec, 'volumeMode'))
    errors.push(...oneOf('spec.volumeMode', stringAt(spec, 'volumeMode'), ['Block', 'Filesystem']))
  return has(spec, 'volumeAttributesClassName') ? [...errors, ...attributesClassErrors(spec)] : errors
}

function attributesClassErrors(spec: JsonObject): FieldError[] {
  const field = 'spec.volumeAttributesClassName'
  const name = stringAt(spec, 'volumeAttributesClassName')
  return [
    ...(name === '' ? [fieldErrors.required(field, 'an empty string is disallowed')] : subdomainName(field, name)),
    ...(has(spec, 'csi')
      ? []
      : [fieldErrors.required('spec.csi', 'has to be specified when using volumeAttributesClassName')]),
  ]
}

function affinityErrors(spec: JsonObject): FieldError[] {
  if (!has(spec, 'nodeAffinity')) return []
  return has(objectAt(spec, 'nodeAffinity'), 'required')
    ? nodeSelectorErrors('spec.nodeAffinity.required', objectAt(spec, 'nodeAffinity', 'required'))
    : [fieldErrors.required('spec.nodeAffinity.required', 'must specify required node constraints')]
}

function sourceErrors(spec: JsonObject): FieldError[] {
  const given = volumeSources.filter((source) => has(spec, source))
  if (given.length === 0) return [fieldErrors.required('spec', 'must specify a volume type')]
  return given.flatMap((source, index) => {
    if (index > 0)
      return [
        fieldErrors.forbidden(
          `spec.${source === 'cephfs' ? 'cephFS' : source}`,
          'may not specify more than 1 volume type',
        ),
      ]
    const errors = sourceChecks[source]?.(`spec.${source}`, objectAt(spec, source)) ?? []
    return source === 'local' && !has(spec, 'nodeAffinity')
      ? [...errors, fieldErrors.required('spec.nodeAffinity', 'Local volume requires node affinity')]
      : errors
  })
}

/** Returns the source without a secret for expansion that it did not have: it may be added. */
function withoutNewSecret(source: JsonObject, old: JsonObject): JsonObject {
  const { controllerExpandSecretRef: _secret, ...csi } = objectAt(source, 'csi')
  if (!has(source, 'csi') || has(objectAt(old, 'csi'), 'controllerExpandSecretRef')) return source
  return { ...source, csi }
}

function volumeChangeErrors(spec: JsonObject, old: JsonObject): FieldError[] {
  const errors: FieldError[] = []
  const ofSource = (value: JsonObject): JsonObject =>
    Object.fromEntries(
      volumeSources.filter((source) => has(value, source)).map((source) => [source, value[source] ?? null]),
    )
  if (!jsonEqual(withoutNewSecret(ofSource(spec), old), ofSource(old))) {
    const difference = structDifference('k8s.io.api.core.v1.PersistentVolumeSource', ofSource(old), ofSource(spec))
    errors.push(
      fieldErrors.forbidden(
        'spec.persistentvolumesource',
        `spec.persistentvolumesource is immutable after creation\n${difference}`,
      ),
    )
  }
  errors.push(...immutable('volumeMode', spec['volumeMode'], old['volumeMode']))
  if (has(old, 'nodeAffinity') && !jsonEqual(spec['nodeAffinity'] ?? null, old['nodeAffinity']!)) {
    const detail = 'field is immutable, except for updating from beta label to GA'
    errors.push(
      has(spec, 'nodeAffinity')
        ? invalidInternal(
            'nodeAffinity',
            'k8s.io.api.core.v1.VolumeNodeAffinity',
            objectAt(spec, 'nodeAffinity'),
            detail,
          )
        : fieldErrors.invalid('nodeAffinity', null, detail),
    )
  }
  if (has(old, 'volumeAttributesClassName') && !has(spec, 'volumeAttributesClassName'))
    errors.push(
      fieldErrors.forbidden('spec.volumeAttributesClassName', 'update from non-nil value to nil is forbidden'),
    )
  return errors
}

function storageClassErrors(object: KubeObject): FieldError[] {
  return [
    ...provisionerErrors('provisioner', stringAt(object, 'provisioner')),
    ...parameterErrors('parameters', mapAt(object, 'parameters'), true),
    ...oneOf('reclaimPolicy', stringAt(object, 'reclaimPolicy'), ['Delete', 'Retain'], 'fine'),
    ...oneOf('volumeBindingMode', stringAt(object, 'volumeBindingMode'), ['Immediate', 'WaitForFirstConsumer']),
    ...objectsAt(object, 'allowedTopologies').flatMap((term, index) =>
      topologyTermErrors(fieldPath('allowedTopologies', index), term),
    ),
  ]
}

function topologyTermErrors(path: string, term: JsonObject): FieldError[] {
  const keys = new Set<string>()
  return objectsAt(term, 'matchLabelExpressions').flatMap((expression, index) => {
    const place = fieldPath(path, 'matchLabelExpressions', index)
    const key = stringAt(expression, 'key')
    const values = stringsAt(expression, 'values')
    const errors = values.length === 0 ? [fieldErrors.required(`${place}.values`)] : []
    for (const at of repeatedIndices(values))
      errors.push(fieldErrors.duplicate(fieldPath(place, 'values', at), values[at]!))
    errors.push(...invalidWith(`${place}.key`, key, qualifiedName(key)))
    if (keys.has(key)) errors.push(fieldErrors.duplicate(`${place}.key`, key))
    keys.add(key)
    return errors
  })
}
