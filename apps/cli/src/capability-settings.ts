// Settings of capabilities: a name or a value that has no effect is a mistake of usage.
import { SettingError } from '@fairlead/controller'
import type { Capability, CapabilityInstance, CapabilityOptions, Manager } from '@fairlead/controller'
import { usageError } from '@fairlead/offline/command-error'
import type { CapabilitySettings } from './capability-options.ts'

/** Checks the names of settings, before anything is started. Throws a usage error. */
export function checkSettings(settings: CapabilitySettings, loaded: readonly Capability[]): void {
  for (const [of, values] of settings) {
    const capability = loaded.find(({ name }) => name === of)
    for (const name of values.keys()) {
      const flag = `--set ${of}.${name}`
      if (capability === undefined)
        throw usageError(`${flag}: ${of} does not run: leave --set out, or add ${of} to --only`)
      const known = capability.settings ?? []
      if (known.includes(name)) continue
      const others = known.length === 0 ? `${of} has no settings` : `the settings of ${of} are ${known.join(', ')}`
      throw usageError(`${flag}: there is no such setting; ${others}`)
    }
  }
}

/** Sets a capability up. Throws a usage error for a setting whose value is not valid. */
export async function setup(
  capability: Capability,
  manager: Manager,
  options: CapabilityOptions,
): Promise<CapabilityInstance> {
  try {
    return await capability.setup(manager, options)
  } catch (error) {
    if (error instanceof SettingError) throw usageError(`--set ${capability.name}.${error.message}`)
    throw error
  }
}
