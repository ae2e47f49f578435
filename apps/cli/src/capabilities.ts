// The capabilities that this command composes. Each is loaded when it is needed: `--help` must answer in 100 ms.
import type { Capability, Command } from '@fairlead/controller'

export interface CapabilityEntry {
  readonly name: string
  readonly summary: string
  load(): Promise<Capability>
  /** Its commands, without the rest of it. */
  commands(): Promise<readonly Command[]>
}

/** Every capability, in the order in which they start. */
export const capabilities: readonly CapabilityEntry[] = [
  {
    name: 'map',
    summary: 'map controllers: for every input object, outputs made by a hook',
    load: async () => (await import('@fairlead/map')).map,
    commands: async () => (await import('@fairlead/map/commands')).commands,
  },
  {
    name: 'supply',
    summary: 'supply chains: objects stamped for a workload in order, and its health',
    load: async () => (await import('@fairlead/supply')).supply,
    commands: async () => (await import('@fairlead/supply/commands')).commands,
  },
  {
    name: 'actions',
    summary: 'actions: what people can do with a resource, merged from maps by kind, subkind and name',
    load: async () => (await import('@fairlead/actions')).actions,
    commands: async () => (await import('@fairlead/actions/commands')).commands,
  },
]
