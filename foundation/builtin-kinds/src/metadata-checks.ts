// The checks of metadata that an update of a built-in kind runs besides those that all updates share. The kinds of
// Kubernetes repeat them in their own validation, in an order of their own, and every run has its causes in the
// response (recorded, v1.35.4).
import type { MetadataChecks } from './definition/strategy.ts'

const change: MetadataChecks = { knowsFinalizers: true, onUpdate: ['change'], onStatus: ['change'] }
const changeThenObject: MetadataChecks = { ...change, onUpdate: ['change', 'object'] }
const objectThenChange: MetadataChecks = { ...change, onUpdate: ['object', 'change'] }
const object: MetadataChecks = { ...change, onUpdate: ['object'] }
const objectTwice: MetadataChecks = { ...change, onUpdate: ['object', 'object'] }
const plainObject: MetadataChecks = { ...object, knowsFinalizers: false }
const none: MetadataChecks = { knowsFinalizers: false, onUpdate: [], onStatus: [] }

const checks: Readonly<Record<string, MetadataChecks>> = {
  '/ConfigMap': changeThenObject,
  '/Endpoints': changeThenObject,
  '/Event': none,
  '/LimitRange': object,
  '/Namespace': objectThenChange,
  '/Node': objectThenChange,
  '/PersistentVolume': objectTwice,
  '/PersistentVolumeClaim': changeThenObject,
  '/Pod': changeThenObject,
  '/Secret': changeThenObject,
  '/ServiceAccount': changeThenObject,
  'admissionregistration.k8s.io/MutatingWebhookConfiguration': plainObject,
  'admissionregistration.k8s.io/ValidatingAdmissionPolicy': plainObject,
  'admissionregistration.k8s.io/ValidatingAdmissionPolicyBinding': plainObject,
  'admissionregistration.k8s.io/ValidatingWebhookConfiguration': plainObject,
  'apiextensions.k8s.io/CustomResourceDefinition': { ...change, knowsFinalizers: false },
  'apiregistration.k8s.io/APIService': { ...changeThenObject, knowsFinalizers: false },
  'apps/ControllerRevision': changeThenObject,
  'batch/CronJob': { ...change, onStatus: [] },
  'batch/Job': objectThenChange,
  'certificates.k8s.io/CertificateSigningRequest': { ...objectThenChange, onStatus: ['object', 'change'] },
  'coordination.k8s.io/Lease': { ...change, knowsFinalizers: false },
  'discovery.k8s.io/EndpointSlice': object,
  'flowcontrol.apiserver.k8s.io/FlowSchema': object,
  'flowcontrol.apiserver.k8s.io/PriorityLevelConfiguration': object,
  'networking.k8s.io/IPAddress': objectThenChange,
  'networking.k8s.io/Ingress': changeThenObject,
  'networking.k8s.io/IngressClass': changeThenObject,
  'networking.k8s.io/NetworkPolicy': objectThenChange,
  'node.k8s.io/RuntimeClass': { ...objectThenChange, knowsFinalizers: false },
  'policy/PodDisruptionBudget': none,
  'rbac.authorization.k8s.io/ClusterRole': objectThenChange,
  'rbac.authorization.k8s.io/ClusterRoleBinding': objectThenChange,
  'rbac.authorization.k8s.io/Role': objectThenChange,
  'rbac.authorization.k8s.io/RoleBinding': objectThenChange,
  'storage.k8s.io/CSINode': objectTwice,
  'storage.k8s.io/CSIStorageCapacity': objectThenChange,
  'storage.k8s.io/StorageClass': objectThenChange,
  'storage.k8s.io/VolumeAttachment': object,
  'storage.k8s.io/VolumeAttributesClass': changeThenObject,
}

/** Returns the checks of a kind. */
export function metadataChecksOf(group: string, kind: string): MetadataChecks {
  return checks[`${group}/${kind}`] ?? change
}
