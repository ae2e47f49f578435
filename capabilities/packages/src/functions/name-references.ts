// Fields of Kubernetes' own kinds that name another resource: when that is renamed, they follow.
import type { FieldSpec } from './field-spec.ts'

/** The kind that is named, and the fields that name it. */
export interface NameReference {
  readonly group?: string
  readonly version?: string
  readonly kind: string
  readonly fields: readonly FieldSpec[]
}

/** Where the kinds that run pods hold the pod's spec. */
const podSpecs: readonly FieldSpec[] = [
  { kind: 'Pod', version: 'v1', path: 'spec' },
  { kind: 'PodTemplate', path: 'template/spec' },
  ...['Deployment', 'ReplicaSet', 'DaemonSet', 'StatefulSet', 'ReplicationController', 'Job'].map((kind) => ({
    kind,
    path: 'spec/template/spec',
  })),
  { kind: 'CronJob', path: 'spec/jobTemplate/spec/template/spec' },
]

const rbac = 'rbac.authorization.k8s.io'
const admission = 'admissionregistration.k8s.io'
const containers = ['containers', 'initContainers']

const containerFields = (...paths: readonly string[]): string[] =>
  containers.flatMap((list) => paths.map((path) => `${list}/${path}`))

const inPods = (...paths: readonly string[]): FieldSpec[] =>
  podSpecs.flatMap((spec) => paths.map((path) => ({ ...spec, path: `${spec.path}/${path}` })))

const ingressAnnotation = (name: string): FieldSpec => ({
  kind: 'Ingress',
  path: String.raw`metadata/annotations/${name.replaceAll('/', String.raw`\/`)}`,
})

const inKinds = (path: string, ...kinds: readonly string[]): FieldSpec[] => kinds.map((kind) => ({ kind, path }))

const scaleTargets = ['Deployment', 'ReplicationController', 'ReplicaSet', 'StatefulSet']

/** All references that are followed. */
export const nameReferences: readonly NameReference[] = [
  ...scaleTargets.map((kind) => ({ kind, fields: inKinds('spec/scaleTargetRef/name', 'HorizontalPodAutoscaler') })),
  {
    kind: 'ConfigMap',
    version: 'v1',
    fields: [
      ...inPods(
        'volumes/configMap/name',
        'volumes/projected/sources/configMap/name',
        ...containerFields('env/valueFrom/configMapKeyRef/name', 'envFrom/configMapRef/name'),
      ),
      { kind: 'Node', path: 'spec/configSource/configMap' },
      ...inKinds('rules/resourceNames', 'Role', 'ClusterRole'),
      ingressAnnotation('nginx.ingress.kubernetes.io/fastcgi-params-configmap'),
    ],
  },
  {
    kind: 'Secret',
    version: 'v1',
    fields: [
      ...inPods(
        'volumes/secret/secretName',
        'volumes/projected/sources/secret/name',
        'imagePullSecrets/name',
        ...containerFields('env/valueFrom/secretKeyRef/name', 'envFrom/secretRef/name'),
      ),
      { kind: 'Ingress', path: 'spec/tls/secretName' },
      ingressAnnotation('ingress.kubernetes.io/auth-secret'),
      ingressAnnotation('nginx.ingress.kubernetes.io/auth-secret'),
      ingressAnnotation('nginx.ingress.kubernetes.io/auth-tls-secret'),
      { kind: 'ServiceAccount', path: 'imagePullSecrets/name' },
      ...['secretName', 'adminSecretName', 'userSecretName', 'secretRef'].flatMap((name) =>
        inKinds(`parameters/${name}`, 'StorageClass'),
      ),
      ...inKinds('rules/resourceNames', 'Role', 'ClusterRole'),
      {
        group: 'serving.knative.dev',
        version: 'v1',
        kind: 'Service',
        path: 'spec/template/spec/containers/env/valueFrom/secretKeyRef/name',
      },
      { kind: 'PersistentVolume', path: 'spec/azureFile/secretName' },
    ],
  },
  {
    kind: 'Service',
    version: 'v1',
    fields: [
      { group: 'apps', kind: 'StatefulSet', path: 'spec/serviceName' },
      ...[
        'spec/rules/http/paths/backend/serviceName',
        'spec/backend/serviceName',
        'spec/rules/http/paths/backend/service/name',
        'spec/defaultBackend/service/name',
      ].flatMap((path) => inKinds(path, 'Ingress')),
      { group: 'apiregistration.k8s.io', kind: 'APIService', path: 'spec/service/name' },
      { group: admission, kind: 'ValidatingWebhookConfiguration', path: 'webhooks/clientConfig/service' },
      { group: admission, kind: 'MutatingWebhookConfiguration', path: 'webhooks/clientConfig/service' },
    ],
  },
  { group: rbac, kind: 'Role', fields: [{ group: rbac, kind: 'RoleBinding', path: 'roleRef/name' }] },
  {
    group: rbac,
    kind: 'ClusterRole',
    fields: [
      { group: rbac, kind: 'RoleBinding', path: 'roleRef/name' },
      { group: rbac, kind: 'ClusterRoleBinding', path: 'roleRef/name' },
    ],
  },
  {
    kind: 'ServiceAccount',
    version: 'v1',
    fields: [
      { group: rbac, kind: 'RoleBinding', path: 'subjects' },
      { group: rbac, kind: 'ClusterRoleBinding', path: 'subjects' },
      ...inPods('serviceAccountName'),
    ],
  },
  { kind: 'PersistentVolumeClaim', version: 'v1', fields: inPods('volumes/persistentVolumeClaim/claimName') },
  {
    kind: 'PersistentVolume',
    version: 'v1',
    fields: [
      { kind: 'PersistentVolumeClaim', path: 'spec/volumeName' },
      { kind: 'ClusterRole', path: 'rules/resourceNames' },
    ],
  },
  {
    group: 'storage.k8s.io',
    version: 'v1',
    kind: 'StorageClass',
    fields: [
      ...inKinds('spec/storageClassName', 'PersistentVolume', 'PersistentVolumeClaim'),
      { kind: 'StatefulSet', path: 'spec/volumeClaimTemplates/spec/storageClassName' },
    ],
  },
  {
    group: 'scheduling.k8s.io',
    version: 'v1',
    kind: 'PriorityClass',
    fields: inPods('priorityClassName'),
  },
  {
    group: 'networking.k8s.io',
    version: 'v1',
    kind: 'IngressClass',
    fields: [{ kind: 'Ingress', path: 'spec/ingressClassName' }],
  },
  {
    group: admission,
    kind: 'ValidatingAdmissionPolicy',
    fields: [{ group: admission, kind: 'ValidatingAdmissionPolicyBinding', path: 'spec/policyName' }],
  },
]
