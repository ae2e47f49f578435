// `fairlead actions run`: runs a command action, or prints the address of a url action.
import type { Client } from '@fairlead/client'
import type { CommandContext } from '@fairlead/controller/command'
import { setOwn } from '@fairlead/kube'
import type { KubeObject } from '@fairlead/kube'
import { exitCode, usageError } from '@fairlead/offline/command-error'
import { Job, jobState } from '../engine/runs/job.ts'
import { actionsClient } from './actions-client.ts'
import { printLogs } from './pod-logs.ts'
import { parseResource } from './resource-argument.ts'

type Context = CommandContext<
  {
    readonly namespace: string | undefined
    readonly input: readonly string[]
    readonly wait: boolean
    readonly timeout: string
  },
  { readonly resource: string; readonly action: string }
>

/** Prints the Jobs that were created. With --wait also their logs, and exit code 1 when one fails. */
export async function run(context: Context): Promise<number> {
  const { options, out } = context
  const { resource, action } = context.arguments
  const client = await context.client()
  const ref = parseResource(resource, options.namespace ?? client.namespace)
  const inputs = parseInputs(options.input)
  const timeout = parseTimeout(options.timeout)
  await using actions = await actionsClient(client)
  const menu = await actions.menu(ref)
  const found = menu.actions.filter(({ name }) => name === action)
  if (found.length > 0 && found.every(({ type }) => type === 'url')) {
    out(await actions.url(ref, action))
    return exitCode.ok
  }
  const jobs = await actions.run(ref, action, inputs)
  for (const { metadata } of jobs) out(`job.batch/${metadata.name ?? ''} created in ${metadata.namespace ?? ''}`)
  return options.wait ? waitForJobs(context, client, jobs, timeout) : exitCode.ok
}

async function waitForJobs(
  { out, err, signal }: Context,
  client: Client,
  jobs: readonly KubeObject[],
  timeout: number,
): Promise<number> {
  let code: number = exitCode.ok
  for (const { metadata } of jobs) {
    const key = { namespace: metadata.namespace!, name: metadata.name! }
    const isFinished = (job: Job): boolean => ['Succeeded', 'Failed'].includes(jobState(job))
    const finished = await client.waitFor(Job, key, isFinished, { timeout, signal })
    await printLogs(client, key, out)
    if (jobState(finished) === 'Failed') {
      err(`job.batch/${key.name} failed`)
      code = exitCode.error
    }
  }
  return code
}

/** Returns inputs by field. Throws CommandError (usage) for an option that is not field=value. */
function parseInputs(options: readonly string[]): Readonly<Record<string, string>> {
  const inputs: Record<string, string> = {}
  for (const option of options) {
    const equals = option.indexOf('=')
    if (equals <= 0) throw usageError(`--input ${option}: write field=value`)
    setOwn(inputs, option.slice(0, equals), option.slice(equals + 1))
  }
  return inputs
}

/** Returns milliseconds. */
function parseTimeout(seconds: string): number {
  if (!/^\d+$/.test(seconds)) throw usageError(`--timeout ${seconds}: write a number of seconds`)
  return Number(seconds) * 1000
}
