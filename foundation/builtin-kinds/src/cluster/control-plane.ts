// Leases, nodes, quotas and runtime classes: kinds of the control plane with few rules of their own.
import type { FieldError, JsonObject, KubeObject, MutableJsonObject } from '@fairlead/kube'
import { fieldErrors, fieldPath, labelValue, qualifiedName } from '@fairlead/kube'
import type { Draft, Strategy } from '../definition/strategy.ts'
import {
  duplicateStruct,
  immutable,
  invalidWith,
  labelErrors,
  labelName,
  nonNegative,
  oneOf,
  positive,
  repeatedIndices,
} from '../checks.ts'
import {
  draftAt,
  draftsAt,
  ensureAt,
  fill,
  has,
  mapAt,
  numberAt,
  objectAt,
  objectsAt,
  stringAt,
  stringsAt,
} from '../fields.ts'
import { internalMessage, invalidInternal } from '../go-types/internal-form.ts'
import { messageType } from '../go-types/message-type.ts'
import { rangeWarnings } from '../addresses/address-warnings.ts'
import { isCidr } from '../addresses/cidr.ts'
import { quantityErrors, resourceErrors } from '../pods/resource-validation.ts'
import { tolerationErrors } from '../pods/scheduling-validation.ts'
import { limitRangeErrors, quotaQuantityErrors, quotaSpecErrors } from '../policy/limit-validation.ts'

/**
 * The strategy of Leases. Coordinated leader election is off by default in Kubernetes: its fields are accepted and
 * dropped.
 */
export const leaseStrategy: Strategy = {
  allowCreateOnUpdate: true,
  allowUnconditionalUpdate: false,
  prepareForCreate: (object) => dropElectionFields(object, undefined),
  prepareForUpdate: dropElectionFields,
  validate: leaseErrors,
  validateUpdate: leaseErrors,
}

/** The strategy of Nodes. Missing capacity is zero. */
export const nodeStrategy: Strategy = {
  hasStatus: true,
  // Kubelets register a Node with its capacity and conditions in one request.
  keepsStatusOnCreate: true,
  applyDefaults(object) {
    syncPodCidrs(ensureAt(object, 'spec'))
    const status = draftAt(object, 'status')
    if (status !== undefined && !has(status, 'allocatable') && has(status, 'capacity'))
      status['allocatable'] = { ...mapAt(status, 'capacity') }
  },
  admit(object, old) {
    if (old === undefined) taintNotReady(ensureAt(object, 'spec'))
  },
  prepareForCreate: (object) => dropConfigSource(object),
  prepareForUpdate: (object) => dropConfigSource(object),
  validate: nodeErrors,
  warnings: (object) => [
    ...(stringAt(object, 'spec', 'externalID') === ''
      ? []
      : ['spec.externalID: this field is deprecated, and is unused by Kubernetes']),
    ...stringsAt(object, 'spec', 'podCIDRs').flatMap((range, index) =>
      rangeWarnings(fieldPath('spec.podCIDRs', index), range),
    ),
  ],
  validateStatusUpdate: nodeChangeErrors,
  // The real server validates the whole node, too, so causes repeat.
  validateUpdate: (object, old) => [...nodeErrors(object), ...nodeChangeErrors(object, old)],
}

function nodeErrors(object: KubeObject): FieldError[] {
  return [
    ...taintErrors(object),
    ...nodeResourceErrors(object),
    ...stringsAt(object, 'spec', 'podCIDRs').flatMap((range, index) =>
      isCidr(range)
        ? []
        : [
            fieldErrors.invalid(
              fieldPath('spec.podCIDRs', index),
              range,
              'must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)',
            ),
          ],
    ),
    ...rangePairErrors(stringsAt(object, 'spec', 'podCIDRs')),
  ]
}

/** Drops what the removed configuration of kubelets has left. */
function dropConfigSource(object: Draft): void {
  delete draftAt(object, 'spec')?.['configSource']
  delete draftAt(object, 'status')?.['config']
}

