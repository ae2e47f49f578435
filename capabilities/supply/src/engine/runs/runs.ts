// Immutable objects: which of them provides the output, and which are kept (originals/cartographer.md §2.7).
import type { RetentionPolicy } from '../../api.ts'
import { verdict } from '../condition.ts'
import type { ConditionStatus, Verdict } from '../condition.ts'

/** One of the objects that were stamped, one after the other. */
export interface Run {
  readonly name: string
  /** Order of creation; larger is newer. */
  readonly created: number
  readonly health: ConditionStatus
}

/** What is kept unless a template says so. */
export const defaultRetention: RetentionPolicy = { maxFailedRuns: 10, maxSuccessfulRuns: 10 }

/** Runs, newest first; of two of the same instant, the greater name first. */
export function newestFirst<T extends Pick<Run, 'created' | 'name'>>(runs: readonly T[]): T[] {
  return runs.toSorted((a, b) => b.created - a.created || (a.name < b.name ? 1 : -1))
}

/** The run whose outputs are passed on: the newest healthy one. */
export function newestHealthyRun<T extends Run>(runs: readonly T[]): T | undefined {
  return newestFirst(runs).find(({ health }) => health === 'True')
}

/** Runs that retention lets go, newest first. True and False are counted apart; Unknown ones stay and do not count. */
export function runsToPrune<T extends Run>(
  runs: readonly T[],
  { maxSuccessfulRuns, maxFailedRuns }: RetentionPolicy,
): T[] {
  const kept = { True: maxSuccessfulRuns, False: maxFailedRuns }
  return newestFirst(runs).filter(({ health }) => health !== 'Unknown' && kept[health]-- <= 0)
}

/** `ResourceSubmitted` of a resource whose outputs come from the newest healthy run: without one it waits. */
export function submittedFromRuns(runs: readonly Run[]): Verdict {
  if (newestHealthyRun(runs) !== undefined) return verdict('True', 'ResourceSubmissionComplete')
  return verdict(
    'Unknown',
    'MissingValueAtPath',
    `none of ${runs.length} objects is healthy yet, so there is no output to read`,
  )
}
