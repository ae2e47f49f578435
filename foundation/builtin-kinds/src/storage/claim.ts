// PersistentVolumeClaims, also in templates: defaults, validation, updates.
import type { FieldError, JsonObject, KubeObject, MutableJsonObject } from '@fairlead/kube'
import { compareQuantities, dns1123Subdomain, fieldErrors, fieldPath, jsonEqual, parseQuantity } from '@fairlead/kube'
import type { Draft, Strategy, WriteContext } from '../definition/strategy.ts'
import { immutable, invalidWith, labelName, labelSelectorErrors, oneOf, subdomainName } from '../checks.ts'
import { draftAt, ensureAt, fill, fillStrings, has, mapAt, objectAt, stringAt, stringsAt } from '../fields.ts'
import { structDifference } from '../go-types/struct-difference.ts'
import { defaultClass } from '../default-class.ts'

/** The strategy of PersistentVolumeClaims. */
export const claimStrategy: Strategy = {
  returnsDeletedObject: true,
  hasStatus: true,
  applyDefaults(object) {
    defaultClaimSpec(ensureAt(object, 'spec'))
    fillStrings(ensureAt(object, 'status'), { phase: 'Pending' })
  },
  prepareForCreate(object, context) {
    object['status'] = { phase: 'Pending' }
    const spec = ensureAt(object, 'spec')
    syncDataSources(spec)
    setDefaultClass(object, spec, context)
  },
  prepareForUpdate(object) {
    syncDataSources(ensureAt(object, 'spec'))
  },
  validate: (object) => claimSpecErrors('spec', objectAt(object, 'spec')),
  validateUpdate: (object, old) => [...claimSpecErrors('spec', objectAt(object, 'spec')), ...changeErrors(object, old)],
}

/** Sets the defaults of a claim, also in a template. */
export function defaultClaimSpec(spec: MutableJsonObject): void {
  fill(spec, { volumeMode: 'Filesystem' })
}

/** The admission plugin DefaultStorageClass: a claim without a class gets the newest default class. */
function setDefaultClass(object: Draft, spec: MutableJsonObject, context: WriteContext): void {
  if (
    has(spec, 'storageClassName') ||
    (has(object.metadata, 'annotations') &&
      stringAt(object.metadata, 'annotations', 'volume.beta.kubernetes.io/storage-class') !== '')
  )
    return
  const name = defaultClass(context, 'storageclasses.storage.k8s.io', [
    'storageclass.kubernetes.io/is-default-class',
    'storageclass.beta.kubernetes.io/is-default-class',
  ])
  if (name !== undefined) spec['storageClassName'] = name
}

/** Sets `dataSource` and `dataSourceRef` to the same source; a `dataSource` of an unknown kind is dropped. */
function syncDataSources(spec: MutableJsonObject): void {
  const source = draftAt(spec, 'dataSource')
  if (source !== undefined) {
    const group = stringAt(source, 'apiGroup')
    const kind = stringAt(source, 'kind')
    const isKnown =
      (group === '' && kind === 'PersistentVolumeClaim') ||
      (group === 'snapshot.storage.k8s.io' && kind === 'VolumeSnapshot')
    if (!isKnown) delete spec['dataSource']
    else if (!has(spec, 'dataSourceRef')) spec['dataSourceRef'] = { ...source }
    return
  }
  const reference = draftAt(spec, 'dataSourceRef')
  if (reference !== undefined && !has(reference, 'namespace')) spec['dataSource'] = { ...reference }
}

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
  const invalid = (detail: string): FieldError[] => [fieldErrors.invalid(path, `${path}.dataSource`, detail)]
  const [source, reference] = [objectAt(spec, 'dataSource'), objectAt(spec, 'dataSourceRef')]
  if (stringAt(reference, 'namespace') !== '')
    return invalid('may not be specified when dataSourceRef.namespace is specified')
  return ['apiGroup', 'kind', 'name'].every((field) => jsonEqual(source[field] ?? null, reference[field] ?? null))
    ? []
    : invalid('must match dataSourceRef')
}

function changeErrors(object: KubeObject, old: KubeObject): FieldError[] {
  const [spec, before] = [objectAt(object, 'spec'), objectAt(old, 'spec')]
  const isBound = stringAt(object, 'status', 'phase') === 'Bound'
  const next: MutableJsonObject = { ...spec }
  const from: MutableJsonObject = { ...before }
  if (stringAt(before, 'volumeName') === '' && has(spec, 'volumeName')) from['volumeName'] = spec['volumeName'] ?? ''
  if (!has(before, 'storageClassName') && has(spec, 'storageClassName') && !isBetaClass(old))
    from['storageClassName'] = spec['storageClassName'] ?? ''
  const [size, sizeBefore] = [sizeOf(spec), sizeOf(before)]
  if (isBound) {
    if (size !== undefined && sizeBefore !== undefined)
      next['resources'] = {
        ...objectAt(spec, 'resources'),
        requests: { ...objectAt(spec, 'resources', 'requests'), storage: sizeBefore },
      }
    if (has(before, 'volumeAttributesClassName'))
      next['volumeAttributesClassName'] = before['volumeAttributesClassName'] ?? ''
    else delete next['volumeAttributesClassName']
  }
  const errors: FieldError[] = []
  if (!jsonEqual(next, from)) {
    const why =
      'spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims'
    const difference = structDifference('k8s.io.api.core.v1.PersistentVolumeClaimSpec', from, next)
    errors.push(fieldErrors.forbidden('spec', `${why}\n${difference}`))
  }
  const actual = parseQuantity(mapAt(old, 'status', 'capacity')['storage'] ?? '0')
  const isSmaller =
    compareQuantities(parseQuantity(size ?? '0'), parseQuantity(sizeBefore ?? '0')) < 0 &&
    compareQuantities(parseQuantity(size ?? '0'), actual) <= 0
  if (isSmaller)
    errors.push(fieldErrors.forbidden('spec.resources.requests.storage', 'field can not be less than status.capacity'))
  return [...errors, ...immutable('volumeMode', spec['volumeMode'], before['volumeMode'])]
}

function isBetaClass(object: KubeObject): boolean {
  return mapAt(object, 'metadata', 'annotations')['volume.beta.kubernetes.io/storage-class'] !== undefined
}

function sizeOf(spec: JsonObject): string | undefined {
  return mapAt(spec, 'resources', 'requests')['storage']
}
