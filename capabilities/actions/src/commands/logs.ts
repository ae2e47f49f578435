// `fairlead actions logs`: what the pods of a run printed.
import type { Command, CommandContext } from '@fairlead/controller'
import { kappnavNamespace } from '../service/settings.ts'
import { clusterOptions, reported } from './resource-argument.ts'
import { printLogs } from './run.ts'

/** Prints the logs of a Job, given as NAMESPACE/NAME (as history shows it) or NAME. */
export const logsCommand: Command = {
  name: 'logs',
  summary: 'Print what a run printed',
  examples: ['fairlead actions logs kappnav/kappnav-7d3c…', 'fairlead actions logs kappnav-7d3c… -n kappnav'],
  arguments: [{ name: 'job', description: 'the Job, as history shows it' }],
  options: clusterOptions,
  run: (context) => reported(context, () => run(context)),
}

async function run(context: CommandContext): Promise<number> {
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
