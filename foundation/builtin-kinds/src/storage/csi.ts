// CSI drivers, nodes and capacities, attachments and attributes of volumes (pkg/apis/storage/validation, v1.35).
import type { FieldError, JsonObject, KubeObject } from '@fairlead/kube'
import { dns1123Subdomain, fieldErrors, fieldPath, jsonEqual, parseQuantity, qualifiedName } from '@fairlead/kube'
import { immutable, invalidWith, labelSelectorErrors, nonNegative, oneOf, subdomainName } from '../checks.ts'
import type { Strategy } from '../definition/strategy.ts'
import {
  ensureAt,
  fill,
  fillStrings,
  has,
  mapAt,
  numberAt,
  objectAt,
  objectsAt,
  stringAt,
  stringsAt,
  valueAt,
} from '../fields.ts'
import { invalidInternal } from '../go-types/internal-form.ts'
import { driverNameErrors } from '../pods/volume-validation.ts'
import { parameterErrors, provisionerErrors } from './parameters.ts'

/** The strategy of CSIDrivers. */
export const csiDriverStrategy: Strategy = {
  returnsDeletedObject: true,
  allowUnconditionalUpdate: false,
  applyDefaults(object) {
    const spec = ensureAt(object, 'spec')
    fill(spec, {
      attachRequired: true,
      podInfoOnMount: false,
      storageCapacity: false,
      requiresRepublish: false,
      seLinuxMount: false,
    })
    fillStrings(spec, { fsGroupPolicy: 'ReadWriteOnceWithFSType' })
    if (stringsAt(spec, 'volumeLifecycleModes').length === 0) spec['volumeLifecycleModes'] = ['Persistent']
  },
  warnings: (object) =>
    objectsAt(object, 'spec', 'tokenRequests').length > 0 &&
    !has(objectAt(object, 'spec'), 'serviceAccountTokenInSecrets')
      ? [
          'spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible logging of tokens in volume attributes',
        ]
      : [],
  validate: driverErrors,
  validateUpdate: (object, old) => [
    ...driverErrors(object),
    ...['attachRequired', 'volumeLifecycleModes'].flatMap((field) =>
      immutable(
        field === 'attachRequired' ? 'spec.attachedRequired' : `spec.${field}`,
        objectAt(object, 'spec')[field],
        objectAt(old, 'spec')[field],
      ),
    ),
  ],
}

/** The strategy of CSINodes. */
export const csiNodeStrategy: Strategy = {
  returnsDeletedObject: true,
  allowUnconditionalUpdate: false,
  validate: nodeErrors,
  validateUpdate: (object, old) => [...nodeErrors(object), ...nodeChangeErrors(object, old)],
}

/** The strategy of CSIStorageCapacities. */
export const storageCapacityStrategy: Strategy = {
  allowUnconditionalUpdate: false,
  validate: (object) => [
    ...labelSelectorErrors('nodeTopology', objectAt(object, 'nodeTopology')),
    ...subdomainName('storageClassName', stringAt(object, 'storageClassName')),
    ...(stringAt(object, 'capacity') !== '' && parseQuantity(stringAt(object, 'capacity')).nanos < 0n
      ? [fieldErrors.invalid('capacity', stringAt(object, 'capacity'), 'must be greater than or equal to 0')]
      : []),
  ],
  validateUpdate: (object, old) => [
    ...immutable('nodeTopology', valueAt(object, ['nodeTopology']), valueAt(old, ['nodeTopology'])),
    ...immutable('storageClassName', stringAt(object, 'storageClassName'), stringAt(old, 'storageClassName')),
  ],
}

