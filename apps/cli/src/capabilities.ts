// The capabilities that this command composes. Each is loaded on demand: `--help` must take at most 100 ms.
import type { Capability, Command } from '@fairlead/controller'

/** A group of commands: `fairlead <name> …`. */
export interface CommandGroup {
  readonly name: string
  /** Former names of the group. */
  readonly aliases?: readonly string[]
  readonly summary: string
  /** Loads the commands only. */
  commands(): Promise<readonly Command[]>
}

export interface CapabilityEntry extends Omit<CommandGroup, 'commands'> {
  load(): Promise<Capability>
  /** Loads its commands only; left out where they are in `groups`. */
  commands?(): Promise<readonly Command[]>
  /** Groups of commands under names of their own. */
  readonly groups?: readonly CommandGroup[]
}

/** All capabilities, in start order. */
export const capabilities: readonly CapabilityEntry[] = [
  {
    name: 'metacontroller',
    aliases: ['map'],
    summary: 'map, composite and decorator controllers: objects that hooks make for other objects',
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
    name: 'packages',
    summary: 'packages: configuration in git, drafted, approved, rendered and kept up to date with its upstream',
    load: async () => (await import('@fairlead/packages')).packages,
    groups: [
      {
        name: 'pkg',
        summary: 'packages in folders: fetch, update, compare, render',
        commands: async () => (await import('@fairlead/packages/commands')).pkgCommands,
      },
      {
        name: 'rpkg',
        summary: 'package revisions of a server: create, change, approve',
        commands: async () => (await import('@fairlead/packages/commands')).rpkgCommands,
      },
      {
        name: 'repo',
        summary: 'repositories of packages of a server',
        commands: async () => (await import('@fairlead/packages/commands')).repoCommands,
      },
    ],
  },
  {
    name: 'variants',
    aliases: ['variant'],
    summary: 'package variants: customised copies of packages, kept up to date with their upstream',
    load: async () => (await import('@fairlead/variants')).variants,
    commands: async () => (await import('@fairlead/variants/commands')).commands,
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
    commands: async () =>
      (await import('@fairlead/references/commands')).commandsWith({
        definitions: async () => (await import('@fairlead/aws')).crds,
      }),
    groups: [
      {
        name: 'generate',
        summary: 'generate kinds with references from the API model of an AWS service',
        commands: async () => (await import('@fairlead/references/commands')).generatorCommands,
      },
    ],
  },
  {
    name: 'aws',
    summary: 'IAM and SageMaker resources as objects that refer to each other',
    load: async () => (await import('@fairlead/aws')).aws,
    groups: [
      {
        name: 'fake-aws',
        summary: 'a fake AWS: IAM and SageMaker in memory',
        commands: async () => (await import('@fairlead/aws/commands')).fakeCommands,
      },
    ],
  },
]

/** Returns the groups of commands of a capability. */
export function groupsOf(entry: CapabilityEntry): readonly CommandGroup[] {
  const { name, aliases, summary, groups = [] } = entry
  if (entry.commands === undefined) return groups
  const commands = (): Promise<readonly Command[]> => entry.commands!()
  return [{ name, ...(aliases && { aliases }), summary, commands }, ...groups]
}
