// Core, storage and access kinds in `kubectl get`.
import type { JsonObject, KubeObject } from '@fairlead/kube'
import { asJson } from '@fairlead/kube'
import type { TablePrinter } from '../definition/resource-definition.ts'
import { flagAt, has, mapAt, numberAt, objectAt, objectsAt, stringAt, stringsAt } from '../fields.ts'
import { age, column, objectAge, orNone, printer } from './column.ts'

/** ConfigMaps. */
export const configMapPrinter: TablePrinter = printer(['Data', 'Age'], [], (object, now) => [
  Object.keys(mapAt(object, 'data')).length + Object.keys(mapAt(object, 'binaryData')).length,
  objectAge(object, now),
])

/** Secrets. */
export const secretPrinter: TablePrinter = printer(['Type', 'Data', 'Age'], [], (object, now) => [
  stringAt(object, 'type'),
  Object.keys(mapAt(object, 'data')).length,
  objectAge(object, now),
])

/** Kinds with only an age. */
export const agePrinter: TablePrinter = printer(['Age'], [], (object, now) => [objectAge(object, now)])

/** Namespaces. */
export const namespacePrinter: TablePrinter = printer(['Status', 'Age'], [], (object, now) => [
  stringAt(object, 'status', 'phase'),
  objectAge(object, now),
])

/** Nodes. */
export const nodePrinter: TablePrinter = printer(
  ['Status', 'Roles', 'Age', 'Version'],
  ['Internal-IP', 'External-IP', 'OS-Image', 'Kernel-Version', 'Container-Runtime'],
  (object, now) => {
    const info = objectAt(object, 'status', 'nodeInfo')
    return [
      nodeStatus(object),
      nodeRoles(object),
      objectAge(object, now),
      stringAt(info, 'kubeletVersion'),
      nodeAddress(object, 'InternalIP'),
      nodeAddress(object, 'ExternalIP'),
      stringAt(info, 'osImage') || '<unknown>',
      stringAt(info, 'kernelVersion') || '<unknown>',
      stringAt(info, 'containerRuntimeVersion') || '<unknown>',
    ]
  },
)

function nodeStatus(object: KubeObject): string {
  const ready = objectsAt(object, 'status', 'conditions').find((condition) => stringAt(condition, 'type') === 'Ready')
  const word = ready === undefined ? 'Unknown' : stringAt(ready, 'status') === 'True' ? 'Ready' : 'NotReady'
  return flagAt(object, 'spec', 'unschedulable') ? `${word},SchedulingDisabled` : word
}

function nodeRoles(object: KubeObject): string {
  const prefix = 'node-role.kubernetes.io/'
  const roles = Object.entries(object.metadata.labels ?? {}).flatMap(([key, value]) => {
    if (key.startsWith(prefix)) return [key.slice(prefix.length)].filter((role) => role !== '')
    return key === 'kubernetes.io/role' && value !== '' ? [value] : []
  })
  return orNone([...new Set(roles)].toSorted().join(','))
}

function nodeAddress(object: KubeObject, type: string): string {
  return orNone(
    stringAt(
      objectsAt(object, 'status', 'addresses').find((address) => stringAt(address, 'type') === type),
      'address',
    ),
  )
}

/** Events of either group. */
export const eventPrinter: TablePrinter = {
  columns: [
    column('Last Seen'),
    column('Type'),
    column('Reason'),
    column('Object'),
    column('Subobject', 1),
    column('Source', 1),
    column('Message'),
    column('First Seen', 1),
    column('Count', 1),
    { ...column('Name', 1), format: 'name' },
  ],
  cells(object, now) {
    const event = eventOf(object)
    return [
      age(event.last, now),
      stringAt(object, 'type'),
      stringAt(object, 'reason'),
      [stringAt(event.regarding, 'kind').toLowerCase(), stringAt(event.regarding, 'name')]
        .filter((part, index) => index === 0 || part !== '')
        .join('/'),
      stringAt(event.regarding, 'fieldPath'),
      event.source,
      event.message.trim(),
      age(event.first, now),
      event.count,
      object.metadata.name ?? '',
    ]
  },
}

function eventOf(object: KubeObject): {
  regarding: JsonObject
  source: string
  message: string
  first: string
  last: string
  count: number
} {
  const isCore = object.apiVersion === 'v1'
  const text = (core: string, event: string): string => stringAt(object, isCore ? core : event)
  const time = stringAt(object, 'eventTime')
  const source = objectAt(object, isCore ? 'source' : 'deprecatedSource')
  const component = stringAt(source, 'component') || text('reportingComponent', 'reportingController')
  const host = stringAt(source, 'host') || stringAt(object, 'reportingInstance')
  const first = text('firstTimestamp', 'deprecatedFirstTimestamp') || time
  const series = stringAt(object, 'series', 'lastObservedTime')
  const count = numberAt(object, 'series', 'count') ?? numberAt(object, isCore ? 'count' : 'deprecatedCount')
  return {
    regarding: objectAt(object, isCore ? 'involvedObject' : 'regarding'),
    source: host === '' ? component : `${component}, ${host}`,
    message: text('message', 'note'),
    first,
    last: has(asJson(object), 'series') ? series : text('lastTimestamp', 'deprecatedLastTimestamp') || first,
    count: has(asJson(object), 'series') ? (count ?? 0) : count || 1,
  }
}

