// The interface of servers behind APIServices, as the handler calls them; the aggregator implements it.
import type { UserInfo } from '@fairlead/kube'
import type { ServerRequest, ServerResponse } from './message.ts'
import type { UpgradeHandler } from './route.ts'

/** An extension API server that serves one group in one version. */
export interface Upstream {
  /**
   * Forwards a request. Throws StatusError 400 for an ambiguous path, and the reason of the signal after the client
   * disconnected.
   */
  forward(request: ServerRequest, user: UserInfo): Promise<ServerResponse>
  /** Upgrades the connection together with that server, or returns its refusal. Throws as `forward` does. */
  upgrade(request: ServerRequest, user: UserInfo): Promise<UpgradeHandler | ServerResponse>
}

/** Resolves paths to the servers behind APIServices. */
export interface UpstreamResolver {
  /** Returns the server of a path: `/apis/<group>/<version>` and below, and its OpenAPI document. */
  resolve(path: string): Upstream | undefined
  /** Returns the entries of the OpenAPI index that these servers contribute. */
  openApiPaths(): Promise<Readonly<Record<string, { readonly serverRelativeURL: string }>>>
}
