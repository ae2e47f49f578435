// Kinds of the control plane in `kubectl get`.
import type { JsonObject, KubeObject } from '@fairlead/kube'
import type { TablePrinter } from '../definition/resource-definition.ts'
import { flagAt, has, numberAt, objectAt, objectsAt, stringAt, stringsAt } from '../fields.ts'
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
    : '<unset>'
  return [stringAt(object, 'spec', 'policyName'), shown, objectAge(object, now)]
})

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
      status === 'True' ? status : `${status} (${stringAt(available, 'reason')})`,
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
      : `${numberAt(object, 'spec', 'expirationSeconds')}s`,
    requestCondition(object),
  ],
)

function requestCondition(object: KubeObject): string {
  const types = objectsAt(object, 'status', 'conditions').map((condition) => stringAt(condition, 'type'))
  const words = ['Approved', 'Denied', 'Failed'].filter((type) => types.includes(type))
  if (stringAt(object, 'status', 'certificate') !== '') words.push('Issued')
  return words.length === 0 ? 'Pending' : words.join(',')
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

/** CSIStorageCapacities. */
export const storageCapacityPrinter: TablePrinter = printer(['StorageClassName', 'Capacity'], [], (object) => [
  stringAt(object, 'storageClassName'),
  stringAt(object, 'capacity') || '<unset>',
])

/** VolumeAttachments. */
export const attachmentPrinter: TablePrinter = printer(
  ['Attacher', 'PV', 'Node', 'Attached:boolean', 'Age'],
  [],
  (object, now) => [
    stringAt(object, 'spec', 'attacher'),
    stringAt(object, 'spec', 'source', 'persistentVolumeName'),
    stringAt(object, 'spec', 'nodeName'),
    flagAt(object, 'status', 'attached'),
    objectAge(object, now),
  ],
)

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
