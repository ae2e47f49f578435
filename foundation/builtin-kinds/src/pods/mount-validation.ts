// Validation of volume mounts and block devices of a container (pkg/apis/core/validation, v1.35).
import type { FieldError, JsonObject } from '@fairlead/kube'
import { fieldErrors, fieldPath } from '@fairlead/kube'
import { oneOf } from '../checks.ts'
import { flagAt, has, stringAt } from '../fields.ts'
import { backstepErrors, descendingPathErrors } from './paths.ts'

/** Validates `volumeMounts` of a container against its pod's volumes and its own devices. */
export function mountErrors(
  field: string,
  container: JsonObject,
  mounts: readonly JsonObject[],
  devices: readonly JsonObject[],
  volumes: ReadonlyMap<string, JsonObject>,
): FieldError[] {
  const paths = new Set<string>()
  const deviceNames = new Set(devices.map((device) => stringAt(device, 'name')))
  const devicePaths = new Set(devices.map((device) => stringAt(device, 'devicePath')))
  return mounts.flatMap((mount, index) => {
    const path = fieldPath(field, index)
    const name = stringAt(mount, 'name')
    const mountPath = stringAt(mount, 'mountPath')
    const subPath = stringAt(mount, 'subPath')
    const expression = stringAt(mount, 'subPathExpr')
    const errors: FieldError[] = []
    if (name === '') errors.push(fieldErrors.required(`${path}.name`))
    if (!volumes.has(name)) errors.push(fieldErrors.notFound(`${path}.name`, name))
    if (mountPath === '') errors.push(fieldErrors.required(`${path}.mountPath`))
    if (paths.has(mountPath)) errors.push(fieldErrors.invalid(`${path}.mountPath`, mountPath, 'must be unique'))
    paths.add(mountPath)
    if (deviceNames.has(name))
      errors.push(fieldErrors.invalid(`${path}.name`, name, 'must not already exist in volumeDevices'))
    if (devicePaths.has(mountPath))
      errors.push(
        fieldErrors.invalid(`${path}.mountPath`, mountPath, 'must not already exist as a path in volumeDevices'),
      )
    if (subPath !== '') errors.push(...descendingPathErrors(`${field}.subPath`, subPath))
    if (expression !== '') {
      if (subPath !== '')
        errors.push(
          fieldErrors.invalid(`${path}.subPathExpr`, expression, 'subPathExpr and subPath are mutually exclusive'),
        )
      errors.push(...descendingPathErrors(`${field}.subPathExpr`, expression))
    }
    return [
      ...errors,
      ...propagationErrors(`${field}.mountPropagation`, mount, container),
      ...readOnlyErrors(`${field}.recursiveReadOnly`, mount),
    ]
  })
}

function propagationErrors(field: string, mount: JsonObject, container: JsonObject): FieldError[] {
  if (!has(mount, 'mountPropagation')) return []
  const propagation = stringAt(mount, 'mountPropagation')
  const errors = oneOf(field, propagation, ['Bidirectional', 'HostToContainer', 'None'])
  if (propagation === 'Bidirectional' && !flagAt(container, 'securityContext', 'privileged'))
    errors.push(
      fieldErrors.forbidden(field, 'Bidirectional mount propagation is available only to privileged containers'),
    )
  return errors
}

function readOnlyErrors(field: string, mount: JsonObject): FieldError[] {
  const form = stringAt(mount, 'recursiveReadOnly')
  if (!has(mount, 'recursiveReadOnly') || form === 'Disabled') return []
  if (form !== 'Enabled' && form !== 'IfPossible')
    return [fieldErrors.notSupported(field, form, ['Disabled', 'Enabled', 'IfPossible'])]
  const errors: FieldError[] = []
  if (!flagAt(mount, 'readOnly'))
    errors.push(fieldErrors.forbidden(field, 'may only be specified when readOnly is true'))
  if (!['', 'None'].includes(stringAt(mount, 'mountPropagation')))
    errors.push(fieldErrors.forbidden(field, 'may only be specified when mountPropagation is None or not specified'))
  return errors
}

/** Validates `volumeDevices`: claims that are raw block devices. */
export function volumeDeviceErrors(
  field: string,
  devices: readonly JsonObject[],
  mounts: readonly JsonObject[],
  volumes: ReadonlyMap<string, JsonObject>,
): FieldError[] {
  const names = new Set<string>()
  const paths = new Set<string>()
  const mountNames = new Set(mounts.map((mount) => stringAt(mount, 'name')))
  const mountPaths = new Set(mounts.map((mount) => stringAt(mount, 'mountPath')))
  return devices.flatMap((device, index) => {
    const path = fieldPath(field, index)
    const name = stringAt(device, 'name')
    const devicePath = stringAt(device, 'devicePath')
    const volume = volumes.get(name)
    const errors: FieldError[] = []
    const wrongName = (detail: string): number => errors.push(fieldErrors.invalid(`${path}.name`, name, detail))
    const wrongPath = (detail: string): number =>
      errors.push(fieldErrors.invalid(`${path}.devicePath`, devicePath, detail))
    if (name === '') errors.push(fieldErrors.required(`${path}.name`))
    if (names.has(name)) wrongName('must be unique')
    if (volume === undefined) errors.push(fieldErrors.notFound(`${path}.name`, name))
    else if (!has(volume, 'persistentVolumeClaim') && !has(volume, 'ephemeral'))
      wrongName('can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode')
    if (devicePath === '') errors.push(fieldErrors.required(`${path}.devicePath`))
    if (paths.has(devicePath)) wrongPath('must be unique')
    if (backstepErrors(path, devicePath).length > 0) wrongPath("can not contain backsteps ('..')")
    else paths.add(devicePath)
    if (mountNames.has(name)) wrongName('must not already exist in volumeMounts')
    if (mountPaths.has(devicePath)) wrongPath('must not already exist as a path in volumeMounts')
    if (name !== '') names.add(name)
    return errors
  })
}
