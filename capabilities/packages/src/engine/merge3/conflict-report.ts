// Conflicts as an object reports them: bounded, however many there are and however large their values.
import type { MergeConflict } from './conflict.ts'
import { describeConflict } from './conflict.ts'

/** The conflicts that a report names, and the characters of one value. */
const maxConflicts = 50
const maxValue = 512

/** Conflicts of an update, and how the versions were compared. */
export interface ConflictReport {
  /** The first conflicts; long values are cut, and end with `...`. */
  readonly conflicts: readonly MergeConflict[]
  /** The number of conflicts that are not named. */
  readonly omitted: number
  /** Why the versions were compared unrendered. */
  readonly unrendered?: string
}

/** Returns the report of an update. */
export function conflictReport({
  conflicts,
  unrendered,
}: {
  readonly conflicts: readonly MergeConflict[]
  readonly unrendered?: string
}): ConflictReport {
  const named = conflicts.slice(0, maxConflicts).map(({ base, ours, theirs, ...conflict }) => ({
    ...conflict,
    base: cut(base),
    ours: cut(ours),
    theirs: cut(theirs),
  }))
  return {
    conflicts: named,
    omitted: conflicts.length - named.length,
    ...(unrendered !== undefined && { unrendered: cut(unrendered)! }),
  }
}

/** Returns the report in a sentence, for a condition. */
export function conflictMessage({ conflicts, omitted, unrendered }: ConflictReport): string {
  const [first] = conflicts
  const count = conflicts.length + omitted
  const note = unrendered === undefined ? '' : `; compared unrendered, as the functions failed on ${unrendered}`
  if (first === undefined) return `Merged without conflicts${note}`
  const others = count === 1 ? '' : `, and ${count - 1} more in status.conflicts`
  return `${count === 1 ? '1 conflict' : `${count} conflicts`} decided by policy: ${describeConflict(first)}${others}${note}`
}

function cut(value: string | undefined): string | undefined {
  return value === undefined || value.length <= maxValue ? value : `${value.slice(0, maxValue - 3)}...`
}
