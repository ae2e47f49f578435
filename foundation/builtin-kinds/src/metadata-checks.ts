// The checks of metadata that an update of a built-in kind runs besides the one that all updates share. The kinds of
// Kubernetes repeat them in their own validation, and every run has its causes in the response (recorded, v1.35.4).
import type { MetadataChecks } from './definition/strategy.ts'

const usual: MetadataChecks = {
  isPlainOnCreate: false,
  onUpdate: ['change', 'full', 'full'],
  onStatus: ['change', 'full'],
}
const once: MetadataChecks = { ...usual, onUpdate: ['change', 'full'] }
const plainAndFull: MetadataChecks = { ...usual, onUpdate: ['plain', 'full'] }
const plainTwice: MetadataChecks = { ...usual, isPlainOnCreate: true, onUpdate: ['plain', 'plain'] }

const checks: Readonly<Record<string, MetadataChecks>> = {
  '/Event': { ...usual, isPlainOnCreate: true, onUpdate: ['plain'] },
  '/LimitRange': plainAndFull,
  '/PersistentVolume': { ...usual, onUpdate: ['plain', 'full', 'full'] },
  '/PodTemplate': once,
  '/ReplicationController': once,
  '/ResourceQuota': once,
  '/Service': once,
  'admissionregistration.k8s.io/MutatingWebhookConfiguration': plainTwice,
  'admissionregistration.k8s.io/ValidatingAdmissionPolicy': plainTwice,
  'admissionregistration.k8s.io/ValidatingAdmissionPolicyBinding': plainTwice,
  'admissionregistration.k8s.io/ValidatingWebhookConfiguration': plainTwice,
  'apiextensions.k8s.io/CustomResourceDefinition': {
    isPlainOnCreate: true,
    onUpdate: ['change', 'plain'],
    onStatus: ['change', 'plain'],
  },
  'apiregistration.k8s.io/APIService': { ...usual, isPlainOnCreate: true, onUpdate: ['change', 'plain', 'plain'] },
  'apps/DaemonSet': once,
  'apps/Deployment': once,
  'apps/ReplicaSet': once,
  'apps/StatefulSet': once,
  'autoscaling/HorizontalPodAutoscaler': once,
  'batch/CronJob': { ...once, onStatus: ['change'] },
  'certificates.k8s.io/CertificateSigningRequest': { ...usual, onStatus: ['change', 'full', 'full'] },
  'coordination.k8s.io/Lease': { ...usual, isPlainOnCreate: true, onUpdate: ['change', 'plain'] },
  'discovery.k8s.io/EndpointSlice': plainAndFull,
  'events.k8s.io/Event': once,
  'flowcontrol.apiserver.k8s.io/FlowSchema': plainAndFull,
  'flowcontrol.apiserver.k8s.io/PriorityLevelConfiguration': plainAndFull,
  'networking.k8s.io/ServiceCIDR': once,
  'node.k8s.io/RuntimeClass': { ...usual, isPlainOnCreate: true, onUpdate: ['change', 'plain', 'plain'] },
  'policy/PodDisruptionBudget': { isPlainOnCreate: true, onUpdate: ['plain'], onStatus: ['change'] },
  'scheduling.k8s.io/PriorityClass': once,
  'storage.k8s.io/CSIDriver': once,
  'storage.k8s.io/CSINode': { ...usual, onUpdate: ['plain', 'full', 'full'] },
  'storage.k8s.io/VolumeAttachment': plainAndFull,
}

/** Returns the checks of a kind. */
export function metadataChecksOf(group: string, kind: string): MetadataChecks {
  return checks[`${group}/${kind}`] ?? usual
}
