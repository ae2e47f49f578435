// `fairlead actions run`: runs a command action, or prints the address of a url action.
import type { Client } from '@fairlead/client'
import type { CommandContext } from '@fairlead/controller/command'
import { setOwn } from '@fairlead/kube'
import type { Clock, KubeObject } from '@fairlead/kube'
import { CommandError, exitCode, usageError } from '@fairlead/offline/command-error'
import { formatStructured, terminalText } from '@fairlead/offline'
import type { StructuredFormat } from '@fairlead/offline'
import { actionsClient } from './actions-client.ts'
import type { ActionsClient, Inputs } from './actions-client.ts'
import { printLogs } from './pod-logs.ts'
import { parseResource, requireHere } from './resource-argument.ts'

type Context = CommandContext<
  {
    readonly namespace: string | undefined
    readonly input: readonly string[]
    readonly dryRun: boolean
    readonly wait: boolean
    readonly timeout: string
    readonly output: 'text' | StructuredFormat
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
  if (options.namespace === undefined) await requireHere(client, ref)
  await using actions = await actionsClient(client)
  const menu = await actions.menu(ref)
  const found = menu.actions.filter(({ name }) => name === action)
  if (found.length > 0 && found.every(({ type }) => type === 'url')) {
    const url = await actions.url(ref, action, inputs)
    out(options.output === 'text' ? terminalText(absolute(url, client)) : formatStructured({ url }, options.output))
    return exitCode.ok
  }
  const jobs = await actions.run(ref, action, inputs, options.dryRun)
  if (options.output !== 'text') out(formatStructured({ jobs }, options.output))
  else for (const job of jobs) out(describe(job, options.dryRun))
  return options.wait && !options.dryRun
    ? waitForJobs(context, actions, jobs, { timeout, clock: client.clock })
    : exitCode.ok
}

/** Addresses that begin with / lead to the API server. */
function absolute(url: string, { transport }: Client): string {
  return url.startsWith('/') && URL.canParse(transport.address) ? new URL(url, transport.address).href : url
}

/** Returns the line of a Job; of one that is not created, also what it would run. */
function describe({ metadata, spec }: KubeObject, dryRun: boolean): string {
  const where = `${metadata.namespace ?? ''}`
  if (!dryRun) return `job.batch/${metadata.name ?? ''} created in ${where}`
  const pod = (spec as JobSpec).template.spec
  const [container] = pod.containers
  const command = (container?.command ?? []).map((argument) => JSON.stringify(argument)).join(' ')
  return terminalText(
    `would create a Job in ${where} as service account ${pod.serviceAccountName ?? 'default'}: ${container?.image ?? ''} ${command}`,
  )
}

interface JobSpec {
  readonly template: {
    readonly spec: {
      readonly serviceAccountName?: string
      readonly containers: readonly { readonly image?: string; readonly command?: readonly string[] }[]
    }
  }
}

async function waitForJobs(
  { out, err, signal }: Context,
  actions: ActionsClient,
  jobs: readonly KubeObject[],
  { timeout, clock }: { readonly timeout: number; readonly clock: Clock },
): Promise<number> {
  let code: number = exitCode.ok
  const deadline = clock.monotonic() + timeout * 1000
  for (const { metadata } of jobs) {
    const key = { namespace: metadata.namespace!, name: metadata.name! }
    let { state } = await actions.outcome(key.namespace, key.name, 0)
    while (state !== 'Succeeded' && state !== 'Failed' && clock.monotonic() < deadline && !signal.aborted) {
      const wait = Math.ceil((deadline - clock.monotonic()) / 1000)
      ;({ state } = await actions.outcome(key.namespace, key.name, Math.min(wait, longestWait)))
    }
    await printLogs(actions, key, out)
    if (state === 'Succeeded') continue
    if (state !== 'Failed')
      throw new CommandError(`job.batch/${key.name} is not finished after ${timeout} s: ${unfinished[state]}`)
    err(`job.batch/${key.name} failed`)
    code = exitCode.error
  }
  return code
}

/** Seconds that one request waits. */
const longestWait = 30

const unfinished = {
  Running: 'it runs',
  Retrying: 'it failed, and will be tried again',
  Waiting: 'no pod of it has started; is there a kubelet, or a server with --run-jobs?',
} as const

/** Returns inputs by field. Throws CommandError (usage) for an option that is not field=value. */
function parseInputs(options: readonly string[]): Inputs {
  const inputs: Record<string, string> = {}
  for (const option of options) {
    const equals = option.indexOf('=')
    if (equals <= 0) throw usageError(`--input ${option}: write field=value`)
    setOwn(inputs, option.slice(0, equals), option.slice(equals + 1))
  }
  return inputs
}

/** Returns seconds. */
function parseTimeout(seconds: string): number {
  if (!/^\d{1,9}$/.test(seconds)) throw usageError(`--timeout ${seconds}: write a number of seconds`)
  return Number(seconds)
}
