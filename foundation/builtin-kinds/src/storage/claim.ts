// PersistentVolumeClaims, also in templates: defaults, validation, updates.
import type { FieldError, JsonObject, KubeObject, MutableJsonObject } from '@fairlead/kube'
import { compareQuantities, fieldErrors, jsonEqual, parseQuantity } from '@fairlead/kube'
import type { Draft, Strategy, WriteContext } from '../definition/strategy.ts'
import { immutable } from '../checks.ts'
import { draftAt, ensureAt, fill, fillStrings, has, mapAt, objectAt, stringAt } from '../fields.ts'
import { structDifference } from '../go-types/struct-difference.ts'
import { defaultClass } from '../default-class.ts'
import { claimSpecErrors } from '../pods/claim-spec-validation.ts'

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
