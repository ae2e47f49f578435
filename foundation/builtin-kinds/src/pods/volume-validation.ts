// Validation of a pod's volumes (pkg/apis/core/validation, v1.35).
import type { FieldError, JsonObject } from '@fairlead/kube'
import { dns1123Subdomain, fieldErrors, fieldPath, parseQuantity, qualifiedName } from '@fairlead/kube'
import { invalidWith, labelErrors, labelName, oneOf } from '../checks.ts'
import { flagAt, has, mapAt, numberAt, objectAt, objectsAt, stringAt, stringsAt } from '../fields.ts'
import { claimSpecErrors } from './claim-spec-validation.ts'
import { fieldReferenceErrors, resourceReferenceErrors } from './environment-validation.ts'
import {
  awsVolumeErrors,
  azureDiskErrors,
  fibreChannelErrors,
  flexVolumeErrors,
  flockerErrors,
  persistentDiskErrors,
  quobyteErrors,
  storageOsErrors,
} from './disk-validation.ts'
import { backstepErrors, unreservedPathErrors } from './paths.ts'

/** Returns the errors of volumes, and the valid volumes by name, which can be mounted. */
export function checkVolumes(
  field: string,
  volumes: readonly JsonObject[],
): { readonly errors: FieldError[]; readonly valid: ReadonlyMap<string, JsonObject> } {
  const valid = new Map<string, JsonObject>()
  const errors = volumes.flatMap((volume, index) => {
    const path = fieldPath(field, index)
    const name = stringAt(volume, 'name')
    const found = sourceErrors(path, volume)
    if (name === '') found.push(fieldErrors.required(`${path}.name`))
    else found.push(...labelName(`${path}.name`, name))
    if (valid.has(name)) found.push(fieldErrors.duplicate(`${path}.name`, name))
    if (found.length === 0) valid.set(name, volume)
    return found
  })
  return { errors, valid }
}

type Check = (path: string, source: JsonObject) => FieldError[]

/** The validation of each volume source, in the order in which a second one is reported as too many. */
const sources: Readonly<Record<string, Check>> = {
  emptyDir: (path, source) =>
    has(source, 'sizeLimit') && parseQuantity(stringAt(source, 'sizeLimit')).nanos < 0n
      ? [fieldErrors.forbidden(`${path}.sizeLimit`, 'SizeLimit field must be a valid resource quantity')]
      : [],
  hostPath: hostPathErrors,
  gitRepo: (path, source) => [
    ...needs('repository')(path, source),
    ...unreservedPathErrors(`${path}.directory`, stringAt(source, 'directory')),
  ],
  gcePersistentDisk: (path, source) => persistentDiskErrors(`${parentOf(path)}.persistentDisk`, source),
  awsElasticBlockStore: awsVolumeErrors,
  secret: (path, source) => [...needs('secretName')(path, source), ...itemsErrors(path, source)],
  nfs: nfsErrors,
  iscsi: (path, source) => iscsiErrors(path, source, true),
  glusterfs: needs('endpoints', 'path'),
  flocker: flockerErrors,
  persistentVolumeClaim: needs('claimName'),
  rbd: (path, source) => [
    ...(stringsAt(source, 'monitors').length === 0 ? [fieldErrors.required(`${path}.monitors`)] : []),
    ...needs('image')(path, source),
  ],
  cinder: (path, source) => [
    ...needs('volumeID')(path, source),
    ...(has(source, 'secretRef') ? needs('name')(`${path}.secretRef`, objectAt(source, 'secretRef')) : []),
  ],
  cephfs: (path, source) =>
    stringsAt(source, 'monitors').length === 0 ? [fieldErrors.required(`${path}.monitors`)] : [],
  quobyte: quobyteErrors,
  downwardAPI: (path, source) => [
    ...modeErrors(`${path}.defaultMode`, numberAt(source, 'defaultMode')),
    ...objectsAt(source, 'items').flatMap((file) => downwardFileErrors(path, file)),
  ],
  fc: fibreChannelErrors,
  flexVolume: flexVolumeErrors,
  configMap: (path, source) => [...needs('name')(path, source), ...itemsErrors(path, source)],
  azureFile: needs('secretName', 'shareName'),
  vsphereVolume: needs('volumePath'),
  photonPersistentDisk: needs('pdID'),
  portworxVolume: needs('volumeID'),
  azureDisk: azureDiskErrors,
  storageos: storageOsErrors,
  projected: projectedErrors,
  scaleIO: needs('gateway', 'system', 'volumeName'),
  csi: csiErrors,
  ephemeral: ephemeralErrors,
  image: (path, source) => [
    ...needs('reference')(path, source),
    ...oneOf(`${path}.pullPolicy`, stringAt(source, 'pullPolicy'), ['Always', 'IfNotPresent', 'Never'], 'required'),
  ],
}

