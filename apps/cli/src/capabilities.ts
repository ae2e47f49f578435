// The capabilities that this command composes. Each is loaded on demand: `--help` must take at most 100 ms.
import type { Capability, Command } from '@fairlead/controller'

export interface CapabilityEntry {
  readonly name: string
  /** Former names of its group of commands. */
  readonly aliases?: readonly string[]
  readonly summary: string
  load(): Promise<Capability>
  /** Loads its commands only. */
  commands(): Promise<readonly Command[]>
}

/** All capabilities, in start order. */
export const capabilities: readonly CapabilityEntry[] = [
  {
    name: 'metacontroller',
    aliases: ['map'],
    summary: 'map controllers: for every input object, outputs made by a hook',
    load: async () => (await import('@fairlead/metacontroller')).metacontroller,
    commands: async () => (await import('@fairlead/metacontroller/commands')).commands,
  },
  {
    name: 'supply',
    summary: 'supply chains: objects stamped for a workload in order, and its health',
    load: async () => (await import('@fairlead/supply')).supply,
    commands: async () => (await import('@fairlead/supply/commands')).commands,
  },
  {
    name: 'actions',
    summary: 'actions: operations on a resource, merged from maps by kind, subkind and name',
    load: async () => (await import('@fairlead/actions')).actions,
    commands: async () => (await import('@fairlead/actions/commands')).commands,
  },
  {
    name: 'references',
    aliases: ['refs'],
    summary: 'references: a field takes its value from another object, and follows it',
    load: async () => (await import('@fairlead/references')).references,
    commands: async () => (await import('@fairlead/references/commands')).commands,
  },
]
