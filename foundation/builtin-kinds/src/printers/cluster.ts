// Kinds of the control plane in `kubectl get`.
import type { JsonObject, KubeObject } from '@fairlead/kube'
import { humanAge } from '@fairlead/kube'
import type { TablePrinter } from '../definition/resource-definition.ts'
import { flagAt, has, mapAt, numberAt, objectAt, objectsAt, stringAt, stringsAt } from '../fields.ts'
import { column, nameColumn, none, objectAge, orNone, printer } from './column.ts'

/** Leases. */
export const leasePrinter: TablePrinter = printer(['Holder', 'Age'], [], (object, now) => [
  stringAt(object, 'spec', 'holderIdentity'),
  objectAge(object, now),
])

/** PriorityClasses. */
export const priorityClassPrinter: TablePrinter = printer(
  ['Value:integer', 'Global-Default:boolean', 'Age', 'PreemptionPolicy'],
  [],
  (object, now) => [
    numberAt(object, 'value') ?? 0,
    flagAt(object, 'globalDefault'),
    objectAge(object, now),
    stringAt(object, 'preemptionPolicy'),
  ],
)

/** RuntimeClasses. */
export const runtimeClassPrinter: TablePrinter = printer(['Handler', 'Age'], [], (object, now) => [
  stringAt(object, 'handler'),
  objectAge(object, now),
])

/** Webhook configurations. */
export const webhooksPrinter: TablePrinter = printer(['Webhooks:integer', 'Age'], [], (object, now) => [
  objectsAt(object, 'webhooks').length,
  objectAge(object, now),
])

/** ValidatingAdmissionPolicies. */
export const admissionPolicyPrinter: TablePrinter = printer(
  ['Validations:integer', 'ParamKind', 'Age'],
  [],
  (object, now) => {
    const param = objectAt(object, 'spec', 'paramKind')
    return [
      objectsAt(object, 'spec', 'validations').length,
      has(param, 'kind') ? `${stringAt(param, 'apiVersion')}/${stringAt(param, 'kind')}` : '<unset>',
      objectAge(object, now),
    ]
  },
)

/** ValidatingAdmissionPolicyBindings. */
export const admissionBindingPrinter: TablePrinter = printer(['PolicyName', 'ParamRef', 'Age'], [], (object, now) => {
  const param = objectAt(object, 'spec', 'paramRef')
  const shown = has(param, 'name')
    ? (stringAt(param, 'namespace') === '' ? '*' : stringAt(param, 'namespace')) + `/${stringAt(param, 'name')}`
    : has(param, 'selector')
      ? selectorText(objectAt(param, 'selector'))
      : '<unset>'
  return [stringAt(object, 'spec', 'policyName'), shown, objectAge(object, now)]
})

/** A label selector as Go prints its struct. */
function selectorText(selector: JsonObject): string {
  const labels = Object.entries(mapAt(selector, 'matchLabels')).toSorted(([a], [b]) => (a < b ? -1 : 1))
  const expressions = objectsAt(selector, 'matchExpressions').map((expression) => {
    const values = stringsAt(expression, 'values').join(' ')
    return `LabelSelectorRequirement{Key:${stringAt(expression, 'key')},Operator:${stringAt(expression, 'operator')},Values:[${values}],},`
  })
  const matchLabels = `map[string]string{${labels.map(([key, value]) => `${key}: ${value},`).join('')}}`
  return `&LabelSelector{MatchLabels:${matchLabels},MatchExpressions:[]LabelSelectorRequirement{${expressions.join('')}},}`
}

/** APIServices. */
export const apiServicePrinter: TablePrinter = {
  columns: [nameColumn, column('Service'), column('Available'), column('Age')],
  cells(object, now) {
    const service = objectAt(object, 'spec', 'service')
    const available = objectsAt(object, 'status', 'conditions').find(
      (condition) => stringAt(condition, 'type') === 'Available',
    )
    const status = stringAt(available, 'status') || 'Unknown'
    return [
      object.metadata.name ?? '',
      has(service, 'name') ? `${stringAt(service, 'namespace')}/${stringAt(service, 'name')}` : 'Local',
      available === undefined || status === 'True' ? status : `${status} (${stringAt(available, 'reason')})`,
      objectAge(object, now),
    ]
  },
}

/** CertificateSigningRequests. */
export const certificateRequestPrinter: TablePrinter = printer(
  ['Age', 'SignerName', 'Requestor', 'RequestedDuration', 'Condition'],
  [],
  (object, now) => [
    objectAge(object, now),
    orNone(stringAt(object, 'spec', 'signerName')),
    stringAt(object, 'spec', 'username'),
    numberAt(object, 'spec', 'expirationSeconds') === undefined
      ? none
      : humanAge(numberAt(object, 'spec', 'expirationSeconds')! * 1000),
    requestCondition(object),
  ],
)

