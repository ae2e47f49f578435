// The strategies of the built-in kinds, and the behavior that they share.
import type { DefinitionRules, MutableJsonObject } from '@fairlead/kube'
import { messageOfKind } from './go-types/message-type.ts'
import type { Draft, Strategy } from './definition/strategy.ts'
import { bindingStrategy, clusterRoleStrategy, roleStrategy, serviceAccountStrategy } from './access/rbac.ts'
import {
  admissionBindingStrategy,
  admissionPolicyStrategy,
  mutatingWebhooksStrategy,
  validatingWebhooksStrategy,
} from './admission/webhooks.ts'
import {
  leaseStrategy,
  limitRangeStrategy,
  nodeStrategy,
  resourceQuotaStrategy,
  runtimeClassStrategy,
} from './cluster/control-plane.ts'
import { priorityClassStrategy } from './pods/priority-class.ts'
import { definitionStrategy } from './cluster/custom-resource-definition.ts'
import { certificateRequestStrategy } from './cluster/certificate-request.ts'
import { apiServiceStrategy } from './cluster/api-service.ts'
import { flowSchemaStrategy, priorityLevelStrategy } from './cluster/flow-control.ts'
import { coreEventStrategy, newEventStrategy } from './core/event.ts'
import { namespaceStrategy } from './core/namespace.ts'
import { configMapStrategy, secretStrategy } from './core/secret.ts'
import { serviceStrategy } from './core/service.ts'
import { endpointsStrategy, endpointSliceStrategy } from './networking/endpoints.ts'
import { ipAddressStrategy, serviceCidrStrategy } from './networking/service-cidr.ts'
import { ingressClassStrategy, ingressStrategy, networkPolicyStrategy } from './networking/ingress.ts'
import { draftAt } from './fields.ts'
import { metadataChecksOf } from './metadata-checks.ts'
import { dropDisabledFields } from './pods/disabled-fields.ts'
import { podStrategy } from './pods/pod.ts'
import { podTemplateStrategy } from './pods/pod-template.ts'
import { autoscalerStrategy, disruptionBudgetStrategy } from './policy/autoscaler.ts'
import { claimStrategy } from './storage/claim.ts'
import {
  attachmentStrategy,
  attributesClassStrategy,
  csiDriverStrategy,
  csiNodeStrategy,
  storageCapacityStrategy,
} from './storage/csi.ts'
import { storageClassStrategy, volumeStrategy } from './storage/volumes.ts'
import type { ResourceRow } from './tables/builtin-tables.ts'
import { normalizeForStorage, zeroStatus } from './go-types/typed-form.ts'
import { deploymentStrategy, replicaSetStrategy, replicationControllerStrategy } from './workloads/deployment.ts'
import { cronJobStrategy, jobStrategy } from './workloads/job.ts'
import { controllerRevisionStrategy, daemonSetStrategy, statefulSetStrategy } from './workloads/stateful-set.ts'