/** Sources that the real server names otherwise when there is one too many. */
const shownNames: Readonly<Record<string, string>> = { cephfs: 'cephFS', downwardAPI: 'downwarAPI' }

function sourceErrors(path: string, volume: JsonObject): FieldError[] {
  const given = Object.keys(sources).filter((source) => has(volume, source))
  if (given.length === 0) return [fieldErrors.required(path, 'must specify a volume type')]
  return given.flatMap((source, index) =>
    index === 0
      ? (sources[source]?.(`${path}.${source}`, objectAt(volume, source)) ?? [])
      : [fieldErrors.forbidden(`${path}.${shownNames[source] ?? source}`, 'may not specify more than 1 volume type')],
  )
}

function parentOf(path: string): string {
  return path.slice(0, path.lastIndexOf('.'))
}

/** Creates a check of required fields. */
function needs(...fields: readonly string[]): Check {
  return (path, source) =>
    fields.filter((field) => stringAt(source, field) === '').map((field) => fieldErrors.required(`${path}.${field}`))
}

const hostPathTypes = [
  '',
  'BlockDevice',
  'CharDevice',
  'Directory',
  'DirectoryOrCreate',
  'File',
  'FileOrCreate',
  'Socket',
]

/** Validates a hostPath. */
export function hostPathErrors(path: string, source: JsonObject): FieldError[] {
  const given = stringAt(source, 'path')
  if (given === '') return [fieldErrors.required(`${path}.path`)]
  return [...backstepErrors(`${path}.path`, given), ...oneOf(`${path}.type`, stringAt(source, 'type'), hostPathTypes)]
}

/** Validates an NFS export. */
export function nfsErrors(path: string, source: JsonObject): FieldError[] {
  const given = stringAt(source, 'path')
  return [
    ...needs('server', 'path')(path, source),
    ...(given.startsWith('/') ? [] : [fieldErrors.invalid(`${path}.path`, given, 'must be an absolute path')]),
  ]
}

const iscsiForms: Readonly<Record<string, RegExp>> = {
  iqn: /iqn\.\d{4}-\d{2}\.([A-Za-z0-9-.]+)(:[^,;*&$|\s]+)$/,
  eui: /^eui.[A-Za-z0-9]{16}$/,
  naa: /^naa.[A-Za-z0-9]{32}$/,
}

/** Validates an iSCSI target; `inPod`: messages say how a name may begin. */
export function iscsiErrors(path: string, source: JsonObject, inPod: boolean): FieldError[] {
  const errors = needs('targetPortal', 'iqn')(path, source)
  const iqn = stringAt(source, 'iqn')
  const lun = numberAt(source, 'lun') ?? 0
  if (iqn !== '') errors.push(...iscsiNameErrors(`${path}.iqn`, iqn, inPod))
  if (lun < 0 || lun > 255) errors.push(fieldErrors.invalid(`${path}.lun`, lun, 'must be between 0 and 255, inclusive'))
  const authenticates = flagAt(source, 'chapAuthDiscovery') || flagAt(source, 'chapAuthSession')
  if (authenticates && !has(source, 'secretRef')) errors.push(fieldErrors.required(`${path}.secretRef`))
  if (has(source, 'initiatorName'))
    errors.push(...iscsiNameErrors(`${path}.initiatorname`, stringAt(source, 'initiatorName'), inPod))
  return errors
}

