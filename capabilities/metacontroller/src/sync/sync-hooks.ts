// The hooks of a CompositeController or DecoratorController.
import type { EndpointConfig, HookVersion, SyncHook } from '../api.ts'
import type { CallOrigin } from '../hook/call-metrics.ts'
import type { HookDependencies } from '../hook/make-hooks.ts'
import { makeCaller } from '../hook/make-hooks.ts'
import type { WebhookCaller } from '../hook/webhook.ts'

/** Calls a hook: a {@link WebhookCaller}, or what takes its place without a server. */
export type HookCaller = Pick<WebhookCaller, 'strict' | 'call'>

/** A hook and the version of its requests. */
export interface VersionedHook {
  readonly caller: HookCaller
  readonly version: HookVersion
}

/** The hooks of one controller. */
export interface SyncHooks {
  readonly sync: VersionedHook | undefined
  readonly finalize: VersionedHook | undefined
  readonly customize: VersionedHook | undefined
}

/** The part of a spec that describes hooks. */
export interface HooksSpec {
  readonly hooks?: { readonly sync?: SyncHook; readonly finalize?: SyncHook; readonly customize?: SyncHook } | undefined
  readonly endpointConfigs?: readonly EndpointConfig[] | undefined
}

/** Makes the hooks of a spec. Throws InvalidHookError. */
export function makeSyncHooks(
  { hooks = {}, endpointConfigs = [] }: HooksSpec,
  origin: Omit<CallOrigin, 'hook'>,
  dependencies: HookDependencies,
): SyncHooks {
  const make = (hook: 'sync' | 'finalize' | 'customize'): VersionedHook | undefined => {
    const { webhook, version = 'v1' } = hooks[hook] ?? {}
    if (webhook === undefined) return undefined
    const options = { ...dependencies, origin: { ...origin, hook }, webhook, version, endpointConfigs }
    return { caller: makeCaller(options), version }
  }
  return { sync: make('sync'), finalize: make('finalize'), customize: make('customize') }
}