/** The strategy of VolumeAttachments: spec is immutable. */
export const attachmentStrategy: Strategy = {
  returnsDeletedObject: true,
  allowUnconditionalUpdate: false,
  statusKeeps: 'metadata',
  hasStatus: true,
  validate: (object) => [
    ...attachmentErrors(object),
    ...driverNameErrors('spec.attacher', stringAt(object, 'spec', 'attacher')),
    ...(has(objectAt(object, 'spec', 'source'), 'persistentVolumeName')
      ? subdomainName('spec.source.persistentVolumeName', stringAt(object, 'spec', 'source', 'persistentVolumeName'))
      : []),
  ],
  validateUpdate: attachmentChangeErrors,
  validateStatusUpdate: attachmentChangeErrors,
}

/** The strategy of VolumeAttributesClasses. */
export const attributesClassStrategy: Strategy = {
  returnsDeletedObject: true,
  validate: attributesClassErrors,
  validateUpdate: (object, old) => [
    ...(stringAt(object, 'driverName') === stringAt(old, 'driverName')
      ? []
      : [fieldErrors.forbidden('driverName', 'updates to driverName are forbidden.')]),
    ...(jsonEqual(mapAt(object, 'parameters'), mapAt(old, 'parameters'))
      ? []
      : [fieldErrors.forbidden('parameters', 'updates to parameters are forbidden.')]),
    ...attributesClassErrors(object),
  ],
}

function attributesClassErrors(object: KubeObject): FieldError[] {
  return [
    ...provisionerErrors('driverName', stringAt(object, 'driverName')),
    ...parameterErrors('parameters', mapAt(object, 'parameters'), false),
  ]
}

function driverErrors(object: KubeObject): FieldError[] {
  const spec = objectAt(object, 'spec')
  const requests = objectsAt(spec, 'tokenRequests')
  const policy = stringAt(spec, 'fsGroupPolicy')
  const period = numberAt(spec, 'nodeAllocatableUpdatePeriodSeconds')
  const errors = [
    ...oneOf('spec.fsGroupPolicy', policy, ['File', 'None', 'ReadWriteOnceWithFSType']),
    ...tokenRequestErrors('spec.tokenRequests', requests),
    ...stringsAt(spec, 'volumeLifecycleModes').flatMap((mode) =>
      oneOf('spec.volumeLifecycleModes', mode, ['Persistent', 'Ephemeral']),
    ),
  ]
  if (period !== undefined && period < 10) {
    const why = 'must be greater than or equal to 10 seconds'
    errors.push(fieldErrors.invalid('spec.nodeAllocatableUpdatePeriodSeconds', period, why))
  }
  if (has(spec, 'serviceAccountTokenInSecrets') && requests.length === 0) {
    const why = 'serviceAccountTokenInSecrets is set but no tokenRequests are specified'
    errors.push(fieldErrors.invalid('spec.serviceAccountTokenInSecrets', spec['serviceAccountTokenInSecrets'], why))
  }
  return errors
}

const shortestTokenSeconds = 600
const longestTokenSeconds = 2 ** 32

function tokenRequestErrors(path: string, requests: readonly JsonObject[]): FieldError[] {
  const seen = new Set<string>()
  return requests.flatMap((request, index) => {
    const audience = stringAt(request, 'audience')
    const seconds = numberAt(request, 'expirationSeconds')
    if (seen.has(audience)) return [fieldErrors.duplicate(fieldPath(path, index, 'audience'), audience)]
    seen.add(audience)
    const field = fieldPath(path, index, 'expirationSeconds')
    if (seconds === undefined) return []
    if (seconds < shortestTokenSeconds)
      return [fieldErrors.invalid(field, seconds, 'may not specify a duration less than 10 minutes')]
    return seconds > longestTokenSeconds
      ? [fieldErrors.invalid(field, seconds, 'may not specify a duration larger than 2^32 seconds')]
      : []
  })
}

const longestNodeId = 256

