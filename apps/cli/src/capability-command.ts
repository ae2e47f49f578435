// Adds the commands of capabilities to the parser.
import { Option } from 'commander'
import type { Argument, Command as Parser } from 'commander'
import type { Command, CommandArgument, CommandContext, CommandOption } from '@fairlead/controller'
import { capabilities, groupsOf } from './capabilities.ts'
import type { CommandGroup } from './capabilities.ts'
import { describe } from './help-text.ts'

/** Adds the groups of all capabilities; loads only the commands of the `wanted` group, or of `all`. */
export async function addCapabilityCommands(root: Parser, wanted: string | undefined): Promise<void> {
  await Promise.all(
    capabilities.flatMap(groupsOf).map((entry) => {
      const group = describe(root.command(entry.name), entry.summary, [])
      return addGroup(entry.aliases === undefined ? group : group.aliases(entry.aliases), entry, wanted)
    }),
  )
}

async function addGroup(group: Parser, entry: CommandGroup, wanted: string | undefined): Promise<void> {
  const isWanted = wanted !== undefined && [entry.name, ...(entry.aliases ?? [])].includes(wanted)
  if (!isWanted && wanted !== 'all') {
    group.argument('<command>')
    return
  }
  for (const command of await entry.commands()) addCommand(group, command)
}

/** The words that shells offer for an argument; see {@link CommandArgument.candidates}. */
export const candidatesOf: WeakMap<Argument, NonNullable<CommandArgument['candidates']>> = new WeakMap()

/** kubectl's flags, read by `clientFromKubeconfig`. */
const clusterOptions: readonly CommandOption[] = [
  { flags: '--kubeconfig <file>', description: 'the kubeconfig to use' },
  { flags: '--context <name>', description: 'the context of the kubeconfig to use' },
]

/** Adds one command to a group, or to the program. */
export function addCommand(group: Parser, command: Command): void {
  const parser = describe(
    group.command(command.name, { isDefault: command.isDefault === true }),
    command.summary,
    command.examples,
  )
  for (const argument of command.arguments ?? []) {
    const name = `${argument.name}${argument.variadic ? '...' : ''}`
    parser.argument(argument.optional ? `[${name}]` : `<${name}>`, argument.description)
    if (argument.candidates !== undefined) candidatesOf.set(parser.registeredArguments.at(-1)!, argument.candidates)
  }
  for (const option of [...(command.options ?? []), ...(command.usesCluster === true ? clusterOptions : [])])
    parser.addOption(parserOption(option))
  parser.action(async (...received: unknown[]) => {
    const values = received.slice(0, -2) as (string | readonly string[] | undefined)[]
    const given = withNegations(received.at(-2) as Record<string, unknown>, command.options ?? [])
    process.exitCode = await command.run(contextFor(values, given))
  })
}

/** Adds `noHeaders` for `--no-headers`: the parser knows it as `headers`, true unless the flag is given. */
function withNegations(
  given: Readonly<Record<string, unknown>>,
  options: readonly CommandOption[],
): Readonly<Record<string, unknown>> {
  const all = { ...given }
  for (const { flags } of options) {
    const option = new Option(flags)
    if (!option.negate) continue
    const name = option.attributeName()
    all[`no${name[0]!.toUpperCase()}${name.slice(1)}`] = given[name] === false
  }
  return all
}

function parserOption({ flags, description, default: fallback, repeatable, choices }: CommandOption): Option {
  if (repeatable === true)
    return new Option(flags, `${description} (repeatable)`)
      .default([])
      .argParser((value: string, before: readonly string[]) => [...before, value])
  const option = new Option(flags, description)
  if (fallback !== undefined) option.default(fallback)
  return choices === undefined ? option : option.choices(choices)
}

function contextFor(values: CommandContext['arguments'], options: Readonly<Record<string, unknown>>): CommandContext {
  const stop = new AbortController()
  process.once('SIGINT', () => stop.abort(new Error('interrupted')))
  return {
    arguments: values,
    options,
    stdin: readStdin,
    out: (text) => void process.stdout.write(text.endsWith('\n') ? text : `${text}\n`),
    err: (text) => void process.stderr.write(text.endsWith('\n') ? text : `${text}\n`),
    client: async () => {
      const { clientFromKubeconfig } = await import('./connect.ts')
      return clientFromKubeconfig(options)
    },
    signal: stop.signal,
  }
}

async function readStdin(): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of process.stdin) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString()
}
