// The flags of the program: those that it honours, and those of kube-apiserver 1.35 that have nothing to set here.
import type { Flag } from './flags.ts'

/** The honoured flags, in the order of `--help`. */
export const honouredFlags: readonly Flag[] = [
  { name: 'bind-address', value: 'ip', description: 'address to listen on (default 127.0.0.1; 0.0.0.0: all)' },
  { name: 'secure-port', value: 'number', description: 'port of HTTPS (default 6443; 0: a free one)' },
  { name: 'advertise-address', value: 'ip', description: 'address in the endpoints of the Service kubernetes' },
  { name: 'cert-dir', value: 'folder', description: 'apiserver.crt and apiserver.key; written when they are missing' },
  { name: 'tls-cert-file', value: 'file', description: 'serving certificate with its chain (PEM)' },
  { name: 'tls-private-key-file', value: 'file', description: 'its key (PEM)' },
  { name: 'client-ca-file', value: 'file', description: 'authorities of client certificates (PEM)' },
  { name: 'token-auth-file', value: 'file', description: 'bearer tokens (CSV: token,user,uid,"group,group")' },
  { name: 'anonymous-auth', description: 'accept requests without credentials (default true)' },
  { name: 'authorization-mode', value: 'modes', description: 'RBAC or AlwaysAllow (default); Node adds nothing' },
  { name: 'service-account-issuer', value: 'url', description: 'issuer of tokens; more than one: all are accepted' },
  { name: 'service-account-key-file', value: 'file', description: 'keys that verify tokens (PEM, repeatable)' },
  { name: 'service-account-signing-key-file', value: 'file', description: 'key that signs tokens (PEM)' },
  { name: 'service-account-jwks-uri', value: 'url', description: 'jwks_uri of the issuer' },
  { name: 'api-audiences', value: 'names', description: 'audiences of tokens (default: the issuers)' },
  { name: 'enable-admission-plugins', value: 'names', description: 'admission plugins to switch on' },
  { name: 'disable-admission-plugins', value: 'names', description: 'admission plugins to switch off' },
  { name: 'audit-log-path', value: 'file', description: 'append audit events (level Metadata; -: standard output)' },
  { name: 'disable-http2-serving', description: 'serve HTTP/1.1 only' },
  { name: 'data', value: 'folder', description: 'store objects in this folder (default: in memory)' },
  {
    name: 'controllers',
    value: 'set',
    description:
      'crd (default): those inside kube-apiserver; all: also namespaces, garbage collection, service accounts, quotas; none',
  },
  { name: 'resolve', value: 'name=host:port', description: 'address of a Service of webhooks (repeatable)' },
  { name: 'write-kubeconfig', value: 'file', description: 'kubeconfig of an administrator, written when ready' },
  { name: 'parent-pid', value: 'number', description: 'stop when the parent process is no longer this one' },
  { name: 'help', description: 'print this help' },
  { name: 'version', description: 'print the version' },
]

const ignoredNames = `
  aggregator-reject-forwarding-redirect allow-metric-labels allow-metric-labels-manifest allow-privileged
  apiserver-count contention-profiling coordinated-leadership-lease-duration
  coordinated-leadership-renew-deadline coordinated-leadership-retry-period cors-allowed-origins debug-socket-path
  default-not-ready-toleration-seconds default-unreachable-toleration-seconds default-watch-cache-size
  delete-collection-workers disabled-metrics enable-aggregator-routing
  enable-bootstrap-token-auth enable-garbage-collector enable-logs-handler enable-priority-and-fairness
  endpoint-reconciler-type event-ttl external-hostname feature-gates emulated-version
  emulation-forward-compatible runtime-config-emulation-forward-compatible goaway-chance http2-max-streams-per-connection
  identity-lease-duration-seconds identity-lease-renew-interval-seconds insecure-bind-address insecure-port
  kubelet-certificate-authority kubelet-client-certificate kubelet-client-key kubelet-port
  kubelet-preferred-address-types kubelet-read-only-port kubelet-timeout kubernetes-service-node-port
  lease-reuse-duration-seconds livez-grace-period log-dir log-file log-flush-frequency log-json-info-buffer-size
  log-json-split-stream log-text-info-buffer-size log-text-split-stream logging-format logtostderr alsologtostderr
  master-service-namespace max-connection-bytes-per-sec max-mutating-requests-inflight max-requests-inflight
  min-request-timeout peer-advertise-ip peer-advertise-port peer-ca-file permit-address-sharing
  permit-port-sharing profiling proxy-client-cert-file proxy-client-key-file request-timeout runtime-config
  service-account-extend-token-expiration service-account-lookup service-account-max-token-expiration
  service-cluster-ip-range service-node-port-range show-hidden-metrics-for-version shutdown-delay-duration
  shutdown-send-retry-after shutdown-watch-termination-grace-period skip-log-headers stderrthreshold
  storage-backend storage-initialization-timeout storage-media-type strict-transport-security-directives
  target-ram-mb tls-cipher-suites tls-min-version v vmodule watch-cache watch-cache-sizes
`

const ignored: ReadonlySet<string> = new Set(ignoredNames.trim().split(/\s+/))
const ignoredPrefixes = ['etcd-', 'audit-', 'tracing-']

/**
 * Reports whether a flag of kube-apiserver can be ignored without a warning, because no client of this server would
 * notice it: etcd, logs, limits, kubelets.
 */
export function isIgnored(name: string): boolean {
  return ignored.has(name) || ignoredPrefixes.some((prefix) => name.startsWith(prefix))
}