function nodeErrors(object: KubeObject): FieldError[] {
  const seen = new Set<string>()
  return objectsAt(object, 'spec', 'drivers').flatMap((driver, index) => {
    const path = fieldPath('spec.drivers', index)
    const name = stringAt(driver, 'name')
    const nodeId = stringAt(driver, 'nodeID')
    const errors = driverNameErrors(`${path}.name`, name)
    if (nodeId === '') errors.push(fieldErrors.required(`${path}.nodeID`))
    if (Buffer.byteLength(nodeId) > longestNodeId)
      errors.push(fieldErrors.invalid(`${path}.nodeID`, nodeId, `must be ${longestNodeId} characters or less`))
    errors.push(...nonNegative(`${path}.allocatable.count`, numberAt(driver, 'allocatable', 'count')))
    if (seen.has(name)) errors.push(fieldErrors.duplicate(`${path}.name`, name))
    seen.add(name)
    return [...errors, ...topologyKeyErrors(path, stringsAt(driver, 'topologyKeys'))]
  })
}

function topologyKeyErrors(path: string, keys: readonly string[]): FieldError[] {
  const seen = new Set<string>()
  return keys.flatMap((key) => {
    const errors = key === '' ? [fieldErrors.required(path)] : []
    if (seen.has(key)) errors.push(fieldErrors.duplicate(path, key))
    seen.add(key)
    return [...errors, ...invalidWith(path, key, qualifiedName(key))]
  })
}

/** A driver keeps what it has on a node, but the number of volumes that can be attached. */
function nodeChangeErrors(object: KubeObject, old: KubeObject): FieldError[] {
  const withoutCount = ({ allocatable: _, ...rest }: JsonObject): JsonObject => rest
  const drivers = objectsAt(object, 'spec', 'drivers').map(withoutCount)
  return objectsAt(old, 'spec', 'drivers')
    .map(withoutCount)
    .flatMap((before) =>
      drivers
        .filter((now) => now['name'] === before['name'] && !jsonEqual(now, before))
        .map((now) =>
          invalidInternal('spec.drivers', 'k8s.io.api.storage.v1.CSINodeDriver', now, 'field is immutable'),
        ),
    )
}

const largestMetadata = 256 * 1024

function attachmentErrors(object: KubeObject): FieldError[] {
  const spec = objectAt(object, 'spec')
  const source = objectAt(spec, 'source')
  const nodeName = stringAt(spec, 'nodeName')
  const errors = stringAt(spec, 'attacher') === '' ? [fieldErrors.required('spec.attacher')] : []
  const [hasInline, hasName] = [has(source, 'inlineVolumeSpec'), has(source, 'persistentVolumeName')]
  const exactlyOne = 'must specify exactly one of inlineVolumeSpec and persistentVolumeName'
  if (!hasInline && !hasName) errors.push(fieldErrors.required('spec.source', exactlyOne))
  else if (hasInline && hasName) errors.push(fieldErrors.forbidden('spec.source', exactlyOne))
  else if (hasName && stringAt(source, 'persistentVolumeName') === '') {
    const why = 'must specify non empty persistentVolumeName'
    errors.push(fieldErrors.required('spec.source.persistentVolumeName', why))
  }
  errors.push(...invalidWith('spec.nodeName', nodeName, dns1123Subdomain(nodeName)))
  const metadata = Object.entries(mapAt(object, 'status', 'attachmentMetadata'))
  const size = metadata.reduce((sum, [key, value]) => sum + Buffer.byteLength(key) + Buffer.byteLength(value), 0)
  if (size > largestMetadata) errors.push(fieldErrors.tooLong('status.attachmentMetadata', largestMetadata))
  return errors
}

function attachmentChangeErrors(object: KubeObject, old: KubeObject): FieldError[] {
  const errors = attachmentErrors(object)
  const [spec, before] = [objectAt(object, 'spec'), objectAt(old, 'spec')]
  return jsonEqual(spec, before)
    ? errors
    : [...errors, invalidInternal('spec', 'k8s.io.api.storage.v1.VolumeAttachmentSpec', spec, 'field is immutable')]
}
