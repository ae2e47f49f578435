// The versions of built-in kinds that the real server has types for and serves no more, or not by default. A body in
// one of them is decoded there, so it is refused for its version, not as unknown.

const versions: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'admissionregistration.k8s.io': {
    v1beta1:
      'MutatingWebhookConfiguration ValidatingWebhookConfiguration ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding',
    v1alpha1: 'ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding',
  },
  'apiextensions.k8s.io': { v1beta1: 'CustomResourceDefinition' },
  'apiregistration.k8s.io': { v1beta1: 'APIService' },
  apps: {
    v1beta1: 'ControllerRevision Deployment StatefulSet',
    v1beta2: 'ControllerRevision DaemonSet Deployment ReplicaSet StatefulSet',
  },
  'authentication.k8s.io': { v1beta1: 'SelfSubjectReview TokenReview', v1alpha1: 'SelfSubjectReview' },
  'authorization.k8s.io': {
    v1beta1: 'LocalSubjectAccessReview SelfSubjectAccessReview SelfSubjectRulesReview SubjectAccessReview',
  },
  autoscaling: { v2beta1: 'HorizontalPodAutoscaler', v2beta2: 'HorizontalPodAutoscaler' },
  batch: { v1beta1: 'CronJob' },
  'certificates.k8s.io': { v1beta1: 'CertificateSigningRequest' },
  'coordination.k8s.io': { v1beta1: 'Lease' },
  'discovery.k8s.io': { v1beta1: 'EndpointSlice' },
  'events.k8s.io': { v1beta1: 'Event' },
  extensions: { v1beta1: 'DaemonSet Deployment Ingress NetworkPolicy ReplicaSet' },
  'flowcontrol.apiserver.k8s.io': {
    v1beta1: 'FlowSchema PriorityLevelConfiguration',
    v1beta2: 'FlowSchema PriorityLevelConfiguration',
    v1beta3: 'FlowSchema PriorityLevelConfiguration',
  },
  'networking.k8s.io': { v1beta1: 'Ingress IngressClass IPAddress ServiceCIDR' },
  'node.k8s.io': { v1alpha1: 'RuntimeClass', v1beta1: 'RuntimeClass' },
  policy: { v1beta1: 'PodDisruptionBudget' },
  'rbac.authorization.k8s.io': {
    v1alpha1: 'ClusterRole ClusterRoleBinding Role RoleBinding',
    v1beta1: 'ClusterRole ClusterRoleBinding Role RoleBinding',
  },
  'scheduling.k8s.io': { v1alpha1: 'PriorityClass', v1beta1: 'PriorityClass' },
  'storage.k8s.io': {
    v1alpha1: 'CSIStorageCapacity VolumeAttachment VolumeAttributesClass',
    v1beta1: 'CSIDriver CSINode CSIStorageCapacity StorageClass VolumeAttachment VolumeAttributesClass',
  },
}

/** Reports whether the real server has a type for a kind in a version that is not served. */
export function isUnservedVersion(group: string, version: string, kind: string): boolean {
  const ofGroup = Object.hasOwn(versions, group) ? versions[group] : undefined
  const kinds = ofGroup !== undefined && Object.hasOwn(ofGroup, version) ? ofGroup[version] : undefined
  return kinds?.split(' ').includes(kind) === true
}