function iscsiNameErrors(field: string, name: string, inPod: boolean): FieldError[] {
  const form = iscsiForms[name.slice(0, 3)]
  if (form === undefined && inPod)
    return [fieldErrors.invalid(field, name, 'must be valid format starting with iqn, eui, or naa')]
  return form?.test(name) === true ? [] : [fieldErrors.invalid(field, name, 'must be valid format')]
}

function modeErrors(field: string, mode: number | undefined): FieldError[] {
  return mode !== undefined && (mode < 0 || mode > 0o777)
    ? [fieldErrors.invalid(field, mode, 'must be a number between 0 and 0777 (octal), both inclusive')]
    : []
}

/** Validates the mode and the items of a Secret or ConfigMap. */
function itemsErrors(path: string, source: JsonObject): FieldError[] {
  return [
    ...modeErrors(`${path}.defaultMode`, numberAt(source, 'defaultMode')),
    ...objectsAt(source, 'items').flatMap((item, index) => itemErrors(fieldPath(path, 'items', index), item)),
  ]
}

function itemErrors(path: string, item: JsonObject): FieldError[] {
  return [
    ...needs('key', 'path')(path, item),
    ...unreservedPathErrors(`${path}.path`, stringAt(item, 'path')),
    ...modeErrors(`${path}.mode`, numberAt(item, 'mode')),
  ]
}

const fileFields = ['metadata.annotations', 'metadata.labels', 'metadata.name', 'metadata.namespace', 'metadata.uid']

function downwardFileErrors(path: string, file: JsonObject): FieldError[] {
  const errors = [...needs('path')(path, file), ...unreservedPathErrors(`${path}.path`, stringAt(file, 'path'))]
  if (has(file, 'fieldRef')) {
    errors.push(...fieldReferenceErrors(`${path}.fieldRef`, objectAt(file, 'fieldRef'), fileFields))
    if (has(file, 'resourceFieldRef'))
      errors.push(
        fieldErrors.invalid(path, 'resource', 'fieldRef and resourceFieldRef can not be specified simultaneously'),
      )
  } else if (has(file, 'resourceFieldRef'))
    errors.push(...resourceReferenceErrors(`${path}.resourceFieldRef`, objectAt(file, 'resourceFieldRef'), true))
  else errors.push(fieldErrors.required(path, 'one of fieldRef and resourceFieldRef is required'))
  return [...errors, ...modeErrors(`${path}.mode`, numberAt(file, 'mode'))]
}

const projections = [
  'secret',
  'configMap',
  'downwardAPI',
  'serviceAccountToken',
  'clusterTrustBundle',
  'podCertificate',
]

function projectedErrors(path: string, projected: JsonObject): FieldError[] {
  const taken = new Set<string>()
  const errors = modeErrors(`${path}.defaultMode`, numberAt(projected, 'defaultMode'))
  const take = (file: string, value: string): void => {
    if (file === '') return
    if (taken.has(file)) errors.push(fieldErrors.invalid(path, value, 'conflicting duplicate paths'))
    taken.add(file)
  }
  for (const [index, source] of objectsAt(projected, 'sources').entries()) {
    const place = fieldPath(path, 'sources', index)
    for (const kind of ['secret', 'configMap']) {
      if (!has(source, kind)) continue
      const object = objectAt(source, kind)
      errors.push(...needs('name')(`${place}.${kind}`, object))
      for (const [at, item] of objectsAt(object, 'items').entries()) {
        errors.push(...itemErrors(fieldPath(`${place}.${kind}`, 'items', at), item))
        take(stringAt(item, 'path'), stringAt(object, 'name'))
      }
    }
    for (const file of objectsAt(source, 'downwardAPI', 'items')) {
      errors.push(...downwardFileErrors(`${place}.downwardAPI`, file))
      take(stringAt(file, 'path'), stringAt(file, 'path'))
    }
    if (has(source, 'serviceAccountToken'))
      errors.push(...tokenErrors(path, place, objectAt(source, 'serviceAccountToken')))
    if (projections.filter((kind) => has(source, kind)).length > 1)
      errors.push(fieldErrors.forbidden(place, 'may not specify more than 1 volume type per source'))
  }
  return errors
}

