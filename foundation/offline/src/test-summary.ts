// The last line of commands that run tests.
import { usageError } from './command-error.ts'

/** Numbers of tests by their outcome. */
export interface TestCounts {
  readonly passed: number
  readonly failed: number
  readonly skipped?: number
}

/**
 * Returns the last line of a test run, `3 passed, 0 failed`. Throws a usage error when there was no test at all: a
 * folder that moved must not leave CI green. `expected` says which files are tests.
 */
export function testSummary({ passed, failed, skipped = 0 }: TestCounts, path: string, expected: string): string {
  if (passed + failed + skipped === 0) throw usageError(`there are no tests in ${path}: ${expected}`)
  return `${passed} passed, ${failed} failed${skipped === 0 ? '' : `, ${skipped} skipped`}`
}
