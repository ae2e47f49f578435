// `fairlead supply tree`: the chain of one owner, with health, inputs, and why something waits.
import type { CommandContext } from '@fairlead/controller'
import { findCondition } from '@fairlead/kube'
import type { Condition } from '@fairlead/kube'
import type { Owner, ResourceStatus } from '../api.ts'
import { deliveries, supplyChains } from '../runtime/blueprints.ts'

/** Prints the tree; exit code 3 when the owner is not ready. */
export async function run({ arguments: [named], options, out, err, client }: CommandContext): Promise<number> {
  const [kind = '', name = ''] = String(named).split('/')
  const pair = [supplyChains, deliveries].find(({ owner }) =>
    [owner.plural, owner.kind.toLowerCase()].includes(kind.toLowerCase()),
  )
  if (pair === undefined || name === '') {
    err(`${String(named)} is no owner; write workload/NAME or deliverable/NAME`)
    return 2
  }
  const cluster = await client()
  const namespace = String(options['namespace'] ?? cluster.namespace)
  const owner = await cluster.find(pair.owner, { namespace, name })
  if (owner === undefined) {
    err(`There is no ${pair.ownerKind} ${namespace}/${name}`)
    return 1
  }
  out(treeText(owner, owner.status?.[pair.reference]?.name).join('\n'))
  return findCondition(owner.status?.conditions, 'Ready')?.status === 'True' ? 0 : 3
}

/** The lines of the tree. */
export function treeText(owner: Owner, blueprint: string | undefined): string[] {
  const { resources = [], conditions } = owner.status ?? {}
  const lines = [`${owner.kind} ${owner.metadata.namespace}/${owner.metadata.name}  ${said('Ready', conditions)}`]
  if (blueprint === undefined) return lines
  lines.push(`└─ ${blueprint}`)
  for (const [index, entry] of resources.entries()) {
    const isLast = index === resources.length - 1
    lines.push(`   ${isLast ? '└─' : '├─'} ${headOf(entry)}`)
    for (const detail of detailsOf(entry)) lines.push(`   ${isLast ? '  ' : '│ '}    ${detail}`)
  }
  return lines
}

function headOf({ name, stampedRef, inputs = [] }: ResourceStatus): string {
  const object = stampedRef === undefined ? '' : `  ${stampedRef.resource ?? stampedRef.kind}/${stampedRef.name}`
  return `${name}${object}${inputs.length > 0 ? `  from ${inputs.map((input) => input.name).join(', ')}` : ''}`
}

function detailsOf({ conditions, outputs = [] }: ResourceStatus): string[] {
  const submitted = findCondition(conditions, 'ResourceSubmitted')
  const isSubmitted = submitted?.status === 'True' && submitted.reason !== 'PassThrough'
  return [
    ...(isSubmitted ? [] : [said('ResourceSubmitted', conditions)]),
    ...(findCondition(conditions, 'Healthy') === undefined ? [] : [said('Healthy', conditions)]),
    ...outputs.map(({ name, preview }) => `${name}: ${preview.trim().split('\n')[0]}`),
  ]
}

function said(type: string, conditions: readonly Condition[] | undefined): string {
  const found = findCondition(conditions, type)
  if (found === undefined) return `${type}: not known yet`
  return `${type}: ${found.status} (${found.reason})${found.message === '' ? '' : ` ${found.message}`}`
}
