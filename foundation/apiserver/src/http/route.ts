// Routes: handlers of paths that are not API resources, such as discovery, OpenAPI, health, metrics and the paths of
// capabilities.
import type { UpgradedConnection } from '@fairlead/controller'
import type { UserInfo } from '@fairlead/kube'
import type { ServerRequest, ServerResponse } from './message.ts'

/**
 * A handler of paths that are not resources. Returns undefined for paths that it does not serve; the next route is
 * tried then.
 */
export interface Route {
  /** Returns the paths that `GET /` lists. */
  rootPaths?(): readonly string[]
  /** Returns true for a path that belongs to this route even though it reads like a resource. */
  owns?(path: string): boolean
  /**
   * Returns the limit of a body in bytes, or `stream` for an unbuffered body; undefined leaves the decision to others.
   */
  bodyLimit?(path: string): number | 'stream' | undefined
  /** Returns true when connections to a path may switch to another protocol. */
  upgrades?(path: string): boolean
  /** Decides on an upgrade, for a user who may GET the path. */
  upgrade?(
    request: ServerRequest,
    path: readonly string[],
    user: UserInfo,
  ): Promise<UpgradeHandler | undefined> | UpgradeHandler | undefined
  handle(
    request: ServerRequest,
    path: readonly string[],
    user: UserInfo,
  ): Promise<ServerResponse | undefined> | ServerResponse | undefined
}

/** Takes over a connection whose upgrade was granted; it owns the socket from then on. */
export type UpgradeHandler = (connection: UpgradedConnection) => void
