// Hooks for commands: webhooks and expressions, without a cluster.
import type { Transport } from '@fairlead/client'
import { Client, systemClock } from '@fairlead/client'
import type { HookResolver } from '@fairlead/controller'
import { HookClient } from '@fairlead/controller'
import { usageError } from '@fairlead/offline'
import { Registry } from 'prom-client'
import type { MapController } from '../api.ts'
import type { Hooks } from '../engine/hook.ts'
import { serviceResolver } from '../hook/address.ts'
import { CallMetrics } from '../hook/call-metrics.ts'
import { makeHooks } from '../hook/make-hooks.ts'
import type { SyncManifest } from '../offline/sync-rendering.ts'
import type { HooksSpec, SyncHooks } from '../sync/sync-hooks.ts'
import { makeSyncHooks } from '../sync/sync-hooks.ts'

/** A transport without a server: credentials in Secrets cannot be read. */
const noCluster: Transport = {
  address: 'nowhere',
  request: () =>
    Promise.reject(
      new Error('Secrets and ConfigMaps cannot be read without a cluster; use a hook without credentials'),
    ),
  watch: () => Promise.reject(new Error('There is no cluster')),
  as: () => noCluster,
  [Symbol.asyncDispose]: async () => {},
}

/** Returns the hooks of a controller. `resolve` maps host names to `host:port`. Throws ExpressionError. */
export function offlineHooks(controller: MapController, resolve: ReadonlyMap<string, string>): Hooks {
  return hooksWith(controller, new Client({ transport: noCluster }), byName(resolve))
}

/**
 * Returns the hooks of a controller of a cluster; Services, Secrets and ConfigMaps are read with the rights of the
 * user.
 */
export function clusterHooks(controller: MapController, client: Client, resolve: ReadonlyMap<string, string>): Hooks {
  return hooksWith(controller, client, serviceResolver({ client, clock: systemClock, resolve }))
}

/** Hooks of a CompositeController or DecoratorController, without a cluster. */
export type OfflineSyncHooks = SyncHooks & AsyncDisposable

/** Returns the hooks of a CompositeController or DecoratorController. Throws InvalidHookError. */
export function offlineSyncHooks(
  controller: SyncManifest,
  resolve: ReadonlyMap<string, string>,
  base: string | undefined,
): OfflineSyncHooks {
  const http = new HookClient({ clock: systemClock, userAgent: 'fairlead-metacontroller', resolve: byName(resolve) })
  const { kind, metadata } = controller
  const origin = { controllerType: kind, controllerName: metadata.name ?? '' }
  const spec = base === undefined ? controller.spec : withSyncHooksAt(controller.spec, base)
  const client = new Client({ transport: noCluster })
  const hooks = makeSyncHooks(spec, origin, {
    http,
    client,
    clock: systemClock,
    metrics: new CallMetrics(new Registry()),
  })
  return { ...hooks, [Symbol.asyncDispose]: () => http[Symbol.asyncDispose]() }
}

function byName(resolve: ReadonlyMap<string, string>): HookResolver {
  return async (host) => {
    const [to, port] = resolve.get(host)?.split(/:(?=\d+$)/) ?? []
    return to === undefined || port === undefined ? undefined : { host: to, port: Number(port) }
  }
}

/** `/sync`, `/finalize` and `/customize` below `base`, for the hooks that the spec has. */
function withSyncHooksAt({ hooks = {}, endpointConfigs }: SyncManifest['spec'], base: string): HooksSpec {
  const moved = (['sync', 'finalize', 'customize'] as const).flatMap((name) => {
    const hook = hooks[name]
    return hook === undefined ? [] : [[name, { ...hook, webhook: { ...hook.webhook, url: addressBelow(base, name) } }]]
  })
  return { hooks: Object.fromEntries(moved) as HooksSpec['hooks'], endpointConfigs }
}

function addressBelow(base: string, hook: string): string {
  if (!/^https?:$/.test(URL.parse(base)?.protocol ?? ''))
    throw usageError(`--hook ${base} is not a URL: write for example http://127.0.0.1:8080`)
  return `${base.replace(/\/$/, '')}/${hook}`
}

function hooksWith(controller: MapController, client: Client, resolve: HookResolver): Hooks {
  const http = new HookClient({ clock: systemClock, userAgent: 'fairlead-map', resolve })
  const hooks = makeHooks(controller, {
    http,
    client,
    clock: systemClock,
    metrics: new CallMetrics(new Registry()),
  })
  return { ...hooks, [Symbol.asyncDispose]: () => http[Symbol.asyncDispose]() }
}

/**
 * Returns the controller with its hooks at another address: `/map` and `/tombstone` below `base`. Throws a usage error
 * when that is no URL.
 */
export function withHookAt(controller: MapController, base: string): MapController {
  const at = (hook: string, before: MapController['spec']['hooks']['map']['webhook']): object => ({
    webhook: { ...before, url: addressBelow(base, hook) },
  })
  const { map, tombstone } = controller.spec.hooks
  const hooks = {
    map: { ...map, expression: undefined, ...at('map', map.webhook) },
    ...(tombstone === undefined
      ? {}
      : { tombstone: { ...tombstone, expression: undefined, ...at('tombstone', tombstone.webhook) } }),
  } as MapController['spec']['hooks']
  return { ...controller, spec: { ...controller.spec, hooks } }
}
