// The kinds that the types of Kubernetes v1.35 know beyond those that are served: decoding one of them fails otherwise
// than decoding an unknown one. Custom resource definitions and API services have types of their own.
import { parseApiVersion } from '@fairlead/kube'
import type { RegistryReader } from '../registry/registry.ts'

/** Kinds that are known in every version. */
const unversioned = new Set('Status APIVersions APIGroup APIGroupList APIResourceList'.split(' '))

/** Kinds of every known version. */
const common = new Set(
  'WatchEvent ListOptions GetOptions DeleteOptions CreateOptions UpdateOptions PatchOptions'.split(' '),
)

/** Kinds that have lists, then kinds that have none, of versions that are not served or not all of whose kinds are. */
const unserved: Readonly<Record<string, readonly [withLists: string, withoutLists: string]>> = {
  v1: [
    '',
    'RangeAllocation List PodStatusResult SerializedReference PodAttachOptions PodLogOptions PodExecOptions PodPortForwardOptions PodProxyOptions NodeProxyOptions ServiceProxyOptions',
  ],
  'admission.k8s.io/v1': ['', 'AdmissionReview'],
  'admission.k8s.io/v1beta1': ['', 'AdmissionReview'],
  'admissionregistration.k8s.io/v1alpha1': [
    'ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding MutatingAdmissionPolicy MutatingAdmissionPolicyBinding',
    '',
  ],
  'admissionregistration.k8s.io/v1beta1': [
    'ValidatingWebhookConfiguration MutatingWebhookConfiguration ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding MutatingAdmissionPolicy MutatingAdmissionPolicyBinding',
    '',
  ],
  'apps/v1beta1': ['Deployment StatefulSet ControllerRevision', 'Scale DeploymentRollback'],
  'apps/v1beta2': ['Deployment StatefulSet DaemonSet ReplicaSet ControllerRevision', 'Scale'],
  'authentication.k8s.io/v1': ['', 'TokenRequest'],
  'authentication.k8s.io/v1alpha1': ['', 'SelfSubjectReview'],
  'authentication.k8s.io/v1beta1': ['', 'TokenReview SelfSubjectReview'],
  'authorization.k8s.io/v1beta1': [
    '',
    'LocalSubjectAccessReview SelfSubjectAccessReview SelfSubjectRulesReview SubjectAccessReview',
  ],
  'autoscaling/v1': ['', 'Scale'],
  'autoscaling/v2beta1': ['HorizontalPodAutoscaler', ''],
  'autoscaling/v2beta2': ['HorizontalPodAutoscaler', ''],
  'batch/v1beta1': ['CronJob', ''],
  'certificates.k8s.io/v1alpha1': ['ClusterTrustBundle', ''],
  'certificates.k8s.io/v1beta1': ['CertificateSigningRequest ClusterTrustBundle PodCertificateRequest', ''],
  'coordination.k8s.io/v1alpha2': ['LeaseCandidate', ''],
  'coordination.k8s.io/v1beta1': ['Lease LeaseCandidate', ''],
  'discovery.k8s.io/v1beta1': ['EndpointSlice', ''],
  'events.k8s.io/v1beta1': ['Event', ''],
  'extensions/v1beta1': ['DaemonSet Deployment Ingress NetworkPolicy ReplicaSet', 'DeploymentRollback Scale'],
  'flowcontrol.apiserver.k8s.io/v1beta1': ['FlowSchema PriorityLevelConfiguration', ''],
  'flowcontrol.apiserver.k8s.io/v1beta2': ['FlowSchema PriorityLevelConfiguration', ''],
  'flowcontrol.apiserver.k8s.io/v1beta3': ['FlowSchema PriorityLevelConfiguration', ''],
  'imagepolicy.k8s.io/v1alpha1': ['', 'ImageReview'],
  'internal.apiserver.k8s.io/v1alpha1': ['StorageVersion', ''],
  'networking.k8s.io/v1beta1': ['Ingress IngressClass IPAddress ServiceCIDR', ''],
  'node.k8s.io/v1alpha1': ['RuntimeClass', ''],
  'node.k8s.io/v1beta1': ['RuntimeClass', ''],
  'policy/v1': ['', 'Eviction'],
  'policy/v1beta1': ['PodDisruptionBudget', 'Eviction'],
  'rbac.authorization.k8s.io/v1alpha1': ['ClusterRole ClusterRoleBinding Role RoleBinding', ''],
  'rbac.authorization.k8s.io/v1beta1': ['ClusterRole ClusterRoleBinding Role RoleBinding', ''],
  'resource.k8s.io/v1': ['DeviceClass ResourceClaim ResourceClaimTemplate ResourceSlice', ''],
  'resource.k8s.io/v1alpha3': ['DeviceTaintRule', ''],
  'resource.k8s.io/v1beta1': ['DeviceClass ResourceClaim ResourceClaimTemplate ResourceSlice', ''],
  'resource.k8s.io/v1beta2': ['DeviceClass ResourceClaim ResourceClaimTemplate ResourceSlice', ''],
  'scheduling.k8s.io/v1alpha1': ['PriorityClass Workload', ''],
  'scheduling.k8s.io/v1beta1': ['PriorityClass', ''],
  'storage.k8s.io/v1alpha1': ['VolumeAttachment CSIStorageCapacity VolumeAttributesClass', ''],
  'storage.k8s.io/v1beta1': [
    'StorageClass VolumeAttachment CSIDriver CSINode CSIStorageCapacity VolumeAttributesClass',
    '',
  ],
  'storagemigration.k8s.io/v1beta1': ['StorageVersionMigration', ''],
  'apiextensions.k8s.io/v1': ['', 'ConversionReview'],
  'apiextensions.k8s.io/v1beta1': ['CustomResourceDefinition', 'ConversionReview'],
  'apiregistration.k8s.io/v1beta1': ['APIService', ''],
}

