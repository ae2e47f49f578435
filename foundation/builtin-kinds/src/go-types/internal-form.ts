// Objects in the form of Go's internal structs, as messages show them: other names, no omitted fields.
import type { FieldError, JsonObject, JsonValue } from '@fairlead/kube'
import { isJsonArray } from '@fairlead/kube'
import type { MessageField, MessageType } from './message-type.ts'
import { messageType } from './message-type.ts'
import { invalidStruct } from '../checks.ts'
import { specialZero } from './special-form.ts'

/** Converts an object of a message to the internal struct. */
export function internalMessage(type: MessageType, value: JsonObject): JsonObject {
  const names = internalOrder(type.name) ?? [...type.byJsonName.keys()]
  const entries = names.flatMap((name): [string, JsonValue][] => {
    const field = type.byJsonName.get(name)
    return field === undefined ? [] : [[goName(name), internalValue(field, value[name])]]
  })
  return Object.fromEntries(entries)
}

/** Structs of the core group whose fields have another order than in v1. */
const internalOrders: Readonly<Record<string, readonly string[]>> = {
  Container: [
    'name image command args workingDir ports envFrom env resources resizePolicy restartPolicy',
    'restartPolicyRules volumeMounts volumeDevices livenessProbe readinessProbe startupProbe',
    'lifecycle terminationMessagePath terminationMessagePolicy imagePullPolicy securityContext stdin',
    'stdinOnce tty',
  ],
  EphemeralContainer: [
    'name image command args workingDir ports envFrom env resources resizePolicy restartPolicy',
    'restartPolicyRules volumeMounts volumeDevices livenessProbe readinessProbe startupProbe',
    'lifecycle terminationMessagePath terminationMessagePolicy imagePullPolicy securityContext stdin',
    'stdinOnce tty targetContainerName',
  ],
  PersistentVolumeClaimSpec: [
    'accessModes selector resources volumeName storageClassName volumeMode dataSource dataSourceRef',
    'volumeAttributesClassName',
  ],
  PersistentVolumeSource: [
    'gcePersistentDisk awsElasticBlockStore hostPath glusterfs nfs rbd quobyte iscsi flexVolume',
    'cinder cephfs fc flocker azureFile vsphereVolume azureDisk photonPersistentDisk portworxVolume',
    'scaleIO local storageos csi',
  ],
  PodSecurityContext: [
    'seLinuxOptions windowsOptions runAsUser runAsGroup runAsNonRoot supplementalGroups',
    'supplementalGroupsPolicy fsGroup fsGroupChangePolicy sysctls seccompProfile appArmorProfile',
    'seLinuxChangePolicy',
  ],
  SecurityContext: [
    'capabilities privileged seLinuxOptions windowsOptions runAsUser runAsGroup runAsNonRoot',
    'readOnlyRootFilesystem allowPrivilegeEscalation procMount seccompProfile appArmorProfile',
  ],
  ServicePort: ['name protocol appProtocol port targetPort nodePort'],
  Volume: [
    'name hostPath emptyDir gcePersistentDisk awsElasticBlockStore gitRepo secret nfs iscsi',
    'glusterfs persistentVolumeClaim rbd quobyte flexVolume cinder cephfs flocker downwardAPI fc',
    'azureFile configMap vsphereVolume azureDisk photonPersistentDisk projected portworxVolume',
    'scaleIO storageos csi ephemeral image',
  ],
  VolumeMount: ['name readOnly recursiveReadOnly mountPath subPath mountPropagation subPathExpr'],
}

function internalOrder(message: string): readonly string[] | undefined {
  if (!message.startsWith('k8s.io.api.core.v1.')) return undefined
  return internalOrders[message.slice('k8s.io.api.core.v1.'.length)]?.flatMap((line) => line.split(' '))
}

/** Returns the value of a field of an internal struct; Go's zero value when absent. */
export function internalValue(field: MessageField, value: JsonValue | undefined): JsonValue {
  const { message } = field
  if (value === undefined || value === null) {
    if (field.pointer || field.map || field.repeated) return null
    if (message === undefined) return field.type === 'string' ? '' : field.type === 'bool' ? false : 0
    return message.special === undefined ? internalMessage(message, {}) : specialZero(message.special)
  }
  if (message === undefined || message.special !== undefined || field.map || isMeta(message)) return value
  if (isJsonArray(value)) return value.map((item) => internalMessage(message, item as JsonObject))
  return internalMessage(message, value as JsonObject)
}

/** Reports whether a type is of apimachinery, hence without an internal form. */
function isMeta(type: MessageType): boolean {
  return type.name.startsWith('k8s.io.apimachinery.')
}

/**
 * Creates the error of an invalid internal struct; `message` is the protobuf name of its v1 form,
 * `k8s.io.api.core.v1.SecurityContext`.
 */
export function invalidInternal(field: string, message: string, value: JsonObject, detail: string): FieldError {
  return invalidStruct(field, internalMessage(messageType(message), value), detail)
}

/** Go names that are not the capitalized JSON name. */
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
  gmsaCredentialSpec: 'GMSACredentialSpec',
  gmsaCredentialSpecName: 'GMSACredentialSpecName',
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

/** Returns the Go name of a JSON field. */
export function goName(name: string): string {
  return goNames[name] ?? name.charAt(0).toUpperCase() + name.slice(1)
}
