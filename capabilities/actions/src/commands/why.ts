// `fairlead actions why`: prints the candidate maps of a resource, and which were found, merged and cut. Works on a
// cluster, or on files.
import type { CommandContext } from '@fairlead/controller/command'
import { exitCode, usageError } from '@fairlead/offline/command-error'
import { formatStructured, terminalText } from '@fairlead/offline'
import type { StructuredFormat } from '@fairlead/offline'
import type { Why, WhyCandidate } from '../engine/menu.ts'
import { explain } from '../offline/explain.ts'
import type { Explanation } from '../offline/explain.ts'
import { actionsClient } from './actions-client.ts'
import { locate, parseResource } from './resource-argument.ts'

type Context = CommandContext<
  {
    readonly namespace: string | undefined
    readonly filename: readonly string[]
    readonly kam: readonly string[]
    readonly maps: readonly string[]
    readonly output: 'text' | StructuredFormat
  },
  { readonly resource: string | undefined }
>

/** Prints a line for each candidate, most specific first, and the resulting actions. */
export async function run(context: Context): Promise<number> {
  const { options, out, err } = context
  const { why, hasMaps } = await explained(context)
  if (options.output !== 'text') out(formatStructured(why, options.output))
  else {
    for (const line of formatWhy(why, hasMaps)) out(terminalText(line))
    for (const { object, field, message } of why.problems) err(terminalText(`${object}: ${field}: ${message}`))
  }
  return exitCode.ok
}

async function explained(context: Context): Promise<Explanation> {
  const { arguments: given, options, client: connect, stdin } = context
  const { filename, kam, maps } = options
  if ((given.resource === undefined) === (filename.length === 0))
    throw usageError('Name one resource: TYPE/NAME in a cluster, or a file with -f')
  if (given.resource === undefined) return explain({ resource: filename, mappings: kam, maps }, stdin)
  const client = await connect()
  const ref = parseResource(given.resource, options.namespace ?? client.namespace)
  await using actions = await actionsClient(client)
  const located = options.namespace === undefined ? await locate(client, ref, context.err) : ref
  return { why: await actions.why(located), hasMaps: true }
}

function formatWhy({ candidates, actions }: Why, hasMaps: boolean): readonly string[] {
  const lines = candidates.map((candidate) => formatCandidate(candidate, hasMaps))
  if (!hasMaps || actions.length === 0) return lines
  const results = actions.flatMap(({ type, name, map, overrides, isEnabled, reason, command, runAs }) => {
    const instead = overrides.length === 0 ? '' : `, instead of ${overrides.join(', ')}`
    const line = `${type} ${name}: from ${map}${instead}${isEnabled ? '' : ` (not offered: ${reason ?? ''})`}`
    const account = runAs === undefined ? '' : ` as ${runAs}`
    return command === undefined ? [line] : [line, `  runs ${command.pattern} in ${command.image}${account}`]
  })
  return [...lines, '', ...results]
}

const states: Readonly<Record<WhyCandidate['state'], string>> = {
  used: 'merged',
  cut: 'cut by a map with policy replace',
  missing: 'not found',
}

/** Returns the line of a candidate in the seed's form; with its state when maps were looked up. */
function formatCandidate(
  { name, namespace, level, precedence, mapping, rule, state, policy }: WhyCandidate,
  hasMaps: boolean,
): string {
  const replaces = state === 'used' && policy === 'replace' ? ', replaces what follows' : ''
  const found = hasMaps ? `: ${states[state]}${replaces}` : ''
  return `${name} (${level} specific, precedence ${precedence}) in ${namespace}, by ${mapping} ${rule}${found}`
}