function requestCondition(object: KubeObject): string {
  const types = objectsAt(object, 'status', 'conditions').map((condition) => stringAt(condition, 'type'))
  const words = [['Denied', 'Approved'].find((type) => types.includes(type)) ?? 'Pending']
  if (types.includes('Failed')) words.push('Failed')
  if (stringAt(object, 'status', 'certificate') !== '') words.push('Issued')
  return words.join(',')
}

/** CSIDrivers. */
export const csiDriverPrinter: TablePrinter = printer(
  [
    'AttachRequired:boolean',
    'PodInfoOnMount:boolean',
    'StorageCapacity:boolean',
    'TokenRequests',
    'RequiresRepublish:boolean',
    'Modes',
    'Age',
  ],
  [],
  (object, now) => {
    const spec = objectAt(object, 'spec')
    const audiences = objectsAt(spec, 'tokenRequests').map((request) => stringAt(request, 'audience'))
    return [
      has(spec, 'attachRequired') ? flagAt(spec, 'attachRequired') : true,
      flagAt(spec, 'podInfoOnMount'),
      flagAt(spec, 'storageCapacity'),
      audiences.length === 0 ? '<unset>' : audiences.join(','),
      flagAt(spec, 'requiresRepublish'),
      orNone(stringsAt(spec, 'volumeLifecycleModes').join(',')),
      objectAge(object, now),
    ]
  },
)

/** CSINodes. */
export const csiNodePrinter: TablePrinter = printer(['Drivers:integer', 'Age'], [], (object, now) => [
  objectsAt(object, 'spec', 'drivers').length,
  objectAge(object, now),
])

/** VolumeAttachments. */
export const attachmentPrinter: TablePrinter = {
  columns: [
    nameColumn,
    { ...column('Attacher'), format: 'name' },
    column('PV'),
    column('Node'),
    column('Attached', 0, 'boolean'),
    column('Age'),
  ],
  cells: (object, now) => [
    object.metadata.name ?? '',
    stringAt(object, 'spec', 'attacher'),
    stringAt(object, 'spec', 'source', 'persistentVolumeName'),
    stringAt(object, 'spec', 'nodeName'),
    flagAt(object, 'status', 'attached'),
    objectAge(object, now),
  ],
}

/** VolumeAttributesClasses. */
export const attributesClassPrinter: TablePrinter = printer(['DriverName', 'Age'], [], (object, now) => [
  stringAt(object, 'driverName'),
  objectAge(object, now),
])

/** FlowSchemas. */
export const flowSchemaPrinter: TablePrinter = printer(
  ['PriorityLevel', 'MatchingPrecedence', 'DistinguisherMethod', 'Age', 'MissingPL'],
  [],
  (object, now) => {
    const spec = objectAt(object, 'spec')
    const dangling = objectsAt(object, 'status', 'conditions').find(
      (condition) => stringAt(condition, 'type') === 'Dangling',
    )
    return [
      orNone(stringAt(spec, 'priorityLevelConfiguration', 'name')),
      numberAt(spec, 'matchingPrecedence') ?? 0,
      orNone(stringAt(spec, 'distinguisherMethod', 'type')),
      objectAge(object, now),
      stringAt(dangling, 'status') || '?',
    ]
  },
)

/** PriorityLevelConfigurations. */
export const priorityLevelPrinter: TablePrinter = printer(
  ['Type', 'NominalConcurrencyShares', 'Queues', 'HandSize', 'QueueLengthLimit', 'Age'],
  [],
  (object, now) => {
    const limited = objectAt(object, 'spec', 'limited')
    const queuing = objectAt(limited, 'limitResponse', 'queuing')
    const shown = (owner: JsonObject, field: string): string | number => numberAt(owner, field) ?? none
    return [
      stringAt(object, 'spec', 'type'),
      shown(limited, 'nominalConcurrencyShares'),
      shown(queuing, 'queues'),
      shown(queuing, 'handSize'),
      shown(queuing, 'queueLengthLimit'),
      objectAge(object, now),
    ]
  },
)

/** ResourceClaims. */
export const resourceClaimPrinter: TablePrinter = printer(['State', 'Age'], [], (object, now) => {
  const isLeaving = object.metadata.deletionTimestamp !== undefined
  const states = isLeaving ? ['deleted'] : []
  if (has(objectAt(object, 'status'), 'allocation')) {
    states.push('allocated')
    if (objectsAt(object, 'status', 'reservedFor').length > 0) states.push('reserved')
  } else if (!isLeaving) states.push('pending')
  return [states.join(','), objectAge(object, now)]
})

/** ResourceSlices. */
export const resourceSlicePrinter: TablePrinter = printer(['Node', 'Driver', 'Pool', 'Age'], [], (object, now) => [
  stringAt(object, 'spec', 'nodeName'),
  stringAt(object, 'spec', 'driver'),
  stringAt(object, 'spec', 'pool', 'name'),
  objectAge(object, now),
])
