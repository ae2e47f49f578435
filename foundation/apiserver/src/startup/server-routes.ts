// The routes of a server beside its resources.
import type { Clock } from '@fairlead/kube'
import { issuerRoute } from '../auth/issuer-route.ts'
import { backupRoute } from '../backup/backup-route.ts'
import { discoveryRoute, openApiRoute, openApiV2Route } from '../discovery/index.ts'
import type { Route } from '../http/route.ts'
import type { UpstreamResolver } from '../http/upstream.ts'
import { metricsRoute } from '../metrics/metrics-route.ts'
import type { RequestMetrics } from '../metrics/request-metrics.ts'
import type { Registry } from '../registry/registry.ts'
import { healthMetricsRoute, healthRoute, versionRoute } from '../routes/health.ts'
import { serverVersion } from '../server-version.ts'
import type { Store } from '../storage/store.ts'
import type { AccessControl } from './access-control.ts'

/** The parts that the routes serve. */
export interface RouteParts {
  readonly store: Store
  readonly registry: Registry
  readonly clock: Clock
  readonly access: AccessControl
  readonly upstreams: UpstreamResolver
  readonly metrics: RequestMetrics
  /** Returns further metrics as text. */
  readonly otherMetrics: (() => Promise<string>) | undefined
  /** Called after the commit of a restore. */
  readonly restored: () => Promise<void>
}

/** Returns the routes. */
export function serverRoutes({
  store,
  registry,
  clock,
  access,
  upstreams,
  metrics,
  otherMetrics,
  restored,
}: RouteParts): readonly Route[] {
  const checks = [
    { name: 'ping', check: () => undefined },
    { name: 'etcd', check: () => store.lastError },
  ]
  return [
    discoveryRoute(registry),
    openApiRoute(registry, clock, upstreams),
    openApiV2Route(registry),
    issuerRoute(access.tokens),
    healthRoute(checks),
    healthMetricsRoute(checks),
    versionRoute(serverVersion),
    metricsRoute({ requests: metrics, registry, store, version: serverVersion }, otherMetrics),
    backupRoute({ store, clock, authorizer: access.authorizer, server: serverVersion['gitVersion']!, restored }),
  ]
}
