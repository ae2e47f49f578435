// Validates the specs of PersistentVolumeClaims: of claims, of templates, and of the ephemeral volumes of Pods.
import type { FieldError, JsonObject } from '@fairlead/kube'
import { dns1123Subdomain, fieldErrors, fieldPath, goQuote, jsonEqual, parseQuantity } from '@fairlead/kube'
import { invalidWith, labelName, labelSelectorErrors, oneOf, subdomainName } from '../checks.ts'
import { has, mapAt, objectAt, stringAt, stringsAt } from '../fields.ts'

const accessModes = ['ReadOnlyMany', 'ReadWriteMany', 'ReadWriteOnce', 'ReadWriteOncePod']

/** Validates access modes; ReadWriteOncePod excludes all others. */
export function accessModeErrors(field: string, modes: readonly string[], missing = ''): FieldError[] {
  const errors = modes.length === 0 ? [fieldErrors.required(field, missing)] : []
  for (const mode of modes)
    if (!accessModes.includes(mode)) errors.push(fieldErrors.notSupported(field, mode, accessModes))
  const shared = modes.some((mode) => mode !== 'ReadWriteOncePod' && accessModes.includes(mode))
  if (modes.includes('ReadWriteOncePod') && shared)
    errors.push(fieldErrors.forbidden(field, 'may not use ReadWriteOncePod with other access modes'))
  return errors
}

/** Validates the spec of a claim, or of a claim template. */
export function claimSpecErrors(path: string, spec: JsonObject): FieldError[] {
  const modes = accessModeErrors(
    `${path}.accessModes`,
    stringsAt(spec, 'accessModes'),
    'at least 1 access mode is required',
  )
  const selector = has(spec, 'selector') ? labelSelectorErrors(`${path}.selector`, objectAt(spec, 'selector')) : []
  const missing = modes.filter(({ type }) => type === 'FieldValueRequired')
  const storage = mapAt(spec, 'resources', 'requests')['storage']
  const size = fieldPath(`${path}.resources`, { key: 'storage' })
  const errors = [...missing, ...selector, ...modes.filter((error) => !missing.includes(error))]
  if (storage === undefined) errors.push(fieldErrors.required(size))
  else if (parseQuantity(storage).nanos <= 0n)
    errors.push(fieldErrors.invalid(size, storage, 'must be greater than zero'))
  if (stringAt(spec, 'storageClassName') !== '')
    errors.push(...subdomainName(`${path}.storageClassName`, stringAt(spec, 'storageClassName')))
  if (has(spec, 'volumeMode'))
    errors.push(...oneOf(`${path}.volumeMode`, stringAt(spec, 'volumeMode'), ['Block', 'Filesystem']))
  for (const field of ['dataSource', 'dataSourceRef'])
    if (has(spec, field)) errors.push(...sourceErrors(`${path}.${field}`, objectAt(spec, field)))
  errors.push(...sourceConflicts(path, spec))
  if (stringAt(spec, 'volumeAttributesClassName') !== '')
    errors.push(...subdomainName(`${path}.volumeAttributesClassName`, stringAt(spec, 'volumeAttributesClassName')))
  return errors
}

function sourceErrors(path: string, source: JsonObject): FieldError[] {
  const group = stringAt(source, 'apiGroup')
  const kind = stringAt(source, 'kind')
  const namespace = stringAt(source, 'namespace')
  const errors = ['name', 'kind']
    .filter((field) => stringAt(source, field) === '')
    .map((field) => fieldErrors.required(`${path}.${field}`))
  if (group === '' && kind !== 'PersistentVolumeClaim')
    errors.push(
      fieldErrors.invalid(path, kind, "must be 'PersistentVolumeClaim' when referencing the default apiGroup"),
    )
  if (group !== '') errors.push(...invalidWith(`${path}.apiGroup`, group, dns1123Subdomain(group)))
  return namespace === '' ? errors : [...errors, ...labelName(`${path}.namespace`, namespace)]
}

function sourceConflicts(path: string, spec: JsonObject): FieldError[] {
  if (!has(spec, 'dataSource') || !has(spec, 'dataSourceRef')) return []
  const invalid = (detail: string): FieldError[] => [fieldErrors.invalid(path, {}, detail)]
  const [source, reference] = [objectAt(spec, 'dataSource'), objectAt(spec, 'dataSourceRef')]
  if (stringAt(reference, 'namespace') !== '')
    return invalid('may not be specified when dataSourceRef.namespace is specified')
  return ['apiGroup', 'kind', 'name'].every((field) => jsonEqual(source[field] ?? null, reference[field] ?? null))
    ? []
    : invalid('must match dataSourceRef')
}

/** Returns the warnings about sizes that are not whole bytes, also in templates. */
export function claimWarnings(path: string, spec: JsonObject): string[] {
  return ['requests', 'limits'].flatMap((list) => {
    const size = mapAt(spec, 'resources', list)['storage'] ?? '0'
    return isWholeBytes(size)
      ? []
      : [`${path}.resources.${list}[storage]: fractional byte value ${goQuote(size)} is invalid, must be an integer`]
  })
}

/** Counts thousandths in 64 bits, as Go does: what a short number loses is zero, a long one wraps around. */
function isWholeBytes(size: string): boolean {
  const thousandths = (parseQuantity(size).nanos + 999_999n) / 1_000_000n
  if (thousandths < 2n ** 63n) return thousandths % 1000n === 0n
  const digits = size.replaceAll(/[^0-9]/g, '').length
  return digits <= mostDigits || BigInt.asIntN(64, thousandths) % 1000n === 0n
}

/** The digits of a number that Go's quantities keep in 64 bits. */
const mostDigits = 18