const strategies: Readonly<Record<string, Strategy>> = {
  '/ConfigMap': configMapStrategy,
  '/Endpoints': endpointsStrategy,
  '/Event': coreEventStrategy,
  '/LimitRange': limitRangeStrategy,
  '/Namespace': namespaceStrategy,
  '/Node': nodeStrategy,
  '/PersistentVolume': volumeStrategy,
  '/PersistentVolumeClaim': claimStrategy,
  '/Pod': podStrategy,
  '/PodTemplate': podTemplateStrategy,
  '/ReplicationController': replicationControllerStrategy,
  '/ResourceQuota': resourceQuotaStrategy,
  '/Secret': secretStrategy,
  '/Service': serviceStrategy,
  '/ServiceAccount': serviceAccountStrategy,
  'admissionregistration.k8s.io/MutatingWebhookConfiguration': mutatingWebhooksStrategy,
  'admissionregistration.k8s.io/ValidatingAdmissionPolicy': admissionPolicyStrategy,
  'admissionregistration.k8s.io/ValidatingAdmissionPolicyBinding': admissionBindingStrategy,
  'admissionregistration.k8s.io/ValidatingWebhookConfiguration': validatingWebhooksStrategy,
  'apiregistration.k8s.io/APIService': apiServiceStrategy,
  'apps/ControllerRevision': controllerRevisionStrategy,
  'apps/DaemonSet': daemonSetStrategy,
  'apps/Deployment': deploymentStrategy,
  'apps/ReplicaSet': replicaSetStrategy,
  'apps/StatefulSet': statefulSetStrategy,
  'autoscaling/HorizontalPodAutoscaler': autoscalerStrategy,
  'batch/CronJob': cronJobStrategy,
  'batch/Job': jobStrategy,
  'certificates.k8s.io/CertificateSigningRequest': certificateRequestStrategy,
  'coordination.k8s.io/Lease': leaseStrategy,
  'discovery.k8s.io/EndpointSlice': endpointSliceStrategy,
  'events.k8s.io/Event': newEventStrategy,
  'flowcontrol.apiserver.k8s.io/FlowSchema': flowSchemaStrategy,
  'flowcontrol.apiserver.k8s.io/PriorityLevelConfiguration': priorityLevelStrategy,
  'networking.k8s.io/Ingress': ingressStrategy,
  'networking.k8s.io/IngressClass': ingressClassStrategy,
  'networking.k8s.io/IPAddress': ipAddressStrategy,
  'networking.k8s.io/NetworkPolicy': networkPolicyStrategy,
  'networking.k8s.io/ServiceCIDR': serviceCidrStrategy,
  'node.k8s.io/RuntimeClass': runtimeClassStrategy,
  'policy/PodDisruptionBudget': disruptionBudgetStrategy,
  'rbac.authorization.k8s.io/ClusterRole': clusterRoleStrategy,
  'rbac.authorization.k8s.io/ClusterRoleBinding': bindingStrategy,
  'rbac.authorization.k8s.io/Role': roleStrategy,
  'rbac.authorization.k8s.io/RoleBinding': bindingStrategy,
  'scheduling.k8s.io/PriorityClass': priorityClassStrategy,
  'storage.k8s.io/CSIDriver': csiDriverStrategy,
  'storage.k8s.io/CSINode': csiNodeStrategy,
  'storage.k8s.io/CSIStorageCapacity': storageCapacityStrategy,
  'storage.k8s.io/StorageClass': storageClassStrategy,
  'storage.k8s.io/VolumeAttachment': attachmentStrategy,
  'storage.k8s.io/VolumeAttributesClass': attributesClassStrategy,
}

/** The groups whose server stores JSON, which keeps empty lists. */
const storedAsJson: ReadonlySet<string> = new Set(['apiextensions.k8s.io', 'apiregistration.k8s.io'])

/** Returns the strategy of a kind: the behavior shared by all built-in kinds, and its own. */
export function strategyOf(group: string, apiVersion: string, row: ResourceRow, rules?: DefinitionRules): Strategy {
  const own =
    row.kind === 'CustomResourceDefinition' ? definitionStrategy(rules) : (strategies[`${group}/${row.kind}`] ?? {})
  const hasStatus = own.hasStatus ?? row.subresources?.some(({ name }) => name === 'status') ?? false
  const finish = (object: Draft): void => {
    const type = messageOfKind(apiVersion, row.kind)
    if (type !== undefined) normalizeForStorage(type, object, storedAsJson.has(group))
  }
  return {
    allowUnconditionalUpdate: true,
    defaultPropagation: 'Background',
    metadataChecks: metadataChecksOf(group, row.kind),
    ...own,
    hasStatus,
    // Most kinds ignore the status in the body of a create: it starts at zero, or as their own preparation sets it.
    prepareForCreate(object, context) {
      dropDisabledFields(podSpecOf(row.kind, object))
      if (hasStatus && own.keepsStatusOnCreate !== true) resetStatus(object, apiVersion, row.kind)
      own.prepareForCreate?.(object, context)
      finish(object)
    },
    prepareForUpdate(object, old, context) {
      dropDisabledFields(podSpecOf(row.kind, object))
      own.prepareForUpdate?.(object, old, context)
      finish(object)
    },
  }
}

/** The kinds with pod templates, and where the spec is. */
const podSpecPaths: Readonly<Record<string, readonly string[]>> = {
  Pod: ['spec'],
  PodTemplate: ['template', 'spec'],
  CronJob: ['spec', 'jobTemplate', 'spec', 'template', 'spec'],
  ...Object.fromEntries(
    ['DaemonSet', 'Deployment', 'Job', 'ReplicaSet', 'ReplicationController', 'StatefulSet'].map((kind) => [
      kind,
      ['spec', 'template', 'spec'],
    ]),
  ),
}

function podSpecOf(kind: string, object: Draft): MutableJsonObject | undefined {
  const path = podSpecPaths[kind]
  return path === undefined ? undefined : draftAt(object, ...path)
}

function resetStatus(object: Draft, apiVersion: string, kind: string): void {
  const zero = zeroStatus(apiVersion, kind)
  if (zero === undefined) delete object['status']
  else object['status'] = zero
}
