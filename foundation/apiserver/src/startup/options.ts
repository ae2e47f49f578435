// The options of ApiServer.start.
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
  /** Static bearer tokens. */
  readonly tokens?: readonly StaticToken[]
  /** `AlwaysAllow`: authenticated users have all permissions. Default. */
  readonly authorization?: 'AlwaysAllow' | 'RBAC'
  /** Validators of capabilities, run as admission. */
  readonly validators?: readonly Validator[]
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

/** Returns true when a controller runs in a server with these options. */
export function runsController({ controllers }: ApiServerOptions, name: ControllerName): boolean {
  return controllers === undefined || (controllers !== false && controllers.includes(name))
}