/** Groups whose types are apart from all others. */
const ownSchemes = ['apiextensions.k8s.io', 'apiregistration.k8s.io']

/** Returns true when the types that decode objects of a group know a kind. */
export function isSchemeKind(
  apiVersion: string,
  kind: string,
  decoderGroup: string,
  registry: RegistryReader,
): boolean {
  if (unversioned.has(kind)) return true
  const { group, version } = parseApiVersion(apiVersion)
  const isApart = ownSchemes.includes(decoderGroup)
  if (isApart ? group !== decoderGroup && apiVersion !== 'v1' : ownSchemes.includes(group)) return false
  if (common.has(kind) && isKnownVersion(apiVersion, registry)) return true
  if (isApart && group !== decoderGroup) return false
  // Own keys only: the version is what a client sent.
  const [withLists, withoutLists] = (Object.hasOwn(unserved, apiVersion) ? unserved[apiVersion] : undefined) ?? ['', '']
  const ofList = kind.endsWith('List') ? kind.slice(0, -'List'.length) : undefined
  if (`${withLists} ${withoutLists}`.split(' ').includes(kind)) return true
  if (ofList !== undefined && ofList !== '' && withLists.split(' ').includes(ofList)) return true
  const served = registry.findKind(group, version, kind)
  if (served !== undefined) return served.definition.origin === 'builtin'
  const listed = ofList === undefined ? undefined : registry.findKind(group, version, ofList)
  return listed?.definition.origin === 'builtin' && listed.version.verbs.includes('list')
}

function isKnownVersion(apiVersion: string, registry: RegistryReader): boolean {
  if (Object.hasOwn(unserved, apiVersion)) return true
  const { group, version } = parseApiVersion(apiVersion)
  return [...registry.definitions].some(
    (definition) =>
      definition.origin === 'builtin' &&
      definition.group === group &&
      definition.versions.some(({ name }) => name === version),
  )
}

/** Groups of old kinds that are those of another group now. */
const movedGroups: Readonly<Record<string, string>> = {
  'extensions/DaemonSet': 'apps',
  'extensions/Deployment': 'apps',
  'extensions/ReplicaSet': 'apps',
  'extensions/Ingress': 'networking.k8s.io',
  'extensions/NetworkPolicy': 'networking.k8s.io',
  'events.k8s.io/Event': '',
}

/** Returns the version of the Go type of a known kind: options of all groups have the same types. */
export function goVersion(apiVersion: string, kind: string): string {
  return unversioned.has(kind) || common.has(kind) ? 'v1' : parseApiVersion(apiVersion).version
}

/** Returns true when objects of a kind have the same internal type in both groups. */
export function isSameType(kind: string, group: string, other: string): boolean {
  const home = (of: string): string => movedGroups[`${of}/${kind}`] ?? of
  return home(group) === home(other)
}
