// The options of ApiServer.start.
import type { KeyObject } from 'node:crypto'
import type { HookResolver, Validator } from '@fairlead/controller'
import type { Clock } from '@fairlead/kube'
import type { AdmissionPlugin } from '../admission/plugin.ts'
import type { AuditSink } from '../audit/audit-log.ts'
import type { StaticToken } from '../auth/authenticators.ts'
import type { InternalController } from '../controllers/index.ts'
import type { PodLogs } from '../handlers/pods/log.ts'
import type { RequestLimitOptions } from '../http/request-limits.ts'
import type { Route } from '../http/route.ts'
import type { Authenticator } from '../identity/credentials.ts'
import type { Storage } from '../storage/storage.ts'
import type { Store } from '../storage/store.ts'

/** The controllers inside the server; `crd` establishes CustomResourceDefinitions. */
export type ControllerName = InternalController | 'crd'

/** Options of an API server. All have defaults that suit tests. */
export interface ApiServerOptions {
  /** The storage of objects; memory when left out. An open Store is closed with the server. */
  readonly storage?: Storage | Store | Promise<Storage | Store>
  readonly clock?: Clock
  /** The controllers to run; all when left out. */
  readonly controllers?: false | readonly ControllerName[]
  /** Milliseconds between an event and its reconcile in the controllers; 0 when left out. */
  readonly controllerDelay?: number
  /** Names and addresses of the serving certificate beside those of every local server. */
  readonly certificateHosts?: readonly string[]
  /** PEM of an authority of client certificates beside the server's own, as `--client-ca-file` of kube-apiserver. */
  readonly clientCa?: string
  /** Accepts requests without credentials, as `system:anonymous`; true when left out. */
  readonly anonymous?: boolean
  /** Issuer, keys and audiences of service account tokens; those of kubeadm's clusters and a key of the server. */
  readonly serviceAccountTokens?: ServiceAccountTokenSettings
  /** Static bearer tokens. */
  readonly tokens?: readonly StaticToken[]
  /** `AlwaysAllow`: authenticated users have all permissions. Default. */
  readonly authorization?: 'AlwaysAllow' | 'RBAC'
  /** Validators of capabilities, run as admission. */
  readonly validators?: readonly Validator[]
  /** Admission plugins that are off. */
  readonly disabledAdmission?: readonly AdmissionPluginName[]
  /** Admission plugins that are on beside those of every server; `ServiceAccount` is on only when named. */
  readonly enabledAdmission?: readonly AdmissionPluginName[]
  /** Further admission plugins, after the server's own. */
  readonly admission?: readonly AdmissionPlugin[]
  /**
   * Resolves the Services of webhooks and extension API servers (`name.namespace.svc`), before their EndpointSlices.
   */
  readonly resolve?: HookResolver
  /** Proxies the groups of APIServices that refer to Services; true when left out. */
  readonly aggregation?: boolean
  /** The source of `kubectl logs`. */
  readonly podLogs?: PodLogs
  /** Further authenticators, after certificates and tokens. */
  readonly authenticators?: readonly Authenticator[]
  /** Called after a restore into the running server, before its response ends: recreates the objects of the start. */
  readonly onRestored?: () => Promise<void>
  /** Returns what `/metrics` shows beside the server's own: the metrics of controllers in this process, as text. */
  readonly metrics?: () => Promise<string>
  /** HTTP routes beside the API. */
  readonly routes?: readonly Route[]
  /** Receives an audit event (audit.k8s.io/v1, level Metadata) for each request, reads in this process aside. */
  readonly audit?: AuditSink
  /** Limits of the requests in flight of each user and of all; those beyond get 429. */
  readonly requestLimits?: RequestLimitOptions
  /** Returns random numbers in [0, 1), for generated names and jitter. */
  readonly random?: () => number
  /** Called with errors that no request caused. */
  readonly onError?: (error: unknown) => void
}

/** The admission plugins that can be switched, by their names in Kubernetes. */
export const admissionPluginNames = [
  'CertificateSubjectRestriction',
  'LimitRanger',
  'MutatingAdmissionWebhook',
  'PersistentVolumeClaimResize',
  'PodSecurity',
  'ResourceQuota',
  'ServiceAccount',
  'StorageObjectInUseProtection',
  'ValidatingAdmissionPolicy',
  'ValidatingAdmissionWebhook',
] as const

/** The name of an admission plugin that can be switched. */
export type AdmissionPluginName = (typeof admissionPluginNames)[number]

/** Service account tokens, as the flags `--service-account-…` of kube-apiserver set them. */
export interface ServiceAccountTokenSettings {
  /** The first is the issuer of new tokens; all are accepted. */
  readonly issuers?: readonly string[]
  /** Audiences of this server; the issuers when left out. */
  readonly audiences?: readonly string[]
  /** Private key: RSA, or EC on P-256, P-384 or P-521. */
  readonly signingKey?: KeyObject
  /** Public keys of valid tokens; that of the signing key when left out. */
  readonly verificationKeys?: readonly KeyObject[]
  /** `jwks_uri` of the issuer's configuration. */
  readonly keySetUri?: string
}

/** Returns true when a controller runs in a server with these options. */
export function runsController({ controllers }: ApiServerOptions, name: ControllerName): boolean {
  return controllers === undefined || (controllers !== false && controllers.includes(name))
}
