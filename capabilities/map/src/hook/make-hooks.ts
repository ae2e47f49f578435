// The hooks of a MapController: what its spec says, as something that can be called.
import type { Client } from '@fairlead/client'
import type { HookClient } from '@fairlead/controller'
import type { Clock } from '@fairlead/kube'
import type { MapController, MapHook, TombstoneHook } from '../api.ts'
import type { HookName, MapMetrics } from '../runtime/metrics.ts'
import type { Hook, Hooks } from '../engine/hook.ts'
import { ExpressionHook } from './expression.ts'
import { WebhookHook } from './webhook.ts'

/** What hooks are made with. */
export interface HookHost {
  readonly http: HookClient
  readonly client: Client
  readonly clock: Clock
  readonly metrics: MapMetrics
}

/** Makes the hooks of a spec. Throws ExpressionError `InvalidExpression`. */
export function makeHooks(controller: MapController, host: HookHost): Hooks {
  const { map, tombstone } = controller.spec.hooks
  return {
    map: makeHook('map', map, controller, host),
    tombstone: tombstone === undefined ? undefined : makeHook('tombstone', tombstone, controller, host),
    [Symbol.asyncDispose]: async () => {},
  }
}

function makeHook(name: HookName, spec: MapHook | TombstoneHook, controller: MapController, host: HookHost): Hook {
  const { webhook, expression, version } = spec
  if (expression !== undefined) return new ExpressionHook(name, expression)
  if (webhook === undefined) throw new TypeError(`spec.hooks.${name} needs a webhook or an expression`)
  return new WebhookHook({
    ...host,
    name,
    controllerName: controller.metadata.name ?? '',
    webhook,
    version,
    trim: controller.spec.hooks.map.trim ?? 'managedFields',
    endpointConfigs: controller.spec.endpointConfigs ?? [],
  })
}
