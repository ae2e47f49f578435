// `fairlead actions history`: prints runs of command actions.
import type { CommandContext } from '@fairlead/controller/command'
import { exitCode, usageError } from '@fairlead/offline/command-error'
import { formatStructured } from '@fairlead/offline'
import type { StructuredFormat } from '@fairlead/offline'
import type { Run } from '../engine/runs/run.ts'
import { KindTable } from '../runtime/kind-table.ts'
import { actionsClient } from './actions-client.ts'
import { parseResource } from './resource-argument.ts'
import { formatTable } from './table.ts'

type Context = CommandContext<
  {
    readonly namespace: string | undefined
    readonly action: string | undefined
    readonly user: string | undefined
    readonly limit?: string
    readonly output: 'table' | StructuredFormat
  },
  { readonly resource: string | undefined }
>

/** Prints runs, newest first: of all resources, or of one. */
export async function run({ arguments: { resource }, options, out, err, client }: Context): Promise<number> {
  const { namespace, action, user, output } = options
  const limit = parseLimit(options.limit)
  const connected = await client()
  const ref = resource === undefined ? undefined : parseResource(resource, namespace)
  // The Jobs of runs hold the kind, not the name that kubectl accepts for it.
  const kind = ref && ((await new KindTable(connected).kindOf(ref.kind))?.kind ?? ref.kind)
  await using actions = await actionsClient(connected)
  const runs = await actions.history({ kind, namespace, name: ref?.name, action, user, limit })
  if (output !== 'table') out(formatStructured({ runs }, output))
  else if (runs.length === 0) err('There are no runs')
  else out(formatTable(['STATE', 'ACTION', 'TARGET', 'USER', 'CREATED', 'JOB'], runs.map(rowOf)))
  return exitCode.ok
}

function rowOf({ state, action, target, user, isRecorded, created, namespace, job }: Run): readonly string[] {
  const who = user === '' || isRecorded === true ? user : `${user} (unverified)`
  return [state, action, `${target.kind} ${target.namespace}/${target.name}`, who, created, `${namespace}/${job}`]
}

/** Returns the number of runs to print; undefined for all. */
function parseLimit(limit = '0'): number | undefined {
  if (!/^\d{1,9}$/.test(limit)) throw usageError(`--limit ${limit}: write a number of runs`)
  return limit === '0' ? undefined : Number(limit)
}
