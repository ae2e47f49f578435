// Runs of the lifecycles `immutable` and `tekton`: which provides the outputs, and which are kept
// (originals/cartographer.md §2.7).
import type { RetentionPolicy } from '../../api.ts'
import { verdict } from '../conditions/condition.ts'
import type { ConditionStatus, Verdict } from '../conditions/condition.ts'

/** One of the objects that a resource stamped one after another. */
export interface Run {
  readonly name: string
  /** Order of creation; larger is newer. */
  readonly created: number
  readonly health: ConditionStatus
}

/** Applies where a template has no retention policy. */
export const defaultRetention: RetentionPolicy = { maxFailedRuns: 10, maxSuccessfulRuns: 10 }

/** Sorts runs, newest first; of two with the same order, the greater name first. */
export function newestFirst<T extends Pick<Run, 'created' | 'name'>>(runs: readonly T[]): T[] {
  return runs.toSorted((a, b) => b.created - a.created || (a.name < b.name ? 1 : -1))
}

/** Returns the run that provides the outputs: the newest healthy one. */
export function newestHealthyRun<T extends Run>(runs: readonly T[]): T | undefined {
  return newestFirst(runs).find(({ health }) => health === 'True')
}

/**
 * Returns the runs beyond the retention policy, newest first. Healthy and failed runs are counted separately; Unknown
 * ones are kept.
 */
export function runsToPrune<T extends Run>(
  runs: readonly T[],
  { maxSuccessfulRuns, maxFailedRuns }: RetentionPolicy,
): T[] {
  const kept = { True: maxSuccessfulRuns, False: maxFailedRuns }
  return newestFirst(runs).filter(({ health }) => health !== 'Unknown' && kept[health]-- <= 0)
}

/**
 * Returns `ResourceSubmitted` of a resource whose outputs come from the newest healthy run: Unknown while there is
 * none.
 */
export function submittedFromRuns(runs: readonly Run[]): Verdict {
  if (newestHealthyRun(runs) !== undefined) return verdict('True', 'ResourceSubmissionComplete')
  const who = runs.length === 1 ? 'the object is not' : `none of the ${runs.length} objects is`
  return verdict('Unknown', 'MissingValueAtPath', `waiting for outputs: ${who} healthy yet`)
}
