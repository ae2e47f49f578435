// Default objects of capabilities: applied at each start, without overwriting changes by users.
import type { Client } from '@fairlead/client'
import type { Capability } from '@fairlead/controller'
import { isConflict } from '@fairlead/kube'

const manager = 'fairlead-defaults'

/** Applies the default objects. An object with fields of another manager stays unchanged. */
export async function installDefaults(admin: Client, capabilities: readonly Capability[]): Promise<void> {
  for (const object of capabilities.flatMap(({ defaults = [] }) => defaults)) {
    try {
      await admin.apply(object, { manager, force: false })
    } catch (error) {
      if (!isConflict(error)) throw error
    }
  }
}
