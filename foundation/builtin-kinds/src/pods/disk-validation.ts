// Validation of the disks of volumes, which pods and PersistentVolumes name alike (pkg/apis/core/validation, v1.35).
import type { FieldError, JsonObject } from '@fairlead/kube'
import { fieldErrors, fieldPath } from '@fairlead/kube'
import { labelName, oneOf } from '../checks.ts'
import { has, mapAt, numberAt, objectAt, stringAt, stringsAt } from '../fields.ts'

/** Validates a Google disk; `path` ends with the name that messages use. */
export function persistentDiskErrors(path: string, source: JsonObject): FieldError[] {
  return [...required(path, source, 'pdName'), ...partitionErrors(path, source)]
}

/** Validates an AWS volume. */
export function awsVolumeErrors(path: string, source: JsonObject): FieldError[] {
  return [...required(path, source, 'volumeID'), ...partitionErrors(path, source)]
}

/** Validates a Flocker dataset: a name or a UUID. */
export function flockerErrors(path: string, source: JsonObject): FieldError[] {
  const name = stringAt(source, 'datasetName')
  const hasUuid = stringAt(source, 'datasetUUID') !== ''
  if (name === '' && !hasUuid) return [fieldErrors.required(path, 'one of datasetName and datasetUUID is required')]
  return [
    ...(name !== '' && hasUuid
      ? [fieldErrors.invalid(path, 'resource', 'datasetName and datasetUUID can not be specified simultaneously')]
      : []),
    ...(name.includes('/') ? [fieldErrors.invalid(`${path}.datasetName`, name, "must not contain '/'")] : []),
  ]
}

/** Validates a Quobyte volume: pairs of host and port, and a tenant that is no UUID here. */
export function quobyteErrors(path: string, source: JsonObject): FieldError[] {
  const registry = stringAt(source, 'registry')
  const detail = 'must be a host:port pair or multiple pairs separated by commas'
  const errors: FieldError[] = []
  if (registry === '') errors.push(fieldErrors.required(`${path}.registry`, detail))
  else if (registry.length >= 65 || registry.split(',').some((pair) => !isHostAndPort(pair)))
    errors.push(fieldErrors.invalid(`${path}.registry`, registry, detail))
  if (stringAt(source, 'tenant').length >= 65)
    errors.push(fieldErrors.required(`${path}.tenant`, 'must be a UUID and may not exceed a length of 64 characters'))
  return [...errors, ...required(path, source, 'volume')]
}

/** Splits as Go's net.SplitHostPort: one colon, or an address in brackets before it. */
function isHostAndPort(pair: string): boolean {
  return /^(?:\[[^[\]]*\]|[^:[\]]*):[^:[\]]*$/.test(pair)
}

/** Validates a Fibre Channel volume: WWNs with a LUN, or WWIDs. */
export function fibreChannelErrors(path: string, source: JsonObject): FieldError[] {
  const names = stringsAt(source, 'targetWWNs')
  const ids = stringsAt(source, 'wwids')
  const errors: FieldError[] = []
  if (names.length === 0 && ids.length === 0)
    errors.push(fieldErrors.required(`${path}.targetWWNs`, 'must specify either targetWWNs or wwids, but not both'))
  if (names.length > 0 && ids.length > 0)
    errors.push(
      fieldErrors.invalid(`${path}.targetWWNs`, names, 'targetWWNs and wwids can not be specified simultaneously'),
    )
  if (names.length === 0) return errors
  const lun = numberAt(source, 'lun')
  if (lun === undefined) errors.push(fieldErrors.required(`${path}.lun`, 'lun is required if targetWWNs is specified'))
  else if (lun < 0 || lun > 255)
    errors.push(fieldErrors.invalid(`${path}.lun`, lun, 'must be between 0 and 255, inclusive'))
  return errors
}

/** Validates a FlexVolume: its options may not use the namespaces of Kubernetes. */
export function flexVolumeErrors(path: string, source: JsonObject): FieldError[] {
  const reserved = Object.keys(mapAt(source, 'options')).filter((key) =>
    ['kubernetes.io', 'k8s.io'].some((domain) => {
      const namespace = key.split('/')[0]!.toLowerCase()
      return namespace === domain || namespace.endsWith(`.${domain}`)
    }),
  )
  return [
    ...required(path, source, 'driver'),
    ...reserved.map((key) =>
      fieldErrors.invalid(
        fieldPath(`${path}.options`, { key }),
        key,
        'kubernetes.io and k8s.io namespaces are reserved',
      ),
    ),
  ]
}

const cachingModes = ['None', 'ReadOnly', 'ReadWrite']
const diskKinds = ['Dedicated', 'Managed', 'Shared']
const blobForm = 'https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd'
const managedForm = '/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}'

/** Validates an Azure disk: the form of its URI depends on its kind. */
export function azureDiskErrors(path: string, source: JsonObject): FieldError[] {
  const uri = stringAt(source, 'diskURI')
  const kind = stringAt(source, 'kind')
  const errors = [
    ...required(path, source, 'diskName'),
    ...required(path, source, 'diskURI'),
    ...(has(source, 'cachingMode') ? oneOf(`${path}.cachingMode`, stringAt(source, 'cachingMode'), cachingModes) : []),
    ...(has(source, 'kind') ? oneOf(`${path}.kind`, kind, diskKinds) : []),
  ]
  const isManaged = kind === 'Managed'
  const fits = isManaged ? uri.startsWith('/subscriptions/') : uri.startsWith('https://')
  if (has(source, 'kind') && !fits)
    errors.push(fieldErrors.notSupported(`${path}.diskURI`, uri, [isManaged ? managedForm : blobForm]))
  return errors
}

/** Validates a StorageOS volume; `secretRef` names a Secret of the pod's namespace. */
export function storageOsErrors(path: string, source: JsonObject): FieldError[] {
  const name = stringAt(source, 'volumeName')
  const namespace = stringAt(source, 'volumeNamespace')
  return [
    ...(name === '' ? [fieldErrors.required(`${path}.volumeName`)] : labelName(`${path}.volumeName`, name)),
    ...(namespace === '' ? [] : labelName(`${path}.volumeNamespace`, namespace)),
    ...(has(source, 'secretRef') ? required(`${path}.secretRef`, objectAt(source, 'secretRef'), 'name') : []),
  ]
}

function partitionErrors(path: string, source: JsonObject): FieldError[] {
  const partition = numberAt(source, 'partition') ?? 0
  return partition < 0 || partition > 255
    ? [fieldErrors.invalid(`${path}.partition`, partition, 'must be between 1 and 255, inclusive')]
    : []
}

function required(path: string, source: JsonObject, field: string): FieldError[] {
  return stringAt(source, field) === '' ? [fieldErrors.required(`${path}.${field}`)] : []
}