function tokenErrors(path: string, place: string, token: JsonObject): FieldError[] {
  const seconds = numberAt(token, 'expirationSeconds') ?? 0
  const file = stringAt(token, 'path')
  const field = `${place}.serviceAccountToken.expirationSeconds`
  const errors: FieldError[] = []
  if (seconds < 600) errors.push(fieldErrors.invalid(field, seconds, 'may not specify a duration less than 10 minutes'))
  if (seconds > 2 ** 32)
    errors.push(fieldErrors.invalid(field, seconds, 'may not specify a duration larger than 2^32 seconds'))
  return [
    ...errors,
    ...(file === '' ? [fieldErrors.required(`${path}.path`)] : unreservedPathErrors(`${path}.path`, file)),
  ]
}

/** Validates the name of a CSI driver: a DNS subdomain in any case of at most 63 characters. */
export function driverNameErrors(field: string, name: string): FieldError[] {
  if (name === '') return [fieldErrors.required(field)]
  return [
    ...(name.length > 63 ? [fieldErrors.tooLong(field, 63)] : []),
    ...invalidWith(field, name, dns1123Subdomain(name.toLowerCase())),
  ]
}

function csiErrors(path: string, source: JsonObject): FieldError[] {
  const errors = driverNameErrors(`${path}.driver`, stringAt(source, 'driver'))
  if (!has(source, 'nodePublishSecretRef')) return errors
  const name = stringAt(source, 'nodePublishSecretRef', 'name')
  if (name === '') return [...errors, fieldErrors.required(`${path}.nodePublishSecretRef.name`)]
  return [...errors, ...invalidWith(`${path}.name`, name, dns1123Subdomain(name))]
}

function ephemeralErrors(path: string, source: JsonObject): FieldError[] {
  if (!has(source, 'volumeClaimTemplate')) return [fieldErrors.required(`${path}.volumeClaimTemplate`)]
  return [
    ...claimMetadataErrors(`${path}.volumeClaimTemplate.metadata`, objectAt(source, 'volumeClaimTemplate', 'metadata')),
    ...claimSpecErrors(`${path}.volumeClaimTemplate.spec`, objectAt(source, 'volumeClaimTemplate', 'spec')),
  ]
}

/** Metadata that the template of a claim may not have, with the names that messages use. */
const forbiddenMetadata: readonly (readonly [field: string, shown: string])[] = [
  ['name', 'name'],
  ['generateName', 'generateName'],
  ['namespace', 'namespace'],
  ['uid', 'uID'],
  ['resourceVersion', 'resourceVersion'],
  ['generation', 'generation'],
  ['creationTimestamp', 'creationTimestamp'],
  ['deletionTimestamp', 'deletionTimestamp'],
  ['deletionGracePeriodSeconds', 'deletionGracePeriodSeconds'],
  ['ownerReferences', 'ownerReferences'],
  ['finalizers', 'finalizers'],
]

/** Validates the metadata of an ephemeral volume's claim: labels and annotations alone. */
function claimMetadataErrors(path: string, metadata: JsonObject): FieldError[] {
  return [
    ...Object.keys(mapAt(metadata, 'annotations')).flatMap((key) =>
      invalidWith(`${path}.annotations`, key, qualifiedName(key.toLowerCase())),
    ),
    ...labelErrors(`${path}.labels`, mapAt(metadata, 'labels')),
    ...forbiddenMetadata.flatMap(([field, shown]) =>
      has(metadata, field) ? [fieldErrors.forbidden(`${path}.${shown}`, 'cannot be set')] : [],
    ),
  ]
}
