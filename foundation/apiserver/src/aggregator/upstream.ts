// What the handler knows of servers behind APIServices: which paths lead there, and that they answer.
import type { UserInfo } from '../identity/user.ts'
import type { ServerRequest, ServerResponse } from '../http/message.ts'
import type { UpgradeHandler } from '../http/route.ts'

/** A server that answers for a group in one version. */
export interface Upstream {
  /** Throws StatusError 400 for a path that could mean two things, and what the signal says when the caller has gone. */
  answer(request: ServerRequest, user: UserInfo): Promise<ServerResponse>
  /** Changes the protocol together with that server, or says why not. Throws as `answer` does. */
  upgrade(request: ServerRequest, user: UserInfo): Promise<UpgradeHandler | ServerResponse>
}

/** Finds them. */
export interface UpstreamFinder {
  /** The server that a path leads to: `/apis/<group>/<version>` and below, and its OpenAPI document. */
  leadsTo(path: string): Upstream | undefined
  /** The entries of OpenAPI's index that come from them. */
  openApiPaths(): Promise<Readonly<Record<string, { readonly serverRelativeURL: string }>>>
}

/** An `apiregistration.k8s.io/v1 APIService` that leads to a Service. */
export interface RemoteApiService {
  /** `v1.notes.example.com` */
  readonly name: string
  readonly group: string
  readonly version: string
  readonly service: { readonly namespace: string; readonly name: string; readonly port: number }
  /** PEM; the system's authorities when undefined. */
  readonly ca: string | undefined
  readonly insecure: boolean
}
