// `fairlead actions run`: runs a command action, or prints where a url action leads.
import type { CommandContext } from '@fairlead/controller'
import type { Client } from '@fairlead/client'
import type { KubeObject } from '@fairlead/kube'
import { Job, jobState } from '../engine/runs/job.ts'
import { actionsClient } from './actions-client.ts'
import { parseResource, reported } from './resource-argument.ts'

/** Prints the Jobs that were made; with --wait their logs, and fails when one fails. */
export function run(context: CommandContext): Promise<number> {
  return reported(context, () => answer(context))
}

async function answer(context: CommandContext): Promise<number> {
  const {
    namespace,
    input = [],
    wait,
    timeout = '600',
  } = context.options as { namespace?: string; input?: readonly string[]; wait?: boolean; timeout?: string }
  const client = await context.client()
  const [resource, name] = context.arguments as readonly string[]
  const ref = parseResource(resource!, namespace ?? client.namespace)
  const inputs = parseInputs(input)
  if (ref === undefined || typeof inputs === 'string' || !/^\d+$/.test(timeout)) {
    context.err(
      ref === undefined
        ? `"${resource!}" is no resource; write TYPE/NAME, for example deployment/trader`
        : typeof inputs === 'string'
          ? `--input ${inputs}: write field=value`
          : `--timeout ${timeout}: write a number of seconds`,
    )
    return 2
  }
  await using actions = await actionsClient(client)
  const menu = await actions.menu(ref)
  const found = menu.actions.filter((action) => action.name === name)
  if (found.length > 0 && found.every(({ type }) => type === 'url')) {
    context.out(await actions.url(ref, name!))
    return 0
  }
  const jobs = await actions.run(ref, name!, inputs)
  for (const { metadata } of jobs)
    context.out(`job.batch/${metadata.name ?? ''} created in ${metadata.namespace ?? ''}`)
  return wait === true ? waitForAll(context, client, jobs, Number(timeout) * 1000) : 0
}

async function waitForAll(
  context: CommandContext,
  client: Client,
  jobs: readonly KubeObject[],
  timeout: number,
): Promise<number> {
  let code = 0
  for (const { metadata } of jobs) {
    const key = { namespace: metadata.namespace!, name: metadata.name! }
    const ended = await client.waitFor(Job, key, (job) => ['Succeeded', 'Failed'].includes(jobState(job)), {
      timeout,
      signal: context.signal,
    })
    await printLogs(context, client, key)
    if (jobState(ended) === 'Failed') {
      context.err(`job.batch/${key.name} failed`)
      code = 1
    }
  }
  return code
}

/** Prints what the pods of a Job printed. */
export async function printLogs(
  context: CommandContext,
  client: Client,
  { namespace, name }: { readonly namespace: string; readonly name: string },
): Promise<number> {
  const { items } = await client.list(
    { apiVersion: 'v1', kind: 'Pod' },
    { namespace, labelSelector: { matchLabels: { 'job-name': name } } },
  )
  for (const pod of items) {
    const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(pod.metadata.name!)}/log`
    const text = await client.send({ method: 'GET', path })
    if (typeof text === 'string' && text !== '') context.out(text)
  }
  return items.length
}

/** Inputs by field; the text that is none. */
function parseInputs(texts: readonly string[]): Readonly<Record<string, string>> | string {
  const inputs: Record<string, string> = {}
  for (const text of texts) {
    const equals = text.indexOf('=')
    if (equals <= 0) return text
    Object.defineProperty(inputs, text.slice(0, equals), {
      value: text.slice(equals + 1),
      enumerable: true,
      configurable: true,
      writable: true,
    })
  }
  return inputs
}
