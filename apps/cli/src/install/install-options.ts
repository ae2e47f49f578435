// The parts of an installation: the options from which all manifests, the chart and the Kustomize base are made.
import type { Capability } from '@fairlead/controller'

/** An installation in a cluster. */
export interface InstallOptions {
  /** Name of the Deployment, the Service and the service account, and prefix of the names of cluster-scoped objects. */
  readonly name: string
  readonly namespace: string
  /** Version of this command, in labels. */
  readonly version: string
  readonly capabilities: readonly Capability[]
  /** The container image, with its tag or digest. */
  readonly image: string
  /** Pods: with leader election one works and the others wait; with shards all work. */
  readonly replicas: number
  /** Number of shards that the replicas share; leader election when left out. */
  readonly shards?: number
  /** A PersistentVolumeClaim for git repositories that have no remote; without one there are none. */
  readonly dataClaim?: string
  /** Settings of capabilities, as `--set` of `fairlead run` takes them. */
  readonly settings: readonly string[]
  /** Checks objects before they are stored, by a webhook. */
  readonly webhooks: boolean
  /** Limits who can connect to the pods to the ports that they serve. */
  readonly networkPolicy: boolean
  /** Adds a ServiceMonitor of the Prometheus operator. */
  readonly serviceMonitor: boolean
  /** Adds default objects of capabilities, such as the action maps of well-known kinds. */
  readonly defaults: boolean
  /** Labels of all objects, in place of those of this command. */
  readonly labels?: Readonly<Record<string, string>>
}

/** Namespace of an installation that names no other. */
export const defaultNamespace = 'fairlead-system'

/** Port of health, metrics and webhooks. */
export const httpsPort = 9443

/** Port of the extension API server; its Service has the same. */
export const apiPort = 8443

/** Labels of all objects of an installation. */
export function labelsOf({ name, version, labels }: InstallOptions): Readonly<Record<string, string>> {
  return (
    labels ?? {
      'app.kubernetes.io/name': 'fairlead',
      'app.kubernetes.io/instance': name,
      'app.kubernetes.io/version': version,
      'app.kubernetes.io/managed-by': 'fairlead-install',
    }
  )
}

/** Labels that select the pods; they never change, so the version is not among them. */
export function podLabels(options: InstallOptions): Readonly<Record<string, string>> {
  const labels = labelsOf(options)
  return Object.fromEntries(
    ['app.kubernetes.io/name', 'app.kubernetes.io/instance'].map((label) => [label, labels[label]!]),
  )
}

/** Reports whether a capability serves resources of its own storage, behind APIServices. */
export function isDelegated({ served = [] }: Capability): boolean {
  return served.length > 0
}

/** The Secret of the certificates that webhooks are served with. */
export function webhookSecret({ name }: InstallOptions): string {
  return `${name}-webhook-tls`
}

/** The Secret of the certificates of the extension API server. */
export function apiSecret({ name }: InstallOptions): string {
  return `${name}-api-tls`
}
