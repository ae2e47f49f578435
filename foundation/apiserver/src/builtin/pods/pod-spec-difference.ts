// What a refused pod update would have changed, as the API server tells it: a unified difference of the two specs in the JSON of Go's internal
// structs, which have other names, another order and no omitted fields.
import type { JsonObject, JsonValue, MutableJsonObject } from '@fairlead/kube'
import { isJsonArray } from '@fairlead/kube'
import type { MessageField, MessageType } from '../../protobuf/message-type.ts'
import { messageType } from '../../protobuf/message-type.ts'
import { objectAt } from '../fields.ts'
import { specialZero } from '../special-form.ts'
import { unifiedDifference } from './unified-difference.ts'

const core = 'k8s.io.api.core.v1'

/** The difference from one PodSpec to another; '' when there is none. */
export function podSpecDifference(from: JsonObject, to: JsonObject): string {
  return unifiedDifference(internalLines(from), internalLines(to))
}

/** Fields of the internal PodSpec where its order is not that of v1. */
const internalOrder = [
  'volumes',
  'initContainers',
  'containers',
  'ephemeralContainers',
  'restartPolicy',
  'terminationGracePeriodSeconds',
  'activeDeadlineSeconds',
  'dnsPolicy',
  'nodeSelector',
  'serviceAccountName',
  'automountServiceAccountToken',
  'nodeName',
  'securityContext',
  'imagePullSecrets',
  'hostname',
  'subdomain',
  'setHostnameAsFQDN',
  'affinity',
  'schedulerName',
  'tolerations',
  'hostAliases',
  'priorityClassName',
  'priority',
  'preemptionPolicy',
  'dnsConfig',
  'readinessGates',
  'runtimeClassName',
  'overhead',
  'enableServiceLinks',
  'topologySpreadConstraints',
  'os',
  'schedulingGates',
  'resourceClaims',
  'resources',
  'hostnameOverride',
]

/** Fields of v1's PodSpec that stand in the internal security context. */
const hostFields = ['hostNetwork', 'hostPID', 'hostIPC', 'shareProcessNamespace', 'hostUsers']

function internalLines(spec: JsonObject): string[] {
  const type = messageType(`${core}.PodSpec`)
  const form: MutableJsonObject = {}
  for (const name of internalOrder) {
    const field = type.byJsonName.get(name)
    if (field === undefined) continue
    form[goName(name)] = name === 'securityContext' ? securityContext(spec, type) : internalValue(field, spec[name])
  }
  const text = JSON.stringify(form, undefined, 1).replaceAll(
    /[<>&]/g,
    (character) => `\\u00${character.charCodeAt(0).toString(16)}`,
  )
  return text.split('\n')
}

function securityContext(spec: JsonObject, type: MessageType): JsonValue {
  const own = internalMessage(messageType(`${core}.PodSecurityContext`), objectAt(spec, 'securityContext'))
  const host = hostFields.map((name): [string, JsonValue] => {
    const field = type.byJsonName.get(name)
    return [goName(name), field === undefined ? null : internalValue(field, spec[name])]
  })
  return { ...Object.fromEntries(host), ...own }
}

function internalMessage(type: MessageType, value: JsonObject): JsonObject {
  const entries = [...type.byJsonName].map(([name, field]): [string, JsonValue] => [
    goName(name),
    internalValue(field, value[name]),
  ])
  return Object.fromEntries(entries)
}

function internalValue(field: MessageField, value: JsonValue | undefined): JsonValue {
  const { message } = field
  if (value === undefined || value === null) {
    if (field.pointer || field.map || field.repeated) return null
    if (message === undefined) return field.type === 'string' ? '' : field.type === 'bool' ? false : 0
    return message.special === undefined ? internalMessage(message, {}) : specialZero(message.special)
  }
  if (message === undefined || message.special !== undefined || field.map) return value
  if (isJsonArray(value)) return value.map((item) => internalMessage(message, item as JsonObject))
  return internalMessage(message, value as JsonObject)
}

/** Names of Go that are not the JSON name with a capital. */
const goNames: Readonly<Record<string, string>> = {
  apiGroup: 'APIGroup',
  apiVersion: 'APIVersion',
  awsElasticBlockStore: 'AWSElasticBlockStore',
  cephfs: 'CephFS',
  csi: 'CSI',
  dnsConfig: 'DNSConfig',
  dnsPolicy: 'DNSPolicy',
  fc: 'FC',
  fsGroup: 'FSGroup',
  fsGroupChangePolicy: 'FSGroupChangePolicy',
  fsType: 'FSType',
  gcePersistentDisk: 'GCEPersistentDisk',
  grpc: 'GRPC',
  httpGet: 'HTTPGet',
  httpHeaders: 'HTTPHeaders',
  ip: 'IP',
  iscsi: 'ISCSI',
  nfs: 'NFS',
  os: 'OS',
  rbd: 'RBD',
  seLinuxChangePolicy: 'SELinuxChangePolicy',
  seLinuxOptions: 'SELinuxOptions',
  storageos: 'StorageOS',
  tcpSocket: 'TCPSocket',
  tty: 'TTY',
  uid: 'UID',
}

function goName(name: string): string {
  return goNames[name] ?? name.charAt(0).toUpperCase() + name.slice(1)
}
