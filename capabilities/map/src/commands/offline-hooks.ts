// Hooks for commands: webhooks and expressions, without a cluster.
import type { Transport } from '@fairlead/client'
import { Client, systemClock } from '@fairlead/client'
import { HookClient } from '@fairlead/controller'
import { Registry } from 'prom-client'
import type { MapController } from '../api.ts'
import type { Hooks } from '../engine/hook.ts'
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
  const http = new HookClient({
    clock: systemClock,
    userAgent: 'fairlead-map',
    resolve: async (host) => {
      const [to, port] = resolve.get(host)?.split(/:(?=\d+$)/) ?? []
      return to === undefined || port === undefined ? undefined : { host: to, port: Number(port) }
    },
  })
  const hooks = makeHooks(controller, {
    http,
    client: new Client({ transport: noCluster }),
    clock: systemClock,
    metrics: new CallMetrics(new Registry()),
  })
  return { ...hooks, [Symbol.asyncDispose]: () => http[Symbol.asyncDispose]() }
}

/** Parses the values of `--resolve name=host:port`. */
export function resolveTable(values: readonly string[]): ReadonlyMap<string, string> {
  return new Map(values.map((value) => value.split(/=(.*)/s).slice(0, 2) as [string, string]))
}

/** Returns the controller with its hooks at another address: `/map` and `/tombstone` below `base`. */
export function withHookAt(controller: MapController, base: string): MapController {
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
