// `fairlead actions logs`: what the pods of a run printed.
import type { CommandContext } from '@fairlead/controller'
import { kappnavNamespace } from '../engine/runs/settings.ts'
import { reported } from './resource-argument.ts'
import { printLogs } from './run.ts'

/** Prints the logs of a Job, given as NAMESPACE/NAME (as history shows it) or NAME. */
export function run(context: CommandContext): Promise<number> {
  return reported(context, () => answer(context))
}

async function answer(context: CommandContext): Promise<number> {
  const { namespace } = context.options as { namespace?: string }
  const client = await context.client()
  const text = String(context.arguments[0]).replace(/^job(s|\.batch)?\//, '')
  const slash = text.indexOf('/')
  const key =
    slash < 0
      ? { namespace: namespace ?? kappnavNamespace, name: text }
      : { namespace: text.slice(0, slash), name: text.slice(slash + 1) }
  if ((await printLogs(context, client, key)) > 0) return 0
  context.err(`Job ${key.namespace}/${key.name} has no pods; nothing runs it, or they are gone`)
  return 1
}
