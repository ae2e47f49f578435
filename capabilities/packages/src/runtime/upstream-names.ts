// The revisions that a task makes a revision from.
import type { Task } from '../api.ts'

/** Returns the names of the package revisions that a task takes the content of. */
export function upstreamNames(task: Task | undefined): readonly string[] {
  return [task?.clone?.upstreamRef?.upstreamRef?.name, task?.upgrade?.newUpstreamRef?.name].filter(
    (name) => name !== undefined,
  )
}