/** ResourceQuotas: used and hard quantities, requests and limits separately. */
export const resourceQuotaPrinter: TablePrinter = printer(['Request', 'Limit', 'Age'], [], (object, now) => {
  const used = mapAt(object, 'status', 'used')
  const hard = Object.entries(mapAt(object, 'status', 'hard')).toSorted(([a], [b]) => (a < b ? -1 : 1))
  const part = (isLimit: boolean): string =>
    hard
      .filter(([name]) => name.startsWith('limits') === isLimit)
      .map(([name, amount]) => `${name}: ${used[name] ?? '0'}/${amount}`)
      .join(', ')
  return [part(false), part(true), objectAge(object, now)]
})

const shortModes: Readonly<Record<string, string>> = {
  ReadWriteOnce: 'RWO',
  ReadOnlyMany: 'ROX',
  ReadWriteMany: 'RWX',
  ReadWriteOncePod: 'RWOP',
}
const modeOrder = Object.keys(shortModes)

function accessModes(object: KubeObject, part: 'spec' | 'status'): string {
  const modes = stringsAt(object, part, 'accessModes')
  return modeOrder
    .filter((mode) => modes.includes(mode))
    .map((mode) => shortModes[mode])
    .join(',')
}

/** Returns the class of a volume or claim; an annotation of the time before the field wins. */
function storageClassOf(object: KubeObject): string {
  return (
    object.metadata.annotations?.['volume.beta.kubernetes.io/storage-class'] ??
    stringAt(object, 'spec', 'storageClassName')
  )
}

/** PersistentVolumes. */
export const volumePrinter: TablePrinter = printer(
  [
    'Capacity',
    'Access Modes',
    'Reclaim Policy',
    'Status',
    'Claim',
    'StorageClass',
    'VolumeAttributesClass',
    'Reason',
    'Age',
  ],
  ['VolumeMode'],
  (object, now) => {
    const claim = objectAt(object, 'spec', 'claimRef')
    return [
      mapAt(object, 'spec', 'capacity')['storage'] ?? '',
      accessModes(object, 'spec'),
      stringAt(object, 'spec', 'persistentVolumeReclaimPolicy'),
      object.metadata.deletionTimestamp === undefined ? stringAt(object, 'status', 'phase') : 'Terminating',
      has(claim, 'name') ? `${stringAt(claim, 'namespace')}/${stringAt(claim, 'name')}` : '',
      storageClassOf(object),
      stringAt(object, 'spec', 'volumeAttributesClassName') || '<unset>',
      stringAt(object, 'status', 'reason'),
      objectAge(object, now),
      stringAt(object, 'spec', 'volumeMode') || '<unset>',
    ]
  },
)

/** PersistentVolumeClaims. */
export const claimPrinter: TablePrinter = printer(
  ['Status', 'Volume', 'Capacity', 'Access Modes', 'StorageClass', 'VolumeAttributesClass', 'Age'],
  ['VolumeMode'],
  (object, now) => {
    const isBound = stringAt(object, 'spec', 'volumeName') !== ''
    return [
      object.metadata.deletionTimestamp === undefined ? stringAt(object, 'status', 'phase') : 'Terminating',
      stringAt(object, 'spec', 'volumeName'),
      isBound ? (mapAt(object, 'status', 'capacity')['storage'] ?? '0') : '',
      isBound ? accessModes(object, 'status') : '',
      storageClassOf(object),
      stringAt(object, 'spec', 'volumeAttributesClassName') || '<unset>',
      objectAge(object, now),
      stringAt(object, 'spec', 'volumeMode') || '<unset>',
    ]
  },
)

/** StorageClasses; default ones are marked beside their name. */
export const storageClassPrinter: TablePrinter = {
  ...printer(['Provisioner', 'ReclaimPolicy', 'VolumeBindingMode', 'AllowVolumeExpansion', 'Age'], [], () => []),
  cells: (object, now) => [
    `${object.metadata.name ?? ''}${isDefaultClass(object) ? ' (default)' : ''}`,
    stringAt(object, 'provisioner'),
    stringAt(object, 'reclaimPolicy') || 'Delete',
    stringAt(object, 'volumeBindingMode') || 'Immediate',
    flagAt(object, 'allowVolumeExpansion'),
    objectAge(object, now),
  ],
}

function isDefaultClass(object: KubeObject): boolean {
  const annotations = object.metadata.annotations ?? {}
  return ['storageclass.kubernetes.io/is-default-class', 'storageclass.beta.kubernetes.io/is-default-class'].some(
    (key) => annotations[key] === 'true',
  )
}

/** RoleBindings and ClusterRoleBindings. */
export const bindingPrinter: TablePrinter = printer(
  ['Role', 'Age'],
  ['Users', 'Groups', 'ServiceAccounts'],
  (object, now) => {
    const subjects = objectsAt(object, 'subjects')
    const names = (kind: string): string =>
      subjects
        .filter((subject) => stringAt(subject, 'kind') === kind)
        .map((subject) =>
          kind === 'ServiceAccount'
            ? `${stringAt(subject, 'namespace')}/${stringAt(subject, 'name')}`
            : stringAt(subject, 'name'),
        )
        .join(', ')
    const role = `${stringAt(object, 'roleRef', 'kind')}/${stringAt(object, 'roleRef', 'name')}`
    return [role, objectAge(object, now), names('User'), names('Group'), names('ServiceAccount')]
  },
)

/** ComponentStatuses. */
export const componentStatusPrinter: TablePrinter = printer(['Status', 'Message', 'Error'], [], (object) => {
  const healthy = objectsAt(object, 'conditions').find((condition) => stringAt(condition, 'type') === 'Healthy')
  const status = healthy === undefined ? 'Unknown' : stringAt(healthy, 'status') === 'True' ? 'Healthy' : 'Unhealthy'
  return [status, stringAt(healthy, 'message'), stringAt(healthy, 'error')]
})