function nodeChangeErrors(object: KubeObject, old: KubeObject): FieldError[] {
  return [
    ...nodeResourceErrors(object),
    ...repeatedAddressErrors(object),
    ...rangeChangeErrors(object, old),
    ...(stringAt(old, 'spec', 'providerID') === ''
      ? []
      : unchanged('spec.providerID', stringAt(object, 'spec', 'providerID'), stringAt(old, 'spec', 'providerID'))),
    ...taintErrors(object),
    ...(stringAt(object, 'spec', 'externalID') === stringAt(old, 'spec', 'externalID')
      ? []
      : [fieldErrors.forbidden('spec.externalID', 'may not be updated')]),
  ]
}

function nodeResourceErrors(object: KubeObject): FieldError[] {
  return ['capacity', 'allocatable'].flatMap((list) =>
    Object.entries(mapAt(object, 'status', list)).flatMap(([name, amount]) =>
      quantityErrors(`status.${list}.${name}`, name, amount),
    ),
  )
}

function repeatedAddressErrors(object: KubeObject): FieldError[] {
  const addresses = objectsAt(object, 'status', 'addresses').map((address) => ({
    Type: stringAt(address, 'type'),
    Address: stringAt(address, 'address'),
  }))
  return [...repeatedIndices(addresses.map((address) => JSON.stringify(address)))].map((index) =>
    duplicateStruct(fieldPath('status.addresses', index), addresses[index]!),
  )
}

/** A node has at most one range of each IP family. */
function rangePairErrors(ranges: readonly string[]): FieldError[] {
  const families = new Set(ranges.map((range) => range.includes(':')))
  return ranges.length <= families.size
    ? []
    : [fieldErrors.invalid('spec.podCIDRs', [...ranges], 'may specify no more than one CIDR for each IP family')]
}

/** The strategy of ResourceQuotas. */
export const resourceQuotaStrategy: Strategy = {
  returnsDeletedObject: true,
  prepareForCreate(object) {
    object['status'] = {}
  },
  validate: (object) => quotaSpecErrors(objectAt(object, 'spec')),
  validateStatusUpdate: (object) => [
    ...quotaQuantityErrors('status.hard', mapAt(object, 'status', 'hard')),
    ...quotaQuantityErrors('status.used', mapAt(object, 'status', 'used')),
  ],
  validateUpdate: (object, old) => [
    ...quotaSpecErrors(objectAt(object, 'spec')),
    ...scopeChangeErrors(objectAt(object, 'spec'), objectAt(old, 'spec')),
  ],
}

/** The set of scopes is immutable, their order and number is not. */
function scopeChangeErrors(spec: JsonObject, old: JsonObject): FieldError[] {
  const sorted = (holder: JsonObject): string[] => [...new Set(stringsAt(holder, 'scopes'))].toSorted()
  return immutable('spec.scopes', sorted(spec), sorted(old)).map((error) =>
    fieldErrors.invalid(error.field, spec['scopes'] ?? null, 'field is immutable'),
  )
}

/** The strategy of LimitRanges: defaults of containers' limits and requests are derived from each other. */
export const limitRangeStrategy: Strategy = {
  // Unlike other kinds, one without a name gets one.
  prepareForCreate(object, context) {
    if (stringAt(object, 'metadata', 'name') === '') object.metadata['name'] = context.newUid()
  },
  allowCreateOnUpdate: true,
  applyDefaults(object) {
    for (const item of draftsAt(object, 'spec', 'limits')) {
      if (item['type'] !== 'Container') continue
      if (has(item, 'max')) fill(ensureAt(item, 'default'), objectAt(item, 'max'))
      if (has(item, 'default')) fill(ensureAt(item, 'defaultRequest'), objectAt(item, 'default'))
      if (has(item, 'min')) fill(ensureAt(item, 'defaultRequest'), objectAt(item, 'min'))
    }
  },
  validate: limitRangeErrors,
  validateUpdate: limitRangeErrors,
}

/** The strategy of RuntimeClasses. */
export const runtimeClassStrategy: Strategy = {
  allowCreateOnUpdate: true,
  allowUnconditionalUpdate: false,
  validate: (object) => [
    ...labelName('handler', stringAt(object, 'handler')),
    ...(object['overhead'] !== undefined
      ? resourceErrors('overhead', { limits: mapAt(object, 'overhead', 'podFixed') }, new Set())
      : []),
    ...labelErrors('scheduling.nodeSelector', mapAt(object, 'scheduling', 'nodeSelector')),
    ...schedulingTolerationErrors(objectsAt(object, 'scheduling', 'tolerations')),
  ],
  validateUpdate: (object, old) => immutable('handler', stringAt(object, 'handler'), stringAt(old, 'handler')),
}

