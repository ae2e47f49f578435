// What capabilities make for a first day: applied at each start, without taking anything from those who changed it.
import type { Client } from '@fairlead/client'
import type { Capability } from '@fairlead/controller'
import { isConflict } from '@fairlead/kube'

const manager = 'fairlead-defaults'

/** Applies the default objects. An object of which someone else owns a field stays as they made it. */
export async function installDefaults(admin: Client, capabilities: readonly Capability[]): Promise<void> {
  for (const object of capabilities.flatMap(({ defaults = [] }) => defaults)) {
    try {
      await admin.apply(object, { manager, force: false })
    } catch (error) {
      if (!isConflict(error)) throw error
    }
  }
}
