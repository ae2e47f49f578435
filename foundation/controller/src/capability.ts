// The contract of a capability: a value that `fairlead up` composes (design.md "A capability is a value"). The API
// server, the command line and the console implement their side of it.
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import type { JsonObject, KubeObject } from '@fairlead/kube'
import type { Client } from '@fairlead/client'
import type { Command } from './command.ts'
import type { CacheReader } from './informer/cache-reader.ts'
import type { Manager } from './manager.ts'
import type { ObjectReference } from './object-reference.ts'
import type { PolicyRule } from './policy-rule.ts'
import type { ResourceStorage } from './resource-storage.ts'
import type { Validator } from './validator.ts'

/** Options that every capability is set up with. */
export interface CapabilityOptions {
  /** `host:port` by name, for addresses that only resolve in a cluster (`fairlead up --resolve name=host:port`). */
  readonly resolve: ReadonlyMap<string, string>
  /** Settings by name (`fairlead up --set <capability>.<name>=<value>`). */
  readonly settings?: ReadonlyMap<string, string>
  /**
   * A folder for data that outlives the process and is no Kubernetes object, such as git repositories. The capability
   * creates it. Undefined where nothing is kept: in-memory servers, and processes beside a real cluster without a
   * volume.
   */
  readonly dataFolder?: string
  /** Set beside an embedded server, on a machine of one person; not beside a real cluster. */
  readonly isEmbedded?: boolean
  /** Cancels the set-up. What was set up is stopped by {@link CapabilityInstance.stop}. */
  readonly signal: AbortSignal
}

/** The authenticated caller of an endpoint. */
export interface RouteUser {
  readonly name: string
  readonly groups: readonly string[]
}

/** A request to an endpoint of a capability. */
export interface RouteRequest {
  /** Upper case. */
  readonly method: string
  /** Decoded segments of the path after the prefix. */
  readonly path: readonly string[]
  readonly query: URLSearchParams
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  /** The body as a string; '' without a body. */
  readonly body: string
  readonly user: RouteUser
  /** A client with the rights of the caller and no more. */
  readonly client: Client
  readonly signal: AbortSignal
}

/** A JSON response of an endpoint. */
export interface RouteResponse {
  readonly status: number
  readonly body: JsonObject
  readonly headers?: Readonly<Record<string, string>>
}

/**
 * HTTP endpoints below a path. The server authenticates callers and authorizes the path as a non-resource URL; access
 * to objects is authorized request by request through `client`. A thrown StatusError becomes its Status response.
 */
export interface Route {
  /** Such as `/api/actions`. */
  readonly prefix: string
  /** Maximum size of a body in bytes; 1 MiB when left out. Larger ones get a 413 and are never read completely. */
  readonly bodyLimit?: number
  /** Handles a request; undefined for an unknown path. */
  handle(request: RouteRequest): Promise<RouteResponse | undefined>
  /**
   * Handles a request to upgrade the connection (WebSocket) by a caller with the right to GET the path; undefined for
   * an unknown path. The returned function takes over the connection; `signal` aborts when the connection breaks or the
   * server closes.
   */
  upgrade?(
    request: Omit<RouteRequest, 'method' | 'body'>,
  ): Promise<((connection: UpgradedConnection) => void) | undefined>
}

/** A request to a {@link SignedRoute}: nothing about its caller is known. */
export interface SignedRequest {
  /** Upper case. */
  readonly method: string
  /** Decoded segments of the path after the prefix. */
  readonly path: readonly string[]
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  /** The bytes that a signature covers. */
  readonly body: Uint8Array
}

/**
 * HTTP endpoints below a path for callers without an account in the cluster, which prove by a shared secret who they
 * are: the webhooks of git servers. The process serves them beside its health, under no one's rights: a handler must
 * refuse what is not signed, and may do no more than start work that is due anyway.
 */
export interface SignedRoute {
  /** Such as `/webhooks/git`. */
  readonly prefix: string
  /** Handles a request; undefined for an unknown path. A thrown StatusError becomes its Status response. */
  handle(request: SignedRequest): Promise<RouteResponse | undefined>
}

/**
 * An upgraded connection, as node:http emits it: the arguments of `handleUpgrade` of a WebSocket server.
 */
export interface UpgradedConnection {
  readonly request: IncomingMessage
  readonly socket: Duplex
  /** Bytes that were received after the headers. */
  readonly head: Buffer
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
  /** HTTP endpoints whose callers sign their requests; beside a real cluster, where `routes` are not served. */
  readonly signedRoutes?: readonly SignedRoute[]
  /** Returns the edges that begin or end at an object, as far as the caches know them. Pure; makes no API call. */
  relations?(object: KubeObject, reader: CacheReader): readonly Relation[]
  /** Stops what the manager does not stop by itself, and releases it. Called once, before the manager stops. */
  stop(): Promise<void>
}

/** A capability: its kinds, its rights, and how it is set up. */
export interface Capability {
  readonly name: string
  /** Former names: the group of commands and the label that grants rights keep working under them. */
  readonly aliases?: readonly string[]
  readonly crds: readonly KubeObject[]
  /** Definitions of the resources that `setup` serves from its own storage; manifests register their groups. */
  readonly served?: readonly KubeObject[]
  /** Least privilege; the chart and the embedded server use them alike. */
  readonly rules: readonly PolicyRule[]
  /** Names of the settings that it takes; none when left out. The caller refuses other names. */
  readonly settings?: readonly string[]
  /** Starts the controllers on a manager. Throws SettingError for a value that is not valid. */
  setup(manager: Manager, options: CapabilityOptions): Promise<CapabilityInstance>
  readonly admission?: readonly Validator[]
  /** Objects for a useful first day; created when missing, unless the user has changed or deleted them. */
  readonly defaults?: readonly KubeObject[]
  commands?(): Promise<readonly Command[]>
}
