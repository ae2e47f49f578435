// `fairlead supply tree`: prints the resources of one owner with health, inputs, and the reason for waiting.
import type { CommandContext } from '@fairlead/controller/command'
import { findCondition } from '@fairlead/kube'
import type { Condition } from '@fairlead/kube'
import { CommandError, exitCode, formatStructured, usageError } from '@fairlead/offline'
import type { StructuredFormat } from '@fairlead/offline'
import type { Owner, ResourceStatus } from '../api.ts'
import { deliveries, supplyChains } from '../runtime/chain-kinds.ts'

/** Prints the tree. Exit code 3 when the owner is not ready. */
export async function run({
  arguments: { owner: reference },
  options: { namespace: named, output },
  out,
  client,
}: CommandContext<
  { readonly namespace: string | undefined; readonly output?: 'text' | StructuredFormat },
  { readonly owner: string }
>): Promise<number> {
  const [kind = '', name = ''] = reference.split('/')
  const chain = [supplyChains, deliveries].find(({ owner, shortName }) =>
    [owner.plural, owner.kind.toLowerCase(), shortName].includes(kind.toLowerCase()),
  )
  if (chain === undefined || name === '')
    throw usageError(`${reference} is not an owner; write workload/NAME or deliverable/NAME`)
  const cluster = await client()
  const namespace = named ?? cluster.namespace
  const owner = await cluster.find(chain.owner, { namespace, name })
  if (owner === undefined) throw new CommandError(`There is no ${chain.ownerKind} ${namespace}/${name}`)
  if (output === undefined || output === 'text')
    out(formatTree(owner, owner.status?.[chain.reference]?.name).join('\n'))
  else out(formatStructured(owner, output))
  return findCondition(owner.status?.conditions, 'Ready')?.status === 'True' ? exitCode.ok : exitCode.notReady
}

/** Returns the lines of the tree; `blueprint` is undefined when none was selected. */
export function formatTree(owner: Owner, blueprint: string | undefined): string[] {
  const { resources = [], conditions } = owner.status ?? {}
  const lines = [
    `${owner.kind} ${owner.metadata.namespace}/${owner.metadata.name}  ${formatCondition('Ready', conditions)}`,
  ]
  if (blueprint === undefined) return lines
  lines.push(`└─ ${blueprint}`)
  for (const [index, entry] of resources.entries()) {
    const isLast = index === resources.length - 1
    lines.push(`   ${isLast ? '└─' : '├─'} ${formatResource(entry)}`)
    for (const detail of detailsOf(entry)) lines.push(`   ${isLast ? '  ' : '│ '}    ${detail}`)
  }
  return lines
}

function formatResource({ name, stampedRef, inputs = [] }: ResourceStatus): string {
  const object = stampedRef === undefined ? '' : `  ${stampedRef.resource ?? stampedRef.kind}/${stampedRef.name}`
  return `${name}${object}${inputs.length > 0 ? `  from ${inputs.map((input) => input.name).join(', ')}` : ''}`
}

function detailsOf({ conditions, outputs = [] }: ResourceStatus): string[] {
  const submitted = findCondition(conditions, 'ResourceSubmitted')
  const isStamped = submitted?.status === 'True' && submitted.reason !== 'PassThrough'
  return [
    ...(isStamped ? [] : [formatCondition('ResourceSubmitted', conditions)]),
    ...(findCondition(conditions, 'Healthy') === undefined ? [] : [formatCondition('Healthy', conditions)]),
    ...outputs.map(({ name, preview }) => `${name}: ${preview.trim().split('\n')[0]}`),
  ]
}

function formatCondition(type: string, conditions: readonly Condition[] | undefined): string {
  const found = findCondition(conditions, type)
  if (found === undefined) return `${type}: not reported yet`
  return `${type}: ${found.status} (${found.reason})${found.message === '' ? '' : ` ${found.message}`}`
}
