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
  return hooksWith(controller, new Client({ transport: noCluster }), async (host) => {
    const [to, port] = resolve.get(host)?.split(/:(?=\d+$)/) ?? []
    return to === undefined || port === undefined ? undefined : { host: to, port: Number(port) }
  })
}

/**
 * Returns the hooks of a controller of a cluster; Services, Secrets and ConfigMaps are read with the rights of the
 * user.
 */
export function clusterHooks(controller: MapController, client: Client, resolve: ReadonlyMap<string, string>): Hooks {
  return hooksWith(controller, client, serviceResolver({ client, clock: systemClock, resolve }))
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
  if (!/^https?:$/.test(URL.parse(base)?.protocol ?? ''))
    throw usageError(`--hook ${base} is not a URL: write for example http://127.0.0.1:8080`)
  const at = (hook: string, before: MapController['spec']['hooks']['map']['webhook']): object => ({
    webhook: { ...before, url: `${base.replace(/\/$/, '')}/${hook}` },
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
