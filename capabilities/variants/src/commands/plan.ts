// `fairlead variant plan`: shows the drafts that variants would make or change, as patches.
import type { CommandContext } from '@fairlead/controller/command'
import { CommandError, exitCode, readManifests, usageError } from '@fairlead/offline'
import { describeConflict, fileChanges, formatChanges } from '@fairlead/packages'
import { PackageVariantKind } from '../api.ts'
import type { PackageVariant } from '../api.ts'
import { planVariant } from '../runtime/variant-plan.ts'
import type { VariantPlan } from '../runtime/variant-plan.ts'

/** Prints the plans. Exit code 1 when a variant is not valid, has no upstream, or its functions fail. */
export async function run({
  options: { filename, namespace },
  out,
  stdin,
  client,
}: CommandContext<
  { readonly filename: readonly string[]; readonly namespace: string | undefined },
  object
>): Promise<number> {
  if (filename.length === 0) throw usageError('Name files or folders with PackageVariants (-f variant.yaml)')
  const variants = (await readManifests(filename, { stdin }))
    .map(({ object }) => object)
    .filter((object): object is PackageVariant => {
      return object.apiVersion === PackageVariantKind.apiVersion && object.kind === PackageVariantKind.kind
    })
  if (variants.length === 0) throw new CommandError(`There is no PackageVariant in ${filename.join(', ')}`)
  const cluster = await client()
  let isFailed = false
  for (const variant of variants) {
    const metadata = { ...variant.metadata, namespace: variant.metadata.namespace ?? namespace ?? cluster.namespace }
    const plan = await planVariant(cluster, { ...variant, metadata })
    out(formatVariantPlan(`${metadata.namespace}/${metadata.name}`, plan).join('\n'))
    isFailed ||= isFailing(plan)
  }
  return isFailed ? exitCode.error : exitCode.ok
}

function isFailing({ conditions, drafts }: VariantPlan): boolean {
  const ready = conditions.find(({ type }) => type === 'Ready')
  return ready?.reason === 'Error' || drafts.some(({ failure }) => failure !== undefined)
}

/** Returns the lines of a plan. */
export function formatVariantPlan(
  name: string,
  { drafts, actions, conflicts, conditions }: VariantPlan,
): readonly string[] {
  // Conflicts have lines of their own.
  const hidden = drafts.length > 0 ? ['Ready', 'Merged'] : ['Ready']
  const problems = conditions.filter(
    ({ type, status }) => !hidden.includes(type) && (type === 'Stalled' ? status === 'True' : status === 'False'),
  )
  const ready = conditions.find(({ type }) => type === 'Ready')
  const isQuiet = drafts.length + actions.length === 0
  return [
    `PackageVariant ${name}`,
    ...problems.map(({ type, reason, message }) => `  ${type}: ${reason}: ${message}`),
    ...(problems.length + drafts.length === 0 && ready?.status === 'False'
      ? [`  Ready: ${ready.reason}: ${ready.message}`]
      : []),
    ...actions.map((action) => {
      const to = 'to' in action ? ` ${action.to}` : ''
      return `  ${action.op}${to} ${action.name}: ${action.reason}`
    }),
    ...conflicts.map((conflict) => `  conflict, ${conflict.taken} wins: ${describeConflict(conflict)}`),
    ...drafts.flatMap(({ name: draft, isNew, reason, before, after, failure }) => [
      `  ${isNew ? 'create' : 'update'} ${draft}: ${reason}`,
      ...(failure === undefined ? [] : [`  the functions fail: ${failure}`]),
      formatChanges(fileChanges(new Map(Object.entries(before)), new Map(Object.entries(after)))).trimEnd(),
    ]),
    ...(isQuiet && problems.length === 0 ? ['  nothing to do'] : []),
  ].filter((line) => line !== '')
}
