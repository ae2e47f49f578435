// `fairlead actions logs`: prints the logs of the pods of a run.
import type { CommandContext } from '@fairlead/controller/command'
import { CommandError, exitCode } from '@fairlead/offline/command-error'
import { kappnavNamespace } from '../engine/runs/settings.ts'
import { actionsClient } from './actions-client.ts'
import { printLogs } from './pod-logs.ts'

type Context = CommandContext<{ readonly namespace: string | undefined }, { readonly job: string }>

/** Prints the logs of a Job, given as NAMESPACE/NAME (as in the output of history) or NAME. */
export async function run({ arguments: { job }, options, out, client }: Context): Promise<number> {
  const reference = job.replace(/^job(s|\.batch)?\//, '')
  const slash = reference.indexOf('/')
  const namespace = slash < 0 ? (options.namespace ?? kappnavNamespace) : reference.slice(0, slash)
  const name = reference.slice(slash + 1)
  await using actions = await actionsClient(await client())
  if ((await printLogs(actions, { namespace, name }, out)) > 0) return exitCode.ok
  throw new CommandError(`Job ${namespace}/${name} has no pods: nothing runs it, or they were deleted`)
}
