// The contract of a capability: a value that `fairlead up` composes (design.md "A capability is a value"). The API
// server, the command line and the console implement their side of it.
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import type { JsonObject, KubeObject } from '@fairlead/kube'
import type { Client } from '@fairlead/client'
import type { Command } from './command.ts'
import type { CacheReader } from './informer/cache-reader.ts'
import type { Manager } from './manager.ts'
import type { ResourceStorage } from './resource-storage.ts'
import type { Validator } from './validator.ts'

/** A rule of a Role or ClusterRole, as rbac.authorization.k8s.io/v1 writes it. */
export interface PolicyRule {
  readonly apiGroups?: readonly string[]
  readonly resources?: readonly string[]
  readonly resourceNames?: readonly string[]
  readonly nonResourceURLs?: readonly string[]
  readonly verbs: readonly string[]
}

/** Options that every capability is set up with. */
export interface CapabilityOptions {
  /** `host:port` by name, for addresses that only resolve in a cluster (`fairlead up --resolve name=host:port`). */
  readonly resolve: ReadonlyMap<string, string>
  /** Cancels the set-up. What was set up is stopped by {@link CapabilityInstance.stop}. */
  readonly signal: AbortSignal
}

/** Who calls an endpoint: what authentication found out. */
export interface RouteUser {
  readonly name: string
  readonly groups: readonly string[]
}

/** A request to an endpoint of a capability. */
export interface RouteRequest {
  /** In capitals. */
  readonly method: string
  /** Segments of the path, decoded, the prefix left out. */
  readonly path: readonly string[]
  readonly query: URLSearchParams
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  /** The body as text; '' when there is none. */
  readonly body: string
  readonly user: RouteUser
  /** A client with the rights of the caller and no more. */
  readonly client: Client
  readonly signal: AbortSignal
}

/** The answer of an endpoint, as JSON. */
export interface RouteResponse {
  readonly status: number
  readonly body: JsonObject
  readonly headers?: Readonly<Record<string, string>>
}

/**
 * HTTP endpoints below a path. The server authenticates callers and holds them to the non-resource rules for the path;
 * what they may do to objects is decided by what they do with `client`. A StatusError that is thrown is answered as the
 * API answers it.
 */
export interface Route {
  /** Such as `/api/actions`. */
  readonly prefix: string
  /** Bytes that a body may have; 1 MiB when left out. Larger ones are answered 413 and never read whole. */
  readonly bodyLimit?: number
  /** Undefined: there is no such path. */
  handle(request: RouteRequest): Promise<RouteResponse | undefined>
  /**
   * Decides on a request to change the protocol (WebSocket) from a caller who may GET the path. Undefined: there is no
   * such path. Otherwise the connection belongs to what is returned; `signal` is aborted when it breaks or the server
   * closes.
   */
  upgrade?(
    request: Omit<RouteRequest, 'method' | 'body'>,
  ): Promise<((connection: UpgradedConnection) => void) | undefined>
}

/**
 * A connection that changes its protocol, as node:http hands it over: for `handleUpgrade` of a WebSocket server and the
 * like.
 */
export interface UpgradedConnection {
  readonly request: IncomingMessage
  readonly socket: Duplex
  /** What came after the headers already. */
  readonly head: Buffer
}

/** Identifies an object in the graph of relations; the object need not exist. */
export interface ObjectReference {
  readonly apiVersion: string
  readonly kind: string
  /** Undefined for cluster-scoped objects. */
  readonly namespace?: string
  readonly name: string
  /** Undefined when the reference is by name only. */
  readonly uid?: string
}

/**
 * Types of {@link Relation}, read from `from` to `to`:
 * - `made-from`: `from` is an output that a controller made from `to`;
 * - `refers-to`: `from` names `to` in a field;
 * - `upstream-of`: `to` follows the content of `from`;
 * - `input-of`: `from` is read by the controller, blueprint or mapping `to`.
 */
export type RelationType = 'made-from' | 'refers-to' | 'upstream-of' | 'input-of'

/** A directed edge of the graph of derived objects. */
export interface Relation {
  readonly type: RelationType
  readonly from: ObjectReference
  readonly to: ObjectReference
}

/** A capability that was set up on a manager: what it serves, and how it is stopped. */
export interface CapabilityInstance {
  /** API resources that the capability serves from its own storage. */
  readonly storages?: readonly ResourceStorage[]
  /** HTTP endpoints; handlers run with the rights of the caller. */
  readonly routes?: readonly Route[]
  /** Returns the edges that begin or end at an object, as far as the caches know them. Pure; makes no API call. */
  relations?(object: KubeObject, reader: CacheReader): readonly Relation[]
  /** Stops what the manager does not stop by itself, and releases it. Called once, before the manager stops. */
  stop(): Promise<void>
}

/** A capability: its kinds, its rights, and how it is set up. */
export interface Capability {
  readonly name: string
  readonly crds: readonly KubeObject[]
  /** Least privilege; the chart and the embedded server use them alike. */
  readonly rules: readonly PolicyRule[]
  /** Starts the controllers on a manager. */
  setup(manager: Manager, options: CapabilityOptions): Promise<CapabilityInstance>
  readonly admission?: readonly Validator[]
  /** Objects for a useful first day; created when missing, unless the user has changed or deleted them. */
  readonly defaults?: readonly KubeObject[]
  commands?(): Promise<readonly Command[]>
}
