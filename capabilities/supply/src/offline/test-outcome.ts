// The outcome of a test that `fairlead supply test` runs.

/** A test and how it ended. */
export interface TestOutcome {
  readonly name: string
  readonly outcome: 'passed' | 'failed' | 'skipped'
  /** Why it failed or was skipped; several lines when values differ. */
  readonly problem?: string
}