function schedulingTolerationErrors(tolerations: readonly JsonObject[]): FieldError[] {
  const field = 'scheduling.tolerations'
  const keys = tolerations.map((toleration) =>
    JSON.stringify(['key', 'operator', 'value', 'effect'].map((name) => stringAt(toleration, name))),
  )
  const type = messageType('k8s.io.api.core.v1.Toleration')
  const repeated = [...repeatedIndices(keys)].map((index) =>
    duplicateStruct(fieldPath(field, index), internalMessage(type, tolerations[index]!)),
  )
  return [...tolerationErrors(field, tolerations), ...repeated]
}

function dropElectionFields(object: Draft, old: KubeObject | undefined): void {
  const spec = draftAt(object, 'spec')
  if (spec === undefined) return
  for (const field of ['strategy', 'preferredHolder']) if (!has(objectAt(old, 'spec'), field)) delete spec[field]
}

function leaseErrors(object: KubeObject): FieldError[] {
  const spec = objectAt(object, 'spec')
  const errors = [
    ...positive('spec.leaseDurationSeconds', numberAt(spec, 'leaseDurationSeconds')),
    ...nonNegative('spec.leaseTransitions', numberAt(spec, 'leaseTransitions')),
  ]
  if (has(spec, 'preferredHolder') && !has(spec, 'strategy')) {
    errors.push(fieldErrors.forbidden('spec.preferredHolder', 'may only be specified if `strategy` is defined'))
  }
  return errors
}

function unchanged(field: string, value: string, old: string): FieldError[] {
  return value === old
    ? []
    : [fieldErrors.forbidden(field, 'node updates may not change providerID except from "" to valid')]
}

function taintErrors(object: KubeObject): FieldError[] {
  const seen = new Set<string>()
  return objectsAt(object, 'spec', 'taints').flatMap((taint, index) => {
    const path = fieldPath('metadata.taints', index)
    const key = stringAt(taint, 'key')
    const value = stringAt(taint, 'value')
    const effect = stringAt(taint, 'effect')
    const errors = [
      ...invalidWith(`${path}.key`, key, qualifiedName(key)),
      ...(labelValue(value).length === 0
        ? []
        : [fieldErrors.invalid(`${path}.value`, value, labelValue(value).join(';'))]),
      ...oneOf(`${path}.effect`, effect, ['NoSchedule', 'PreferNoSchedule', 'NoExecute'], 'required'),
    ]
    if (seen.has(`${key}:${effect}`)) {
      const why = 'taints must be unique by key and effect pair'
      errors.push({ ...invalidInternal(path, 'k8s.io.api.core.v1.Taint', taint, why), type: 'FieldValueDuplicate' })
    }
    seen.add(`${key}:${effect}`)
    return errors
  })
}

/** Sets `podCIDR` and the first of `podCIDRs` to the same value. */
function syncPodCidrs(spec: MutableJsonObject): void {
  const single = stringAt(spec, 'podCIDR')
  const first = stringsAt(spec, 'podCIDRs')[0] ?? ''
  if (single === first) return
  if (single === '') spec['podCIDR'] = first
  else spec['podCIDRs'] = [single]
}

/** The admission plugin TaintNodesByCondition: a new node has a taint until it is ready. */
function taintNotReady(spec: MutableJsonObject): void {
  const taint = { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' }
  const present = draftsAt(spec, 'taints')
  if (!present.some(({ key, effect }) => key === taint.key && effect === taint.effect))
    spec['taints'] = [...present, taint]
}

function rangeChangeErrors(object: KubeObject, old: KubeObject): FieldError[] {
  const [now, before] = [stringsAt(object, 'spec', 'podCIDRs'), stringsAt(old, 'spec', 'podCIDRs')]
  return before.length === 0 || before.join() === now.join()
    ? []
    : [fieldErrors.forbidden('spec.podCIDRs', 'node updates may not change podCIDR except from "" to valid')]
}
