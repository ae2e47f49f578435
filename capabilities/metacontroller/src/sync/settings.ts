// Settings of the process that Metacontroller has as flags. Pure.
import { HookHosts, SettingError, isHookHost } from '@fairlead/controller'
import type { Selector } from '@fairlead/kube'
import { SelectorError, everything, parseLabelSelector } from '@fairlead/kube'
import type { ApplyStrategyName } from '../children/apply-strategy.ts'
import { fieldManager } from '../children/apply-strategy.ts'

/** The settings of all CompositeControllers and DecoratorControllers of a process. */
export interface SyncSettings {
  /** Only controllers whose labels match are run; the others are left to other processes. */
  readonly targets: Selector
  /** Parents synced at a time, for each controller. */
  readonly workers: number
  /** The hosts that hooks of all controllers may have; undefined: any but link-local ones. */
  readonly hookHosts: HookHosts | undefined
  /** The field manager with which children are applied; undefined: they are merged and replaced (dynamic apply). */
  readonly applyManager: string | undefined
}

/** The settings without any flag. */
export const defaultSettings: SyncSettings = {
  targets: everything,
  workers: 16,
  hookHosts: undefined,
  applyManager: undefined,
}

/** Flags of Metacontroller without effect: discovery and caches follow watches, events have their own limits. */
const withoutEffect = ['discovery-interval', 'cache-flush-interval', 'events-qps', 'events-burst']

/** Names of the flags of Metacontroller that are taken. */
export const settingNames: readonly string[] = [
  'target-label-selector',
  'workers',
  'allow-hook-hosts',
  'apply-strategy',
  'apply-strategy-ssa-field-manager',
  ...withoutEffect,
]

/** Parses flags of Metacontroller, without their dashes. Throws SettingError. */
export function parseSettings(flags: ReadonlyMap<string, string>): SyncSettings {
  let settings = defaultSettings
  let strategy: ApplyStrategyName = 'dynamic-apply'
  let manager: string = fieldManager
  for (const [name, value] of flags) {
    if (name === 'target-label-selector') settings = { ...settings, targets: parseTargets(value) }
    else if (name === 'workers') settings = { ...settings, workers: parseWorkers(value) }
    else if (name === 'allow-hook-hosts') settings = { ...settings, hookHosts: parseHosts(value) }
    else if (name === 'apply-strategy') strategy = parseStrategy(value)
    else if (name === 'apply-strategy-ssa-field-manager') manager = parseManager(value)
    else if (!withoutEffect.includes(name))
      throw new SettingError(
        `There is no setting ${name}; there are target-label-selector, workers, allow-hook-hosts, apply-strategy, apply-strategy-ssa-field-manager and, without effect, ${withoutEffect.join(', ')}`,
      )
  }
  return { ...settings, applyManager: strategy === 'server-side-apply' ? manager : undefined }
}

function parseTargets(value: string): Selector {
  try {
    return parseLabelSelector(value)
  } catch (error) {
    if (!(error instanceof SelectorError)) throw error
    throw new SettingError(`target-label-selector ${value} is no label selector: ${error.message}`, { cause: error })
  }
}

function parseStrategy(value: string): ApplyStrategyName {
  if (value === 'dynamic-apply' || value === 'server-side-apply') return value
  throw new SettingError(`apply-strategy ${value} is unknown; there are dynamic-apply and server-side-apply`)
}

function parseManager(value: string): string {
  if (value.length > 0 && value.length <= 128) return value
  throw new SettingError('apply-strategy-ssa-field-manager must have 1 to 128 characters')
}

function parseHosts(value: string): HookHosts {
  const hosts = value.split(',').map((host) => host.trim())
  const wrong = hosts.find((host) => !isHookHost(host))
  if (wrong !== undefined)
    throw new SettingError(`allow-hook-hosts ${wrong} is no host: write names, addresses or *.name, with commas`)
  return new HookHosts(hosts)
}

function parseWorkers(value: string): number {
  const workers = Number(value)
  if (!/^\d+$/.test(value) || workers < 1 || workers > 256)
    throw new SettingError(`workers ${value} is no number from 1 to 256`)
  return workers
}
