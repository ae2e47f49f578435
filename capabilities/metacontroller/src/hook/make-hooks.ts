// Makes the hooks that the spec of a MapController describes.
import type { Client } from '@fairlead/client'
import type { HookClient } from '@fairlead/controller'
import type { Clock } from '@fairlead/kube'
import type { MapController, MapHook, TombstoneHook } from '../api.ts'
import type { Hook, HookName, Hooks } from '../engine/hook.ts'
import { hookRequest } from '../engine/request.ts'
import type { CallMetrics } from './call-metrics.ts'
import { ExpressionHook } from './expression.ts'
import type { WebhookOptions } from './webhook.ts'
import { WebhookCaller } from './webhook.ts'

/** The dependencies of hooks. */
export interface HookDependencies {
  readonly http: HookClient
  readonly client: Client
  readonly clock: Clock
  readonly metrics: CallMetrics
}

/** A webhook of a spec cannot be called: its address or its timeout is invalid. The message names the field. */
export class InvalidHookError extends Error {
  override readonly name = 'InvalidHookError'
  readonly code = 'InvalidHook'
}

/** Makes the hooks of a spec. Throws ExpressionError `InvalidExpression`, InvalidHookError. */
export function makeHooks(controller: MapController, dependencies: HookDependencies): Hooks {
  const { map, tombstone } = controller.spec.hooks
  return {
    map: makeHook('map', map, controller, dependencies),
    tombstone: tombstone === undefined ? undefined : makeHook('tombstone', tombstone, controller, dependencies),
    [Symbol.asyncDispose]: async () => {},
  }
}

function makeHook(
  name: HookName,
  spec: MapHook | TombstoneHook,
  controller: MapController,
  dependencies: HookDependencies,
): Hook {
  const { webhook, expression, version } = spec
  if (expression !== undefined) return new ExpressionHook(name, expression)
  if (webhook === undefined) throw new TypeError(`spec.hooks.${name} needs a webhook or an expression`)
  const trim = controller.spec.hooks.map.trim ?? 'managedFields'
  const caller = makeCaller({
    ...dependencies,
    origin: { hook: name, controllerType: 'MapController', controllerName: controller.metadata.name ?? '' },
    webhook,
    version,
    endpointConfigs: controller.spec.endpointConfigs ?? [],
  })
  return {
    strict: caller.strict,
    call: ({ facts, group, signal, reservation }) =>
      caller.call({ request: hookRequest({ ...facts, version, trim }), group, signal, reservation }),
  }
}

/** Makes the caller of a webhook. Throws InvalidHookError. */
export function makeCaller(options: WebhookOptions): WebhookCaller {
  try {
    return new WebhookCaller(options)
  } catch (error) {
    throw new InvalidHookError(`spec.hooks.${options.origin.hook}.webhook: ${(error as Error).message}`, {
      cause: error,
    })
  }
}
