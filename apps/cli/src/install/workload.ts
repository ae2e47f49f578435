// The Deployment of an installation and the objects around its pods.
import type { JsonObject, KubeObject } from '@fairlead/kube'
import { apiPort, httpsPort, isDelegated, labelsOf, podLabels, webhookSecret } from './install-options.ts'
import type { InstallOptions } from './install-options.ts'

/** User and group of the image; no name of theirs is needed. */
const userId = 65532

/** Seconds for runs in progress (30), and for the server and leases after them. */
const terminationGracePeriodSeconds = 45

/** Returns the Deployment: pods without any privilege (the restricted level of Pod Security). */
export function deployment(options: InstallOptions): KubeObject {
  const { name, namespace, replicas, capabilities, dataClaim } = options
  const labels = labelsOf(options)
  // The revisions that an extension API server counts are those of one process.
  const isSingle = capabilities.some(isDelegated)
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace, labels },
    spec: {
      replicas,
      strategy: isSingle
        ? { type: 'Recreate' }
        : { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
      selector: { matchLabels: podLabels(options) },
      template: {
        metadata: { labels },
        spec: {
          serviceAccountName: name,
          securityContext: {
            runAsNonRoot: true,
            runAsUser: userId,
            runAsGroup: userId,
            fsGroup: userId,
            seccompProfile: { type: 'RuntimeDefault' },
          },
          terminationGracePeriodSeconds,
          ...(replicas > 1 && { affinity: apart(options) }),
          containers: [container(options)],
          volumes: [
            { name: 'tmp', emptyDir: {} },
            ...(dataClaim === undefined ? [] : [{ name: 'data', persistentVolumeClaim: { claimName: dataClaim } }]),
          ],
        },
      },
    },
  } as unknown as KubeObject
}

function container(options: InstallOptions): JsonObject {
  const { image, capabilities, dataClaim } = options
  const probe = (path: string): JsonObject => ({ httpGet: { path, port: 'https', scheme: 'HTTPS' } })
  return {
    name: 'fairlead',
    image,
    imagePullPolicy: 'IfNotPresent',
    args: [...runArguments(options)],
    env: [{ name: 'HOME', value: '/tmp' }],
    ports: [
      { name: 'https', containerPort: httpsPort, protocol: 'TCP' },
      ...(capabilities.some(isDelegated) ? [{ name: 'api', containerPort: apiPort, protocol: 'TCP' }] : []),
    ],
    livenessProbe: { ...probe('/healthz'), initialDelaySeconds: 10, periodSeconds: 20, timeoutSeconds: 5 },
    readinessProbe: { ...probe('/readyz'), periodSeconds: 5, timeoutSeconds: 5 },
    resources: { requests: { cpu: '100m', memory: '256Mi' }, limits: { memory: '1Gi' } },
    securityContext: {
      allowPrivilegeEscalation: false,
      capabilities: { drop: ['ALL'] },
      readOnlyRootFilesystem: true,
    },
    volumeMounts: [
      { name: 'tmp', mountPath: '/tmp' },
      ...(dataClaim === undefined ? [] : [{ name: 'data', mountPath: '/data' }]),
    ],
  }
}

/** Returns the arguments of the container: those of `fairlead run`. */
export function runArguments({
  name,
  capabilities,
  shards,
  webhooks,
  settings,
  dataClaim,
}: InstallOptions): readonly string[] {
  return [
    'run',
    `--only=${capabilities.map((capability) => capability.name).join(',')}`,
    `--service=${name}`,
    `--port=${httpsPort}`,
    `--webhooks=${webhooks}`,
    ...(shards === undefined ? ['--leader-elect=true'] : ['--leader-elect=false', `--shards=${shards}`]),
    ...(dataClaim === undefined ? [] : ['--data=/data']),
    ...settings.map((setting) => `--set=${setting}`),
  ]
}

/** Prefers a node of its own for every replica. */
function apart(options: InstallOptions): JsonObject {
  return {
    podAntiAffinity: {
      preferredDuringSchedulingIgnoredDuringExecution: [
        {
          weight: 100,
          podAffinityTerm: {
            labelSelector: { matchLabels: { ...podLabels(options) } },
            topologyKey: 'kubernetes.io/hostname',
          },
        },
      ],
    },
  }
}

/** Returns the Service of webhooks and metrics, and of the extension API server where there is one. */
export function service(options: InstallOptions): KubeObject {
  const { name, namespace, capabilities } = options
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name, namespace, labels: labelsOf(options) },
    spec: {
      selector: podLabels(options),
      ports: [
        { name: 'https', port: 443, targetPort: 'https', protocol: 'TCP' },
        ...(capabilities.some(isDelegated) ? [{ name: 'api', port: apiPort, targetPort: 'api', protocol: 'TCP' }] : []),
      ],
    },
  } as unknown as KubeObject
}

/** Returns the PodDisruptionBudget. A single pod has none: it would block the drain of its node. */
export function disruptionBudget(options: InstallOptions): KubeObject {
  const { name, namespace } = options
  return {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name, namespace, labels: labelsOf(options) },
    spec: { maxUnavailable: 1, selector: { matchLabels: podLabels(options) } },
  } as unknown as KubeObject
}

/**
 * Returns the NetworkPolicy: connections to the served ports only, from anywhere, since the address of the API server
 * differs from cluster to cluster. What pods connect to is not limited: hooks, git and clouds are anywhere.
 */
export function networkPolicy(options: InstallOptions): KubeObject {
  const { name, namespace, capabilities } = options
  const ports = ['https', ...(capabilities.some(isDelegated) ? ['api'] : [])]
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { name, namespace, labels: labelsOf(options) },
    spec: {
      podSelector: { matchLabels: podLabels(options) },
      policyTypes: ['Ingress'],
      ingress: [{ ports: ports.map((port) => ({ port, protocol: 'TCP' })) }],
    },
  } as unknown as KubeObject
}

/** Returns the ServiceMonitor of the Prometheus operator; the account of Prometheus needs `NAME-metrics-reader`. */
export function serviceMonitor(options: InstallOptions): KubeObject {
  const { name, namespace } = options
  return {
    apiVersion: 'monitoring.coreos.com/v1',
    kind: 'ServiceMonitor',
    metadata: { name, namespace, labels: labelsOf(options) },
    spec: {
      selector: { matchLabels: podLabels(options) },
      endpoints: [
        {
          port: 'https',
          path: '/metrics',
          scheme: 'https',
          bearerTokenFile: '/var/run/secrets/kubernetes.io/serviceaccount/token',
          tlsConfig: {
            ca: { secret: { name: webhookSecret(options), key: 'ca.crt' } },
            serverName: `${name}.${namespace}.svc`,
          },
        },
      ],
    },
  } as unknown as KubeObject
}
