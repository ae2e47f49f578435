// `fairlead variant tree`: prints the variants of a set with their revisions, drafts and conflicts, and the failures of
// its targets.
import type { CommandContext } from '@fairlead/controller/command'
import { findCondition, isControlledBy } from '@fairlead/kube'
import type { Condition } from '@fairlead/kube'
import { CommandError, exitCode, formatStructured } from '@fairlead/offline'
import type { StructuredFormat } from '@fairlead/offline'
import { PackageVariantKind, PackageVariantSetKind, setLabel } from '../api.ts'
import type { PackageVariant, PackageVariantSet } from '../api.ts'

/** Prints the tree. Exit code 3 when the set is not ready. */
export async function run({
  arguments: { set: name },
  options: { namespace: named, output },
  out,
  client,
}: CommandContext<
  { readonly namespace: string | undefined; readonly output: 'text' | StructuredFormat | undefined },
  { readonly set: string }
>): Promise<number> {
  const cluster = await client()
  const namespace = named ?? cluster.namespace
  const set = await cluster.find(PackageVariantSetKind, { namespace, name })
  if (set === undefined) throw new CommandError(`There is no PackageVariantSet ${namespace}/${name}`)
  const labelSelector = { matchLabels: { [setLabel]: set.metadata.uid! } }
  const { items } = await cluster.list(PackageVariantKind, { namespace, labelSelector })
  const variants = items
    .filter((variant) => isControlledBy(variant, set))
    .toSorted((a, b) => (downstreamOf(a) < downstreamOf(b) ? -1 : 1))
  if (output === undefined || output === 'text') out(formatTree(set, variants).join('\n'))
  else out(formatStructured({ set, variants }, output))
  return findCondition(conditionsOf(set), 'Ready')?.status === 'True' ? exitCode.ok : exitCode.notReady
}

/** Returns the lines of the tree. */
export function formatTree(set: PackageVariantSet, variants: readonly PackageVariant[]): readonly string[] {
  const { repo, package: path } = set.spec.upstream
  const branches = [
    ...variants.map((variant) => [`${downstreamOf(variant)}  ${stateOf(variant)}`, ...detailsOf(variant)]),
    ...(set.status?.failures ?? []).map(({ target, reason, message }) => [
      `spec.targets[${target}]  ${reason}: ${message}`,
    ]),
  ]
  return [
    `PackageVariantSet ${set.metadata.namespace}/${set.metadata.name} of ${repo}/${path}  ${readiness(set)}`,
    ...branches.flatMap(([first, ...details], index) => {
      const isLast = index === branches.length - 1
      return [`${isLast ? '└─' : '├─'} ${first}`, ...details.map((line) => `${isLast ? '  ' : '│ '}    ${line}`)]
    }),
  ]
}

function stateOf(variant: PackageVariant): string {
  const { publishedRevision, downstreamTargets = [] } = variant.status ?? {}
  const drafts = downstreamTargets.filter(({ lifecycle }) => lifecycle === 'Draft' || lifecycle === 'Proposed')
  const parts = [
    publishedRevision === undefined ? 'nothing published' : `published ${publishedRevision}`,
    ...drafts.map((draft) => `${draft.lifecycle} ${draft.name}${draft.upstream ? ` of ${draft.upstream}` : ''}`),
  ]
  return parts.join(', ')
}

function detailsOf(variant: PackageVariant): readonly string[] {
  const ready = findCondition(conditionsOf(variant), 'Ready')
  const conflicts = variant.status?.conflicts ?? []
  return [
    ...(ready?.status === 'True' ? [] : [readiness(variant)]),
    ...conflicts.map(({ file, path = '', ours = '', theirs = '', taken }) => {
      const place = path === '' ? file : `${file} ${path}`
      return `conflict in ${place}: local ${ours}, upstream ${theirs}${taken === undefined ? '' : `; took ${taken}`}`
    }),
  ]
}

function downstreamOf({ spec }: PackageVariant): string {
  return `${spec.downstream.repo}/${spec.downstream.package}`
}

function conditionsOf({ status }: PackageVariant | PackageVariantSet): readonly Condition[] {
  return (status?.conditions ?? []) as readonly Condition[]
}

function readiness(object: PackageVariant | PackageVariantSet): string {
  const ready = findCondition(conditionsOf(object), 'Ready')
  if (ready === undefined) return 'Ready: not reported yet'
  return `Ready: ${ready.status} (${ready.reason})${ready.message === '' ? '' : ` ${ready.message}`}`
}
