// Compares the decision on a case of a CompositeController or DecoratorController with the wanted one.
import { contains, same, show } from '../offline/compare.ts'
import type { SyncCase, SyncOutcome, WantedChildWrite } from '../offline/sync-case.ts'

/** Returns a line for every disagreement. */
export function syncDisagreements({ want }: SyncCase, outcome: SyncOutcome): readonly string[] {
  const { writes, error, ...fields } = want
  const known: readonly string[] = ['status', 'labels', 'annotations', 'resyncAfterSeconds', 'finalized']
  return [
    ...(writes === undefined ? [] : compareWrites(writes, outcome)),
    ...compareErrors(error, outcome.error),
    ...Object.entries(fields).flatMap(([key, wanted]) =>
      known.includes(key) ? contains(key, wanted, outcome[key as keyof SyncOutcome]) : [`want.${key} is unknown`],
    ),
  ]
}

function compareWrites(wanted: readonly WantedChildWrite[], { writes }: SyncOutcome): string[] {
  const brief = (list: readonly WantedChildWrite[]): string[] => list.map(({ op, ref }) => `${op} ${ref}`).toSorted()
  const names = same('writes', brief(wanted), brief(writes))
  if (names.length > 0) return names
  return wanted.flatMap(({ op, ref, object }) =>
    object === undefined
      ? []
      : contains(`${op} ${ref}`, object, writes.find((one) => one.op === op && one.ref === ref)?.object),
  )
}

function compareErrors(wanted: string | undefined, got: string | undefined): string[] {
  if (wanted === undefined) return got === undefined ? [] : [`the sync failed: ${got}`]
  return got?.includes(wanted) === true ? [] : [`error: wanted ${show(wanted)}, got ${show(got)}`]
}
