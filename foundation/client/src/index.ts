// Public API of @fairlead/client. Start with `connect()` or `new Client({ transport })`, and with `kind()` to declare
// kinds.
export { connect, findConnection } from './connect.ts'
export type { ConnectOptions } from './connect.ts'
export { Client } from './client.ts'
export type { ClientOptions, ClientOverrides, Scale } from './client.ts'
export type * from './options.ts'
export type { WaitOptions } from './wait-for.ts'

// kinds
export { groupKindName, kind, kindOfObject, toKey, toKind } from './kind.ts'
export type { KeyLike, Kind, KindLike } from './kind.ts'
export * from './builtin-kinds.ts'

// errors and what requests are made of
export { ClientError, isClientError } from './client-error.ts'
export type { ClientErrorCode } from './client-error.ts'
export { CollisionError, withOwner } from './claimed-apply.ts'
export { appliedEntry, appliedFields, isApplied } from './applied-configuration.ts'
export { isKindNotServed, isNoSuchResource, isObjectNotFound, retryAfterSeconds, statusErrorOf } from './response.ts'
export { Backoff, backoffDelay } from './backoff.ts'
export type { BackoffOptions } from './backoff.ts'
export { Discovery } from './discovery.ts'
export type { ApiResource, ResourcePath } from './discovery.ts'
export { withoutUndefined } from './request-body.ts'
export { collectionPath, formatLabelSelector, objectPath, scopeQuery } from './request-path.ts'
export type { Impersonation } from './impersonation.ts'
export type * from './transport.ts'
export { beginWork, chunkSize, yieldIfLong, yieldToEventLoop } from './event-loop.ts'
export { keepAlive, systemClock } from './system-clock.ts'

// watching
export { Reflector } from './watch/reflector.ts'
export type { ReflectorOptions, ReflectorState } from './watch/reflector.ts'
export type { InterruptionReason, ReflectorEvent } from './watch/reflector-event.ts'
export { WatchCache, isSameVersion, objectKey } from './watch/watch-cache.ts'
export type { WatchChange } from './watch/watch-cache.ts'
export type { ListWatch, PageRequest, WatchRequest } from './watch/list-watch.ts'

// HTTPS and its configuration
export { HttpsTransport } from './https/https-transport.ts'
export type { ByteRequest, ByteResponse, HttpsTransportOptions } from './https/https-transport.ts'
export type { Connection } from './config/connection.ts'
export { FetchedLogin } from './login.ts'
export type { FetchedCredentials, Login, LoginCredentials } from './login.ts'
export { execLogin } from './config/login/exec-plugin.ts'
export type { ExecPlugin } from './config/login/exec-plugin.ts'
export type { OidcTokens, TokenStore } from './config/login/token-store.ts'
export { oidcLogin } from './config/login/oidc.ts'
export type { OidcProvider } from './config/login/oidc.ts'
export { serviceAccountLogin } from './service-account-login.ts'
export { Kubeconfig, loadKubeconfig, parseKubeconfig } from './config/kubeconfig.ts'
export type { ConnectionChoice, KubeconfigSources } from './config/kubeconfig.ts'
export { inClusterConnection, isInCluster } from './config/in-cluster.ts'
