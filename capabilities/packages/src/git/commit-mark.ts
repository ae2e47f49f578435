// The line `kpt:{json}` of commit messages, by which Porch finds package, workspace and task of a revision again.
import type { Task } from '../api.ts'

/** The mark of a commit. Porch writes every field only where it has a value. */
export interface CommitMark {
  /** Path of the package in the repository, the directory of the Repository included. */
  readonly package?: string
  readonly workspaceName?: string
  /** The number of a published revision; `v1` in repositories of older versions. */
  readonly revision?: string
  readonly task?: Task
}

/** Returns the marks of a commit message; lines that are no valid mark are ignored. */
export function commitMarks(message: string): readonly CommitMark[] {
  if (!message.includes('kpt:')) return []
  return message.split('\n').flatMap((line) => {
    const text = line.trim()
    if (!text.startsWith('kpt:')) return []
    try {
      const mark = JSON.parse(text.slice('kpt:'.length)) as CommitMark
      return typeof mark === 'object' && mark !== null ? [mark] : []
    } catch {
      return []
    }
  })
}

/** Returns a commit message with its mark. */
export function markedMessage(message: string, mark: CommitMark): string {
  return `${message}\n\nkpt:${JSON.stringify(mark)}\n`
}
