// `fairlead actions history`: prints runs of command actions.
import type { CommandContext } from '@fairlead/controller/command'
import { stringifyJson } from '@fairlead/kube'
import { exitCode } from '@fairlead/offline/command-error'
import type { Run } from '../engine/runs/run.ts'
import { actionsClient } from './actions-client.ts'
import { parseResource } from './resource-argument.ts'
import { formatTable } from './table.ts'

type Context = CommandContext<
  {
    readonly namespace: string | undefined
    readonly action: string | undefined
    readonly user: string | undefined
    readonly output: 'table' | 'json'
  },
  { readonly resource: string | undefined }
>

/** Prints runs, newest first: of all resources, or of one. */
export async function run({ arguments: { resource }, options, out, err, client }: Context): Promise<number> {
  const { namespace, action, user, output } = options
  const ref = resource === undefined ? undefined : parseResource(resource, namespace)
  await using actions = await actionsClient(await client())
  const runs = (await actions.history({ namespace, name: ref?.name, action, user })).filter(
    ({ target }) => ref === undefined || target.kind.toLowerCase() === ref.kind.toLowerCase(),
  )
  if (output === 'json') out(stringifyJson({ runs }))
  else if (runs.length === 0) err('There are no runs')
  else out(formatTable(['STATE', 'ACTION', 'TARGET', 'USER', 'CREATED', 'JOB'], runs.map(rowOf)))
  return exitCode.ok
}

function rowOf({ state, action, target, user, created, namespace, job }: Run): readonly string[] {
  return [state, action, `${target.kind} ${target.namespace}/${target.name}`, user, created, `${namespace}/${job}`]
}
