// PersistentVolumeClaims, also in templates: defaults, validation, updates.
import type { FieldError, JsonObject, KubeObject, MutableJsonObject } from '@fairlead/kube'
import { compareQuantities, fieldErrors, fieldPath, jsonEqual, parseQuantity, qualifiedName } from '@fairlead/kube'
import type { Draft, Strategy, WriteContext } from '../definition/strategy.ts'
import { immutable, invalidWith } from '../checks.ts'
import { draftAt, ensureAt, fill, fillStrings, has, mapAt, objectAt, stringAt } from '../fields.ts'
import { structDifference } from '../go-types/struct-difference.ts'
import { defaultClass } from '../default-class.ts'
import { claimSpecErrors, claimWarnings } from '../pods/claim-spec-validation.ts'

/** The annotation that preceded the class field. */
const betaClass = 'volume.beta.kubernetes.io/storage-class'

/** The strategy of PersistentVolumeClaims. */
export const claimStrategy: Strategy = {
  returnsDeletedObject: true,
  hasStatus: true,
  applyDefaults(object) {
    defaultClaimSpec(ensureAt(object, 'spec'))
    fillStrings(ensureAt(object, 'status'), { phase: 'Pending' })
  },
  admit(object, old, context) {
    if (old === undefined) setDefaultClass(object, ensureAt(object, 'spec'), context)
  },
  prepareForCreate(object) {
    object['status'] = { phase: 'Pending' }
    const spec = ensureAt(object, 'spec')
    dropOtherNamespace(spec)
    syncDataSources(spec)
  },
  prepareForUpdate(object) {
    dropOtherNamespace(ensureAt(object, 'spec'))
    syncDataSources(ensureAt(object, 'spec'))
  },
  warnings: (object) => [
    ...(object.metadata.annotations?.[betaClass] === undefined
      ? []
      : [`metadata.annotations[${betaClass}]: deprecated since v1.8; use "storageClassName" attribute instead`]),
    ...claimWarnings('spec', objectAt(object, 'spec')),
  ],
  validate: (object) => claimSpecErrors('spec', objectAt(object, 'spec')),
  validateStatusUpdate: statusErrors,
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
    (has(object.metadata, 'annotations') && stringAt(object.metadata, 'annotations', betaClass) !== '')
  )
    return
  const name = defaultClass(context, 'storageclasses.storage.k8s.io', [
    'storageclass.kubernetes.io/is-default-class',
    'storageclass.beta.kubernetes.io/is-default-class',
  ])
  if (name !== undefined) spec['storageClassName'] = name
}

/** Drops a source of another namespace: its feature gate is off in 1.35. */
function dropOtherNamespace(spec: MutableJsonObject): void {
  if (stringAt(spec, 'dataSourceRef', 'namespace') !== '') delete spec['dataSourceRef']
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

function changeErrors(object: KubeObject, old: KubeObject): FieldError[] {
  const [spec, before] = [objectAt(object, 'spec'), objectAt(old, 'spec')]
  const isBound = stringAt(object, 'status', 'phase') === 'Bound'
  const next: MutableJsonObject = { ...spec }
  const from: MutableJsonObject = { ...before }
  if (stringAt(before, 'volumeName') === '' && has(spec, 'volumeName')) from['volumeName'] = spec['volumeName'] ?? ''
  if (!has(before, 'storageClassName') && has(spec, 'storageClassName') && !isBetaClass(old))
    delete next['storageClassName']
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

const resizeStatuses = [
  'ControllerResizeInProgress',
  'ControllerResizeInfeasible',
  'NodeResizeInProgress',
  'NodeResizeInfeasible',
  'NodeResizePending',
]

function statusErrors(object: KubeObject): FieldError[] {
  const errors = Object.entries(mapAt(object, 'status', 'capacity')).flatMap(([name, amount]) =>
    basicQuantityErrors(fieldPath('status.capacity', { key: name }), amount),
  )
  const statuses = 'status.allocatedResourceStatuses'
  for (const [name, status] of Object.entries(mapAt(object, 'status', 'allocatedResourceStatuses'))) {
    errors.push(...resourceKeyErrors(statuses, name))
    // Like the real server, the message shows the resource instead of its status.
    if (!resizeStatuses.includes(status)) errors.push(fieldErrors.notSupported(statuses, name, resizeStatuses))
  }
  for (const [name, amount] of Object.entries(mapAt(object, 'status', 'allocatedResources'))) {
    const invalidKey = resourceKeyErrors('status.allocatedResources', name)
    errors.push(
      ...(invalidKey.length > 0
        ? invalidKey
        : basicQuantityErrors(fieldPath('status.allocatedResources', { key: name }), amount)),
    )
  }
  return errors
}

function basicQuantityErrors(field: string, amount: string): FieldError[] {
  const value = wholeUnits(parseQuantity(amount).nanos)
  return value < 0n ? [fieldErrors.invalid(field, Number(value), 'must be a valid resource quantity')] : []
}

/** Rounds away from zero, as a quantity's Value. */
function wholeUnits(nanos: bigint): bigint {
  const unit = 1_000_000_000n
  return nanos < 0n ? -((-nanos + unit - 1n) / unit) : (nanos + unit - 1n) / unit
}

function resourceKeyErrors(field: string, name: string): FieldError[] {
  const errors = invalidWith(field, name, qualifiedName(name))
  const isNative = !name.includes('/') || name.includes('kubernetes.io/')
  return errors.length > 0 || !isNative || name === 'storage'
    ? errors
    : [fieldErrors.notSupported(field, name, ['storage'])]
}

function isBetaClass(object: KubeObject): boolean {
  return mapAt(object, 'metadata', 'annotations')[betaClass] !== undefined
}

function sizeOf(spec: JsonObject): string | undefined {
  return mapAt(spec, 'resources', 'requests')['storage']
}
